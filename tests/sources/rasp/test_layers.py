"""The weights of every shipped program have the attention layers and heads of the authors' analysis, and no more."""

from __future__ import annotations

import pytest

from tests.sources.rasp.headers import names
from tests.sources.rasp.running import shipped_program
from tm2tfr.sources.rasp.analyse import analyse
from tm2tfr.sources.rasp.compiler.lower import lowered
from tm2tfr.sources.sequence.compiler import compile_graph


@pytest.mark.slow
@pytest.mark.parametrize("name", names())
def test_layers_and_heads(name: str) -> None:
    program = shipped_program(name)
    decoder = compile_graph(lowered(program, [(program.chosen, program.sop)]), length=4)
    assert tuple(len(layer.heads) for layer in decoder.layers if layer.heads) == analyse(program).heads
