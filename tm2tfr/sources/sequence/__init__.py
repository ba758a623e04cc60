"""Sequence operations as a typed graph: what RASP programs and formulas of temporal logic have in common."""
