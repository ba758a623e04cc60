"""The one lowering to weights that all languages of sequences share."""

from tm2tfr.sources.sequence.compiler.compiler import Limits, compile_graph

__all__ = ["Limits", "compile_graph"]
