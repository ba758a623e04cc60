"""The notebooks of the documentation: executed again, and what they print compared with what they show.

``python -m tests.notebooks`` executes them and writes their outputs into the files.
"""

from __future__ import annotations

import os
import re
import sys
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
    client = nbclient.NotebookClient(
        notebook, timeout=TIMEOUT, record_timing=False, resources={"metadata": {"path": str(ROOT)}}
    )
    client.execute()
    for cell in notebook.cells:
        if cell.cell_type == "code":  # warnings name files of this machine
            cell.outputs = [output for output in cell.outputs if output.get("name") != "stderr"]
    return notebook


def printed(notebook: Any) -> list[str]:
    """Return what the cells show as text, one after the other; objects' addresses and pictures are left out."""
    found = []
    for cell in notebook.cells:
        for output in cell.get("outputs", ()):
            text = output.get("text") or output.get("data", {}).get("text/plain", "")
            found.append(re.sub(r" at 0x[0-9a-f]+|<Figure size [^>]*>", "", "".join(text)))
    return found


if __name__ == "__main__":
    import nbformat

    for name in sys.argv[1:] or NOTEBOOKS:
        nbformat.write(executed(Path(name)), name)
