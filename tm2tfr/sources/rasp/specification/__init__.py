"""What every subspace of a RASP program's weights must hold, and where each head must look."""

from tm2tfr.sources.rasp.specification.stream import RaspSpecification

__all__ = ["RaspSpecification"]
