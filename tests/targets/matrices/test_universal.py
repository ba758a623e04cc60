"""Prompts as `universal.py` of an export in plain PyTorch reads them: it has no package beside it that could check them."""

from __future__ import annotations

import re
from functools import cache
from typing import Any

import pytest

from tests.targets.matrices.programs import needs_torch
from tm2tfr.sources.turing.universal.compiler import compile_universal
from tm2tfr.sources.turing.universal.program import Universal
from tm2tfr.targets.common.fitting import Recipe
from tm2tfr.targets.matrices.contents import names, tensors

README = "write a machine as README.md says"
RULE = "write rules as a state and a symbol, then what is answered; then the input"
ANSWER = "write after a state and a symbol what its rule answers, such as →(q0,0,+1)"
BEFORE = "write all rules before the input, and no blank in it"
FLIPS = "one-way q0,1 →(q0,2,+1) q0,2 →(q0,1,+1) 1 2 1 BOS"


@cache
def decoder(tape: Any = "both") -> Any:
    """Return the model of a class."""
    import torch

    from tm2tfr.targets.torch.universal import UniversalDecoder

    weights = compile_universal(Universal(states=2, symbols=3, tape=tape))
    named = names(weights, Recipe(positions=64, max_head=63), "tm2tfr-torch")
    return UniversalDecoder(named, {path: torch.tensor(array) for path, array in tensors(weights, "float64").items()})


def read(prompt: str, tape: str = "both") -> str:
    """Return the tokens that a prompt is read as."""
    model = decoder(tape)
    return " ".join(model.vocabulary[n] for n in model.encode(prompt))


@needs_torch
def test_a_prompt_is_read_in_all_ways_in_which_it_is_written() -> None:
    for other in (FLIPS, FLIPS.removesuffix(" BOS"), FLIPS.replace("→", "->"), FLIPS.replace(" →", "->")):
        assert read(other) == read(other.replace("1 2 1", "121")) == FLIPS
    assert read("two-way") == "two-way BOS"
    assert [read(prompt, "one-way") for prompt in ("", "q0,1 →ACC", "12")] == ["BOS", "q0,1 →ACC BOS", "1 2 BOS"]
    assert "".join(decoder().generate(FLIPS)) == "(q0,1,0)(q0,2,+1)(q0,1,+1)(q0,2,+1)HALT"


@needs_torch
@pytest.mark.parametrize(
    ("prompt", "words"),
    [
        (
            "two-way q1,0 ->(halt,1,1) 1",
            f"3: '→(halt,1,1)' is not in the vocabulary (did you mean '→(halt,1,+1)'?): {README}",
        ),
        (
            "two-way q0,1 →(q1,0,\u22121)",
            f"3: '→(q1,0,\u22121)' is not in the vocabulary (did you mean '→(q1,0,-1)'?): {README}",
        ),
        ("two-way q0,1 →ACC 13", f"4: '13' is not in the vocabulary: {README}"),
        ("two-way q0,1 →ACC 1 0", f"5: '0' is not in the vocabulary: {README}"),
        ("", "1: 'BOS' cannot be here: begin with one-way or two-way"),
        ("q0,1 →ACC 1", "1: 'q0,1' cannot be here: begin with one-way or two-way"),
        ("two-way two-way", f"2: 'two-way' cannot be here: {RULE}"),
        ("two-way q0,1", f"3: 'BOS' cannot be here: {ANSWER}"),
        ("two-way q0,1 q1,1 →ACC", f"3: 'q1,1' cannot be here: {ANSWER}"),
        ("two-way →ACC", f"2: '→ACC' cannot be here: {RULE}"),
        ("two-way (q0,1,0)", f"2: '(q0,1,0)' cannot be here: {RULE}"),
        ("two-way HALT", f"2: 'HALT' cannot be here: {RULE}"),
        ("two-way 12 q0,1 →ACC", f"3: 'q0,1' cannot be here: {BEFORE}"),
        ("two-way BOS 1", "3: '1' cannot be here: a prompt ends with its first BOS"),
        (
            "two-way q0,1 →ACC q1,1 →REJ q0,1 →ACC",
            "6: there is already a rule for q0,1, at token 2: remove one of them, since a machine is deterministic",
        ),
    ],
)
def test_what_is_no_prompt_is_refused_with_its_place(prompt: str, words: str) -> None:
    with pytest.raises(ValueError, match=f"^token {re.escape(words)}$"):
        decoder().encode(prompt)
