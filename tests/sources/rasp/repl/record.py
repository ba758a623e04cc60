"""Record what the authors' interpreter says of the shipped programs: ``python -m tests.sources.rasp.repl.record CHECKOUT``.

CHECKOUT is a clone of github.com/tech-srl/RASP. Written beside this file:

- ``values.jsonl.gz``: one line ``{"program": …, "sops": […], "digest": …}`` per program, then one line per input:
  ``[input, [values of the first s-op, …]]``. Numbers are as Python's `repr` writes them: 1 is an int, 1.0 a float;
  text in the place of a list of values is the complaint of the interpreter, which has none.
- ``analysis.json``: program -> s-op -> layers -> heads, each ``[selector, number of aggregates, s-ops that have a name]``;
  of the authors' own programs too, whose texts are in the checkout only.
- ``floats.json``: programs on which the interpreter is wrong because it computes with floats, see `floats`.
"""

from __future__ import annotations

import gzip
import hashlib
import json
import sys
from collections.abc import Iterator, Mapping
from functools import cache
from pathlib import Path
from typing import Any, TypeVar

from tests.recordings import Recordings
from tests.sources.rasp.headers import Word, header, theirs
from tests.sources.rasp.repl.authors import Repl, inside
from tests.sources.rasp.repl.floats import CASES
from tests.sources.rasp.repl.inputs import inputs

T = TypeVar("T")
FOLDER = Path(__file__).parent
VALUES, ANALYSIS, FLOATS = FOLDER / "values.jsonl.gz", FOLDER / "analysis.json", FOLDER / "floats.json"
AUTHORS = ("paper_examples.rasp", "long_addition.rasp", "rover.rasp")
"""Their own programs."""


def digest(text: str) -> str:
    """Return a digest of what a program says, whatever its comments say."""
    said = "\n".join(line for line in text.splitlines() if line.strip() and not line.lstrip().startswith("#"))
    return hashlib.sha256(said.encode()).hexdigest()[:16]


def recordings(values: Mapping[str, T]) -> Recordings[T]:
    """Return what the authors' interpreter says, by the name of a program."""
    make = "clone github.com/tech-srl/RASP as CHECKOUT, and run 'python -m tests.sources.rasp.repl.record CHECKOUT'"
    return Recordings(values, of="what the authors' interpreter says of a program", make=make)


@cache
def recorded() -> Recordings[tuple[dict[str, Any], list[tuple[Word, list[Any]]]]]:
    """Return, of each recorded program by name, its head and its inputs with the values of its s-ops."""
    found: dict[str, tuple[dict[str, Any], list[tuple[Word, list[Any]]]]] = {}
    for line in gzip.decompress(VALUES.read_bytes()).decode().splitlines():
        entry = json.loads(line)
        if isinstance(entry, dict):
            rows: list[tuple[Word, list[Any]]] = []
            found[entry["program"]] = entry, rows
        else:
            rows.append((tuple(entry[0]), entry[1]))
    return recordings(found)


def _lines(name: str, analysis: dict[str, Any]) -> Iterator[str]:
    about = header(name)
    repl = Repl(about.text)
    sops = list(repl.sops)
    analysis[name] = {sop: repl.analysis(sop) for sop in sops}
    yield json.dumps({"program": name, "sops": sops, "digest": digest(about.text)})
    for word in inputs(about):
        given = "".join(word) if all(isinstance(token, str) and len(token) == 1 for token in word) else word
        yield json.dumps([given, [repl.values(sop, word) for sop in sops]], ensure_ascii=False, separators=(",", ":"))


def _authors(checkout: Path) -> dict[str, Any]:
    """Return the analysis of the authors' own programs."""
    repls = {name: Repl((checkout / name).read_text(encoding="utf-8")) for name in AUTHORS}
    return {name: {sop: repl.analysis(sop) for sop in repl.sops} for name, repl in repls.items()}


def main(checkout: str) -> None:
    analysis: dict[str, Any] = {}
    place = Path(checkout).resolve()
    with inside(place):
        lines = [line for name in theirs() for line in _lines(name, analysis)]
        analysis |= _authors(place)
        floats = [{**case, "repl": Repl(case["text"]).values(case["sop"], case["input"])} for case in CASES]
    VALUES.write_bytes(gzip.compress("\n".join(lines).encode(), mtime=0))
    ANALYSIS.write_text(_laid_out(analysis), encoding="utf-8")
    rows = ",\n".join(json.dumps(case, ensure_ascii=False) for case in floats)
    FLOATS.write_text(f"[\n{rows}\n]\n", encoding="utf-8")


def _laid_out(analysis: dict[str, Any]) -> str:
    """JSON with one line per s-op."""
    programs = []
    for name, sops in analysis.items():
        rows = ",\n".join(f"  {json.dumps(sop)}: {json.dumps(layers)}" for sop, layers in sops.items())
        programs.append(f" {json.dumps(name)}: {{\n{rows}\n }}")
    return "{\n" + ",\n".join(programs) + "\n}\n"


if __name__ == "__main__":
    main(sys.argv[1])
