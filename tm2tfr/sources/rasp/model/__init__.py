"""The model of RASP programs: what subspaces hold and where heads look, as equations."""
