"""Certificates for a class of machines: that weights run every one of them, and up to which length in floats."""

from __future__ import annotations

from tm2tfr.sources.turing.universal.proof.certificate import ClassProof, limit, prove

__all__ = ["ClassProof", "limit", "prove"]
