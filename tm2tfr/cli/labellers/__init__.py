"""What the commands say of what labels words: RASP programs, formulas and programs of temporal logic."""
