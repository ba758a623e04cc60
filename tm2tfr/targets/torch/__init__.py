"""A decoder in plain PyTorch: `model.py`, which is copied as it is, and its weights."""
