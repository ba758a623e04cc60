"""What `verify-export` says of exports that somebody has edited: never yes, and never an internal error."""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Callable, Iterable
from importlib.util import find_spec
from itertools import chain
from pathlib import Path
from typing import Any

import pytest

from tests.strategies import some
from tests.targets import attacks
from tests.targets.attacks import Edit
from tests.targets.matrices.programs import needs_onnx, needs_torch, rewritten
from tm2tfr.api.targets import export_to, verify_export
from tm2tfr.cli import main

HF = find_spec("torch") is not None and find_spec("transformers") is not None
needs_hf = pytest.mark.skipif(not HF, reason="torch and transformers are not installed: pip install 'tm2tfr[hf]'")
needs_lens = pytest.mark.skipif(
    find_spec("transformer_lens") is None, reason="TransformerLens is not installed: pip install 'tm2tfr[lens]'"
)
NEEDS = {"gpt2": needs_hf, "lens": needs_lens, "torch": needs_torch, "onnx": needs_onnx}
ALL = [pytest.param(name, marks=mark) for name, mark in NEEDS.items()]
MACHINE = "parity"
pytestmark = pytest.mark.filterwarnings("ignore")  # theirs


@pytest.fixture(scope="module")
def folders(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Path]:
    """Exports by target, made when they are asked for; ``stock`` is the GPT-2 with its own GELU."""
    made: dict[str, Path] = {}

    def folder(name: str) -> Path:
        if name not in made:
            made[name] = tmp_path_factory.mktemp(name) / "x"
            target, own = ("gpt2", {"stock": True}) if name == "stock" else (name, {})
            export_to(target, MACHINE, made[name], positions=16, verify=False, **own)
        return made[name]

    return folder


def said(folder: Path, capsys: pytest.CaptureFixture[str], *arguments: str) -> tuple[int, str, str]:
    """Return the exit code of ``tm2tfr verify-export``, and what it prints."""
    capsys.readouterr()
    with pytest.raises(SystemExit) as end:
        main(["verify-export", str(folder), "--input", "1", *arguments])
    printed = capsys.readouterr()
    return int(end.value.code or 0), printed.out, printed.err


def survivors(
    edits: Iterable[Edit], folder: Path, place: Path, capsys: pytest.CaptureFixture[str], *arguments: str
) -> tuple[int, list[str]]:
    """Return how many edits there were, and those to which the answer was neither NO nor an error in our words."""
    found, number = [], 0
    for number, (name, edit) in enumerate(edits, 1):
        copy = place / str(number)
        shutil.copytree(folder, copy)
        edit(copy)
        code, out, err = said(copy, capsys, *arguments)
        no = code == 1 and out.splitlines()[-1].startswith("NO: this export is not")
        refused = code == 2 and not out and err.strip() and "bug" not in err
        if not (no or refused) or "Traceback" in out + err or "\x1b" in out + err:
            found.append(f"{name}: {code} {out[-300:]!r} {err[-300:]!r}")
        shutil.rmtree(copy)
    return number, found


def asked(edits: Iterable[Edit], least: int, *arguments: Any) -> None:
    number, found = survivors(edits, *arguments)
    assert found == []
    assert number >= least


# ── the ones that were found ────────────────────────────────────────────────────────────────────────────────
@pytest.mark.slow
@needs_hf
@pytest.mark.parametrize("name", ["gpt2", "stock"])
@pytest.mark.parametrize(
    ("file", "setting", "value", "line"),
    [
        (
            "config.json",
            "transformers_weights",
            "other.safetensors",
            "other.safetensors: does not belong to such an export and may change what is run: remove it",
        ),
        ("generation_config.json", "no_repeat_ngram_size", 2, "no_repeat_ngram_size is 2, should be missing"),
        ("generation_config.json", "stop_strings", ["ACC"], "stop_strings is ['ACC'], should be missing"),
        ("config.json", "quantization_config", {"x": 1}, "quantization_config is {'x': 1}, should be missing"),
        ("config.json", "rope_scaling", {"factor": 2.0}, "rope_scaling is {'factor': 2.0}, should be missing"),
    ],
)
def test_a_setting_that_the_recipe_does_not_name(
    name: str,
    file: str,
    setting: str,
    value: Any,
    line: str,
    folders: Callable[[str], Path],
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    copy = shutil.copytree(folders(name), tmp_path / "x")
    added(file, setting, value)[1](copy)
    code, out, _ = said(copy, capsys)
    assert (code, out.splitlines()[-1]) == (1, f"NO: this export is not {MACHINE}")
    assert f"  {line}" in out.splitlines() or f"  {file}: {line}" in out.splitlines()


@pytest.mark.parametrize("target", ALL)
def test_a_module_beside_an_export(
    target: str, folders: Callable[[str], Path], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    copy = shutil.copytree(folders(target), tmp_path / "x")
    (copy / "torch.py").write_text("raise SystemExit('this was run')", encoding="utf-8")
    code, out, _ = said(copy, capsys)
    assert (code, out.splitlines()) == (
        1,
        [
            "weights: 1 difference",
            "  torch.py: does not belong to such an export and may change what is run: remove it",
            "run: none, since an export is only run if its files and settings are right",
            f"NO: this export is not {MACHINE}",
        ],
    )


@needs_onnx
@pytest.mark.parametrize(
    ("edit", "code", "line"),
    [
        ("local function", 1, "  model.onnx: 'functions' is not as it was written"),
        ("doubled initializer", 2, "damaged (ValueError: the initializer 'unembedding' occurs twice)"),
        ("external data", 2, "damaged (ValueError: the initializer 'unembedding' is in another file)"),
        ("unknown field", 1, "  model.onnx: it contains something that the format does not know"),
    ],
)
def test_a_graph_with_something_else_in_it(
    edit: str, code: int, line: str, folders: Callable[[str], Path], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    copy = shutil.copytree(folders("onnx"), tmp_path / "x")
    dict(attacks.onnx())[edit](copy)
    found, out, err = said(copy, capsys)
    assert found == code
    assert line in out + err


# ── files ───────────────────────────────────────────────────────────────────────────────────────────────────
@pytest.mark.slow
@pytest.mark.parametrize("target", ALL)
def test_files_beside_an_export(
    target: str, folders: Callable[[str], Path], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    asked(attacks.beside(), 35, folders(target), tmp_path, capsys)


@pytest.mark.slow
@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="no named pipes here: run the tests on Linux or macOS")
@pytest.mark.parametrize("target", ALL)
def test_something_else_in_the_place_of_a_file(
    target: str, folders: Callable[[str], Path], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    names = sorted({path.name for path in folders(target).iterdir()} - {"README.md"})
    asked(chain(*map(attacks.instead, names)), 11 * len(names), folders(target), tmp_path, capsys, "--machine", MACHINE)


@pytest.mark.slow
@pytest.mark.parametrize("target", ALL)
def test_json_as_text(
    target: str, folders: Callable[[str], Path], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    asked(chain(*map(attacks.texts, attacks.JSON[target])), 14, folders(target), tmp_path, capsys)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("target", "file"),
    [pytest.param(t, file, marks=NEEDS[t]) for t, files in attacks.JSON.items() for file in files],
)
def test_every_setting(
    target: str, file: str, folders: Callable[[str], Path], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    edits = list(attacks.settings(target, file, folders(target)))  # of each place five or ten
    assert len(edits) >= 40
    asked(some(edits), 8, folders(target), tmp_path, capsys)


@pytest.mark.slow
@pytest.mark.parametrize("target", ALL[:3])
def test_tensors(target: str, folders: Callable[[str], Path], tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    asked(attacks.tensors(attacks.TENSORS[target]), 40, folders(target), tmp_path, capsys)


@pytest.mark.slow
@needs_onnx
def test_graphs(folders: Callable[[str], Path], tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    asked(attacks.onnx(), 50, folders("onnx"), tmp_path, capsys)


# ── what transformers knows ─────────────────────────────────────────────────────────────────────────────────
KNOWN = {
    "config.json": {
        "transformers_weights": "other.safetensors",
        "quantization_config": {"quant_method": "bitsandbytes", "load_in_8bit": True},
        "rope_scaling": {"type": "linear", "factor": 2.0},
        "auto_map": {"AutoModelForCausalLM": "modeling.Model"},
        "attn_implementation": "flash_attention_2",
        "configuration_files": ["config.4.0.0.json"],
        "pruned_heads": {"0": [0]},
        "no_repeat_ngram_size": 2,
        "max_length": 20,
        "_attn_implementation_internal": "x",
    },
    "generation_config.json": {
        "no_repeat_ngram_size": 2,
        "stop_strings": ["ACC"],
        "custom_generate": "x",
        "max_time": 1e-9,
        "sequence_bias": [[[1], 3.0]],
        "watermarking_config": {"greenlist_ratio": 0.5},
        "assistant_confidence_threshold": 0.5,
    },
    "tokenizer_config.json": {
        "auto_map": {"AutoTokenizer": ["x.Tokenizer", None]},
        "fast_tokenizer_files": ["tokenizer.4.0.0.json"],
        "chat_template": "{{ x }}",
        "add_bos_token": True,
        "added_tokens_decoder": {"0": {"content": "2"}},
        "truncation_side": "left",
        "extra_special_tokens": {"x": "1"},
        "fix_mistral_regex": True,
        "is_local": 3,
        "transformers_version": "0.1",
    },
    "tokenizer.json": {"normalizer": {"type": "Lowercase"}, "decoder": {"type": "Fuse"}, "further": 1},
}
OTHER = {
    bool: (True, False),
    int: (3, 0),
    float: (0.5,),
    str: ("x", "relu"),
    type(None): (2, True, "x"),
}


def added(file: str, name: str, value: Any) -> Edit:
    def edit(folder: Path) -> None:
        rewritten(folder, file, lambda settings: settings.update({name: value}))
        if name == "transformers_weights":
            shutil.copy(folder / "model.safetensors", folder / "other.safetensors")

    return f"{file}: {name} = {value!r}", edit


@pytest.mark.slow
@needs_hf
@pytest.mark.parametrize("name", ["gpt2", "stock"])
def test_settings_that_decide_what_is_loaded_and_run(
    name: str, folders: Callable[[str], Path], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    edits = [added(file, *setting) for file, settings in KNOWN.items() for setting in settings.items()]
    asked(edits, 30, folders(name), tmp_path, capsys)


def every(file: str, defaults: dict[str, Any], own: dict[str, Any]) -> Iterable[Edit]:
    """Yield each setting that a class knows, with values that are not its default, nor the recipe's."""
    for name, default in defaults.items():
        for value in OTHER.get(type(default), (None, "x", {}, [])):
            if repr(value) not in (repr(default), repr(own.get(name, default))) and name != "transformers_version":
                yield added(file, name, value)


@pytest.mark.slow
@needs_hf
@pytest.mark.parametrize("file", ["config.json", "generation_config.json"])
def test_every_setting_that_transformers_knows(
    file: str, folders: Callable[[str], Path], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    from transformers import GenerationConfig, GPT2Config

    defaults = {"config.json": GPT2Config, "generation_config.json": GenerationConfig}[file]().to_dict()
    own = json.loads((folders("gpt2") / file).read_text(encoding="utf-8"))
    asked(every(file, defaults, own), 60, folders("gpt2"), tmp_path, capsys)


# ── what is still the same ──────────────────────────────────────────────────────────────────────────────────
def reordered(folder: Path) -> None:
    for path in folder.glob("*.json"):
        value = json.loads(path.read_text(encoding="utf-8"))
        path.write_text(json.dumps(dict(reversed(value.items())), indent=None) + "\r\n", encoding="utf-8")


def linked(folder: Path) -> None:
    """As a cache keeps the files of a hub."""
    blobs = folder.with_name(f"{folder.name}-blobs")
    blobs.mkdir()
    for path in list(folder.iterdir()):
        path.rename(blobs / path.name)
        path.symlink_to(blobs / path.name)


def versioned(folder: Path) -> None:
    for path in folder.glob("*.json"):
        text = path.read_text(encoding="utf-8")
        own = json.loads(text).get("tm2tfr")
        version = own["tm2tfr"] if isinstance(own, dict) else own
        path.write_text(text.replace(f'"tm2tfr": "{version}"', '"tm2tfr": "0.0.1"'), encoding="utf-8")


def documented(folder: Path) -> None:
    (folder / "README.md").write_text("mine", encoding="utf-8")
    (folder / "NOTES.md").write_text("mine", encoding="utf-8")
    (folder / ".gitattributes").touch()
    (folder / ".git").mkdir()


@pytest.mark.slow
@pytest.mark.parametrize("target", ALL)
@pytest.mark.parametrize("edit", [reordered, linked, documented])
def test_what_decides_nothing(edit: Callable[[Path], None], target: str, folders: Any, tmp_path: Path) -> None:
    copy = shutil.copytree(folders(target), tmp_path / "x")
    edit(copy)
    assert verify_export(copy, word="1").same


@pytest.mark.slow
@pytest.mark.parametrize("target", ALL[:3])
def test_another_version_that_wrote_it(target: str, folders: Callable[[str], Path], tmp_path: Path) -> None:
    copy = shutil.copytree(folders(target), tmp_path / "x")
    versioned(copy)
    assert "0.0.1" in (copy / "tm2tfr.json").read_text(encoding="utf-8")
    assert verify_export(copy, word="1").same


@pytest.mark.parametrize("target", ALL)
def test_the_machine_that_travels_along(target: str, folders: Callable[[str], Path], tmp_path: Path) -> None:
    copy = shutil.copytree(folders(target), tmp_path / "x")
    files = {"gpt2": ("config.json", "tm2tfr.json"), "lens": ("lens.json", "tm2tfr.json")}.get(target, ("tm2tfr.json",))

    def change(settings: dict[str, Any], name: str, value: str) -> None:
        (settings if "provenance" in settings else settings["tm2tfr"])["provenance"][name] = value

    for text in ("name: x\nblank: _\nstart state: a\ntable: {a: }", "no machine"):
        for file in files:
            rewritten(copy, file, lambda settings, text=text: change(settings, "source", text))
        line = f"{files[0]}: the machine stored with it is a different one"
        assert line in verify_export(copy, machine=MACHINE).weights


@needs_torch
def test_a_line_of_model_py_that_python_reads_otherwise(folders: Callable[[str], Path], tmp_path: Path) -> None:
    copy = shutil.copytree(folders("torch"), tmp_path / "x")
    text = (copy / "model.py").read_text(encoding="utf-8")
    comment = "  # of several, the first\n"
    assert comment in text
    (copy / "model.py").write_text(text.replace(comment, comment.replace("\n", "\u2028")), encoding="utf-8")
    assert not verify_export(copy, word="1").same
    (copy / "model.py").write_bytes(text.replace("\n", "\r\n").encode())
    assert verify_export(copy, word="1").same
