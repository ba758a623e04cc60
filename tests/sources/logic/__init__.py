"""Tests of formulas and programs of temporal logic with counting, B-RASP and S-RASP."""
