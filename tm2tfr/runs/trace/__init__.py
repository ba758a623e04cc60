"""A run of a decoder as rows of the chapter's table, and its check against the simulator."""
