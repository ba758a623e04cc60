"""What the commands say of RASP programs."""
