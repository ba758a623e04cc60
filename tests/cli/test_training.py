"""The commands of training, without torch."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from tests.cli.test_commands import failed, tm2tfr


@pytest.mark.parametrize(
    ("line", "said"), [("compare .", "a comparison needs torch"), ("train binary-adder -o run", "training needs torch")]
)
def test_without_torch_they_say_what_to_install(
    line: str, said: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in [name for name in sys.modules if name in ("tm2tfr.lab.training.comparison", "tm2tfr.lab.training.targets")]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "torch", None)
    message = failed(2, tm2tfr(*line.split(), cwd=tmp_path))
    assert message.startswith(said)
    assert message.endswith(": pip install 'tm2tfr[torch]'\n")
