"""The notebooks of the documentation: executed again, and what they print compared with what they show.

``python -m tests.notebooks`` executes them and writes their outputs into the files.
"""

from __future__ import annotations

import os
import re
import sys
import tempfile
from collections.abc import Iterable, Iterator
from itertools import groupby
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parent.parent
NOTEBOOKS = sorted((ROOT / "docs" / "notebooks").glob("*.ipynb"))
TIMEOUT = 300
"""Seconds that a cell may take."""


def executed(path: Path) -> Any:
    """Return a notebook run from its source in a fresh kernel of this interpreter, without what went to standard error.

    Raises:
        nbclient.exceptions.CellExecutionError: if a cell fails.
    """
    import nbclient
    import nbformat

    notebook = nbformat.read(path, as_version=4)
    for cell in notebook.cells:
        if cell.cell_type == "code":
            cell.outputs, cell.execution_count = [], None
    os.environ["PYTHONPATH"] = str(ROOT)
    programs = str(Path(sys.executable).parent)
    if programs not in os.environ["PATH"].split(os.pathsep):
        os.environ["PATH"] = os.pathsep.join([programs, os.environ["PATH"]])
    with tempfile.TemporaryDirectory() as folder:  # where cells may write files
        resources = {"metadata": {"path": folder}}
        nbclient.NotebookClient(notebook, timeout=TIMEOUT, record_timing=False, resources=resources).execute()
    for cell in notebook.cells:
        if cell.cell_type == "code":  # warnings name files of this machine
            cell.outputs = list(_joined(output for output in cell.outputs if output.get("name") != "stderr"))
    return notebook


def _joined(outputs: Iterable[Any]) -> Iterator[Any]:
    """Yield the outputs of a cell; what is printed comes in pieces, as it happens, and is put together."""
    for stream, group in groupby(outputs, lambda output: output.get("name")):
        first, *more = group
        if stream is not None:
            first.text += "".join(output.text for output in more)
            more = []
        yield from (first, *more)


def printed(notebook: Any) -> list[str]:
    """Return what each cell shows as text; objects' addresses and pictures are left out."""
    found = []
    for cell in notebook.cells:
        outputs = cell.get("outputs", ())
        text = "".join(output.get("text") or output.get("data", {}).get("text/plain", "") for output in outputs)
        found.append(re.sub(r" at 0x[0-9a-f]+|<Figure size [^>]*>", "", text))
    return found


if __name__ == "__main__":
    import nbformat

    for name in sys.argv[1:] or NOTEBOOKS:
        nbformat.write(executed(Path(name)), name)
