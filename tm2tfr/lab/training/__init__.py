"""Transformers trained on runs, beside the compiled ones.

`examples` has the form of examples; `adder` and `sources` make them: the paper's own task, and data sets of every source.
`options` are those of training; `model` is a small decoder of minGPT's shape, `gpt2` any GPT-2. `loop` trains and resumes;
`generate` answers greedily; `record` is the saved run: one JSON file, and the weights.
"""
