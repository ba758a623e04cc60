"""Certificates: that weights simulate a machine, and up to which length this survives an engine's rounding."""
