"""Pages for browsers: the explorer, the playground, slides."""
