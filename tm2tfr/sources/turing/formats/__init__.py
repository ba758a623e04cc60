"""Texts that describe machines, one format per file."""
