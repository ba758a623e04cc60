"""The modules, names and paths of the project that its texts mention exist."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path

from benchmarks.mutants import TARGETS

ROOT = Path(__file__).parents[2]
PACKAGE = ROOT / "tm2tfr"
TEXTS = sorted(
    path
    for pattern in ("*.md", "docs/**/*.md", "benchmarks/*", "tm2tfr/**/*.py", "tests/**/*.py", "tests/**/*.md")
    for path in ROOT.glob(pattern)
    if path.suffix in (".md", ".py") and path.name not in ("CHANGELOG.md", "test_mentioned.py", "test_imports.py")
)
"""The changelog says what was; one test makes modules up."""
PARTS = "|".join(sorted({path.stem for path in PACKAGE.iterdir() if path.is_dir() or path.suffix == ".py"} - {"rasp"}))
"""The parts of the package, which documents name without it; ``rasp`` is also a module of tracr."""
FULL = re.compile(r"\b(?:tm2tfr|tests|benchmarks)(?:\.[A-Za-z_]\w*)+")
SHORT = re.compile(rf"(?<=`)(?:{PARTS})(?:\.[A-Za-z_]\w*)+(?=`)")
PATHS = re.compile(r"(?<![\w/.{])(?:tm2tfr|tests|benchmarks|docs|explorer/src)/[\w/.-]*\w")
ENDINGS = {"json", "JSON", "exe", "py", "yaml", "tl"}
"""A name with such an ending is that of a file: ``tm2tfr.json`` is written beside an export."""


@cache
def text_of(path: Path) -> str:
    return path.read_text(encoding="utf-8")


def is_there(name: str) -> bool:
    """Whether a dotted name is that of a module, or of something that the module mentions."""
    first, *rest = name.split(".")
    where, rest = (ROOT / first, rest) if first in ("tm2tfr", "tests", "benchmarks") else (PACKAGE, [first, *rest])
    while rest and (where / rest[0]).is_dir() and not (where / f"{rest[0]}.py").is_file():  # a folder may be left over
        where /= rest.pop(0)
    if rest and (where / f"{rest[0]}.py").is_file():
        where = where / f"{rest.pop(0)}.py"
    if not rest:
        return True
    files = (
        [where] if where.is_file() else [path for path in (where / "__init__.py", where / "__init__.pyi") if path.is_file()]
    )
    return any(re.search(rf"\b{rest[0]}\b", text_of(path)) for path in files)


def missing(text: str, *, document: bool = True) -> Iterator[str]:
    """Yield the names and paths in a text that do not exist; only documents name modules without the package."""
    for pattern in (FULL, SHORT) if document else (FULL,):
        for name in pattern.findall(text):
            if name.rpartition(".")[2] not in ENDINGS and not is_there(name):
                yield name
    for match in PATHS.finditer(text):
        path = ROOT / match[0]
        if not path.exists() and not path.with_suffix(".py").exists() and not list(path.parent.glob(f"{path.name}*.py")):
            yield match[0]


def test_what_is_mentioned_exists() -> None:
    found = {str(path.relative_to(ROOT)): list(missing(text_of(path), document=path.suffix == ".md")) for path in TEXTS}
    assert {path: names for path, names in found.items() if names} == {}


def test_what_does_not_exist_is_found() -> None:
    assert (
        list(
            missing("see `tm2tfr.runs.choose` and `engines.decode` in tm2tfr/runs/plan.py, or tests.recordings.Recordings")
        )
        == []
    )
    wrong = ["tm2tfr.runs.chosen", "engines.because", "tests/none/test_it.py"]
    assert sorted(missing("see `tm2tfr.runs.chosen` and `engines.because` in tests/none/test_it.py")) == sorted(wrong)


def test_what_mutants_are_made_of_exists() -> None:
    paths = [path.partition("::")[0] for target in TARGETS.values() for path in (*target.modules, *target.tests)]
    assert [path for path in paths if not (ROOT / path).is_file()] == []
