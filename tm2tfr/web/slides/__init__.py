"""A run as slides: one picture per step, and an animation of all of them."""
