"""The one lowering to weights that all languages of sequences share: from a graph of sequence operations to weights."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

from tm2tfr.base.errors import CompileError
from tm2tfr.sources.sequence.compiler.lowering import Lowering
from tm2tfr.sources.sequence.compiler.stream import StreamPlan
from tm2tfr.sources.sequence.compiler.unbounded import compile_unbounded
from tm2tfr.sources.sequence.domains import Domains
from tm2tfr.sources.sequence.graph import SequenceGraph
from tm2tfr.transformer.weights import Decoder

__all__ = ["Limits", "compile_graph", "compile_unbounded"]


@dataclass(frozen=True, kw_only=True)
class Limits:
    """How large a model may get.

    Args:
        values: the most values of a node.
        units: the most entries of a table.

    Raises:
        CompileError: for a limit that is not positive.
    """

    values: int = 4096
    units: int = 65_536

    def __post_init__(self) -> None:
        for name, limit in (("--max-values", self.values), ("--max-units", self.units)):
            if limit < 1:
                raise CompileError(f"{name} must be 1 or more, not {limit}: omit it, or use a larger one")


def compile_graph(
    graph: SequenceGraph,
    *,
    length: int,
    mask: Literal["none", "future"] = "none",
    limits: Limits | None = None,
    provenance: Mapping[str, str] | None = None,
    domains: Domains | None = None,
) -> Decoder:
    """Return a decoder that answers every output of `graph` at every position of inputs of 1 to `length` tokens.

    Args:
        mask: that of every head.
        domains: the values of its nodes under this mask, if they are known.

    Raises:
        CompileError: where a node has too many values, or a table too many entries.
    """
    if length < 1:
        raise CompileError(f"an input has at least 1 token, and --max-length is {length}: use a larger one")
    limits, causal = limits or Limits(), mask == "future"
    nodes = [node for _, node in graph.outputs]
    domains = domains or Domains(graph, length, wanted=nodes, causal=causal, most=limits.values)
    stream = StreamPlan(graph.alphabet, length, mask)
    lowering = Lowering(domains, stream, causal=causal, most_units=limits.units)
    outputs = [lowering.answered(name, node) for name, node in graph.outputs]
    return stream.weights(outputs, provenance or {}, loops=lowering.loops)
