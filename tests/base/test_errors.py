"""Messages for callers of the library, and those about packages that are missing."""

from __future__ import annotations

import re
import sys
from pathlib import Path

import pytest

from tests import golden
from tm2tfr.base.errors import ExportError, OutputError, UsageError, for_command_line, required

TYPED = {
    "tm2tfr check: --all and --all-up-to cannot be combined: omit one of them": "every and all_up_to cannot be combined: "
    "omit one of them",
    "it is too large: use --dtype float64 or --engine exact": "it is too large: use dtype='float64' or engine='exact'",
    "it is too long: use a smaller --max-length, or omit --mask future": "it is too long: use a smaller max_length, "
    "or omit mask='future'",
    "it is empty: for example --input ab": "it is empty: for example word='ab'",
    "it stopped: resume it with --resume run.npz --output r.csv": "it stopped: resume it with resume='run.npz' out='r.csv'",
    "torch is missing: export without running it: --no-verify": "torch is missing: export without running it: verify=False",
    "none is kept: make one with tm2tfr compile --universal 8,4 -o w.safetensors, or omit --tape": "none is kept: make one "
    "with tm2tfr compile --universal 8,4 -o w.safetensors, or omit tape",
    "x--y is not a state: use '--z'": "x--y is not a state: use '--z'",
}
"""Messages as the command line shows them -> as callers of the library read them."""


def test_callers_of_the_library_read_parameters() -> None:
    assert {typed: str(UsageError(typed)) for typed in TYPED} == TYPED
    with for_command_line():
        assert [str(UsageError(typed)) for typed in TYPED] == list(TYPED)


def test_no_message_of_the_library_names_an_option_of_the_command_line() -> None:
    cases = [case for each in golden.subjects() if each.answer is golden.evaluated for case in each.cases]
    commands = re.compile("tm2tfr [a-z-]+ [^:;'`]*")
    assert len(cases) > 500
    assert not [case.id for case in cases if re.search(r"(?<![^\s(])--[a-z]", commands.sub("", case.says))]


def test_modules_that_are_there_are_returned() -> None:
    assert required("this needs them", ["json", "pathlib"], "x") == (sys.modules["json"], sys.modules["pathlib"])


def test_a_module_that_is_not_there_is_said_with_its_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "torch", None)
    with pytest.raises(ExportError) as caught:
        required("this needs torch", ["json", "torch"], "hf")
    assert str(caught.value) == (
        "this needs torch (ModuleNotFoundError: import of torch halted; None in sys.modules): pip install 'tm2tfr[hf]'"
    )
    with pytest.raises(ExportError, match=r": pip install 'tm2tfr\[hf\]', or do without: torch=False$"):
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
