"""Data sets of a RASP program: `reader` reads a spec, `spec` represents it, `shard` carries out its jobs."""
