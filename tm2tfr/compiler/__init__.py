"""From machines to weights."""
