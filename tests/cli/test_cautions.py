"""Short runs of what was just compiled are not certified first: the certificates of all machines reach further."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.cli.test_start import imported
from tm2tfr.api.tracing import SURELY
from tm2tfr.lab.datasets.machines.family import Family
from tm2tfr.sources.turing.compiler import compile_machine
from tm2tfr.sources.turing.library import load, shipped
from tm2tfr.sources.turing.proof.prove import limit
from tm2tfr.sources.turing.spec import Machine

SIZES = Family(60, 12, tape="one-way", ends="verdict"), Family(40, 20)


@pytest.mark.parametrize(("engine", "dtype"), [("dense", "float64"), ("dense", "float32"), ("fast", "float64")])
def test_every_machine_is_certified_as_far(engine: str, dtype: str) -> None:
    machines: list[Machine] = [load(name) for name in shipped()] + [family.machine(5**100) for family in SIZES]
    for machine in machines:
        most = limit(compile_machine(machine), machine, engine, dtype, max_head=SURELY[dtype])
        assert most is None or most >= SURELY[dtype], machine.name


@pytest.mark.slow
def test_a_short_run_imports_no_proof(tmp_path: Path) -> None:
    assert not [
        name for name in imported("trace", "--input", "11", cwd=tmp_path) if re.match(r"tm2tfr\.sources\..*\.proof\b", name)
    ]
