"""What a browser shows: the explorer, the playground, slides."""
