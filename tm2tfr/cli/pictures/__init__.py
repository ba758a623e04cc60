"""Commands that draw runs."""
