"""What a Turing machine is, how it is read, drawn and run. Knows nothing of transformers."""
