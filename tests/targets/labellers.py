"""Labellers to export: a RASP program's weights by the program's name."""

from __future__ import annotations

from functools import cache
from typing import Literal

from tests.sources.rasp.running import shipped_program
from tm2tfr.sources.rasp.compiler.lower import lowered
from tm2tfr.sources.sequence.compiler import compile_graph
from tm2tfr.transformer.weights import Decoder


@cache
def compiled(name: str, *, length: int = 8, mask: Literal["none", "future"] = "none") -> Decoder:
    """The weights of a shipped program, with one output."""
    program = shipped_program(name)
    graph = lowered(program, [(program.chosen, program.sop)])
    return compile_graph(graph, length=length, mask=mask, provenance={"name": name})
