"""Subjects of all sources with short inputs, and what references say of their runs, position by position."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

import tm2tfr
from tm2tfr.contract.labelling import HeadLabels, Ragged
from tm2tfr.contract.specification import vector
from tm2tfr.lab.labels.runs import LabelledRuns, LabelRows
from tm2tfr.runs.choose import truth_of

Case = tuple[str, dict[str, Any], tuple[str, ...]]
CASES: tuple[Case, ...] = (
    ("chapter", {}, ("11", "", "1")),
    ("palindromes", {}, ("aba", "", "ab")),
    ("busy-beaver-3", {}, ("",)),
    ("left-edge", {"left_boundary": "chapter"}, ("",)),
    ("busy-beaver-2", {"universal": (3, 2)}, ("",)),
    ("parity", {"universal": (3, 3), "seed": 5}, ("101", "")),
    ("full-adder", {}, ("101", "000")),
    ("full-adder", {"variant": "paper-hard"}, ("011",)),
    ("full-adder", {"variant": "paper"}, ("110",)),
    ("reverse", {}, ("abc", "a")),
    ("sort", {}, ("cab",)),
    ("histogram", {}, ("aab",)),
    ("dyck-1", {}, ("(())", ")(")),
    ("most-frequent", {}, ("aab",)),
    ("count", {}, ("aba",)),
    ("since-b", {}, ("abca", "c")),
    ("hop-1", {}, ("abcab",)),
    ("a-n-b-n", {}, ("aabb", "ab")),
    ("ends-as-it-begins", {}, ("aba",)),
    ("prime-count", {}, ("aab",)),
    ("after-a-until-b", {}, ("abaab",)),
)
"""The name of a shipped program, options of its construction, inputs."""
STEPS = 60


def ids(case: Case) -> str:
    name, options, _ = case
    return " ".join([name, *(f"{key}={value}" for key, value in options.items())])


def labelled(case: Case) -> tuple[Any, LabelledRuns, LabelRows]:
    name, options, words = case
    subject = tm2tfr.Subject.of(name, options=options)
    engine = "auto" if subject.decoder.positions is not None else "dense"
    runs = LabelledRuns(subject.decoder, subject.right, engine, STEPS)
    rows, differs, left_out = runs.labelled([subject.word(word) for word in words])
    assert differs is None
    assert len(rows.words) == len(words) - len(left_out) > 0
    return subject, runs, rows


def specified(subject: Any, word: str, positions: int) -> Any:
    """The specification of a run, which says of one position after the other what labels say of all."""
    truth = truth_of(subject.right, word, subject.decoder, STEPS)
    assert truth is not None
    return truth.specification(positions - 1)


def right(specification: Any, subspace: Any, i: int) -> list[float]:
    return [float(value) for value in vector(subspace, specification.values(i)[subspace.holds])]


def looked(rows: LabelRows, head: HeadLabels, run: int, i: int) -> list[int]:
    """The positions that a head attends to from position i of a run, by the labels."""
    start, end = rows.offsets[run : run + 2].tolist()
    column, row = rows.attended.get(head.column), start + i
    if isinstance(column, Ragged) and not column.everything[row]:
        found: list[int] = column.places[column.offsets[row] : column.offsets[row + 1]].tolist()
        return found
    if isinstance(column, np.ndarray):
        return [int(column[row])]
    return list({"future": range(i + 1), "past": range(i, end - start), "none": range(end - start)}[head.mask])


def pattern(rows: LabelRows, head: HeadLabels, run: int) -> NDArray[np.float64]:
    """The attention weights that labels say: (n, n)."""
    n = int(np.diff(rows.offsets)[run])
    found = np.zeros((n, n))
    for i in range(n):
        places = looked(rows, head, run, i)
        found[i, places] = 1 / len(places)
    return found
