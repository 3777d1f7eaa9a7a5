"""What users call: `discover`, and the result it gives."""
