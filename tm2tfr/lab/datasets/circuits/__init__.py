"""Data sets and sweeps of circuits: `reader` reads a spec, `spec` represents it, `shard` carries out its jobs."""
