"""The explorer: a run of a decoder as one HTML page that shows how a transformer computes."""
