"""Labels of formulas and programs of temporal logic, for many words at once."""
