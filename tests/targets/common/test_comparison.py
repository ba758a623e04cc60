"""A run beside the simulator's, of a model that is wrong on purpose."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from tests.targets.common.scripted import CHAPTER, TOKENS, VOCABULARY, Scripted
from tests.targets.matrices.programs import right_of
from tm2tfr.base.errors import ExportError
from tm2tfr.sources.turing.spec import Example
from tm2tfr.targets.common.comparison import ComparedRun, compared, first_divergence, told, tried, words

ACC, REJ = VOCABULARY.index("ACC"), VOCABULARY.index("REJ")


def run(word: str = "11", positions: int = 64, **script: Any) -> ComparedRun:
    return compared(Scripted(**script), VOCABULARY, right_of(CHAPTER), word, positions)


def test_a_run_that_is_right() -> None:
    right = run()
    assert (right.tokens, right.answers) == (TOKENS[:-1], ("1", "1", *TOKENS[3:]))
    assert (right.generated, right.divergence, right.cut, right.how) == (9, None, False, "teacher-forced and generated")


@pytest.mark.parametrize(
    ("script", "words"),
    [
        ({"teacher": {8: REJ}}, "position 8, teacher-forced: the token should be ACC, is REJ"),
        ({"teacher": {0: REJ}}, "position 0, teacher-forced: the token should be 1, is REJ"),
        ({"alone": {2: REJ}}, "position 2, generated: the token should be (q0,1,0), is REJ"),
        ({"alone": {8: REJ}}, "position 8, generated: the token should be ACC, is REJ"),
        ({"alone": {6: ACC}}, "position 6, generated: the token should be (q4,x,-1), is ACC"),
        ({"alone": {8: 16}}, "position 8, generated: the token should be ACC, is token 16"),
        ({"alone": {9: 0}, "stops": False}, "position 9, generated: the token should be nothing, is 1"),
        (
            {"prompt": [1, 0, 0]},
            "position 0, as the tokenizer has the prompt: the token should be 1 1 BOS, is [1, 0, 0]",
        ),
    ],
)
def test_where_it_is_wrong(script: dict[str, Any], words: str) -> None:
    assert VOCABULARY[:2] == ("1", "BOS")
    assert str(run(**script).divergence) == words


def test_a_run_that_ends_too_early() -> None:
    names, wanted = ("a", "b"), ["a", "b", "a"]
    assert str(first_divergence(names, wanted, [0, 1], 5, "generated")) == (
        "position 7, generated: the token should be a, is nothing"
    )


def test_as_many_positions_as_there_are() -> None:
    assert (run(positions=9).cut, run(positions=9).generated) == (False, 9)
    short = run(positions=8)
    assert (short.cut, short.tokens, short.answers[-1], short.generated) == (True, TOKENS[:8], "(q1,_,+1)", 8)
    assert str(run(positions=8, alone={7: REJ}).divergence).startswith("position 7, generated: the token should be (q1,")
    assert (run("1" * 7, positions=8).tokens[-1], run("1" * 7, positions=8).divergence) == ("BOS", None)
    with pytest.raises(
        ExportError,
        match=r"the word has 8 symbols, .* than 8 positions: use a shorter one, or export with positions=9 or more",
    ):
        run("1" * 8, positions=8)


def test_how_far_it_is_generated() -> None:
    half = run(longest=6)
    assert (half.generated, half.how) == (6, "teacher-forced, and generated to position 6")
    assert run(longest=6, alone={6: REJ}).divergence is None
    assert str(run(longest=6, alone={5: REJ}).divergence) == (
        "position 5, generated: the token should be (q4,_,-1), is REJ"
    )
    none = run(longest=3)
    assert (none.generated, none.how) == (0, "teacher-forced")


def test_the_words_that_an_export_is_tried_on() -> None:
    examples = tuple(Example(input=word, outcome="accept") for word in ("", "11", "1", "1111"))
    machine = replace(CHAPTER, input="1", examples=examples)
    assert words(right_of(machine), 64) == ["1", "", "11", "1111"]
    assert words(right_of(machine), 4) == ["1", "", "11"]
    assert words(right_of(replace(machine, examples=(), input="11")), 2) == [""]
    assert words(right_of(replace(machine, examples=(), input=None)), 2) == [""]
    assert [run.word for run in tried(Scripted(), VOCABULARY, right_of(machine), 64)] == ["1", "", "11", "1111"]
    with pytest.raises(
        ExportError,
        match=r"not right on '11' in a script: position 4, teacher-forced: .*: nothing was written; try dtype='float64'",
    ):
        tried(Scripted({4: REJ}), VOCABULARY, right_of(machine), 64)


def test_what_is_told_of_it() -> None:
    assert told([], "") == "not verified: see tm2tfr verify-export"
    assert told([run()], "a script") == "verified: loaded and run in a script: 1 run, 9 tokens, all the simulator's"
    assert told([run(), run(positions=8)], "a script") == (
        "verified: loaded and run in a script: 2 runs, 17 tokens, all the simulator's; 1 cut off at the last position"
    )
