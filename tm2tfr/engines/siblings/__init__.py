"""Many decoders that share all parts but their first layers, run one after the other, and prepared all at once."""
