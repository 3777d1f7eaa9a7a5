"""Oil returns and geopolitical risk."""
