"""Rows in: read, check and name the columns, and say what is asked of them."""
