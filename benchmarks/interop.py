"""Exports in the programs that they are for, beside the dense engine: ``python benchmarks/interop.py``.

Every figure is of a check: each token is compared with the simulator's. One thread. Extras: torch, onnx.
"""

from __future__ import annotations

import platform
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent.parent))

import numpy as np
import onnxruntime
import torch

from benchmarks.machines import five_states
from benchmarks.run import line, seconds
from tm2tfr.api.targets import export_to
from tm2tfr.engines.dense import Dense
from tm2tfr.runs.comparison import check
from tm2tfr.sources.turing.compiler import compile_machine
from tm2tfr.targets.common.comparison import Model, compared
from tm2tfr.targets.onnx.target import OnnxRunning as InOnnx
from tm2tfr.targets.torch.target import TorchRunning as InTorch

POSITIONS, SHORT = 10_000, 2_048
MACHINE = five_states()
DECODER = compile_machine(MACHINE)


def checked(model: Model, positions: int, *, generated: bool = False) -> Callable[[], None]:
    """Return a job: the machine's run in `model`, teacher-forced, or generated as well, compared with the simulator."""

    def job() -> None:
        model.longest_generated = positions if generated else 0
        run = compared(model, DECODER.vocabulary, MACHINE, "", positions)
        if run.difference is not None or len(run.tokens) != positions:
            raise RuntimeError(f"the run is wrong: {run.difference}")

    return job


def dense(positions: int) -> float:
    """Return the seconds that the dense engine takes for a checked run."""

    def job() -> None:
        trace = check(DECODER, "", machine=MACHINE, engine=Dense(), max_steps=positions - 1)
        if trace.divergence is not None:
            raise RuntimeError(str(trace.divergence))

    return seconds(job, 1)


def main() -> None:
    """Print the figures."""
    with tempfile.TemporaryDirectory() as name:
        folders = {to: Path(name) / to for to in ("torch", "onnx")}
        for to, folder in folders.items():
            export_to(to, MACHINE, folder, positions=POSITIONS, verify=False)
        in_torch, in_onnx = InTorch(folders["torch"]), InOnnx(folders["onnx"])
        engine = dense(POSITIONS)
        line(f"dense, {POSITIONS:,} positions, generated and checked", f"{engine:.1f} s")
        forced = seconds(checked(in_torch, POSITIONS))
        line(f"torch, {POSITIONS:,} positions, teacher-forced and checked", f"{forced:.1f} s", "under 60 s")
        line("  ÷ dense, time", f"{forced / engine:.2f}")
        made = seconds(checked(in_torch, POSITIONS, generated=True), 1) - forced
        line(f"torch, {POSITIONS:,} positions, generated and checked", f"{made:.1f} s")
        line("  ÷ dense, time", f"{made / engine:.2f}")
        short, engine = seconds(checked(in_onnx, SHORT)), dense(SHORT)
        line(f"ONNX Runtime, {SHORT:,} positions, teacher-forced and checked", f"{short:.2f} s")
        line("  ÷ dense, time", f"{short / engine:.2f}")


if __name__ == "__main__":
    print(
        f"{platform.processor() or platform.machine()}, {platform.system()}, Python {platform.python_version()}, "
        f"numpy {np.__version__}, torch {torch.__version__}, ONNX Runtime {onnxruntime.__version__}"
    )
    main()
