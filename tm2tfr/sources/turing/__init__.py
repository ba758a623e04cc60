"""Turing machines: values, formats, drawings and runs. It knows nothing of transformers."""
