"""The directory of an export: what is in it, that it is written whole or not at all, and read again."""

from __future__ import annotations

import errno
import json
import os
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from safetensors import numpy as safetensors
from safetensors import safe_open

from tests.targets.matrices.programs import right_of
from tm2tfr.base.errors import ExportError, OutputError
from tm2tfr.sources.turing.compiler import compile_machine
from tm2tfr.sources.turing.library import load as machine_called
from tm2tfr.sources.turing.spec import Machine
from tm2tfr.targets.common.directory import METADATA, Look, written
from tm2tfr.targets.gpt2.documents import FORMAT, documents, introduction
from tm2tfr.targets.gpt2.export import TENSORS, StoredGpt2
from tm2tfr.targets.gpt2.export import load as load_export
from tm2tfr.targets.gpt2.recipe import Gpt2Recipe
from tm2tfr.targets.gpt2.target import export
from tm2tfr.targets.gpt2.tensors import Gpt2
from tm2tfr.targets.gpt2.translated import translated

NAMES = [
    "README.md",
    "config.json",
    "generation_config.json",
    "model.safetensors",
    "tm2tfr.json",
    "tokenizer.json",
    "tokenizer_config.json",
]
MACHINE = machine_called("chapter")
GPT2 = translated(compile_machine(MACHINE), Gpt2Recipe(positions=32, max_head=31))


def load(folder: Path) -> StoredGpt2:
    return load_export(folder, format=FORMAT)


def read(folder: Path, name: str) -> Any:
    return json.loads((folder / name).read_text(encoding="utf-8"))


def exported(gpt2: Gpt2, folder: Path, *, look: Look | None = None) -> Path:
    tensors = safetensors.save(gpt2.tensors(), METADATA)
    return written(folder, {**documents(gpt2, right_of(MACHINE)), TENSORS: tensors}, look=look)


def test_what_is_written(tmp_path: Path) -> None:
    folder = exported(GPT2, tmp_path / "x")
    assert sorted(path.name for path in folder.iterdir()) == NAMES
    assert [path.name for path in tmp_path.iterdir()] == ["x"]
    with safe_open(folder / "model.safetensors", "numpy") as file:
        assert file.metadata() == {"format": "pt"}
    found = load(folder)
    assert (found.recipe, found.provenance["name"]) == (GPT2.recipe, "chapter")
    want = GPT2.tensors()
    assert set(found.tensors) == set(want)
    assert all(np.array_equal(found.tensors[name], want[name]) for name in want)


def test_the_same_export_is_the_same_bytes(tmp_path: Path) -> None:
    one, two = (exported(GPT2, tmp_path / name) for name in "ab")
    assert all((one / name).read_bytes() == (two / name).read_bytes() for name in NAMES)


def test_the_configuration(tmp_path: Path) -> None:
    folder = exported(GPT2, tmp_path / "x")
    config = read(folder, "config.json")
    assert (config["model_type"], config["n_positions"], config["dtype"]) == ("gpt2", 32, "float64")
    assert (config["activation_function"], config["layer_norm_epsilon"]) == ("relu", 2.0**100)
    assert (config["bos_token_id"], config["eos_token_id"], config["pad_token_id"]) == (1, [2, 3], 16)
    generation = read(folder, "generation_config.json")
    assert (generation["do_sample"], generation["max_length"], generation["eos_token_id"]) == (False, 33, [2, 3])
    settings = read(folder, "tokenizer_config.json")
    assert (settings["padding_side"], settings["model_max_length"], settings["pad_token"]) == ("left", 32, "[PAD]")
    stock = translated(GPT2.decoder, Gpt2Recipe(positions=32, max_head=31, stock=True))
    config = read(exported(stock, tmp_path / "y"), "config.json")
    assert (config["activation_function"], config["layer_norm_epsilon"]) == ("gelu_new", 1e-5)


def test_names_of_directions_heads_and_layers_go_along(tmp_path: Path) -> None:
    names = read(exported(GPT2, tmp_path / "x"), "tm2tfr.json")
    assert names["rounding_bounds"] == (
        "for every input and every run with at most 32 positions, "
        "greedy generation in float64 gives exactly the machine's run"
    )
    directions = {d["name"]: d for d in names["directions"]}
    h, a = GPT2.decoder.layout.index("h"), GPT2.decoder.layout.index("e_a[x]")
    assert directions["h"] == {"name": "h", "index": h, "mirror": h + 96, "scale": 32.0}
    assert directions["e_a[x]"] == {"name": "e_a[x]", "index": a, "mirror": a + 96, "scale": 1.0}
    layer = names["layers"][3]
    assert (layer["name"], layer["heads"][0]["name"], layer["heads"][0]["head"]) == ("read tape", "latest write", 0)
    assert layer["heads"][0]["components"] == [
        {"dimension": 0, "query": {"u(h)": 2.0}, "key": {"u(h_{i-1})": 1.0}},
        {"dimension": 1, "query": {"v(h)": 2.0}, "key": {"v(h_{i-1})": 1.0}},
        {"dimension": 2, "query": {"1": -1.0}, "key": {"u(h_{i-1})^2+v(h_{i-1})^2": 1.0}},
        {"dimension": 3, "query": {"1": 1 / 32}, "key": {"i": 1.0}},
    ]
    assert layer["units"] == ["h_{j*-1} = h: d+1", "h_{j*-1} = h: d", "h_{j*-1} = h: d-1"]
    assert names["layers"][2]["heads"][0]["components"][0] == {
        "dimension": 0,
        "query": {"h/(i+1)": 2.0, "1/(i+1)": -30.0},
        "key": {"i-c": 1.0},
    }


def test_the_model_card_says_how_far_it_is_right_and_how_to_check_it(tmp_path: Path) -> None:
    card = (exported(GPT2, tmp_path / "x") / "README.md").read_text(encoding="utf-8")
    assert "For every input and every run with at most 32 positions, greedy generation in float64" in card
    assert "tm2tfr verify-export . --input 11`" in card


@pytest.mark.parametrize(
    ("symbols", "words"),
    [
        ("1x", "after the word, with or without\nspaces between its symbols."),
        ("BOS", "after the word. Put spaces\nbetween its symbols if they would spell another token."),
        ("BOS ", "after the word."),
        ("1 ", "after the word."),
    ],
)
def test_the_model_card_says_how_a_word_is_given(symbols: str, words: str) -> None:
    machine = Machine(transitions={("s", a): ("s", a, 1) for a in symbols}, start="s", blank="_", name="odd")
    gpt2 = translated(compile_machine(machine), Gpt2Recipe(positions=9, max_head=8))
    assert introduction(gpt2, right_of(machine)).endswith(f" The tokenizer puts `BOS`, which starts the run, {words}")


def test_an_earlier_export_is_replaced_and_nothing_else(tmp_path: Path) -> None:
    folder = tmp_path / "x"
    folder.mkdir()
    exported(GPT2, folder)
    exported(translated(GPT2.decoder, Gpt2Recipe(positions=16, max_head=15)), folder)
    assert load(folder).recipe.positions == 16
    (folder / "notes.txt").write_text("mine", encoding="utf-8")
    with pytest.raises(OutputError, match=r"x: this directory is not an export of this kind; it contains 'notes.txt'"):
        exported(GPT2, folder)
    (tmp_path / "model").mkdir()
    (tmp_path / "model" / "config.json").write_text("{}", encoding="utf-8")
    with pytest.raises(OutputError, match=r"not an export; it contains 'config.json': choose another name, or remove it"):
        exported(GPT2, tmp_path / "model")
    (tmp_path / "file").write_text("", encoding="utf-8")
    with pytest.raises(OutputError, match="there is a file with that name: choose another name for the directory"):
        exported(GPT2, tmp_path / "file")
    with pytest.raises(OutputError, match="there is no folder .*none: make it first"):
        exported(GPT2, tmp_path / "none" / "x")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["file", "model", "x"]


def test_what_is_not_good_is_not_written(tmp_path: Path) -> None:
    def look(made: Path) -> None:
        assert sorted(path.name for path in made.iterdir()) == NAMES
        raise ExportError("it is wrong")

    with pytest.raises(ExportError, match="it is wrong"):
        exported(GPT2, tmp_path / "x", look=look)
    assert list(tmp_path.iterdir()) == []


def test_a_folder_that_may_not_be_looked_at(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refused(_path: Path) -> bool:
        raise PermissionError(errno.EACCES, "no")

    monkeypatch.setattr(Path, "exists", refused)
    with pytest.raises(OutputError, match="x: no permission to write there: choose another place"):
        exported(GPT2, tmp_path / "x")


@pytest.mark.skipif(
    not hasattr(os, "geteuid") or os.geteuid() == 0, reason="root may write anywhere: run the tests as another user"
)
def test_a_folder_without_permission(tmp_path: Path) -> None:
    tmp_path.chmod(0o500)
    with pytest.raises(OutputError, match="no permission to write there: choose another place"):
        exported(GPT2, tmp_path / "x")


def test_unverified_export(tmp_path: Path) -> None:
    found = export(GPT2.decoder, MACHINE, tmp_path / "x", positions=32, verify=False)
    assert str(found).splitlines() == [
        "GPT-2: 6 layers, 3 heads, width 192, float64, 0.96 million parameters",
        "by bounds on rounding: for every input and every run with at most 32 positions, "
        "greedy generation in float64 gives exactly the machine's run",
        "not verified: see tm2tfr verify-export",
        f"wrote {tmp_path / 'x'}",
    ]


def damaged(folder: Path, change: dict[str, Any]) -> None:
    config = read(folder, "config.json")
    config["tm2tfr"] |= change
    (folder / "config.json").write_text(json.dumps(config), encoding="utf-8")


def test_reading_what_is_no_export(tmp_path: Path) -> None:
    with pytest.raises(ExportError, match=r"none: config.json cannot be read: use a directory made by 'tm2tfr export"):
        load(tmp_path / "none")
    (tmp_path / "config.json").write_text("{}", encoding="utf-8")
    with pytest.raises(ExportError, match="its configuration does not say that it is an export of a machine"):
        load(tmp_path)
    (tmp_path / "config.json").write_text("{", encoding="utf-8")
    with pytest.raises(ExportError, match=r"damaged \(JSONDecodeError"):
        load(tmp_path)
    folder = exported(GPT2, tmp_path / "x")
    (folder / "model.safetensors").write_bytes(b"12345678")
    with pytest.raises(ExportError, match=r"damaged \(SafetensorError"):
        load(folder)
    safetensors.save_file({"x": np.zeros(2, dtype=np.int64)}, folder / "model.safetensors")
    with pytest.raises(ExportError, match="its tensors are neither float32 nor float64"):
        load(folder)
    (folder / "model.safetensors").unlink()
    with pytest.raises(ExportError, match="x: model.safetensors cannot be read: use a directory made by"):
        load(folder)
    damaged(folder, {"recipe": {"positions": "many", "max_head": 1}})
    with pytest.raises(ExportError, match=r"damaged \(TypeError"):
        load(folder)
    damaged(folder, {"format": "tm2tfr-lens", "recipe": {"positions": 32, "max_head": 31}})
    with pytest.raises(
        ExportError, match="this export has format 'tm2tfr-lens', not 'tm2tfr-gpt2': use a directory made by"
    ):
        load(folder)
    damaged(folder, {"format": "tm2tfr-gpt2", "version": "9"})
    with pytest.raises(ExportError, match="this export has version '9', not '3': export it again"):
        load(folder)
