"""Output of every command: looked at before the work, never over what is read, always ``-o``."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.cli.lines import EVERY, said
from tm2tfr.api import datasets as corpora
from tm2tfr.api.subject import Subject

WRITE = {"trace", "check", "table", "explore", "graph", "certify", "soften", "compile", "export", "convert", "dataset"}
WRITE |= {"plot", "prompt", "explain"}
WRITE |= {"labels", "train", "intervene", "disguise"}


BEFORE_THE_WORK = [
    *(["compile", "-o", path] for path in ("no/w.safetensors", "w.bin", "d.safetensors")),
    *(["certify", "-o", path] for path in ("no/c.json", "c.txt", "d.json")),
    *(["soften", "-o", path] for path in ("no/s.csv", "d.json")),
    *(["soften", "--plot", path] for path in ("no/s.svg", "s.txt", "d.svg")),
    *(["convert", "chapter", "-o", path] for path in ("no/c.jff", "c.txt", "d.jff")),
    *(["graph", "-o", path] for path in ("no/g.dot", "g.txt", "d.dot")),
    *(["plot", "-o", path] for path in ("no/p.svg", "p.gif", "d.svg")),
    *(["table", "-o", path] for path in ("no/t.csv", "t.xyz", "d.csv")),
    *(["explore", "-o", path] for path in ("no/e.html", "e.pdf", "d.html")),
    *(
        [command, option, path]
        for command in ("trace", "check")
        for option in ("-o", "--output", "--out")
        for path in ("no/r.csv", "r.txt", "d.csv")
    ),
    *([command, "--checkpoint", path] for command in ("trace", "check") for path in ("no/r.npz", "d.npz")),
    *(["export", "-o", path] for path in ("no/x", "file", "full")),
    *(["dataset", "palindromes", "-o", path] for path in ("no/x", "file")),
    *(["labels", "palindromes", "-o", path] for path in ("no/x", "file")),
    *(["disguise", "chapter", "--key", "key.json", "-o", path] for path in ("no/w.safetensors", "w.bin", "d.safetensors")),
]


@pytest.mark.parametrize("arguments", BEFORE_THE_WORK, ids=" ".join)
def test_output_is_refused_before_the_work(
    arguments: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def work(*_: Any, **__: Any) -> None:
        raise AssertionError("the work was begun")

    monkeypatch.setattr(Subject, "read", work)
    monkeypatch.setattr(corpora, "make_dataset", work)
    monkeypatch.chdir(tmp_path)
    for ending in ("safetensors", "json", "svg", "jff", "dot", "csv", "html", "npz"):
        (tmp_path / f"d.{ending}").mkdir()
    (tmp_path / "file").write_text("kept", encoding="utf-8")
    (tmp_path / "full").mkdir()
    (tmp_path / "full" / "thesis.tex").touch()
    before = sorted(tmp_path.rglob("*"))
    assert said(capsys, *arguments).startswith(f"{arguments[-1]}: ")
    assert sorted(tmp_path.rglob("*")) == before
    assert (tmp_path / "file").read_text(encoding="utf-8") == "kept"


@pytest.mark.parametrize(
    "arguments",
    [
        ["compile", "w.safetensors", "-o", "w.safetensors"],
        ["certify", "c.json", "-o", "c.json"],
        ["soften", "m.yaml", "-o", "m.yaml"],
        ["soften", "m.svg", "--plot", "m.svg"],
        ["convert", "m.yaml", "-o", "m.yaml"],
        ["graph", "m.dot", "-o", "m.dot"],
        ["table", "t.csv", "-o", "t.csv"],
        ["explore", "e.html", "-o", "e.html"],
        ["trace", "t.csv", "-o", "t.csv"],
        ["trace", "m.yaml", "--checkpoint", "m.yaml"],
        ["check", "t.csv", "-o", "t.csv"],
    ],
    ids=" ".join,
)
def test_what_is_read_is_not_written_over(
    arguments: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    path = tmp_path / arguments[1]
    path.write_bytes(b"not a machine")
    what = "these are the weights themselves" if path.suffix == ".safetensors" else "that is the machine itself"
    assert f"{what}: choose another name for the output" in said(capsys, *arguments)
    assert path.read_bytes() == b"not a machine"


def test_every_command_that_writes_a_file_has_the_option_for_it() -> None:
    names = {command.name: {name for p in command.params for name in p.opts} for command in EVERY}
    assert {name for name, opts in names.items() if {"-o", "--output"} <= opts} == WRITE
