"""Boolean circuits: values, formats, drawings and evaluation. It knows nothing of transformers."""
