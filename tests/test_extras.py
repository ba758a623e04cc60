"""Packages that only some commands need, and what is said where they are missing."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from tm2tfr.base.errors import ExportError, OutputError, required


def test_modules_that_are_there_are_returned() -> None:
    assert required("this needs them", ["json", "pathlib"], "x") == (sys.modules["json"], sys.modules["pathlib"])


def test_a_module_that_is_not_there_is_said_with_its_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "torch", None)
    with pytest.raises(ExportError) as caught:
        required("this needs torch", ["json", "torch"], "hf")
    assert str(caught.value) == (
        "this needs torch (ModuleNotFoundError: import of torch halted; None in sys.modules): pip install 'tm2tfr[hf]'"
    )
    with pytest.raises(ExportError, match=r": pip install 'tm2tfr\[hf\]', or do without: --no-torch$"):
        required("this needs torch", ["torch"], "hf", otherwise="do without: --no-torch")


def test_the_error_is_that_of_the_command(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "torch", None)
    with pytest.raises(OutputError, match=r"^this needs torch \(.*\): pip install 'tm2tfr\[hf\]'$"):
        required("this needs torch", ["torch"], "hf", error=OutputError)


def test_a_broken_installation_is_said_as_well(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "broken_module.py").write_text(
        "raise OSError('libcuda.so: cannot open shared object file\\nat all')", encoding="utf-8"
    )
    monkeypatch.syspath_prepend(tmp_path)
    with pytest.raises(ExportError, match=r"this needs it \(OSError: libcuda.so: cannot open shared object file\): pip"):
        required("this needs it", ["broken_module"], "hf")
