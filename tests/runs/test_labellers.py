"""Labellers beside a reference: rows of their outputs, the first difference, and the weight that is to blame."""

from __future__ import annotations

import dataclasses
import pickle
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from tests.engines.labellers import LETTERS, Told, causal, labeller, soft
from tests.handmade import majority
from tm2tfr.base.errors import EngineError, ShapeError
from tm2tfr.contract.source import ANY, Column
from tm2tfr.contract.specification import vector
from tm2tfr.engines import Engine, engine, generate
from tm2tfr.engines.decode import observe, observe_all, run_whole
from tm2tfr.engines.dense import Dense
from tm2tfr.engines.exact import Exact
from tm2tfr.engines.reading import answered
from tm2tfr.runs.choose import engines
from tm2tfr.runs.comparison import check, run
from tm2tfr.runs.plan import RunOptions
from tm2tfr.runs.rows import activations, columns_of, row_type, rows
from tm2tfr.transformer.claims import Output
from tm2tfr.transformer.matrix import Matrix
from tm2tfr.transformer.residual import Subspace
from tm2tfr.transformer.weights import Decoder, Mask, matrices, replaced

CHOSEN: dict[str, Engine] = {"float64": Dense(), "float32": Dense("float32"), "exact": Exact()}
WORDS = ("a", "ab", "cabba", "abcabcaab")


# ── generate ────────────────────────────────────────────────────────────────────────────────────────────────
@pytest.mark.parametrize("made", [labeller(), causal()], ids=["looks ahead", "looks back"])
def test_a_labeller_has_the_positions_of_its_prompt(made: Decoder) -> None:
    steps = list(generate(made, "abca", engine=Dense()))
    assert [(step.position, step.token) for step in steps] == list(enumerate("abca"))
    assert [step.output for step in steps] == (list("bcaa") if made.looks_ahead else list("abca"))
    whole = run_whole(made, [0, 1, 2, 0], engine=Dense())
    assert [step.residual.tolist() for step in steps] == [there.residual.tolist() for there in whole]
    assert [step.logits.tolist() for step in steps] == [there.logits.tolist() for there in whole]
    assert len(list(generate(made, "abca", engine=Dense(), max_positions=2))) == 2


def test_what_is_generated_has_its_logits() -> None:
    made = majority()
    for step in generate(made, "101", engine=Dense()):
        assert len(step.logits) == 4
        assert made.vocabulary[int(step.logits.argmax())] == step.output


def test_a_prompt_of_a_labeller_is_checked() -> None:
    with pytest.raises(EngineError, match="^the prompt is empty, and these weights have no BOS to start with: give at lea"):
        list(generate(labeller(), "", engine=Dense()))
    with pytest.raises(EngineError, match="^token 1 of the prompt, 'x', is not in the vocabulary: use a, b, c$"):
        list(generate(labeller(), "ax", engine=Dense()))
    with pytest.raises(EngineError, match="^the fast engine runs position by position"):
        list(generate(labeller(), "a", engine=engine("fast")))


# ── what it answers ─────────────────────────────────────────────────────────────────────────────────────────
@pytest.mark.parametrize(
    ("logits", "answers"),
    [
        ([0, 1, 0, 2.0, 0, 1], ("b", 2, "no")),
        ([0, 1, 0, 0.1, 1, 0], ("b", 0.1, "yes")),
        ([0, 1, 0, Fraction(1, 3), 1, 0], ("b", Fraction(1, 3), "yes")),
        ([0, 1, 0, Fraction(6, 3), 1, 0], ("b", 2, "yes")),
        ([0, 0.999, 0, -1.5, 0, 0], ("⟨0.999·b⟩", -1.5, "⟨⟩")),
        ([1, 1, 0, 2.0**60, 0, -1], ("⟨a + b⟩", 2.0**60, "⟨-1·no⟩")),
        ([2, 0, 0, 0, 1, 0.5], ("⟨2·a⟩", 0, "⟨yes + 0.5·no⟩")),
        ([1, float("nan"), 0, float("inf"), 1, 0], ("⟨a + nan·b⟩", float("inf"), "yes")),
    ],
)
def test_only_a_code_that_is_exact_is_a_label(logits: list[Any], answers: tuple[Any, ...]) -> None:
    found = answered(labeller(), logits)
    assert found == answers
    assert list(map(type, found)) == list(map(type, answers))
    if not any(isinstance(number, Fraction) for number in logits):
        assert answered(labeller(), np.array(logits, dtype=np.float64)) == answers


def test_under_softmax_what_is_near_a_code_is_one() -> None:
    made = soft(labeller())
    assert answered(made, [0.1, 0.9, -0.2, 1.2, 0.8, 0.2]) == ("b", 1, "yes")
    assert answered(made, [0.1, 0.7, 0.0, 1.3, 1.0, 0.0]) == ("⟨0.1·a + 0.7·b⟩", 1.3, "yes")
    assert answered(made, [0.1, float("nan"), 0.0, 2.0**70, 1.0, 0.0])[1:] == (2.0**70, "yes")


# ── columns and rows ────────────────────────────────────────────────────────────────────────────────────────
def test_a_labeller_has_a_column_for_each_output() -> None:
    columns = columns_of(labeller())
    assert [(c.name, c.kind, c.holds, c.numeric) for c in columns] == [
        ("i", "position", "", True),
        ("x", "fed", "", False),
        ("next", "output", "next", False),
        ("share", "output", "share", True),
        ("same", "output", "same", False),
    ]
    assert columns_of(labeller()) is columns
    named = dataclasses.replace(
        labeller(), outputs=(Output("x", LETTERS), Output("i", None), Output("x (defined)", ("yes", "no")))
    )
    assert [c.name for c in columns_of(named)] == ["i", "x", "x (defined) (defined)", "i (defined)", "x (defined)"]
    assert [c.holds for c in columns_of(named)[2:]] == ["x", "i", "x (defined)"]


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"kind": "output", "subspace": "x"}, "it is a output: give it neither holds nor subspace"),
        ({"kind": "label", "holds": "x", "real": True}, "it is a label: only an output is said to be real"),
    ],
)
def test_a_column_of_an_output_checks_itself(given: dict[str, Any], words: str) -> None:
    with pytest.raises(ShapeError, match=f"^column 'c': {words}$"):
        Column(name="c", meaning="", **given)


def test_rows_of_a_labeller() -> None:
    made = labeller()
    found = list(rows(made, "aab", engine=Exact()))
    third = Fraction(2, 3)
    assert [tuple(row) for row in found] == [
        (0, "a", "a", third, "yes"),
        (1, "a", "b", third, "no"),
        (2, "b", "b", third, "yes"),
    ]
    assert found[0]._fields == ("i", "x", "next", "share", "same")
    assert pickle.loads(pickle.dumps(found)) == found
    assert type(found[0]) is row_type(columns_of(made))
    assert [row[3] for row in rows(made, "aab", engine=Dense())] == [2 / 3] * 3


def test_a_vector_by_the_number_of_each_label() -> None:
    space = Subspace("x", ("a", "b", "c"))
    assert vector(space, {"c": Fraction(1, 3), "a": 2}) == [2, 0, Fraction(1, 3)]
    assert vector(space, {}) == [0, 0, 0]
    assert vector(space, "b") == [0, 1, 0]


# ── the check ───────────────────────────────────────────────────────────────────────────────────────────────
@pytest.mark.parametrize("name", CHOSEN)
@pytest.mark.parametrize("word", WORDS)
def test_a_labeller_that_is_right_agrees(name: str, word: str) -> None:
    trace = check(labeller(), Told(word), engine=CHOSEN[name], keep_rows=True)
    assert (trace.agrees, trace.divergence, trace.compared) == (True, None, 4 * len(word))
    assert (trace.tokens, trace.answer, trace.T) == (len(word), "end", 0)
    assert [tuple(row) for row in trace.rows] == list(trace.expected)
    plain = run(labeller(), word, engine=CHOSEN[name])
    assert [tuple(row) for row in plain.rows] == [tuple(row) for row in trace.rows]
    assert (plain.answer, plain.T, plain.checked) == ("end", 0, False)


def test_a_limit_on_the_steps_cuts_no_sequence_short() -> None:
    trace = check(labeller(), Told("abcab"), engine=Dense(), max_steps=1)
    assert (trace.tokens, trace.agrees) == (5, True)


def test_an_answer_that_nobody_knows_is_not_compared() -> None:
    class Shy(Told):
        def rows(self, columns: tuple[Column, ...]) -> Any:
            return ((*row[:3], ANY, row[4]) for row in super().rows(columns))

    assert check(labeller(), Shy("abc"), engine=Dense()).compared == 9


def masked(number: int, mask: Mask) -> Decoder:
    made = labeller()
    first = made.layers[0]
    heads = tuple(dataclasses.replace(h, mask=mask) if n == number else h for n, h in enumerate(first.heads))
    return dataclasses.replace(made, layers=(dataclasses.replace(first, heads=heads), *made.layers[1:]))


@pytest.mark.parametrize("name", CHOSEN)
def test_a_mask_that_hides_where_a_head_has_to_look_is_named(name: str) -> None:
    gap = check(masked(0, "future"), Told("abca"), engine=CHOSEN[name]).divergence
    assert gap is not None
    assert str(gap) == (
        "position 0: next should be b, is a\n"
        "cause: layer 1 (look), attention at position 0: next should be b, is a\n"
        "  head 'next' attended to position 0 with score 0, should attend to position 1 with score -inf\n"
        "  its mask 'future' hides position 1: use mask 'none'\n"
        "  this is letter 1 of abca"
    )
    assert gap.as_dict()["cause"]["attention"]["expected_score"] == "-inf"


@pytest.mark.parametrize("name", CHOSEN)
def test_a_mask_that_shows_too_much_is_named(name: str) -> None:
    gap = check(masked(1, "past"), Told("abab"), engine=CHOSEN[name]).divergence
    assert gap is not None
    assert gap.cause is not None
    assert (gap.position, gap.column, gap.cause.layer, gap.cause.part, gap.cause.subspace) == (
        1,
        "share",
        1,
        "attention",
        "share",
    )
    assert gap.cause.attention is not None
    assert (gap.cause.attention.attended, gap.cause.attention.expected) == ((1, 2, 3), (0, 1, 2, 3))
    assert gap.cause.why == "its mask 'past' hides position 0: use mask 'none'"


def layer_of(path: str) -> int:
    """The number of the layer that a matrix belongs to, as causes count them."""
    if path.startswith("layers."):
        return int(path.split(".")[1])
    return 3 if path.startswith("unembedding") else 0


def faults() -> list[tuple[str, int, int, float]]:
    """Each entry that is not 0, changed, and some that are."""
    found = []
    for path, matrix in matrices(labeller()).items():
        there = {(r, c): v for r, c, v in matrix.entries()}
        for r in range(matrix.shape[0]):
            for c in range(matrix.shape[1]):
                if (r, c) in there or (r + 3 * c) % 11 == 0:
                    found.append((path, r, c, there.get((r, c), 0.0) + (1.0 if (r + c) % 2 else -0.5)))
    return found


@pytest.mark.slow
@pytest.mark.parametrize("name", ["float64", "exact"])
@pytest.mark.parametrize("path", [p for p, m in matrices(labeller()).items() if 0 not in m.shape])
def test_every_wrong_weight_that_shows_is_named_with_its_layer(path: str, name: str) -> None:
    made, word = labeller(), "abcaa"
    shown = 0
    for where, r, c, value in faults():
        if where != path:
            continue
        changed = replaced(made, {path: matrices(made)[path].with_entry(r, c, value)})
        gap = check(changed, Told(word), engine=CHOSEN[name]).divergence
        if gap is not None:
            shown += 1
            assert gap.cause is not None, (r, c, value)
            assert gap.cause.layer == layer_of(path), (r, c, value, str(gap))
    unused = ("before", "2.output", "2.key", "2.query", "2.value", "output_bias")
    assert shown or path.endswith(unused) or path == "layers.1.heads.0.key"


def test_a_wrong_unembedding_is_named_with_its_output() -> None:
    made = labeller()
    wrong = replaced(made, {"unembedding": matrices(made)["unembedding"].with_entry(3, made.layout.index("share"), 2.0)})
    gap = check(wrong, Told("ab"), engine=Exact()).divergence
    assert str(gap) == (
        "position 0: share should be 1/2, is 1\n"
        "cause: unembedding at position 0: the output share should be 1/2, is 1\n"
        "  the residual stream is right after every layer: the unembedding weights are wrong\n"
        "  this is letter 1 of ab"
    )
    assert gap is not None
    assert gap.expected_row == (0, "a", "b", Fraction(1, 2), "no")


def test_the_cause_is_found_at_another_position_and_in_an_earlier_layer() -> None:
    """Five positions are attended to and five should be: what is wrong is in the embedding of one of them."""
    made = labeller()
    wrong = replaced(
        made, {"token_embedding": matrices(made)["token_embedding"].with_entry(made.layout.index("token[a]"), 1, 1.0)}
    )
    for chosen in CHOSEN.values():
        gap = check(wrong, Told("ccbcc"), engine=chosen).divergence
        assert gap is not None
        assert gap.cause is not None
        assert (gap.position, gap.column) == (0, "share")
        assert (gap.cause.position, gap.cause.layer, gap.cause.subspace) == (2, 0, "token")
        assert gap.cause.why == "the embedding weights are wrong"
        assert (gap.cause.expected, gap.cause.found) == ("b", "⟨a + b⟩")


def test_the_cause_under_softmax_is_softness() -> None:
    made = soft(labeller())
    query = matrices(made)["layers.1.heads.0.query"]
    weak = Matrix(query.shape, query.rows, query.columns, query.values / 4)
    gap = check(replaced(made, {"layers.1.heads.0.query": weak}), Told("abcab"), engine=Dense()).divergence
    assert gap is not None
    assert gap.cause is not None
    assert gap.cause.subspace == "next"
    assert gap.cause.why.startswith("soft attention: 0.")
    assert gap.cause.why.endswith("of the weight went to other positions: use a lower temperature")


# ── watched ─────────────────────────────────────────────────────────────────────────────────────────────────
@pytest.mark.parametrize("made", [labeller(), causal(), majority()], ids=["looks ahead", "looks back", "generates"])
def test_a_position_is_observed_within_its_sequence(made: Decoder) -> None:
    word = "abca" if made.labeller else "1011"
    for position in (0, 2, 3, None):
        seen = observe(made, word, engine=Dense(), position=position)
        at = 3 if position is None else position
        alone = observe_all(made, word, engine=Dense())[at]
        assert [(n, part, x.tolist()) for n, part, x in seen.stages] == [(n, p, x.tolist()) for n, p, x in alone.stages]
        assert {k: [list(v) for v in pair] for k, pair in seen.heads.items()} == {
            k: [list(v) for v in pair] for k, pair in alone.heads.items()
        }


def test_activations_at_a_position_of_a_labeller() -> None:
    found = activations(labeller(), "abc", 0)
    assert list(found) == ["embedding", "1 look", "2 compare"]
    assert (found["1 look"]["next"], found["1 look"]["share"], found["2 compare"]["same"]) == ("b", Fraction(1, 3), "no")
    with pytest.raises(
        EngineError, match="^the run on 'abc' has 3 positions, and none numbered 3: use a position from 0 to 2$"
    ):
        activations(labeller(), "abc", 3)


# ── which engine ────────────────────────────────────────────────────────────────────────────────────────────
@pytest.mark.parametrize("made", [labeller(), causal()], ids=["looks ahead", "looks back"])
def test_the_dense_engine_is_chosen(made: Decoder) -> None:
    (chosen,) = engines(made, 5_000, RunOptions(max_steps=None))
    assert (chosen[0].name, chosen[1]) == ("dense", None)
