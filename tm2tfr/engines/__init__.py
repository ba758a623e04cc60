"""Ways to run weights. An engine sees matrices and token numbers and nothing else."""
