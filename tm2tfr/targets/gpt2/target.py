"""What the list of targets wants of a GPT-2."""

from __future__ import annotations

from tm2tfr.targets.gpt2.export import export
from tm2tfr.targets.gpt2.verify import verified

__all__ = ["export", "verified"]
