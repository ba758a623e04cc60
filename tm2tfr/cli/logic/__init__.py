"""What the commands say of formulas of temporal logic, and of B-RASP and S-RASP programs."""
