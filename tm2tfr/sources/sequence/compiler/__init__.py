"""The one lowering to weights that all languages of sequences share."""

from tm2tfr.sources.sequence.compiler.compiler import Limits, compile_graph
from tm2tfr.sources.sequence.compiler.unbounded import compile_unbounded

__all__ = ["Limits", "compile_graph", "compile_unbounded"]
