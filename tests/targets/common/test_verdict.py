"""The verdict on a checkpoint: which weights differ, where a stream goes wrong, and what is said of it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from tests.targets.common.scripted import CHAPTER, DECODER, VOCABULARY, Scripted
from tests.targets.matrices.programs import right_of
from tm2tfr.base.errors import ExportError, InputError
from tm2tfr.runs.comparison import Divergence
from tm2tfr.targets.common.comparison import compared
from tm2tfr.targets.common.verdict import Trial, Verdict, cause, differing, judged, refused, unloaded

RIGHT = {"a": np.array([[1.0, 2.0], [0.0, 4.0]]), "b": np.zeros(3)}
RUN = compared(Scripted(), VOCABULARY, right_of(CHAPTER), "11", 64)
WRONG = replace(
    RUN, divergence=Divergence(position=4, column="the token", expected="(q2,x,+1)", found="REJ", how="generated")
)
H = DECODER.layout.index("h")


@pytest.mark.parametrize(
    ("change", "lines"),
    [
        ({}, []),
        ({"b": np.array([-0.0, 0, 0])}, []),
        ({"a": None}, ["a: missing"]),
        ({"c": np.zeros(1)}, ["c: does not belong to the machine"]),
        ({"b": np.zeros((3, 1))}, ["b: has shape (3, 1), should have (3,)"]),
        ({"b": np.zeros(3, np.float32)}, ["b: its numbers are float32, should be float64"]),
        ({"a": np.array([[1, 2], [0, np.nan]])}, ["a[1, 1] is nan, should be 4: entry (1, 1) of a"]),
        ({"b": np.array([0, 1e-300, 0])}, ["b[1] is 1e-300, should be 0: entry (1,) of b"]),
        (
            {"a": np.array([[1, np.nextafter(2, 3)], [5, 5]])},
            ["a[0, 1] is 2.0000000000000004, should be 2: entry (0, 1) of a (and 2 more in this tensor)"],
        ),
    ],
)
def test_which_weights_differ(change: dict[str, Any], lines: list[str]) -> None:
    found = {name: array for name, array in {**RIGHT, **change}.items() if array is not None}
    assert list(differing(found, RIGHT, lambda name, at: f"entry {tuple(at)} of {name}")) == lines


@pytest.mark.parametrize(
    ("stream", "words"),
    [
        ({}, ""),
        ({(3, 0, H): 0.25, (3, 8, H): -0.027}, ""),  # a quarter of 1/(i+1), by which averages are rounded
        ({(3, 0, H): 0.26}, "position 0, after layer 3 (read input): h should be 0, is 0.26"),
        ({(3, 8, H): -0.03}, "position 8, after layer 3 (read input): h should be 1, is 0.97"),
        ({(3, 5, H): np.nan, (0, 6, H): 1}, "position 5, after layer 3 (read input): h should be 2, is nan"),
        ({(6, 5, H): 2, (0, 5, H): 1}, "position 5, after the embedding: h should be 0, is 1"),
    ],
)
def test_where_a_stream_first_goes_wrong(stream: dict[tuple[int, int, int], float], words: str) -> None:
    found = cause(Scripted(stream=stream), DECODER, RUN, lambda x: x)
    assert found == (words and f"the stream first goes wrong at {words}")


def test_the_stream_is_looked_at_up_to_the_first_wrong_token() -> None:
    for place, found in (((3, 4, H), True), ((3, 5, H), False)):
        assert bool(cause(Scripted(stream={place: 1}), DECODER, WRONG, lambda x: x)) == found


def test_what_a_verdict_says() -> None:
    yes = Verdict("chapter", (), RUN, "", 40, "a script")
    assert (yes.same, str(yes)) == (
        True,
        "weights: all 40 tensors are those of chapter\n"
        "run: '11', 9 positions, teacher-forced and generated: the simulator's tokens\n"
        "ran in a script\n"
        "yes: this export is chapter",
    )
    no = Verdict("chapter", ("a", "b", "c", "d"), WRONG, "the stream goes wrong", 40, "a script")
    assert (no.same, str(no)) == (
        False,
        "weights: 4 differences\n  a\n  b\n  c\n"
        "run: '11': position 4, generated: the token should be (q2,x,+1), is REJ\n"
        "  the stream goes wrong\n"
        "ran in a script\n"
        "NO: this export is not chapter",
    )
    none = Verdict("chapter", ("a",), None, "", 40, "a script", "since it has no tokens")
    assert str(none) == ("weights: 1 difference\n  a\nrun: none, since it has no tokens\nNO: this export is not chapter")
    assert [replace(yes, weights=("a",)).same, replace(yes, run=WRONG).same, replace(yes, run=None).same] == [False] * 3


# ── the whole verdict ───────────────────────────────────────────────────────────────────────────────────────
RAN = Trial((), RUN, "", "a script")


def verdict(found: Mapping[str, Any] = RIGHT, beside: Sequence[str] = (), trial: Trial | Exception = RAN) -> Verdict:
    def tried() -> Trial:
        if isinstance(trial, Exception):
            raise trial
        return trial

    return judged("chapter", beside, found, RIGHT, lambda name, at: f"entry {tuple(at)} of {name}", tried)


def test_a_checkpoint_is_run_only_if_nothing_but_its_weights_may_be_wrong() -> None:
    assert verdict().same
    changed = verdict({**RIGHT, "b": np.ones(3)})
    assert (changed.same, changed.run, changed.weights[0][:16]) == (False, RUN, "b[0] is 1, shoul")
    never = AssertionError("this was run")
    strange = verdict(beside=["torch.py: …"], trial=never)
    assert (strange.same, strange.run, strange.weights) == (False, None, ("torch.py: …",))
    assert "run: none, since an export is only run if its files and settings are right" in str(strange)
    for found in ({"a": RIGHT["a"]}, {**RIGHT, "b": np.zeros((3, 1))}, {**RIGHT, "b": np.zeros(3, np.float32)}):
        other = verdict(found, trial=never)
        assert (other.same, other.run, len(other.weights)) == (False, None, 1)
        assert "run: none, since its tensors have other names, shapes or dtypes" in str(other)


def test_what_was_loaded_otherwise_than_it_stands_there_is_not_right() -> None:
    found = verdict(trial=replace(RAN, unlike=("a: is loaded otherwise",)))
    assert (found.same, found.weights) == (False, ("a: is loaded otherwise",))
    loaded = {"a": RIGHT["a"].copy(), "c": np.zeros(1)}
    loaded["a"][0, 1] = np.nan
    assert list(unloaded(loaded, RIGHT, "x.safetensors")) == [
        "a: was not loaded as it is stored in x.safetensors",
        "b: not loaded",
        "c: loaded, but not in x.safetensors",
    ]
    assert list(unloaded({"a": loaded["a"]}, {"a": loaded["a"]}, "x")) == []
    assert list(unloaded({"b": np.zeros(3, np.float32)}, {"b": np.zeros(3)}, "x")) == [
        "b: was not loaded as it is stored in x"
    ]


def test_a_run_that_fails_is_no_internal_error() -> None:
    wrong = {**RIGHT, "b": np.ones(3)}
    for error, words in ((IndexError("out of range"), "IndexError: out of range"), (ExportError("too long"), "too long")):
        assert f"run: none, since it cannot be run: {words}" in str(verdict(wrong, trial=error))
        with pytest.raises(ExportError, match=words):
            verdict(trial=error)
    with pytest.raises(InputError, match="no symbol"):
        verdict(wrong, trial=InputError("no symbol"))


def test_a_recipe_that_nobody_has_granted() -> None:
    found = refused("chapter", "config.json", ExportError("it does not fit"))
    assert (found.same, found.weights) == (False, ("config.json: its recipe: it does not fit",))
    assert "run: none, since no export has this recipe" in str(found)
