"""Many runs at once: corpora of checked traces, and sweeps that look for a machine that is not simulated.

`reader` reads what is wanted from YAML, `spec` holds it, `jobs` cuts it into pieces, `shard` and `sweep` carry a piece
out, `pool` does so on all cores or a Dask cluster, `folder` and `manifest` keep what came of it.
"""
