"""The production line: jobs, carried out by workers, become the files of a folder, which can be resumed.

`pool` has the jobs, their results, and the workers; `manifest` has the formats of files, and the list of files with
their digests, which identify finished ones; `folder` locks a folder and fills it with finished shards, in order.
Data sets, labels, interventions, grids of training runs and suites of hidden models are made on it.
"""
