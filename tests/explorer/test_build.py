"""The built assets are what their sources give, byte for byte."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

import tm2tfr
from tests.readme import ROOT

SOURCES = ROOT / "explorer"
ASSETS = Path(tm2tfr.__file__).parent / "explorer" / "assets"


@pytest.mark.skipif(
    not (SOURCES / "node_modules").is_dir() or shutil.which("npm") is None,
    reason="what builds the explorer is not installed: apt-get install npm, then npm ci in explorer/",
)
def test_the_assets_are_built_from_the_sources(tmp_path: Path) -> None:
    subprocess.run(["npm", "run", "--silent", "build", "--", str(tmp_path)], cwd=SOURCES, check=True, timeout=300)
    built = {path.name: path.read_bytes() for path in tmp_path.iterdir()}
    assert sorted(built) == ["explorer.css", "explorer.js", "page.html", "viz.js"]
    for name, data in built.items():
        assert (ASSETS / name).read_bytes() == data, f"{name} is not what explorer/ gives: npm run build there"


def test_nothing_of_ours_is_minified_and_the_lock_names_no_registry() -> None:
    lines = (ASSETS / "explorer.js").read_text(encoding="utf-8").splitlines()
    assert max(map(len, lines)) < 400
    lock = (SOURCES / "package-lock.json").read_text(encoding="utf-8")
    assert "resolved" not in lock
    assert "http" not in lock


def test_the_licences_of_what_is_not_ours_are_there() -> None:
    notice = (ASSETS / "viz.js").read_text(encoding="utf-8").splitlines()[0]
    version = notice.split("@viz-js/viz ")[1].split(";")[0]
    text = (ASSETS / "LICENSE-viz.txt").read_text(encoding="utf-8")
    assert f"@viz-js/viz {version}" in text
    for name in ("MIT licence", "Eclipse Public License - v 1.0", "Expat"):
        assert name in text
    lock = (SOURCES / "package-lock.json").read_text(encoding="utf-8")
    assert f'"@viz-js/viz": "{version}"' in lock
