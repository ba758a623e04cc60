"""The site, built once for the tests that look at it, and a browser on a system without a font for formulas."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from importlib.metadata import PackageNotFoundError, distribution
from pathlib import Path
from typing import Any

import pytest

from tests.readme import ROOT
from tests.web.explorer.browser import browser, missing

FONTS = """<?xml version="1.0"?>
<!DOCTYPE fontconfig SYSTEM "fonts.dtd">
<fontconfig>
  <include ignore_missing="yes">/etc/fonts/fonts.conf</include>
  <selectfont><rejectfont><glob>*Math*</glob><glob>*math*</glob><glob>*STIX*</glob><glob>*stix*</glob></rejectfont></selectfont>
  <cachedir>{folder}</cachedir>
</fontconfig>
"""


def _lacking() -> str | None:
    """Return what the site needs and this environment has not."""
    for name in ("mkdocs-material", "mkdocs-jupyter", "mkdocstrings-python", "latex2mathml", "matplotlib"):
        try:
            distribution(name)
        except PackageNotFoundError:
            return name
    return None


@pytest.fixture(scope="session")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the folder of the built site: the one that the variable TM2TFR_SITE names, or one of its own."""
    if built := os.environ.get("TM2TFR_SITE"):
        return Path(built)
    if name := _lacking():
        pytest.skip(f"{name} is not installed: pip install 'tm2tfr[docs]'")
    folder = tmp_path_factory.mktemp("site")
    # nbconvert looks for its templates below the environment that runs; it may itself stand in one that this one sees
    templates = str(distribution("nbconvert").locate_file("../../../share/jupyter"))
    env = {**os.environ, "NO_MKDOCS_2_WARNING": "1", "JUPYTER_PATH": templates}
    # without --quiet, which hides warnings from --strict
    command = [sys.executable, "-m", "mkdocs", "build", "--strict", "--site-dir", str(folder)]
    done = subprocess.run(command, cwd=ROOT, env=env, capture_output=True, text=True, encoding="utf-8", check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return folder


@pytest.fixture(scope="module")
def chromium(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    """A headless Chromium that finds no font with a MATH table on this system."""
    if reason := missing():
        pytest.skip(reason)
    folder = tmp_path_factory.mktemp("fonts")
    (folder / "fonts.conf").write_text(FONTS.format(folder=folder), encoding="utf-8")
    with browser(env={**os.environ, "FONTCONFIG_FILE": str(folder / "fonts.conf")}) as chromium:
        yield chromium
