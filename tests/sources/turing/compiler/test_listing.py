"""The compiler's output, weight by weight: ``golden/NAME.txt`` is what ``tm2tfr compile NAME --explain`` prints."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.recordings import recorded_text
from tm2tfr.sources.turing.compiler import compile_machine
from tm2tfr.sources.turing.library import load
from tm2tfr.transformer.listing import layer_number, listing, summary
from tm2tfr.transformer.weights import matrices, replaced

GOLDEN = Path(__file__).parent / "golden"


@pytest.mark.parametrize("name", ["chapter", "busy-beaver-2"])
def test_the_weights_are_those_of_the_golden_listing(name: str) -> None:
    path = GOLDEN / f"{name}.txt"
    golden = recorded_text(path, f"run 'tm2tfr compile {name} --explain > {path}'")
    assert listing(compile_machine(load(name))) == golden


def test_one_layer_by_number_and_by_name() -> None:
    decoder = compile_machine(load("chapter"))
    whole, third = listing(decoder), listing(decoder, "3")
    assert third == listing(decoder, "read input")
    assert third in whole
    assert "    query[0] = 2·h/(i+1)\n    query[1] = -1/(i+1)\n    key[0] = i\n    key[1] = i^2\n" in third
    assert layer_number(decoder, "symbol") == 5


def test_every_changed_weight_changes_the_listing() -> None:
    decoder = compile_machine(load("chapter"))
    before = listing(decoder)
    for path, matrix in matrices(decoder).items():
        if matrix.shape[0] and matrix.shape[1]:
            changed = replaced(decoder, {path: matrix.with_entry(0, 0, 0.75)})
            assert listing(changed) != before, path


def test_the_summary_counts() -> None:
    lines = summary(compile_machine(load("chapter"))).splitlines()
    assert lines[0] == "1  unpack: unpack the token: state, symbol written, move [step 1, Eq. 8.5; repair 2]"
    assert {line.split("  ")[0]: line.split()[-1] for line in lines[-8:]} == {
        "layers": "6",
        "attention heads": "4",
        "hidden units": "46",
        "residual width": "63",
        "vocabulary": "16",
        "parameters": "10,583",
        "non-zero": "281",
        "largest weight": "2",
    }
