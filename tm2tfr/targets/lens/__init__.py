"""A decoder as a model of TransformerLens: the exported GPT-2 without what GPT-2 is burdened with."""
