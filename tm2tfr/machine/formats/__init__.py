"""Texts that describe machines, one format a file."""
