"""Many runs at once: corpora of checked runs, and sweeps that look for a machine that is not simulated.

`reader` reads a specification from YAML. A `spec.DatasetSpec` states what follows from it: its runs, divided into `jobs`,
how they are made (`runs`), which function turns a job into files (`shard`), and what reports and README say. Its three
classes are in `machines`, `circuits` and `labels`. `make` carries out the jobs on the production line,
`tm2tfr.lab.line`; a sweep keeps the first run that differs.
"""
