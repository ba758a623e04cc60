"""The function that answers a key stroke in the playground, part by part: no server, no browser, no network.

Each figure is a median, in milliseconds, of answers to slightly different texts, as while somebody types.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from itertools import pairwise
from statistics import median
from time import perf_counter
from typing import Any

from tm2tfr.web.playground.answer import answer, ran, read
from tm2tfr.web.playground.query import Query, shipped_text

TARGET = 200
"""Milliseconds for the whole answer about a machine of ten states."""
ROUNDS = 30
STATES = [f"s{n}" for n in range(10)]
TEN = "blank: _\ninput: '11111111'\nstart state: s0\ntable:\n" + "".join(
    f"  {q}:\n    1: {{write: x, R: {p}}}\n    x: R\n    _: {{L: s9}}\n" for q, p in pairwise(STATES)
)
SOURCES = {
    "ten states": f"{TEN}  s9:\n",
    **{name: shipped_text(name) for name in ("universal", "full-adder", "sort", "since-b")},
}


def timed(work: Callable[[], Any]) -> tuple[float, Any]:
    """Return the milliseconds that some work takes, and what it returns."""
    start = perf_counter()
    found = work()
    return 1000 * (perf_counter() - start), found


def parts(source: str) -> dict[str, float]:
    """Return the milliseconds of each part of an answer."""
    times: dict[str, list[float]] = {name: [] for name in ("read", "compile", "run", "page", "json", "all")}
    for n in range(ROUNDS):
        query = Query(source=f"{source}{' ' * n}\n")
        spent, done = timed(lambda query=query: read(query))
        times["read"].append(spent)
        spent, _ = timed(lambda done=done: done.found.decoder)
        times["compile"].append(spent)
        word = done.found.word(None)
        spent, run = timed(lambda done=done, word=word, query=query: ran(done.found, word, query))
        times["run"].append(spent)
        times["page"].append(timed(lambda done=done, run=run: run.page(done.found.right))[0])
        spent, whole = timed(lambda query=query: answer(query))
        times["all"].append(spent)
        times["json"].append(timed(lambda whole=whole: json.dumps(whole))[0])
    return {name: median(each) for name, each in times.items()}


if __name__ == "__main__":
    for name, source in SOURCES.items():
        found = parts(source)
        target = f"  (target for all: under {TARGET})" if name == "ten states" else ""
        print(f"{name:<12}", "  ".join(f"{part} {spent:6.1f}" for part, spent in found.items()), target)
