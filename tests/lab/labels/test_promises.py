"""What hooks.json says of weights is looked up in their own stream, and left out where they do not hold it."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest

import tm2tfr
from tests.lab.labels.subjects import CASES, Case, ids, labelled
from tm2tfr.base.text.shown import escaped
from tm2tfr.cli import app
from tm2tfr.cli.guarded import guarded
from tm2tfr.engines import engine as engine_named
from tm2tfr.engines.decode import observe_all
from tm2tfr.lab.labels.hooks import _heads, broken_promises, hooks_of, since_of
from tm2tfr.lab.labels.runs import LabelledRuns
from tm2tfr.runs.truths import truth_of
from tm2tfr.transformer.storage import save
from tm2tfr.transformer.weights import Decoder, matrices, replaced

WHY = "on the input '00', position 0, after attention of layer 3: it is 2 along 0, and the labels say 1"
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
