"""Names decide nothing: with other names for heads, layers, subspaces and units, everything works as before."""

from __future__ import annotations

import ast
import importlib
import json
import re
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import tm2tfr
from tests import pins
from tests.renaming import STYLES, Renamed, nameless, renamed
from tests.runs.test_sabotage import sabotages
from tests.strategies import machines_with_inputs, some
from tests.web.explorer.reading import buffer, column, embedded
from tm2tfr.base.errors import ExportError
from tm2tfr.certificates.kit import Questions
from tm2tfr.lab.softness.report import report as softness_report
from tm2tfr.sources.turing.compiler import compile_machine
from tm2tfr.sources.turing.proof.prove import prove
from tm2tfr.transformer.residual import Residual
from tm2tfr.transformer.storage import dumps, loads
from tm2tfr.transformer.weights import Decoder, digest, matrices, replaced

CASES = {
    "chapter": ("chapter", "repaired", "1111"),
    "as printed": ("chapter", "chapter", "11"),
    "left edge": ("left-edge", "repaired", "11"),
    "palindromes": ("palindromes", "repaired", "abba"),
    "two-way": ("busy-beaver-3", None, ""),
    "input on a two-way tape": ("binary-increment", None, "1011"),
}
ENGINES = ("dense", "exact", "fast")
STEPS = 60


def compiled(case: str) -> tuple[Decoder, tm2tfr.Machine, str]:
    name, boundary, word = CASES[case]
    machine = tm2tfr.load(name)
    boundary = boundary if machine.tape == "one-way" else None
    return compile_machine(machine, left_boundary=boundary), machine, word


def plain(trace: tm2tfr.Trace, found: Renamed) -> dict[str, Any]:
    """A trace as data, without names."""
    data = trace.as_dict()
    if "divergence" in data:
        data["divergence"] = {**data["divergence"], "cause": nameless(data["divergence"]["cause"], found)}
    if "scanned" in data:
        data["scanned"] = len(data["scanned"])
    return data


# ── runs ────────────────────────────────────────────────────────────────────────────────────────────────────
@pytest.mark.parametrize("style", STYLES)
@pytest.mark.parametrize("case", CASES)
def test_runs_checks_and_tables(case: str, style: str) -> None:
    decoder, machine, word = compiled(case)
    found = renamed(decoder, style)
    assert found.decoder.layout.directions != decoder.layout.directions
    for engine in ENGINES:
        options: dict[str, Any] = {"engine": engine, "max_steps": STEPS}
        right, trace = (tm2tfr.check(d, word, machine=machine, **options) for d in (decoder, found.decoder))
        assert trace.agrees
        assert trace.rows == right.rows
        assert plain(trace, found) == right.as_dict()
        if engine == "dense":
            assert [tm2tfr.table(trace, form) for form in pins.TABLES] == [
                tm2tfr.table(right, form) for form in pins.TABLES
            ]
    assert tm2tfr.run(found.decoder, word, max_steps=STEPS).rows == tm2tfr.run(decoder, word, max_steps=STEPS).rows


@settings(max_examples=25)
@given(machines_with_inputs(), st.sampled_from(STYLES), st.integers(0, 99))
def test_random_machines_under_random_names(given: tuple[tm2tfr.Machine, str], style: str, seed: int) -> None:
    machine, word = given
    decoder = compile_machine(machine)
    found = renamed(decoder, style, seed)
    right, trace = (tm2tfr.check(d, word, machine=machine, engine="dense", max_steps=20) for d in (decoder, found.decoder))
    assert plain(trace, found) == right.as_dict()
    assert not prove(found.decoder, machine).refusals


def broken(case: str) -> Iterator[tuple[Decoder, tm2tfr.Machine, str]]:
    """Decoders with one weight changed each."""
    decoder, machine, word = compiled(case)
    for n, (_, wrong) in enumerate(sabotages(decoder, seed=len(case))):
        if n % 2 == 0:
            yield wrong, machine, word


@pytest.mark.parametrize("case", CASES)
def test_divergences_have_the_same_causes(case: str) -> None:
    differ, cases = 0, some(list(enumerate(broken(case))))
    for n, (wrong, machine, word) in cases:
        found = renamed(wrong, STYLES[n % len(STYLES)], n)
        right, trace = (
            tm2tfr.check(d, word, machine=machine, engine="dense", max_steps=20) for d in (wrong, found.decoder)
        )
        as_before = {**plain(right, renamed(wrong, "foreign"))}
        if right.divergence is not None and right.divergence.cause is not None:
            differ += 1
            cause = right.divergence.as_dict()["cause"]
            assert as_before["divergence"]["cause"]["subspace"] == cause["subspace"]
        assert plain(trace, found) == as_before
    assert differ > len(cases) / 10


@pytest.mark.parametrize("style", STYLES)
def test_a_cause_shows_the_names_that_the_weights_have(style: str) -> None:
    machine = tm2tfr.load("left-edge")
    found = renamed(compile_machine(machine, left_boundary="chapter"), style)
    wrong = tm2tfr.check(found.decoder, "11", machine=machine, engine="dense", max_steps=40)
    assert wrong.divergence is not None
    cause = wrong.divergence.cause
    assert cause is not None
    assert cause.why.startswith("Exercise 8.3: token 4, ")
    layer = found.decoder.layers[cause.layer - 1]
    assert cause.layer_name == layer.name
    assert found.subspace(cause.subspace) == "h/(i+1)"
    assert cause.subspace in found.decoder.layout


@pytest.mark.parametrize("style", STYLES)
@pytest.mark.parametrize("case", ["chapter", "two-way"])
def test_long_runs(case: str, style: str, tmp_path: Path) -> None:
    decoder, machine, word = compiled(case)
    found = renamed(decoder, style)
    files = []
    for n, each in enumerate((decoder, found.decoder)):
        for end in ("csv", "jsonl"):
            path = tmp_path / f"{n}.{end}"
            trace = tm2tfr.check(each, word, machine=machine, engine="fast", max_steps=500, keep_rows=False, out=path)
            assert trace.agrees
            files.append(path.read_bytes())
    assert files[:2] == files[2:]


@pytest.mark.parametrize("style", STYLES)
def test_long_runs_that_go_wrong(style: str) -> None:
    decoder, machine, word = compiled("chapter")
    path = "layers.4.heads.0.query"
    matrix = matrices(decoder)[path]
    row, col, _ = next(iter(matrix.entries()))
    wrong = replaced(decoder, {path: matrix.with_entry(row, col, 0.0)})
    found = renamed(wrong, style)
    options: dict[str, Any] = {"engine": "fast", "max_steps": 40, "keep_rows": False}
    right, trace = (tm2tfr.check(d, word, machine=machine, **options) for d in (wrong, found.decoder))
    assert right.divergence is not None
    assert right.divergence.cause is not None
    assert right.divergence.cause.attention is not None
    original = renamed(wrong, "foreign")
    assert plain(trace, found) == plain(right, original)


@pytest.mark.parametrize("style", STYLES)
def test_causes_under_softmax(style: str) -> None:
    """Multiples of 1/(i+1) have to be exact there, everything else need not be."""
    decoder, machine, word = compiled("chapter")
    soft = tm2tfr.soften(decoder, temperature=2.0**-20)
    path = "layers.2.heads.0.value"
    matrix = matrices(soft)[path]
    row, col, old = next(iter(matrix.entries()))
    wrong = replaced(soft, {path: matrix.with_entry(row, col, 1.25 * old)})
    found = renamed(wrong, style)
    right, trace = (tm2tfr.check(d, word, machine=machine, engine="dense", max_steps=20) for d in (wrong, found.decoder))
    assert right.divergence is not None
    assert right.divergence.cause is not None
    assert right.divergence.cause.subspace == "h/(i+1)"
    assert plain(trace, found) == plain(right, renamed(wrong, "foreign"))


# ── inside ──────────────────────────────────────────────────────────────────────────────────────────────────
@pytest.mark.parametrize("style", STYLES)
@pytest.mark.parametrize("case", CASES)
def test_the_chapters_vectors(case: str, style: str) -> None:
    decoder, _, word = compiled(case)
    position = len(word) + 2
    found = renamed(decoder, style)
    assert tm2tfr.activations(found.decoder, word, position) == tm2tfr.activations(decoder, word, position)


@pytest.mark.slow
@pytest.mark.parametrize("style", STYLES)
@pytest.mark.parametrize("case", ["chapter", "two-way"])
def test_softness(case: str, style: str) -> None:
    decoder, machine, word = compiled(case)
    found = renamed(decoder, style)
    both = [tm2tfr.measure_softness(d, word, machine=machine, max_steps=12) for d in (decoder, found.decoder)]
    right, measured = (each.as_dict() for each in both)
    assert right["uniform_tieless"]
    heads = {(n, head.name) for n, layer in enumerate(found.decoder.layers, start=1) for head in layer.heads}
    assert {(row["layer"], row["head"]) for row in measured["errors"] if row["head"]} == heads
    told = [softness_report(each).splitlines() for each in both]
    assert len(told[0]) == len(told[1])
    claims = [[line.split("  ")[-1].strip() for line in lines[2 : 2 + decoder.heads]] for lines in told]
    assert claims[0] == claims[1]
    for each in (right, measured):
        each["errors"] = [{k: v for k, v in row.items() if k not in ("head", "name")} for row in each["errors"]]
    assert measured == right
    soft = [tm2tfr.soften(d, length=50) for d in (decoder, found.decoder)]
    assert [matrices(d) for d in soft[:1]] == [matrices(d) for d in soft[1:]]
    assert tm2tfr.check(soft[1], word, machine=machine, max_steps=12).agrees


def test_listings() -> None:
    for case in CASES:
        decoder, _, _ = compiled(case)
        found = renamed(decoder, "foreign")
        assert found.restored(tm2tfr.listing(found.decoder)) == tm2tfr.listing(decoder)
        assert found.restored(tm2tfr.summary(found.decoder)) == tm2tfr.summary(decoder)
        for style in STYLES:
            assert len(tm2tfr.listing(renamed(decoder, style).decoder).splitlines()) == len(
                tm2tfr.listing(decoder).splitlines()
            )


@pytest.mark.parametrize("style", STYLES)
def test_weight_files(style: str, tmp_path: Path) -> None:
    decoder, _, word = compiled("palindromes")
    found = renamed(decoder, style).decoder
    assert loads(dumps(found)) == found
    assert found != decoder
    tm2tfr.save_weights(found, tmp_path / "w.safetensors")
    again = tm2tfr.load_weights(tmp_path / "w.safetensors")
    assert again == found
    assert tm2tfr.check(again, word).agrees
    assert not tm2tfr.certify(again).refusals


@pytest.mark.parametrize("case", CASES)
def test_the_explorer_shows_the_same(case: str) -> None:
    decoder, machine, word = compiled(case)
    found = renamed(decoder, "foreign")
    pages = [tm2tfr.explore(d, word, machine=machine, max_steps=30).html for d in (decoder, found.decoder)]
    right, shown = (resolved(embedded(page), buffer(page)) for page in pages)
    assert json.loads(found.restored(json.dumps(shown, ensure_ascii=False))) == right
    for style in STYLES[1:]:
        page = tm2tfr.explore(renamed(decoder, style).decoder, word, machine=machine, max_steps=30).html
        again = resolved(embedded(page), buffer(page))
        for run, wanted in zip(again["runs"], right["runs"], strict=True):
            assert [layer["equation"] for layer in run["layers"]] == [layer["equation"] for layer in wanted["layers"]]
            assert (run["rows"], run["stages"], run["agrees"]) == (wanted["rows"], wanted["stages"], True)


def resolved(value: Any, data: bytes) -> Any:
    """The page's data with every column in its place, texts as texts."""
    if isinstance(value, list):
        return [resolved(each, data) for each in value]
    if not isinstance(value, dict):
        return value
    if set(value) == {"type", "at", "count"}:
        return column(data, value).tolist()
    found = {key: resolved(each, data) for key, each in value.items()}
    for name in ("weights", "about"):
        if isinstance(found.get(name), list):
            text = bytes(found[name]).decode()
            found[name] = json.loads(text) if name == "about" else text
    return found


# ── proofs ──────────────────────────────────────────────────────────────────────────────────────────────────
@pytest.mark.parametrize("style", STYLES)
@pytest.mark.parametrize("case", CASES)
def test_certificates(case: str, style: str) -> None:
    decoder, machine, _ = compiled(case)
    found = renamed(decoder, style)
    right, proof = prove(decoder, machine), prove(found.decoder, machine)
    wanted, given = (each.report(Questions(max_head=9)).certificates for each in (right, proof))
    assert [(c.engine, c.dtype, c.positions) for c in given] == [(c.engine, c.dtype, c.positions) for c in wanted]
    for one, other in zip(wanted, given, strict=True):
        assert [replace(b, where="") for b in other.bounds] == [replace(b, where="") for b in one.bounds]
        if style == "foreign":
            assert [found.restored(b.where) for b in other.bounds] == [b.where for b in one.bounds]
            heads = {head.name for layer in found.decoder.layers for head in layer.heads}
            assert {b.where for b in other.bounds if b.part == "attention"} <= heads
    assert [r.layer for r in proof.refusals] == [r.layer for r in right.refusals]
    if case != "as printed":
        assert not proof.refusals
    assert proof.digest == digest(found.decoder)


@pytest.mark.slow
@pytest.mark.parametrize("case", ["chapter", "palindromes", "two-way"])
def test_refusals(case: str) -> None:
    refused = 0
    mine = re.compile("[\uac00-\ud7a3]")
    for n, (wrong, machine, _) in enumerate(broken(case)):
        refusals = prove(wrong, machine).refusals
        found = renamed(wrong, "foreign")
        shown = [str(refusal) for refusal in prove(found.decoder, machine).refusals]
        assert [found.restored(text) for text in shown] == [str(refusal) for refusal in refusals]
        # layer, head or unit, and direction: by the names that the weights have
        assert all(mine.search(text) for text in shown)
        assert not any(f"{name} is not what it should be" in text for name in wrong.layout.directions for text in shown)
        refused += bool(refusals)
        found = renamed(wrong, STYLES[1:][n % 3], n)
        again = prove(found.decoder, machine).refusals
        assert [(r.layer, r.part) for r in again] == [(r.layer, r.part) for r in refusals]
    assert refused > 10


@pytest.mark.parametrize("style", STYLES)
def test_a_refusal_says_what_a_head_is_claimed_to_look_up(style: str) -> None:
    """Neither its score nor what it carries is that of a lookup."""
    decoder, machine, _ = compiled("chapter")
    path = "layers.3.heads.1."
    query, value = (matrices(decoder)[path + name] for name in ("query", "value"))
    row, col, old = next(iter(value.entries()))
    changed = {path + "query": query.with_entry(1, 0, 3.0), path + "value": value.with_entry(row, col, 2 * old)}
    found = renamed(replaced(decoder, changed), style).decoder
    said = [str(refusal) for refusal in prove(found, machine).refusals]
    (name,) = {found.layers[2].heads[1].name}
    assert any(f"head {name!r} is not a lookup of h_{{i-1}}, v·(2tj - j²) up to a factor" in text for text in said), said


# ── other programs ──────────────────────────────────────────────────────────────────────────────────────────
@pytest.mark.parametrize("style", STYLES)
@pytest.mark.parametrize("target", pins.TARGETS)
@pytest.mark.parametrize("case", ["chapter", "two-way"])
def test_exported_tensors(case: str, target: str, style: str) -> None:
    if target == "onnx":
        pytest.importorskip("onnx", reason="no ONNX here: pip install 'tm2tfr[onnx]'")
    decoder, _, _ = compiled(case)
    assert pins.tensors(renamed(decoder, style).decoder, target) == pins.tensors(decoder, target)


@pytest.mark.parametrize("target", pins.TARGETS)
def test_the_documents_of_an_export_differ_in_names_alone(target: str, tmp_path: Path) -> None:
    if target == "onnx":
        pytest.importorskip("onnx", reason="no ONNX here: pip install 'tm2tfr[onnx]'")
    decoder, _, _ = compiled("two-way")
    found = renamed(decoder, "foreign")
    for name, each in (("old", decoder), ("new", found.decoder)):
        tm2tfr.export_to(target, each, tmp_path / name, positions=64, verify=False)
    files = sorted(path.name for path in (tmp_path / "old").iterdir() if path.suffix in (".json", ".md", ".py"))
    assert "tm2tfr.json" in files
    for file in files:
        old, new = ((tmp_path / name / file).read_text(encoding="utf-8") for name in ("old", "new"))
        assert found.restored(new) == old, file
    assert (tmp_path / "new" / "tm2tfr.json").read_text(encoding="utf-8") != (tmp_path / "old" / "tm2tfr.json").read_text(
        encoding="utf-8"
    )


NEEDS = {"torch": "torch", "gpt2": "transformers", "lens": "transformer_lens", "onnx": "onnxruntime"}
EXTRAS = {"torch": "torch", "gpt2": "hf", "lens": "lens", "onnx": "onnx"}


@pytest.mark.slow
@pytest.mark.parametrize("style", ["foreign", "shuffled"])
@pytest.mark.parametrize("target", pins.TARGETS)
def test_exports_run_in_their_programs(target: str, style: str, tmp_path: Path) -> None:
    pytest.importorskip(NEEDS[target], reason=f"not installed: pip install 'tm2tfr[{EXTRAS[target]}]'")
    decoder, machine, _ = compiled("chapter")
    found = renamed(decoder, style)
    made = tm2tfr.export_to(target, found.decoder, tmp_path / "x", machine=machine, positions=64)
    assert made.runs
    assert all(run.divergence is None for run in made.runs)


def test_a_name_that_an_export_adds_is_refused(tmp_path: Path) -> None:
    decoder, _, _ = compiled("chapter")
    spaces = tuple(replace(s, name="i-c") if s.holds == "h" else s for s in decoder.layout.subspaces)
    with pytest.raises(ExportError, match="the weights have a direction 'i-c', which the export adds: rename the subspace"):
        tm2tfr.export_to("gpt2", replace(decoder, layout=Residual(spaces)), tmp_path / "x", positions=16, verify=False)


# ── the source ──────────────────────────────────────────────────────────────────────────────────────────────
def test_no_name_of_a_head_or_a_layer_is_in_the_source() -> None:
    """Outside the compiler; ``symbol`` and ``transition`` are also words of machines."""
    decoders = [compiled(case)[0] for case in CASES]
    layers = [layer for decoder in decoders for layer in decoder.layers]
    names = {layer.name for layer in layers} | {head.name for layer in layers for head in layer.heads}
    names -= {"symbol", "transition"}
    assert {"latest write", "cell h", "cell h_{i-1}-", "sum of moves", "unpack"} <= names
    root = Path(str(importlib.import_module("tm2tfr").__file__)).parent
    for path in sorted(root.rglob("*.py")):
        if "compiler" in (*path.relative_to(root).parts, path.stem):
            continue
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Constant) and isinstance(node.value, str):
                assert node.value not in names, f"{path.name}:{node.lineno}: go by the claim, not by the name"
