"""A run under softmax: its errors next to the bounds on them, and the largest temperature that is right."""
