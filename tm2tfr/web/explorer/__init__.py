"""The explorer: a run of a decoder as one HTML page that shows how a transformer computes."""

from tm2tfr.web.explorer.page import Explorer, explorer

__all__ = ["Explorer", "explorer"]
