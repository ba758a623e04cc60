"""The directories of plain exports: what is in them, what they say, how they are run as their cards say, and refusals."""

from __future__ import annotations

import ast
import json
import os
import runpy
import shutil
import subprocess
import sys
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from benchmarks.machines import large
from tests.cli.test_commands import failed, tm2tfr, tm2tfr_here
from tests.targets.matrices.programs import (
    BOTH,
    first,
    loaded,
    needs_onnx,
    needs_torch,
    rewritten,
    right_of,
    tampered,
    tokens_of,
)
from tm2tfr.api.targets import export_to, verify_export
from tm2tfr.base.errors import ExportError, OutputError
from tm2tfr.engines.decode import generate
from tm2tfr.engines.dense import Dense
from tm2tfr.runs.comparison import Divergence
from tm2tfr.sources.turing.compiler import compile_machine
from tm2tfr.sources.turing.library import load
from tm2tfr.sources.turing.proof.prove import prove
from tm2tfr.targets.common import comparison
from tm2tfr.targets.common.directory import METADATA
from tm2tfr.targets.common.fitting import Recipe
from tm2tfr.targets.common.reference import reference_of
from tm2tfr.targets.matrices.contents import fitted
from tm2tfr.targets.torch.target import code
from tm2tfr.transformer.soft import softened

CHAPTER = compile_machine(load("chapter"))
TOKENS = ["1", "1", "BOS", "(q0,1,0)", "(q1,_,+1)", "(q2,x,+1)", "(q4,_,-1)", "(q4,x,-1)", "(q1,_,+1)"]
RUN = " ".join([*TOKENS, "ACC"]) + "\n"
FILES = {
    "torch": ["README.md", "model.py", "tm2tfr.json", "weights.safetensors"],
    "onnx": ["README.md", "model.onnx", "tm2tfr.json"],
}


def python(*arguments: str, folder: Path) -> subprocess.CompletedProcess[str]:
    env = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"} | {"PYTHONIOENCODING": "utf-8"}
    return subprocess.run(
        [sys.executable, *arguments], cwd=folder, env=env, capture_output=True, text=True, encoding="utf-8", check=False
    )


@pytest.fixture(scope="module")
def folders(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """Exports of the chapter's machine to each program that is there."""
    found = {}
    for param in BOTH:
        name = str(param.values[0])
        if not any(mark.args[0] for mark in param.marks):
            found[name] = tmp_path_factory.mktemp(name) / "chapter"
            export_to(name, "chapter", found[name], positions=64)
    return found


# ── what is written ─────────────────────────────────────────────────────────────────────────────────────────
@pytest.mark.parametrize("name", BOTH)
def test_what_is_written(name: str, folders: dict[str, Path], tmp_path: Path) -> None:
    assert sorted(path.name for path in folders[name].iterdir()) == FILES[name]
    export_to(name, "chapter", tmp_path / "x", positions=64, verify=False)
    assert all((tmp_path / "x" / file).read_bytes() == (folders[name] / file).read_bytes() for file in FILES[name])


@pytest.mark.parametrize("name", BOTH)
def test_names_of_directions_heads_and_layers_go_along(name: str, folders: dict[str, Path]) -> None:
    names = json.loads((folders[name] / "tm2tfr.json").read_text(encoding="utf-8"))
    assert (names["format"], names["recipe"]) == (f"tm2tfr-{name}", {"positions": 64, "max_head": 63, "dtype": "float64"})
    assert [d["name"] for d in names["directions"]] == list(CHAPTER.layout.directions)
    assert names["subspaces"]["e_a"] == [CHAPTER.layout["e_a"].start, CHAPTER.layout["e_a"].stop]
    layer = names["layers"][3]
    assert (layer["layer"], layer["name"], layer["heads"][0]["name"]) == (4, "read tape", "latest write")
    assert layer["heads"][0]["components"] == [
        {"query": {"h": 2.0}, "key": {"h_{i-1}": 1.0}},
        {"query": {"1": -1.0}, "key": {"h_{i-1}^2": 1.0}},
        {"query": {"1/(i+1)": 0.5}, "key": {"i": 1.0}},
    ]
    assert layer["units"] == ["h_{j*-1} = h: d+1", "h_{j*-1} = h: d", "h_{j*-1} = h: d-1"]
    assert "table" in names["provenance"]["source"]


@pytest.mark.parametrize("name", BOTH)
def test_named_directions_are_where_a_probe_looks_for_them(name: str, folders: dict[str, Path]) -> None:
    names = json.loads((folders[name] / "tm2tfr.json").read_text(encoding="utf-8"))
    streams = loaded(name, folders[name]).streams([names["vocabulary"].index(token) for token in TOKENS])
    where = {d["name"]: d["index"] for d in names["directions"]}
    assert len(streams) == 7
    assert streams[3][:, where["h"]].tolist() == [0, 0, 0, 0, 1, 2, 1, 0, 1]
    assert streams[5][:, where["e_a[x]"]].tolist() == [0, 0, 0, 0, 0, 0, 1, 0, 1]


# ── model.py ────────────────────────────────────────────────────────────────────────────────────────────────
@needs_torch
@pytest.mark.parametrize(
    ("arguments", "printed"),
    [
        ("11 --attention softmax --temperature 1", None),
        ("", "BOS (q0,_,0) REJ\n"),
        ("12", "'2' is not in the vocabulary: use its tokens of one sign"),
    ],
)
def test_model_py_prints_the_run(
    arguments: str,
    printed: str | None,
    folders: dict[str, Path],
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """Beside what the model card shows, which is run in tests/targets/test_documents.py."""
    monkeypatch.setattr(sys, "argv", ["model.py", *arguments.split()])
    said = ""
    try:
        runpy.run_path(str(folders["torch"] / "model.py"), run_name="__main__")
    except SystemExit as end:
        said = str(end.code).strip()
    found = capsys.readouterr().out + said
    assert found == printed if printed is not None else found != RUN and found.startswith("1 1 BOS ")


@needs_torch
def test_model_py_names_the_program_for_weights_that_label(tmp_path: Path) -> None:
    (tmp_path / "tm2tfr.json").write_text('{"outputs": []}', encoding="utf-8")
    with pytest.raises(ValueError, match=r"these weights label a sequence and generate nothing: use labeller\.py"):
        import_module("tm2tfr.targets.torch.model").load(tmp_path)


@needs_torch
def test_model_py_runs_without_this_package(folders: dict[str, Path], tmp_path: Path) -> None:
    alone = shutil.copytree(folders["torch"], tmp_path / "x")
    text = "import runpy, sys; sys.modules['tm2tfr'] = None; runpy.run_path('model.py', run_name='__main__')"
    done = python("-c", text, "11", folder=alone)
    assert (done.returncode, done.stdout) == (0, RUN), done.stderr


def test_model_py_needs_nothing_of_this_package() -> None:
    roots = set()
    for node in ast.walk(ast.parse(code(CHAPTER)["model.py"])):
        if isinstance(node, ast.Import):
            roots |= {alias.name.partition(".")[0] for alias in node.names}
        if isinstance(node, ast.ImportFrom):
            roots.add((node.module or "").partition(".")[0])
    assert roots - sys.stdlib_module_names == {"torch", "safetensors"}
    assert len(code(CHAPTER)["model.py"].splitlines()) < 280


@needs_torch
def test_attention_patterns_can_be_hooked(folders: dict[str, Path]) -> None:
    model = loaded("torch", folders["torch"]).model  # type: ignore[attr-defined]
    seen: list[Any] = []
    model.layers["4"].heads[0].shares.register_forward_hook(lambda _module, _given, shares: seen.append(shares))
    tokens = model.encode("11").new_tensor([CHAPTER.vocabulary.index(token) for token in TOKENS])
    model(tokens)
    assert seen[0].sum(dim=1).tolist() == [1.0] * 9
    assert seen[0].argmax(dim=1).tolist() == [0, 1, 2, 3, 4, 5, 5, 4, 7]  # the latest write to the cell under the head
    right = model(tokens).argmax(dim=1).tolist()
    hook = model.layers["4"].heads[0].shares.register_forward_hook(lambda _module, _given, shares: shares.flip(1))
    assert model(tokens).argmax(dim=1).tolist() != right, "a pattern that a hook returns is used"
    hook.remove()
    assert model(tokens).argmax(dim=1).tolist() == right


@needs_torch
@pytest.mark.parametrize("temperature", [2.0**-14, 0.5, 2.0])
def test_softmax_is_that_of_the_dense_engine(temperature: float, folders: dict[str, Path]) -> None:
    import torch

    from tm2tfr.targets.torch.model import load as load_model

    soft = softened(CHAPTER, temperature)
    steps = list(generate(soft, "1111", engine=Dense(), max_positions=30))
    tokens = [CHAPTER.vocabulary.index(step.token) for step in steps]
    logits = load_model(folders["torch"], "softmax", temperature)(torch.tensor(tokens))
    session = Dense().start(soft)
    for token, row in zip(tokens, logits, strict=True):
        session.feed(token)
        assert np.allclose(session.logits, row.numpy(), atol=1e-9)


@needs_torch
def test_softmax_is_at_the_temperature_that_is_recommended(folders: dict[str, Path]) -> None:
    from tm2tfr.targets.torch.model import load as load_model

    heads = [head for layer in load_model(folders["torch"], "softmax").layers.values() for head in layer.heads]
    assert [head.temperature for head in heads] == [2.0**-15] * 4
    running = loaded("torch", folders["torch"]).model  # type: ignore[attr-defined]
    heads = [head for layer in running.layers.values() for head in layer.heads]
    assert [head.temperature for head in heads] == [None] * 4
    with pytest.raises(ValueError, match="attention must be average-hard or softmax, not 'hard'"):
        load_model(folders["torch"], "hard")


@needs_onnx
def test_batches_and_metadata(folders: dict[str, Path]) -> None:
    import onnxruntime

    session = onnxruntime.InferenceSession(str(folders["onnx"] / "model.onnx"))
    names = json.loads(session.get_modelmeta().custom_metadata_map["tm2tfr"])
    assert names == json.loads((folders["onnx"] / "tm2tfr.json").read_text(encoding="utf-8"))
    assert [o.name for o in session.get_outputs()] == ["logits", *(f"residual.{n}" for n in range(7))]
    (long, want), (short, _) = tokens_of("chapter", "11", 64), tokens_of("chapter", "1", 64)
    rows = [
        [names["vocabulary"].index(t) for t in (*tokens, *["BOS"] * (len(long) - len(tokens)))] for tokens in (long, short)
    ]
    logits, last = session.run(["logits", "residual.6"], {"input_ids": np.array(rows)})
    assert (logits.shape, last.shape) == ((2, 9, 16), (2, 9, 63))
    answers = [[names["vocabulary"][n] for n in row] for row in logits.argmax(axis=-1)]
    assert answers[0] == want
    assert answers[1][1 : len(short)] == ["(q0,1,0)", "(q1,_,+1)", "ACC"]


# ── refusals ────────────────────────────────────────────────────────────────────────────────────────────────
def test_what_fits_is_what_is_certified() -> None:
    for machine in (load("chapter"), load("busy-beaver-5")):
        proof = prove(compile_machine(machine), machine)
        assert [proof.largest("dense", "float32", head) for head in (None, 63, 30)] == [161, 1056, 4655]
        right = reference_of(machine, proof.decoder)
        assert fitted(right) == Recipe(positions=1024, max_head=1023)
        assert fitted(right, dtype="float32") == Recipe(positions=161, max_head=160, dtype="float32")
        assert fitted(right, positions=1056, max_head=63, dtype="float32").max_head == 63
        with pytest.raises(
            ExportError, match="1,057 positions with .h. ≤ 63 do not fit into float32 .layer 4, latest write"
        ):
            fitted(right, positions=1057, max_head=63, dtype="float32")


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--positions", "4000", "--dtype", "float32"], "use --positions 161, or --max-head 32, or --dtype float64"),
        (["--positions", "200000"], "do not fit into float64 (layer 4, latest write: 2·u·N·(H² + 1/2) < 1/2): use"),
        (["--left-boundary", "chapter"], "these weights could not be proved right, see tm2tfr certify: layout: "),
        (["--stock"], "does not take --stock, which only applies to --to gpt2: omit it"),
    ],
)
@pytest.mark.parametrize("to", ["torch", "onnx"])
def test_what_does_not_fit_exits_with_2(to: str, arguments: list[str], words: str, tmp_path: Path) -> None:
    said = failed(2, tm2tfr("export", "left-edge", "--to", to, "-o", "x", "--no-verify", *arguments, cwd=tmp_path))
    assert words in said
    assert list(tmp_path.iterdir()) == []


def test_a_machine_that_is_too_large_is_refused() -> None:
    machine = large(800)
    with pytest.raises(
        ExportError, match=r"its matrices would have [\d.]+ GiB with their zeros, but at most 2 GiB are allowed"
    ):
        fitted(right_of(machine))


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"positions": 0, "max_head": 0}, "0 positions with |h| ≤ 0: use at least 1 position"),
        ({"positions": 5, "max_head": 5}, "a bound on |h| from 0 to one less"),
        ({"positions": 5, "max_head": 4, "dtype": "float16"}, "in float64 or float32, not in 'float16'"),
    ],
)
def test_a_recipe_checks_itself(options: dict[str, Any], words: str) -> None:
    with pytest.raises(ExportError) as caught:
        Recipe(**options)
    assert words in str(caught.value)
    if "dtype" in options:
        with pytest.raises(ExportError, match="not in 'float16'"):
            fitted(reference_of(load("chapter"), CHAPTER), dtype="float16")


@pytest.mark.parametrize("name", BOTH)
def test_more_positions_than_certified_are_refused(name: str, folders: dict[str, Path], tmp_path: Path) -> None:
    model = loaded(name, folders[name])
    assert len(model.answers([0] * 64)) == 64
    with pytest.raises(ExportError, match="65 positions, but these weights are for 64" if name == "torch" else "out of "):
        model.answers([0] * 65)
    with pytest.raises(ExportError, match="the word has 64 symbols, which with BOS is more than 64 positions: use"):
        verify_export(folders[name], word="1" * 64)
    if name == "torch":
        export_to("torch", "never-halts", tmp_path / "x", positions=20)
        done = python("model.py", folder=tmp_path / "x")
        assert (done.returncode, len(done.stdout.split())) == (1, 21)
        assert done.stderr.strip() == "21 positions, but these weights are for 20"


@pytest.mark.parametrize("name", BOTH)
def test_an_export_that_is_wrong_is_not_written(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    wrong = Divergence(position=3, column="the token", expected="a", found="b", how="teacher-forced")
    monkeypatch.setattr(comparison, "first_divergence", lambda *_: wrong)
    with pytest.raises(ExportError, match=r"is not right on '11' .*position 3, .*nothing was written"):
        export_to(name, "chapter", tmp_path / "x", positions=64)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("name", BOTH)
def test_an_earlier_export_is_replaced_and_nothing_else(name: str, tmp_path: Path) -> None:
    export_to(name, "chapter", tmp_path / "x", positions=64, verify=False)
    export_to(name, "chapter", tmp_path / "x", positions=32, verify=False)
    assert json.loads((tmp_path / "x" / "tm2tfr.json").read_text(encoding="utf-8"))["recipe"]["positions"] == 32
    with pytest.raises(OutputError, match="this directory is not an export of this kind; it contains"):
        export_to("gpt2", "chapter", tmp_path / "x", positions=32, verify=False)


@pytest.mark.parametrize(("name", "missing"), [("torch", "torch"), ("onnx", "onnxruntime"), ("onnx", "onnx")])
def test_without_the_program_it_says_what_to_install(
    name: str, missing: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, missing, None)
    with pytest.raises(ExportError, match=rf"(needs {missing}|the package onnx) .*: pip install 'tm2tfr\[{name}\]'"):
        export_to(name, "chapter", tmp_path / "x", positions=8, verify=missing != "onnx")
    assert list(tmp_path.iterdir()) == []


# ── is it still the machine? ────────────────────────────────────────────────────────────────────────────────
def changed(name: str, folder: Path, path: str, *, factor: float = -3.0) -> None:
    """Multiply the first weight of a matrix that is not 0."""
    tampered(folder, name, path, lambda array: first(array, factor))


@pytest.mark.parametrize("name", BOTH)
def test_verify_export_says_yes(name: str, folders: dict[str, Path]) -> None:
    verdict = verify_export(folders[name], machine="chapter", word="11")
    assert verdict.same
    lines = str(verdict).splitlines()
    assert lines[:2] == [
        "weights: all 40 tensors are those of chapter",
        "run: '11', 9 positions, teacher-forced and generated: the simulator's tokens",
    ]
    assert lines[-1] == "yes: this export is chapter"


@pytest.mark.parametrize("name", BOTH)
@pytest.mark.parametrize(
    ("path", "words"),
    [
        ("token_embedding", "embedding of 1: e_x[1]"),
        ("position_embedding", "embedding of the position's "),
        ("unembedding", "logit of 1, reads e_y[1]"),
        ("layers.4.heads.0.query", "layer 4 (read tape), head 'latest write', query 0, reads h"),
        ("layers.2.heads.0.output", "layer 2 (head position), head 'sum of moves', value 0, writes h/(i+1)"),
        ("layers.1.feed_forward.input", "layer 1 (unpack), unit '"),
        ("layers.6.feed_forward.output", "layer 6 (transition), unit '"),
        ("layers.6.feed_forward.input_bias", "bias"),
    ],
)
def test_after_one_weight_is_changed_it_says_no_and_where(
    name: str, path: str, words: str, folders: dict[str, Path], tmp_path: Path
) -> None:
    folder = shutil.copytree(folders[name], tmp_path / "x")
    changed(name, folder, path)
    verdict = verify_export(folder, word="1111")
    assert not verdict.same
    assert len(verdict.weights) == 1
    assert verdict.weights[0].startswith(f"{path}[")
    assert words in verdict.weights[0]
    assert str(verdict).splitlines()[-1] == "NO: this export is not chapter"


@pytest.mark.parametrize("name", BOTH)
def test_where_a_run_goes_wrong(name: str, folders: dict[str, Path], tmp_path: Path) -> None:
    folder = shutil.copytree(folders[name], tmp_path / "x")
    changed(name, folder, "layers.2.heads.0.output", factor=-1)
    verdict = verify_export(folder, word="11")
    assert "position 4, after layer 2 (head position): h/(i+1) should be 0.2, is -0.2" in verdict.cause
    assert verdict.run is not None
    assert "teacher-forced: the token should be" in str(verdict.run.divergence)


@pytest.mark.parametrize("name", BOTH)
def test_another_machine_and_other_names(name: str, folders: dict[str, Path], tmp_path: Path) -> None:
    verdict = verify_export(folders[name], machine="parity", word="1")
    assert not verdict.same
    assert verdict.weights[0] == "tm2tfr.json: the machine stored with it is a different one"
    assert any(line.startswith("tm2tfr.json: vocabulary has 16 elements, should have ") for line in verdict.weights)
    assert "run: none, since an export is only run if its files and settings are right" in str(verdict)
    folder = shutil.copytree(folders[name], tmp_path / "x")
    rewritten(folder, "tm2tfr.json", lambda names: names["recipe"].update(positions=10**8, max_head=10**8 - 1))
    verdict = verify_export(folder, word="1")
    assert any("do not fit into float64" in line for line in verdict.weights)
    assert "run: none, since no export has this recipe" in str(verdict)
    rewritten(folder, "tm2tfr.json", lambda names: names["recipe"].update(positions=63, max_head=62))
    verdict = verify_export(folder, word="1")
    assert verdict.weights[0].startswith("tm2tfr.json: certified differs from character 45 on: ")
    if name == "onnx":
        assert "model.onnx: its constant 'position_features' is not for 63 positions" in verdict.weights
    for recipe in ({"positions": 20.5}, {"positions": 20, "max_head": 3.5}):
        rewritten(folder, "tm2tfr.json", lambda names, recipe=recipe: names["recipe"].update(recipe))
        with pytest.raises(ExportError, match=r"damaged \(TypeError: 'float' object cannot be interpreted as an integer"):
            verify_export(folder, word="1")
    rewritten(folder, "tm2tfr.json", lambda names: names.update(version="9"))
    with pytest.raises(ExportError, match="this export has version '9', not '2': export it again"):
        verify_export(folder, word="1")
    rewritten(folder, "tm2tfr.json", lambda names: names.update(version="2", recipe={}))
    with pytest.raises(ExportError, match=r"damaged \(TypeError"):
        verify_export(folder, word="1")


@pytest.mark.parametrize("name", BOTH)
def test_an_export_of_version_1_is_to_be_made_again(name: str, folders: dict[str, Path], tmp_path: Path) -> None:
    folder = shutil.copytree(folders[name], tmp_path / "x")
    said = {"construction": "turing", "left_boundary": "repaired", "machine": "x", "name": "x", "tm2tfr": "0.1.0"}
    rewritten(folder, "tm2tfr.json", lambda names: names.update(version="1", provenance=said))
    for machine in (None, "chapter"):
        with pytest.raises(ExportError, match="x: an earlier version of tm2tfr made this export: export it again"):
            verify_export(folder, machine=machine, word="1")


@needs_torch
def test_another_model_py_is_seen_and_never_run(folders: dict[str, Path], tmp_path: Path) -> None:
    folder = shutil.copytree(folders["torch"], tmp_path / "x")
    (folder / "model.py").write_text("raise SystemExit('this was run')\n" + code(CHAPTER)["model.py"], encoding="utf-8")
    verdict = verify_export(folder, word="11")
    said = "model.py: line 1 is not as this version writes it (the weights are run by its own model.py)"
    assert (verdict.same, verdict.weights) == (False, (said,))
    (folder / "model.py").unlink()
    assert verify_export(folder, word="11").weights == ("model.py: cannot be read",)


@needs_onnx
def test_another_graph_is_seen(folders: dict[str, Path], tmp_path: Path) -> None:
    import onnx

    folder = shutil.copytree(folders["onnx"], tmp_path / "x")
    model = onnx.load(folder / "model.onnx")
    (node,) = (node for node in model.graph.node if node.name == "layers.4.heads.0.best")
    node.op_type = "ReduceMin"
    onnx.helper.set_model_props(model, {"tm2tfr": "{}"})
    onnx.save(model, folder / "model.onnx")
    verdict = verify_export(folder, word="11")
    assert verdict.weights == (
        "model.onnx: its graph differs from 'layers.4.heads.0.best' on",
        "model.onnx: the names in its metadata are not the machine's",
    )
    assert "run: none, since an export is only run if its files and settings are right" in str(verdict)
    del model.graph.node[-1]
    onnx.save(model, folder / "model.onnx")
    assert verify_export(folder, word="11").weights[0] == verdict.weights[0]
    model = onnx.load(folders["onnx"] / "model.onnx")
    assert ([(each.domain, each.version) for each in model.opset_import], model.ir_version) == ([("", 18)], 9)
    last = model.graph.node[-1]
    model.graph.node.append(onnx.helper.make_node("Identity", [last.output[0]], ["further"], name="further"))
    onnx.save(model, folder / "model.onnx")
    assert verify_export(folder, word="11").weights == ("model.onnx: its graph differs from 'the end' on",)
    folder = shutil.copytree(folders["onnx"], tmp_path / "y")
    changed("onnx", folder, "position_features", factor=2.0)
    assert verify_export(folder, word="11").weights == (
        "model.onnx: its constant 'position_features' is not what it should be",
    )


@needs_onnx
@pytest.mark.parametrize("constant", ["axis -1", "hidden", "0", "1"])
def test_another_constant_is_seen(constant: str, folders: dict[str, Path], tmp_path: Path) -> None:
    import onnx

    folder = shutil.copytree(folders["onnx"], tmp_path / "x")
    model = onnx.load(folder / "model.onnx")
    (it,) = (each for each in model.graph.initializer if each.name == constant)
    array = onnx.numpy_helper.to_array(it)
    it.CopyFrom(onnx.numpy_helper.from_array(np.full_like(array, 2), constant))
    onnx.save(model, folder / "model.onnx")
    said = f"model.onnx: its constant {constant!r} is not what it should be"
    assert verify_export(folder, word="11").weights == (said,)


@needs_onnx
@pytest.mark.parametrize(
    ("constant", "shape", "words"),
    [
        ("hidden", (1,), "has shape (1,), should have ()"),
        ("hidden", (1, 1), "has shape (1, 1), should have ()"),
        ("0", (1,), "has shape (1,), should have ()"),
        ("1", (1,), "has shape (1,), should have ()"),
        ("axis -1", (1, 1), "has shape (1, 1), should have (1,)"),
        ("axis -1", (), "has shape (), should have (1,)"),
        ("0", np.uint64, "holds uint64, should hold int64"),
        ("position_features", np.int64, "holds int64, should hold float64"),
    ],
)
def test_another_shape_or_dtype_of_the_same_bytes_is_seen(
    constant: str, shape: Any, words: str, folders: dict[str, Path], tmp_path: Path
) -> None:
    import onnx

    folder = shutil.copytree(folders["onnx"], tmp_path / "x")
    model = onnx.load(folder / "model.onnx")
    (it,) = (each for each in model.graph.initializer if each.name == constant)
    before = it.raw_data
    if isinstance(shape, tuple):
        del it.dims[:]
        it.dims.extend(shape)
    else:
        it.data_type = onnx.helper.np_dtype_to_tensor_dtype(np.dtype(shape))
    assert it.raw_data == before
    onnx.save(model, folder / "model.onnx")
    verdict = verify_export(folder, word="11")
    assert verdict.weights == (f"model.onnx: its constant {constant!r} {words}",)
    assert not verdict.same


@needs_onnx
@pytest.mark.parametrize(
    "change",
    [
        lambda names: names.update(stop=["ACC"]),
        lambda names: names.update(bos="1"),
        lambda names: names["directions"].reverse(),
        lambda names: names.clear(),
        None,
    ],
)
def test_other_names_in_the_metadata_are_seen(change: Any, folders: dict[str, Path], tmp_path: Path) -> None:
    import onnx

    folder = shutil.copytree(folders["onnx"], tmp_path / "x")
    model, names = onnx.load(folder / "model.onnx"), json.loads((folder / "tm2tfr.json").read_text(encoding="utf-8"))
    if change is not None:
        change(names)
    onnx.helper.set_model_props(model, {"tm2tfr": json.dumps(names if change else [names])})
    onnx.save(model, folder / "model.onnx")
    assert verify_export(folder, word="11").weights == ("model.onnx: the names in its metadata are not the machine's",)
    onnx.helper.set_model_props(model, {"further": "1"})
    onnx.save(model, folder / "model.onnx")
    assert verify_export(folder, word="11").weights == ("model.onnx: the names in its metadata are not the machine's",)


@pytest.mark.parametrize("name", BOTH)
def test_damaged_and_missing_files(name: str, folders: dict[str, Path], tmp_path: Path) -> None:
    folder = shutil.copytree(folders[name], tmp_path / "x")
    file = folder / {"torch": "weights.safetensors", "onnx": "model.onnx"}[name]
    file.write_bytes(b"12345678")
    with pytest.raises(ExportError, match=f"{file.name} is damaged .*: export it again"):
        verify_export(folder, word="1")
    with pytest.raises(ExportError, match="cannot load it .*: export it again"):
        loaded(name, folder)
    file.unlink()
    with pytest.raises(ExportError, match=f"{file.name} cannot be read: use a directory made by 'tm2tfr export'"):
        verify_export(folder, word="1")


@needs_torch
def test_tensors_that_are_missing_or_of_another_shape_or_dtype(folders: dict[str, Path], tmp_path: Path) -> None:
    from safetensors import numpy as safetensors

    folder = shutil.copytree(folders["torch"], tmp_path / "x")
    right = safetensors.load_file(folder / "weights.safetensors")
    missing = {name: array for name, array in right.items() if name != "unembedding"}
    safetensors.save_file(missing, folder / "weights.safetensors", METADATA)
    verdict = verify_export(folder, word="1")
    assert verdict.weights == ("unembedding: missing",)
    assert "run: none, since its tensors have other names, shapes or dtypes" in str(verdict)
    safetensors.save_file(right | {"unembedding": right["unembedding"][:, 1:]}, folder / "weights.safetensors", METADATA)
    verdict = verify_export(folder, word="1")
    assert verdict.weights == ("unembedding: has shape (16, 62), should have (16, 63)",)
    assert "run: none, since its tensors have other names, shapes or dtypes" in str(verdict)
    single = {name: array.astype(np.float32) for name, array in right.items()}  # the same, rounded more
    safetensors.save_file(single, folder / "weights.safetensors", METADATA)
    verdict = verify_export(folder, word="1")
    assert (verdict.same, len(verdict.weights)) == (False, 40)
    assert verdict.weights[0] == "layers.1.feed_forward.input: its numbers are float32, should be float64"
    safetensors.save_file({"unembedding": right["unembedding"].astype(np.float16)}, folder / "weights.safetensors")
    with pytest.raises(ExportError, match="its tensors are neither float32 nor float64.: export it again"):
        verify_export(folder, word="1")


@pytest.mark.parametrize("name", BOTH)
def test_the_commands(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    code, lines = tm2tfr_here(capsys, "export", "busy-beaver-4", "--to", name, "-o", "x", "--positions", "200")
    assert (code, lines[-1]) == (0, "wrote x")
    assert lines[-2].startswith("verified: loaded and run in ")
    code, lines = tm2tfr_here(capsys, "verify-export", "x")
    assert (code, lines[-1]) == (0, "yes: this export is busy-beaver-4")
    changed(name, tmp_path / "x", "layers.4.heads.0.key")
    code, lines = tm2tfr_here(capsys, "verify-export", "x", "--machine", "busy-beaver-4")
    assert (code, lines[-1]) == (1, "NO: this export is not busy-beaver-4")


@pytest.mark.parametrize("name", BOTH)
def test_a_run_that_is_cut_off_is_said_to_be(name: str, tmp_path: Path) -> None:
    assert (
        str(export_to(name, "busy-beaver-4", tmp_path / "x", positions=20))
        .splitlines()[-2]
        .endswith("all agree with the simulator; 3 cut off at the last position")
    )
    verdict = verify_export(tmp_path / "x")
    assert verdict.same
    assert "20 positions, teacher-forced and generated: the simulator's tokens; the run continues beyond the last" in str(
        verdict
    )
