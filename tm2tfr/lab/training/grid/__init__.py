"""Many training runs: `reader` reads a grid of options, `run` trains each, on all cores or on a Dask cluster."""
