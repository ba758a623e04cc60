"""What every subspace must hold at every position of a formula's or program's weights, and where each head must look."""

from tm2tfr.sources.logic.specification.stream import LogicSpecification
from tm2tfr.sources.logic.specification.values import WordValues

__all__ = ["LogicSpecification", "WordValues"]
