"""Finite automata."""
