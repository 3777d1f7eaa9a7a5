"""What the experiments share: how one is described, run, kept, judged and shown."""
