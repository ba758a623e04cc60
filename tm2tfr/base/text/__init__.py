"""Text with places: YAML and XML as nodes that know where they stand, and complaints that point there."""
