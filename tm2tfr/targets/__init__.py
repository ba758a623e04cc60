"""Other people's programs that weights are exported to: each target is a folder, `registry` lists them."""
