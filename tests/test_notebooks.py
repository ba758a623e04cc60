"""The notebooks are true: they run from their source, no cell fails, and they print what the files show."""

from __future__ import annotations

from importlib.util import find_spec
from pathlib import Path

import pytest

from tests.notebooks import NOTEBOOKS, executed, printed

NEEDED = ("nbclient", "nbformat", "ipykernel", "matplotlib", "pandas", "pyarrow", "transformers")


def test_there_are_notebooks() -> None:
    assert {path.stem for path in NOTEBOOKS} >= {"interpretability", "tutorial"}


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::ResourceWarning")  # jupyter_client's and zmq's
@pytest.mark.skipif(
    any(find_spec(name) is None for name in NEEDED),
    reason="Jupyter or transformers is not installed: pip install 'tm2tfr[notebook]'",
)
@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_a_notebook_runs_and_prints_what_it_shows(path: Path) -> None:
    nbformat = pytest.importorskip("nbformat", reason="Jupyter is not installed: pip install 'tm2tfr[notebook]'")
    shown = nbformat.read(path, as_version=4)
    assert all(cell.execution_count for cell in shown.cells if cell.cell_type == "code"), "python -m tests.notebooks"
    assert printed(executed(path)) == printed(shown)
