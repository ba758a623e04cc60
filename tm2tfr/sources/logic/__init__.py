"""Temporal logic with counting, B-RASP, S-RASP and C-RASP: formulas and programs, what they mean, and their weights."""
