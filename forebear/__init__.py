"""forebear: which few inputs shape the whole conditional law of each quantity in a table."""
