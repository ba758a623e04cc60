"""The built assets are what their sources give, byte for byte."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
from pathlib import Path

import pytest

import tm2tfr
from tests.readme import ROOT

SOURCES = ROOT / "explorer"
BUNDLED = re.compile(r"^  // node_modules/((?:@[^/]+/)?[^/]+)/", re.MULTILINE)
PACKAGE = Path(tm2tfr.__file__).parent
ASSETS = PACKAGE / "web" / "explorer" / "assets"
BUILT = {
    "explorer": ["explorer.css", "explorer.js", "labeller.js", "page.html", "viz.js"],
    "playground": ["LICENSE-codemirror.txt", "draws.js", "index.html", "playground.css", "playground.js"],
}


@pytest.mark.skipif(
    not (SOURCES / "node_modules").is_dir() or shutil.which("npm") is None,
    reason="what builds the explorer is not installed: apt-get install npm, then npm ci in explorer/",
)
def test_the_assets_are_built_from_the_sources(tmp_path: Path) -> None:
    subprocess.run(["npm", "run", "--silent", "build", "--", str(tmp_path)], cwd=SOURCES, check=True, timeout=300)
    assert {part.name: sorted(path.name for path in part.iterdir()) for part in tmp_path.iterdir()} == BUILT
    for part, names in BUILT.items():
        for name in names:
            wanted, found = (tmp_path / part / name).read_bytes(), (PACKAGE / part / "assets" / name).read_bytes()
            assert found == wanted, f"{part}/assets/{name} is not what explorer/ gives: npm run build there"


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


def test_the_licences_of_what_the_playground_bundles_are_there() -> None:
    text = (PACKAGE / "web" / "playground" / "assets" / "LICENSE-codemirror.txt").read_text(encoding="utf-8")
    packages = json.loads((SOURCES / "package-lock.json").read_text(encoding="utf-8"))["packages"]
    code = (PACKAGE / "web" / "playground" / "assets" / "playground.js").read_text(encoding="utf-8")
    bundled = set(BUNDLED.findall(code))
    assert {"@codemirror/view", "@lezer/yaml", "crelt"} <= bundled
    for name in bundled:
        assert f"\n{name} {packages[f'node_modules/{name}']['version']}\n" in text
    assert text.count("Permission is hereby granted, free of charge") == text.count("Copyright (C)")
