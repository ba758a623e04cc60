"""What everything stands on: errors, files, text with places, optional packages, shipped files, compiled code."""
