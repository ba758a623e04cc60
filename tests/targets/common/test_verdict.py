"""A model that is wrong on purpose: how long it may run, its run beside the simulator's, and the verdict on its export."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from tests.targets.matrices.programs import right_of
from tests.targets.matrices.test_machines import Stages
from tm2tfr.base.errors import ExportError, InputError
from tm2tfr.engines.dense import Dense
from tm2tfr.runs.comparison import Divergence
from tm2tfr.sources.turing.compiler import compile_machine
from tm2tfr.sources.turing.library import load
from tm2tfr.sources.turing.proof.prove import prove
from tm2tfr.sources.turing.proof.rounding import Condition
from tm2tfr.sources.turing.spec import Example
from tm2tfr.targets.common.comparison import ComparedRun, compared, first_divergence, told, tried, words
from tm2tfr.targets.common.fitting import Recipe, Requested, fitting, proved
from tm2tfr.targets.common.verdict import Trial, Verdict, cause, differing, judged, refused, unloaded
from tm2tfr.transformer.weights import matrices, replaced

# ── a model that is right except where it is told to be wrong: what an export is compared by, without any program
CHAPTER = load("chapter")
DECODER = compile_machine(CHAPTER)
VOCABULARY = DECODER.vocabulary
TOKENS = ("1", "1", "BOS", "(q0,1,0)", "(q1,_,+1)", "(q2,x,+1)", "(q4,_,-1)", "(q4,x,-1)", "(q1,_,+1)", "ACC")
"""The run on 11; the last token is fed to nobody."""


class Scripted:
    """The chapter's decoder in the dense engine.

    Args:
        teacher, alone: position -> the token number that follows there, other than it should.
        stream: (layer, position, direction) -> what is added to the stream there.
        prompt: what every word becomes; stops: whether it does at a verdict; longest: see `Model`.
    """

    versions = "a script"

    def __init__(
        self,
        teacher: Mapping[int, int] | None = None,
        alone: Mapping[int, int] | None = None,
        *,
        stream: Mapping[tuple[int, int, int], float] | None = None,
        prompt: Sequence[int] = (),
        stops: bool = True,
        longest: int = 100,
    ) -> None:
        self.teacher, self.alone, self.stream = dict(teacher or {}), dict(alone or {}), dict(stream or {})
        self.given, self.stops, self.longest_generated = list(prompt), stops, longest

    def prompt(self, word: str) -> list[int]:
        return self.given or [VOCABULARY.index(token) for token in (*word, "BOS")]

    def answers(self, tokens: Sequence[int]) -> list[int]:
        session, found = Dense().start(DECODER), []
        for token in tokens:
            session.feed(token)
            found.append(int(np.argmax(session.logits)))
        return [self.teacher.get(i, n) for i, n in enumerate(found)]

    def streams(self, tokens: Sequence[int]) -> NDArray[np.float64]:
        session, kept = Dense().start(DECODER), []
        for token in tokens:
            stages = Stages()
            session.feed(token, stages)
            kept.append(stages.kept)
        found: NDArray[Any] = np.array(kept).transpose(1, 0, 2)
        for place, value in self.stream.items():
            if place[1] < len(tokens):
                found[place] += value
        return found

    def generated(self, prompt: Sequence[int], *, most: int) -> list[int]:
        tokens, stop = list(prompt), [VOCABULARY.index(token) for token in DECODER.stop]
        while len(tokens) < most and (tokens[-1] < len(VOCABULARY)) and not (self.stops and tokens[-1] in stop):
            i = len(tokens) - 1
            tokens.append(self.alone[i] if i in self.alone else self.answers(tokens)[-1])
        return tokens


# ── how many positions an export is for, by conditions that can be worked out by hand
LENGTH = Condition(2, "attention", "sum", "", "N ≤ 5,000", lambda n, _: Fraction(n, 5000))
HEAD = Condition(4, "attention", "cell h", "", "H ≤ 1,200", lambda _, h: Fraction(h, 1200))
NEVER = Condition(1, "feed_forward", "units", "", "2 < 1", lambda _n, _h: Fraction(2))


@pytest.mark.parametrize(
    ("positions", "max_head", "found"),
    [
        (None, None, (1024, 1023)),
        (None, 10, (1024, 10)),
        (5, 9, (5, 4)),
        (5, 4, (5, 4)),
        (1201, None, (1201, 1200)),
        (5000, 1200, (5000, 1200)),
        (1, None, (1, 0)),
    ],
)
def test_what_fits(positions: int | None, max_head: int | None, found: tuple[int, int]) -> None:
    assert fitting([LENGTH, HEAD], "m", Requested(positions=positions, max_head=max_head, dtype="float64")) == found


def test_fewer_than_the_usual_number() -> None:
    short = Condition(2, "attention", "sum", "", "N ≤ 7", lambda n, _: Fraction(n, 7))
    assert fitting([short], "m", Requested(positions=None, max_head=None, dtype="float64")) == (7, 6)


@pytest.mark.parametrize(
    ("positions", "max_head", "said"),
    [
        (
            1202,
            None,
            "m: 1,202 positions with |h| ≤ 1,201 do not fit into float32 (layer 4, cell h: H ≤ 1,200): "
            "use positions=1201, or max_head=1200, or dtype='float64'",
        ),
        (
            5001,
            10,
            "m: 5,001 positions with |h| ≤ 10 do not fit into float32 (layer 2, sum: N ≤ 5,000): "
            "use positions=5000, or dtype='float64'",
        ),
    ],
)
def test_what_does_not_fit_is_refused_with_what_would(positions: int, max_head: int | None, said: str) -> None:
    with pytest.raises(ExportError) as caught:
        fitting([LENGTH, HEAD], "m", Requested(positions=positions, max_head=max_head, dtype="float32"))
    assert str(caught.value) == said


def test_where_nothing_fits() -> None:
    for positions in (None, 1):
        with pytest.raises(ExportError) as caught:
            fitting([LENGTH, NEVER], "m", Requested(positions=positions, max_head=None, dtype="float64"))
        assert str(caught.value) == (
            "m: 1 position with |h| ≤ 0 does not fit into float64 (layer 1, units: 2 < 1): use another machine"
        )
    with pytest.raises(ExportError, match=r": use omit stock$"):
        fitting([NEVER], "m", Requested(positions=None, max_head=None, dtype="float64"), ways=["omit --stock"])


def test_one_wrong_weight_is_refused_where_all_attention_is_right() -> None:
    path = "layers.6.feed_forward.output"
    matrix = matrices(DECODER)[path]
    row, column, value = next(matrix.entries())
    proof = prove(replaced(DECODER, {path: matrix.with_entry(row, column, -value)}), CHAPTER)
    assert proof.lookups is not None
    assert proof.retrieval is not None
    with pytest.raises(ExportError, match="chapter: these weights could not be proved right, see tm2tfr certify: "):
        proved(proof)


def test_what_is_stated() -> None:
    run, rest = "for every input and every run with at most", "greedy generation in float32 gives exactly the machine's run"
    assert Recipe(positions=1, max_head=0, dtype="float32").statement == f"{run} 1 position, {rest}"
    assert Recipe(positions=1024, max_head=1023, dtype="float32").statement == f"{run} 1,024 positions, {rest}"
    assert (
        Recipe(positions=1024, max_head=1022, dtype="float32").statement == f"{run} 1,024 positions and |h| ≤ 1,022, {rest}"
    )


# ── a run beside the simulator's, of a model that is wrong on purpose
ACC, REJ = VOCABULARY.index("ACC"), VOCABULARY.index("REJ")


def run(word: str = "11", positions: int = 64, **script: Any) -> ComparedRun:
    return compared(Scripted(**script), VOCABULARY, right_of(CHAPTER), word, positions)


def test_a_run_that_is_right() -> None:
    right = run()
    assert (right.tokens, right.answers) == (TOKENS[:-1], ("1", "1", *TOKENS[3:]))
    assert (right.generated, right.divergence, right.cut, right.how) == (9, None, False, "teacher-forced and generated")


@pytest.mark.parametrize(
    ("script", "said"),
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
def test_where_it_is_wrong(script: dict[str, Any], said: str) -> None:
    assert VOCABULARY[:2] == ("1", "BOS")
    assert str(run(**script).divergence) == said


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
    assert told([run()], "a script") == (
        "verified: loaded and run in a script: 1 run, 9 tokens, all agree with the simulator"
    )
    assert told([run(), run(positions=8)], "a script") == (
        "verified: loaded and run in a script: 2 runs, 17 tokens, all agree with the simulator; "
        "1 cut off at the last position"
    )


# ── the verdict on a checkpoint: which weights differ, where a stream goes wrong, and what is said of it
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
    ("stream", "said"),
    [
        ({}, ""),
        ({(3, 0, H): 0.25, (3, 8, H): -0.027}, ""),  # a quarter of 1/(i+1), by which averages are rounded
        ({(3, 0, H): 0.26}, "position 0, after layer 3 (read input): h should be 0, is 0.26"),
        ({(3, 8, H): -0.03}, "position 8, after layer 3 (read input): h should be 1, is 0.97"),
        ({(3, 5, H): np.nan, (0, 6, H): 1}, "position 5, after layer 3 (read input): h should be 2, is nan"),
        ({(6, 5, H): 2, (0, 5, H): 1}, "position 5, after the embedding: h should be 0, is 1"),
    ],
)
def test_where_a_stream_first_goes_wrong(stream: dict[tuple[int, int, int], float], said: str) -> None:
    found = cause(Scripted(stream=stream), DECODER, RUN, lambda x: x)
    assert found == (said and f"the stream first goes wrong at {said}")


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
    for error, said in ((IndexError("out of range"), "IndexError: out of range"), (ExportError("too long"), "too long")):
        assert f"run: none, since it cannot be run: {said}" in str(verdict(wrong, trial=error))
        with pytest.raises(ExportError, match=said):
            verdict(trial=error)
    with pytest.raises(InputError, match="no symbol"):
        verdict(wrong, trial=InputError("no symbol"))


def test_a_recipe_that_nobody_has_granted() -> None:
    found = refused("chapter", "config.json", ExportError("it does not fit"))
    assert (found.same, found.weights) == (False, ("config.json: its recipe: it does not fit",))
    assert "run: none, since no export has this recipe" in str(found)
