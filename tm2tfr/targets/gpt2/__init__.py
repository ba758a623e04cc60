"""A decoder as a GPT-2 that `transformers` loads unmodified: `tensors` translates, `limits` says how far it is right."""
