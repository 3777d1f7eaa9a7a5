"""A double well whose momentum is hidden."""
