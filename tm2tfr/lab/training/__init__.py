"""Transformers trained on runs, beside the compiled ones.

`examples` says what is trained on; `adder` and `sources` make it: the paper's own task, and data sets of every source.
`options` says how; `model` is a small decoder of minGPT's shape, `gpt2` any GPT-2. `loop` trains, and goes on where it was
interrupted; `generate` answers greedily; `record` is the saved run: one JSON file, and the weights.
"""
