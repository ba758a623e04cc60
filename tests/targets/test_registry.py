"""The list of programs that machines are exported to, and how a directory is known again."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest

import tm2tfr as library
from tests.cli.test_commands import failed, tm2tfr
from tm2tfr.api.targets import export_to, verify_export
from tm2tfr.base import choices
from tm2tfr.base.errors import ExportError
from tm2tfr.cli import app, main
from tm2tfr.cli.commands import guarded
from tm2tfr.targets.registry import TARGETS, target, target_of


def test_the_command_line_offers_every_target() -> None:
    assert list(TARGETS) == list(choices.TARGETS)
    assert {name: t.name for name, t in TARGETS.items()} == {name: name for name in TARGETS}
    assert len({t.format for t in TARGETS.values()}) == len(TARGETS)


@pytest.mark.parametrize("name", TARGETS)
def test_every_target_can_export_and_verify(name: str) -> None:
    exporter = target(name).exporter
    assert callable(exporter.export)
    assert callable(exporter.verified)


@pytest.mark.parametrize("name", [name for name, each in TARGETS.items() if not each.labels_alone])
def test_what_is_exported_is_known_again(name: str, tmp_path: Path) -> None:
    if name == "onnx":
        pytest.importorskip("onnx", reason="onnx is not installed: pip install 'tm2tfr[onnx]'")
    done = export_to(name, "chapter", tmp_path / "x", positions=40, verify=False)
    assert done.folder == tmp_path / "x"
    assert str(done).splitlines()[-2:] == ["not verified: see tm2tfr verify-export", f"wrote {tmp_path / 'x'}"]
    assert target_of(tmp_path / "x").name == name


@pytest.mark.parametrize(
    ("name", "module", "extra"),
    [
        ("gpt2", "transformers", "hf"),
        ("lens", "transformer_lens.model_bridge", "lens"),
        ("torch", "torch", "torch"),
        ("onnx", "onnxruntime", "onnx"),
    ],
)
def test_without_the_program_the_advice_fits_the_command(
    name: str, module: str, extra: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    if name == "onnx":
        pytest.importorskip("onnx", reason="onnx is not installed: pip install 'tm2tfr[onnx]'")
    export_to(name, "chapter", tmp_path / "x", positions=20, verify=False)
    monkeypatch.setitem(sys.modules, module, None)
    install = f"pip install 'tm2tfr[{extra}]'"
    for arguments, advice in (
        (["export", "--to", name, "-o", str(tmp_path / "y")], f"{install}, or export without running it: --no-verify"),
        (["verify-export", str(tmp_path / "x")], install),
    ):
        with pytest.raises(SystemExit) as end:
            main(arguments)
        assert end.value.code == 2
        assert capsys.readouterr().err.strip().partition("): ")[2] == advice
    assert [path.name for path in tmp_path.iterdir()] == ["x"]


def test_unknown_targets_and_options() -> None:
    with pytest.raises(ExportError, match=r"there is no export to 'gtp2' \(did you mean 'gpt2'\?\): use gpt2"):
        target("gtp2")
    with pytest.raises(ExportError, match="no export has an option 'brand_new': omit it"):
        target("gpt2", ["brand_new"])


def test_directories_that_are_not_known(tmp_path: Path) -> None:
    with pytest.raises(ExportError, match=r"none: config.json cannot be read: use a directory made by 'tm2tfr export'"):
        verify_export(tmp_path / "none")
    for text, words in (
        ("{", r"damaged \(JSONDecodeError"),
        ("{}", r"damaged \(KeyError"),
        (
            json.dumps({"format": "tm2tfr-llama", "provenance": {}}),
            "this export has format 'tm2tfr-llama', which this version",
        ),
    ):
        (tmp_path / "tm2tfr.json").write_text(text, encoding="utf-8")
        with pytest.raises(ExportError, match=words):
            target_of(tmp_path)
    provenance = {"source": "3", "name": "x"}
    (tmp_path / "tm2tfr.json").write_text(json.dumps({"format": "tm2tfr-gpt2", "provenance": provenance}), encoding="utf-8")
    assert "x:1:1: the document is text, not a mapping" in failed(2, tm2tfr("verify-export", ".", cwd=tmp_path))
    assert "damaged" not in failed(2, tm2tfr("verify-export", "x", cwd=tmp_path))


def test_the_older_name_still_works(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A checkpoint is a saved run; a model for another program is an export."""
    with pytest.warns(DeprecationWarning, match="verify_checkpoint is now called verify_export") as caught:  # noqa: SIM117
        with pytest.raises(ExportError, match="cannot be read: use a directory made by"):
            library.verify_checkpoint(tmp_path / "none")
    assert [warning.filename for warning in caught] == [__file__]
    codes = [guarded(app, [command, str(tmp_path / "none")]) for command in ("verify-checkpoint", "verify-export")]
    assert codes == [2, 2]
    told, one, two = capsys.readouterr().err.splitlines()
    assert told == "warning: verify-checkpoint is now called verify-export"
    assert one == two
    guarded(app, ["--help"])
    assert "verify-checkpoint" not in capsys.readouterr().out
