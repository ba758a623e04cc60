"""The commands and outputs that the documentation shows: run, compared, and rewritten on request.

A fenced block ``console`` holds commands (``$ …``), each followed by exactly what it prints. They are run in
order in one empty directory per document. ``python -m tests.readme [FILE …]`` writes what they print now.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from itertools import takewhile
from pathlib import Path

ROOT = Path(__file__).parent.parent
DOCUMENTS = ("README.md", "traces/README.md", *sorted(str(path.relative_to(ROOT)) for path in ROOT.glob("docs/**/*.md")))
"""Each file with shown commands, by its path from the root."""

BLOCK = re.compile(r"(?<=^```console\n)(.*?)(?=^```$)", re.MULTILINE | re.DOTALL)


def shown(block: str) -> Iterator[tuple[str, str]]:
    """Yield the commands of a block, as shown (further lines begin with ``> ``), each with its output."""
    for part in re.split(r"^\$ ", block, flags=re.MULTILINE)[1:]:
        first, *rest = part.splitlines(keepends=True)
        more = list(takewhile(lambda line: line.startswith("> "), rest))
        yield (first + "".join(more)).rstrip("\n"), "".join(rest[len(more) :])


def completed(command: str, folder: Path, programs: Path | None = None) -> subprocess.CompletedProcess[str]:
    """Run a shell command in `folder` with this interpreter's programs first.

    `programs` is a folder with programs that come before them.
    """
    first = [str(programs)] if programs else []
    path = os.pathsep.join([*first, str(Path(sys.executable).parent), os.environ["PATH"]])
    env = {**os.environ, "PATH": path, "PYTHONPATH": str(ROOT), "COLUMNS": "100", "PYTHONIOENCODING": "utf-8"}
    command = re.sub("^> ", "", command, flags=re.MULTILINE)
    if (
        programs is None and not (Path(sys.executable).parent / "tm2tfr").exists()
    ):  # not installed: run from the source tree
        command = f'tm2tfr() {{ "{sys.executable}" -m tm2tfr "$@"; }}\n{command}'
    return subprocess.run(
        ["bash", "-c", command], cwd=folder, env=env, capture_output=True, text=True, encoding="utf-8", check=False
    )


def run(command: str, folder: Path, programs: Path | None = None) -> str:
    """Run a shell command as `completed` does, and return all that it prints."""
    done = completed(command, folder, programs)
    return done.stdout + done.stderr


def executed(document: str, programs: Path | None = None) -> str:
    """Return the text of a document with the outputs that its commands have now; `programs` as in `run`."""
    text = (ROOT / document).read_text(encoding="utf-8")
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "traces").symlink_to(ROOT / "traces")

        def replaced(match: re.Match[str]) -> str:
            return "".join(f"$ {command}\n{run(command, folder, programs)}" for command, _ in shown(match[0]))

        return BLOCK.sub(replaced, text)


if __name__ == "__main__":
    for name in sys.argv[1:] or DOCUMENTS:
        new = executed(name)
        (ROOT / name).write_text(new, encoding="utf-8")
