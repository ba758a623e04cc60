"""Many runs at once: corpora of checked runs, and sweeps that look for a machine that is not simulated.

`reader` reads a specification from YAML. A `spec.DatasetSpec` states what follows from it: its runs, divided into `jobs`,
how they are made (`runs`), which function turns a job into files (`shard`), and what reports and README say. Its three
classes are in `machines`, `circuits` and `labels`. `pool` carries out jobs in processes on all cores or on a Dask cluster;
`make`, `folder` and `manifest` keep the results in a folder, and `sweep` keeps the first run that differs.
"""
