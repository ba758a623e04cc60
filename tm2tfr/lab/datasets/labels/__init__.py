"""Data sets of what labels words: `reader` reads a spec, `spec` represents it, `shard` carries out its jobs."""
