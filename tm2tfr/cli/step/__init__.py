"""A run, stepped through in the terminal."""
