"""Data sets and sweeps of machines: `reader` reads a spec, `spec` represents it, `shard` carries out its jobs."""
