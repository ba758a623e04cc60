"""Transformers: weights as frozen data. This part knows nothing of Turing machines."""
