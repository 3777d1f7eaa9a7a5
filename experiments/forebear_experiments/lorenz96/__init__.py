"""Two-scale Lorenz-96: ten sites, and up to 200."""
