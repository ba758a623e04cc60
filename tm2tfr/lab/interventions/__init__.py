"""Interventions with a known answer: what must come out, and what comes out of the weights."""
