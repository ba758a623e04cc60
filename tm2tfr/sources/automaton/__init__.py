"""Finite automata: DFAs and NFAs, to B-RASP where they are star-free, otherwise to RASP."""
