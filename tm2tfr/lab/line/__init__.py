"""The production line: jobs, carried out by workers, become the files of a folder, which can be resumed.

`plan` has the jobs and what a job is made into, `pool` the workers, `manifest` what is said of the files and what may be
kept of them, `folder` the whole: it is locked, and filled with one finished shard after the other. Data sets, labels,
interventions, grids of training runs and suites of hidden models are made on it.
"""
