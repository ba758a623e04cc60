"""Tables and weight files."""
