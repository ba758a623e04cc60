"""The analysis against that of the authors' interpreter: layers, heads, their selectors, the s-ops that share a head."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest

from tests.recordings import Recordings
from tests.sources.rasp.headers import theirs
from tests.sources.rasp.repl.record import ANALYSIS, AUTHORS, recordings
from tests.sources.rasp.running import read, shipped_program
from tm2tfr.sources.rasp.analyse import RaspHead, analyse
from tm2tfr.sources.rasp.program import Program

THEIRS: Recordings[Any] = recordings(json.loads(ANALYSIS.read_text(encoding="utf-8")))


def _head(program: Program, head: RaspHead) -> list[Any]:
    selector = [name for name, value in program.selectors.items() if value is head.selector]
    named = sorted(name for name, value in program.sops.items() if any(value is one for one in head.aggregates))
    return [(selector or [""])[-1], len(head.aggregates), named]


def ours(program: Program) -> dict[str, list[list[Any]]]:
    """Return the analysis of every s-op of a program, as the recording has it."""
    found = {name: analyse(sop) for name, sop in program.sops.items()}
    return {
        name: [sorted(_head(program, head) for head in layer.heads) for layer in analysis.layers]
        for name, analysis in found.items()
    }


@pytest.mark.parametrize("name", theirs())
def test_a_shipped_program(name: str) -> None:
    assert ours(shipped_program(name)) == THEIRS[name]


def test_the_paper_s_programs_have_the_layers_and_heads_of_the_authors_own() -> None:
    """Written anew, they are as deep and as wide; most-frequent has one head more, which counts ties apart."""
    same = {
        "histogram": "hist_bos",
        "histogram-without-bos": "hist_nobos",
        "reverse": "reverse",
        "sort-with-bos": "sort_bos",
        "double-histogram": "hist2_bos",
        "dyck-1": "dyck1_ptf",
        "dyck-2": "dyck2_ptf",
        "dyck-3": "dyck3_ptf",
    }
    theirs = {name: tuple(map(len, layers)) for name, layers in THEIRS["paper_examples.rasp"].items()}
    assert {name: analyse(shipped_program(name)).heads for name in same} == {
        name: theirs[own] for name, own in same.items()
    }
    assert analyse(shipped_program("most-frequent")).heads == (2, 2, 1)
    assert theirs["sort_by_most_freq"] == (2, 1, 1)


@pytest.mark.parametrize("file", AUTHORS)
def test_the_authors_own_programs(file: str) -> None:
    checkout = os.environ.get("TM2TFR_RASP")
    if not checkout:
        pytest.skip("the authors' programs are not here: set TM2TFR_RASP=CHECKOUT, a clone of github.com/tech-srl/RASP")
    found = ours(read(Path(checkout, file).read_text(encoding="utf-8")))
    assert found == THEIRS[file]
    assert len(found) >= 9
