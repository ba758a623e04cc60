"""Grade 4: weights that are trained, and a key of what they keep, measured and not proved."""
