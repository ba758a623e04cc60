"""Labels of many runs at once are what specifications say of one position after the other."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import tm2tfr
from tests.lab.labels.subjects import CASES, Case, ids, labelled, looked, right, specified
from tests.strategies import some
from tm2tfr.base.errors import ShapeError
from tm2tfr.base.text.shown import escaped
from tm2tfr.base.text.words import written
from tm2tfr.cli import app
from tm2tfr.cli.commands import guarded
from tm2tfr.contract.labelling import HeldVariable, LabelVariable, Ragged, joined
from tm2tfr.engines import engine as engine_named
from tm2tfr.engines.decode import observe_all
from tm2tfr.lab.labels.hooks import _heads, broken_promises, coordinates, hooks_of, since_of
from tm2tfr.lab.labels.runs import LabelledRuns
from tm2tfr.runs.choose import truth_of
from tm2tfr.sources.logic.library import shipped as formulas
from tm2tfr.sources.rasp.library import shipped as programs
from tm2tfr.sources.turing.patterns import before_of, latest_writes
from tm2tfr.transformer.storage import save
from tm2tfr.transformer.weights import Decoder, matrices, replaced

PROGRAMS = [
    name for name in (*programs(), *formulas()) if not isinstance(tm2tfr.load(name), tm2tfr.Machine | tm2tfr.Circuit)
]
"""The programs and formulas whose names no machine or circuit has, without those that may be undefined."""


def compared(case: Case) -> int:
    """Compare every subspace, every head and every token with the specification; return the number of numbers."""
    subject, runs, rows = labelled(case)
    decoder, scheme = subject.decoder, runs.scheme
    assert list(scheme.held) == [s.name for s in decoder.layout.subspaces]
    assert None not in scheme.held.values()
    assert [(h.layer, h.head) for h in scheme.heads] == [
        (n, k) for n, x in enumerate(decoder.layers) for k, _ in enumerate(x.heads)
    ]
    subspaces = decoder.layout.subspaces
    held = {s.name: coordinates(rows, scheme, scheme.held[s.name], s.labels, decoder.vocabulary) for s in subspaces}
    numbers = 0
    for run, word in enumerate(rows.words):
        start, end = rows.offsets[run : run + 2].tolist()
        there = specified(subject, word, end - start)
        assert [decoder.vocabulary[n] for n in rows.tokens[start:end]] == list(there.tokens)[: end - start]
        for i in range(end - start):
            for subspace in subspaces:
                found = held[subspace.name][start + i]
                assert found == pytest.approx(right(there, subspace, i), abs=1e-12), (word, i, subspace.holds)
                numbers += len(found)
            for head in scheme.heads:
                assert looked(rows, head, run, i) == list(there.attended(head.claim, i)), (word, i, head)
    return numbers


@pytest.mark.slow
@pytest.mark.parametrize("case", CASES, ids=ids)
def test_labels_are_what_the_specification_says(case: Case) -> None:
    assert compared(case) > 0


@pytest.mark.slow
@pytest.mark.parametrize("name", some(PROGRAMS))
def test_labels_of_programs_and_formulas(name: str) -> None:
    alphabet = tm2tfr.load(name).alphabet
    words = [written([alphabet[(k * k + n) % len(alphabet)] for k in range(n)]) for n in (1, 4)]
    compared((name, {}, tuple(dict.fromkeys(words))))


def test_the_latest_write_is_eq_8_16() -> None:
    """By brute force: the position j ≤ i whose cell is nearest to the head's, the latest of several."""
    chance = np.random.default_rng(0)
    moves = [chance.integers(-1, 2, size) for size in (1, 2, 40, 7)]
    heads = [np.cumsum(each).astype(np.int32) for each in moves]
    sizes = [len(each) for each in heads]
    h = np.concatenate(heads)
    position = np.concatenate([np.arange(n) for n in sizes]).astype(np.int32)
    starts = np.repeat(np.cumsum([0, *sizes[:-1]]), sizes)
    before = before_of(h, position)
    found = latest_writes(h, before, starts)
    for row, (start, i) in enumerate(zip(starts.tolist(), position.tolist(), strict=True)):
        want = max(range(i + 1), key=lambda j: j - 2 * (i + 1) * (int(h[row]) - int(before[start + j])) ** 2)
        assert found[row] == want, row


def test_where_heads_look_is_taken_joined_and_told_from_everything() -> None:
    column = Ragged.of_lists([[0], None, [0, 2], []])
    assert column.offsets.tolist() == [0, 1, 1, 3, 3]
    taken = column.take(np.array([2, 1, 0]))
    assert (taken.offsets.tolist(), taken.places.tolist(), taken.everything.tolist()) == (
        [0, 2, 2, 3],
        [0, 2, 0],
        [False, True, False],
    )
    both = joined([taken, column])
    assert isinstance(both, Ragged)
    assert (both.offsets[-1], both.places.tolist()) == (6, [0, 2, 0, 0, 0, 2])
    looks = np.array([[[True, False], [True, True]]])
    assert Ragged.of_matrix(looks, np.tril(np.ones((2, 2), dtype=bool))).everything.tolist() == [True, True]


def test_variables_check_themselves() -> None:
    with pytest.raises(ShapeError, match="a label has labels, and nothing else has: give them"):
        LabelVariable(name="q", kind="label", meaning="the state")
    with pytest.raises(ShapeError, match="there is no function 'cube': use 'square', 'positive'"):
        HeldVariable(column="h", function="cube")  # type: ignore[arg-type]


def sabotaged(name: str, path: str) -> Any:
    """Weights with one entry doubled."""
    from tm2tfr.transformer.matrix import Matrix
    from tm2tfr.transformer.weights import matrices, replaced

    decoder = tm2tfr.compile(name)
    matrix = matrices(decoder)[path]
    entries = {(row, column): value for row, column, value in matrix.entries()}
    first = next(iter(entries))
    entries[first] = -entries[first]
    return replaced(decoder, {path: Matrix.from_entries(matrix.shape, entries)})


@pytest.mark.parametrize(
    ("name", "path", "words", "agreed", "why"),
    [
        ("chapter", "layers.2.heads.0.output", ["", "1", "11"], 1, "h/(i+1) should be 0.25, is -0.25"),
        ("full-adder", "layers.1.heads.0.output", ["000", "100"], 1, "position 0: x_a should be 1, is -1"),
        (
            "since-b",
            "layers.2.heads.0.output",
            ["a", "ab", "ba"],
            1,
            "position 2: (Q[a] | Q[b]) since Q[b] should be T, is F",
        ),
    ],
)
def test_a_run_that_differs_ends_the_labels(name: str, path: str, words: list[str], agreed: int, why: str) -> None:
    decoder = sabotaged(name, path)
    subject = tm2tfr.Subject.of(name)
    runs = LabelledRuns(decoder, subject.right, "auto" if decoder.positions else "dense", 50)
    rows, differs, _ = runs.labelled([subject.word(word) for word in words])
    assert differs is not None
    assert differs.word == words[agreed]
    assert why in differs.why
    assert len(rows.words) in (0, agreed)


def test_a_circuit_has_no_limit_its_answers_are_those_of_the_weights_and_its_bits_are_counted() -> None:
    subject = tm2tfr.Subject.of("full-adder")
    rows, differs, _ = LabelledRuns(subject.decoder, subject.program, "dense", max_steps=1).labelled(("110", "101"))
    assert differs is None
    assert rows.answers is not None
    assert "".join(subject.decoder.vocabulary[n] for n in rows.answers) == "0001" + "0001"
    assert (rows.outcomes, rows.cells) == (("01", "01"), 2 * 2)


def test_texts_do_not_depend_on_what_was_labelled_before() -> None:
    """Their lists are those of the rows at hand, in order: files are the same whichever process made others before."""
    subject = tm2tfr.Subject.of("histogram")
    fresh, used = (LabelledRuns(subject.decoder, subject.right, "dense", 1) for _ in range(2))
    used.labelled(["bbbb", "aab", "c"])
    (one, _, _), (two, _, _) = (runs.labelled(["ab", "bba"]) for runs in (fresh, used))
    assert one.texts == two.texts
    assert [list(texts) for texts in one.texts.values()] == [sorted(set(texts)) for texts in one.texts.values()]
    for name, places in one.columns.items():
        assert np.array_equal(places, two.columns[name])


# ── What hooks.json says of weights is looked up in their own stream, and left out where they do not hold it.
WHY = "on the input '00', position 0, after layer 3, attention: it is 2 along 0, and the labels say 1"
"""Of weights that find twice the one-hot vector of the symbol under the head."""


def doubled() -> Decoder:
    """Parity with one entry doubled, after which every cell of its table is what it was."""
    decoder, path = tm2tfr.compile("parity"), "layers.3.heads.0.output"
    matrix = matrices(decoder)[path]
    entries = {(row, column): value for row, column, value in matrix.entries()}
    return replaced(decoder, {path: matrix.with_entry(28, 2, 2 * entries[28, 2])})


def test_a_subspace_that_holds_twice_its_value_is_left_out(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    pytest.importorskip("pyarrow", reason="PyArrow is not installed: pip install 'tm2tfr[dataset]'")
    weights, out = tmp_path / "weights.safetensors", tmp_path / "out"
    save(doubled(), weights)
    assert tm2tfr.check(weights, "00").agrees
    how = ("--all-up-to", "2", "--engine", "dense", "--workers", "1")
    code = guarded(app, ["labels", str(weights), *how, "-o", str(out)])
    lines = capsys.readouterr().out.splitlines()
    assert (code, lines[0]) == (1, "parity: 7 runs (4 accept, 3 reject), 34 rows, 238 cells compared, all agree")
    at = lines.index(f"left out: e_x(h): {WHY}")
    assert (
        lines[at + 1] == "these weights say that they were compiled, and what is left out is not what the compiler writes"
    )
    said = json.loads((out / "hooks.json").read_text(encoding="utf-8"))
    assert said["left out"] == {"e_x(h)": WHY}
    assert next(each for each in said["subspaces"] if each["name"] == "e_x(h)")["value"] is None
    assert f"\nLeft out: `e_x(h)`: {escaped(WHY)}.\n" in (out / "README.md").read_text(encoding="utf-8")


def test_hooks_without_a_subspace() -> None:
    machine = tm2tfr.load("parity")
    decoder = tm2tfr.compile(machine)
    whole = hooks_of(decoder, machine, LabelledRuns(decoder, machine, "dense", 9).scheme, None)
    some = replace(whole, left_out={"e_x(h)": WHY}).as_dict()
    for target, own in whole.as_dict()["targets"].items():
        directions = {name: of for name, of in own["directions"].items() if name != "e_x(h)"}
        assert some["targets"][target]["directions"] == directions != own["directions"]
        carried = [[name for name in point["carries"] if name != "e_x(h)"] for point in own["points"]]
        assert [point["carries"] for point in some["targets"][target]["points"]] == carried


@pytest.mark.slow
@pytest.mark.parametrize(
    "case", [case for case in CASES if case[0] in ("chapter", "full-adder", "dyck-1", "hop-1")], ids=ids
)
def test_what_is_compiled_holds_what_is_said_and_heads_are_compared(case: Case) -> None:
    subject, runs, rows = labelled(case)
    truth = truth_of(subject.right, rows.words[0], subject.decoder, None if subject.decoder.positions else 0)
    said = None if truth is None or subject.decoder.labeller else truth.specification(0)
    assert broken_promises(runs, rows.words, since_of(subject.decoder, said)) == {}
    one = next((head for head in runs.scheme.heads if head.seen == "one"), None)
    if one is None or subject.decoder.soft:
        return
    moved = replace(rows, attended={**rows.attended, one.column: rows.attended[one.column] + 1})  # type: ignore[operator]
    tokens = [subject.decoder.vocabulary[token] for token in rows.tokens[: rows.offsets[1]].tolist()]
    seen = observe_all(subject.decoder, tokens, engine=engine_named("dense"))
    assert list(_heads(runs, rows, seen, 0)) == []
    assert [name for name, _ in _heads(runs, moved, seen, 0)] == [one.column]


def test_heads_that_are_left_out_have_no_column() -> None:
    subject = tm2tfr.Subject.of("parity")
    runs = LabelledRuns(subject.decoder, subject.right, "dense", 9, left_out=frozenset({"L2H0"}))
    assert "L2H0" not in [head.column for head in runs.scheme.heads]
