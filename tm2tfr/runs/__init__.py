"""Carrying out a run: which engine, row by row or in blocks, recorded, saved and resumed."""
