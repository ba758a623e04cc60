"""Many runs at once: corpora of checked traces, and sweeps that look for a machine that is not simulated.

`reader` reads a specification from YAML, `spec` represents it, `jobs` divides it into jobs, `shard` and `sweep` carry
out a job, `pool` does so in `processes` on all cores or on a Dask cluster, and `make` and `manifest` keep the results in a
folder.
"""
