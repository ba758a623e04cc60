"""What every subspace must hold at every position of a formula's or program's weights, and where each head must look."""

from tm2tfr.sources.logic.specification.heads import WordValues
from tm2tfr.sources.logic.specification.stream import LogicSpecification

__all__ = ["LogicSpecification", "WordValues"]
