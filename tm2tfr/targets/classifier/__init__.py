"""Labellers as token classifiers that `transformers` loads unmodified: a BERT before its norms, or a GPT-2."""
