"""Shipped formulas and programs of temporal logic in every program that takes them, beside their evaluator."""

from __future__ import annotations

from itertools import product
from pathlib import Path
from typing import Any

import pytest

import tm2tfr
from tests.targets.test_documents import BLOCK, Reader, there
from tm2tfr.api.targets import export_to, verify_export
from tm2tfr.errors import CompileError, ExportError
from tm2tfr.targets.common import labels
from tm2tfr.text.words import written

ROOT = Path(__file__).parents[2]
PAST = ("flip-flops.tl", "since-b.tl", "odd-ones.tl", "more-as-than-bs.tl", "dyck-2-by-depth.srasp", "hop-2.srasp")
AHEAD = ("after-a-until-b.tl", "odd-ones-without-predicates.tl", "successor.srasp")
EVERYWHERE = "starts-110.tl"
"""All heads of its weights see every position."""


def subject(name: str, **options: Any) -> tm2tfr.Subject:
    return tm2tfr.Subject.of(ROOT / ("programs" if name.endswith("srasp") else "formulas") / name, options=options)


def cases() -> list[Any]:
    """Targets and programs; most with few words, since each is compared at every position with every node."""
    found = []
    for to, names in (
        ("gpt2", PAST),
        ("lens", (*PAST, EVERYWHERE)),
        ("bert", (EVERYWHERE,)),
        ("torch", (*PAST[-2:], *AHEAD)),
        ("onnx", (*PAST[-2:], *AHEAD)),
    ):
        marks = there("gpt2" if to == "bert" else to)
        found += [pytest.param(to, name, marks=marks, id=f"{to}-{name}") for name in names]
    return found


@pytest.mark.parametrize(("to", "name"), cases())
def test_every_node_is_the_evaluators(to: str, name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for limit, number in (("EVERY", 40), ("DRAWN", 4), ("LONGEST_DRAWN", 20)):
        monkeypatch.setattr(labels, limit, number)
    given = subject(name)
    letters, ends = len(given.decoder.vocabulary) - 1, "after BOS"
    if "EOS" in given.decoder.vocabulary:
        letters, ends = letters - 1, "between BOS and EOS"
    lines = str(export_to(to, given, tmp_path / "x", dtype="float32", positions=60)).splitlines()
    every = {2: "4 tokens", 3: "3 tokens", 4: "2 tokens"}[letters]
    told = f"tokens, of up to {every} all there are, {ends}; every label is the evaluator's; with all 60 positions"
    assert told in lines[2]
    verdict = verify_export(tmp_path / "x")
    assert str(verdict).splitlines()[-1] == f"yes: this export is {name.partition('.')[0]}"
    assert verdict.cause == ""
