"""The model of formulas and programs of temporal logic: what subspaces hold and where heads look, as equations."""
