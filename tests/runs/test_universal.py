"""The universal decoder: what its vectors say of the rule that is found, and why sabotaged weights are wrong."""

from __future__ import annotations

import pytest

import tm2tfr
from tm2tfr.transformer.weights import Decoder, matrices, replaced

CHAPTER = tm2tfr.Universal(states=8, symbols=4).holding(tm2tfr.load("chapter"))


def changed(path: str, by: float) -> Decoder:
    """Return the decoder with the first entry of a matrix multiplied."""
    decoder = tm2tfr.compile(CHAPTER)
    matrix = matrices(decoder)[path]
    row, column, value = next(matrix.entries())
    return replaced(decoder, {path: matrix.with_entry(row, column, by * value)})


@pytest.mark.slow
def test_the_vectors_say_which_rule_is_found() -> None:
    ends = tm2tfr.activations(CHAPTER, "11", 12)["rule"]
    assert (ends["r_q"], ends["r_a"], ends["[r*_q=q]"]) == ("q1", "x", 0)
    assert tm2tfr.activations(CHAPTER, "11", 39)["rule"] == {
        "r_q": None,
        "r_a": None,
        "r*_q": "q1",
        "r*_a": "x",
        "out": "→ACC",
        "[r*_q=q]": 1,
        "[r*_a=a]": 1,
    }
    assert "rule" not in tm2tfr.activations("chapter", "11", 2)


def test_a_mean_of_rules_where_there_is_none() -> None:
    halting = tm2tfr.Universal(states=4, symbols=2).holding(tm2tfr.load("busy-beaver-2"))
    last = tm2tfr.check(halting).tokens - 1
    rule = tm2tfr.activations(halting, None, last)["rule"]
    assert (rule["r*_q"], rule["[r*_q=q]"], rule["[r*_a=a]"]) == ("⟨0.5·A + 0.5·B⟩", 0, 1)


def test_a_cause_names_the_layer_the_head_and_the_rule() -> None:
    found = tm2tfr.check(changed("layers.6.heads.0.output", -1), "11", engine="dense", max_steps=8).divergence
    assert found is not None
    assert str(found).splitlines() == [
        "position 34: y should be (q1,_,+1), is HALT",
        "cause: layer 6 (find rule), attention at position 34: r*_q should be q0, is ⟨-1·q0⟩",
        "  the head looked where it should: its value or output weights are wrong",
        "  the rule q0,1 →(q1,_,+1), at position 2",
    ]
    found = tm2tfr.check(changed("layers.4.heads.0.query", 0), "11", engine="dense", max_steps=8).divergence
    assert found is not None
    assert found.cause is not None
    assert found.cause.attention is not None
    assert (found.cause.layer, found.cause.attention.head) == (4, "latest write")
    assert found.cause.about == "the rule q4,x →(q4,x,-1), at position 28"


def test_the_summary_is_that_of_the_machine() -> None:
    summary = tm2tfr.check(CHAPTER, "11", engine="dense").as_dict()
    assert {name: summary[name] for name in ("machine", "input", "outcome", "steps", "tokens", "T", "final_tape")} == {
        "machine": "chapter",
        "input": "11",
        "outcome": "accept",
        "steps": 6,
        "tokens": 40,
        "T": 6,
        "final_tape": "_x",
    }
