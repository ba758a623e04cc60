"""Nodes as text: in ASCII, in the paper's signs, in LaTeX; and whole programs, which read back."""
