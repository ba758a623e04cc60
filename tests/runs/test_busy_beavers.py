"""The five-state busy beaver, whole, in the decoder; and a sample of all machines with two states."""

from __future__ import annotations

import json
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from tm2tfr.api.runs import certify
from tm2tfr.lab.datasets.make import load_spec, sweep

ROOT = Path(__file__).parents[2]
RUN = """
import json, sys, tm2tfr
trace = tm2tfr.check("busy-beaver-5", "", engine="fast", max_steps=None, keep_rows=False)
status = open("/proc/self/status").read() if sys.platform == "linux" else "VmHWM: 0 kB"
print(json.dumps({**trace.as_dict(), "reach": trace.reach, "kB": int(status.split("VmHWM:")[1].split()[0])}))
"""


@pytest.mark.slow
def test_all_47_176_870_steps_run_in_the_decoder_and_agree() -> None:
    """Published: 47,176,870 steps, 4,098 ones (Marxen and Buntrock 1990)."""
    done = subprocess.run([sys.executable, "-c", RUN], capture_output=True, encoding="utf-8", check=True, cwd=ROOT)
    said = json.loads(done.stdout)
    assert (said["outcome"], said["steps"], said["ones"], said["tokens"]) == ("halt", 47_176_870, 4_098, 47_176_872)
    assert (said["agrees"], said["compared"]) == (True, 7 * 47_176_872)
    assert said["kB"] < 1_500_000
    most = certify("busy-beaver-5").largest("fast", "float64", said["reach"])
    assert most is not None
    assert most >= said["tokens"]


@pytest.mark.slow
@pytest.mark.parametrize("part", range(2))
def test_a_sample_of_the_machines_with_two_states(part: int) -> None:
    spec = load_spec("two-states")
    [every] = spec.families
    found = sweep(replace(spec, families=(every[part * 31 :: 61],)), workers=1)
    assert found.failure is None
    assert (found.tally.machines, found.tally.runs) == (340, 1360)
    assert found.tally.outcomes["halt"] > 500


def test_there_are_20_736_of_them() -> None:
    spec = load_spec("two-states")
    assert [len(every) for every in spec.families] == [20_736]
    assert sum(piece.runs for job in spec.jobs() for piece in job.work) == 82_944
