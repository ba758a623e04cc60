"""``--to bert``: a labeller whose heads see every position as a BERT with its layer norms in front (Megatron-BERT)."""

from __future__ import annotations

from functools import partial

from tm2tfr.targets.classifier.export import classifier_by
from tm2tfr.targets.classifier.stock import BERT
from tm2tfr.targets.gpt2 import export as by_gpt2
from tm2tfr.targets.gpt2 import verify

__all__ = ["export", "verified"]

PROGRAM = classifier_by(BERT)
export, verified = partial(by_gpt2.export, PROGRAM), partial(verify.verified, PROGRAM)
