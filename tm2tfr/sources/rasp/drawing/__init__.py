"""Drawings of RASP programs: the flow of a computation layer by layer, and a run with every selector as a matrix."""
