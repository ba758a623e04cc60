"""What exports to other people's programs have in common: a directory, a run beside the simulator's, a verdict."""
