"""What a Boolean circuit is, how it is read, drawn and evaluated. Knows nothing of transformers."""
