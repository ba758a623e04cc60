"""Examples as columns of numbers, and the bytes of files of them, without Python for each run where many come at once."""
