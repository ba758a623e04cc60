"""Certificates: that weights simulate a machine, and up to which length this survives an engine's rounding."""

from __future__ import annotations

from tm2tfr.sources.turing.proof.cases import Refusal
from tm2tfr.sources.turing.proof.certificate import ENGINES, Bound, Certificate, Proof, limit, prove

__all__ = ["ENGINES", "Bound", "Certificate", "Proof", "Refusal", "limit", "prove"]
