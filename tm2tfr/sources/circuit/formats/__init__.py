"""Texts that describe Boolean circuits, one format per file."""
