"""Temporal logic with counting, B-RASP, S-RASP and C-RASP: formulas and programs, their meaning, and their weights."""
