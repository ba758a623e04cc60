"""Proofs, from the weights of a formula or a program, that its heads are tieless and that rounding changes nothing."""

from tm2tfr.sources.logic.proof.certificate import LogicCertificate, LogicProof, prove
from tm2tfr.sources.logic.proof.heads import LogicRefusal

__all__ = ["LogicCertificate", "LogicProof", "LogicRefusal", "prove"]
