"""``--to bert``: a labeller whose heads see every position as a BERT with its layer norms in front (Megatron-BERT)."""

from __future__ import annotations

from functools import partial

from tm2tfr.targets.classifier.export import export_labels, verified_labels
from tm2tfr.targets.classifier.stock import BERT

__all__ = ["export", "verified"]

export, verified = partial(export_labels, BERT), partial(verified_labels, BERT)
