"""Formulas and programs of temporal logic as pictures."""
