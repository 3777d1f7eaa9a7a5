"""An arm of seven joints: what its motion depends on, and learning to reach."""
