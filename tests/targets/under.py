"""Exports in their programs, in a process whose math libraries were told which kernels to use.

``python -m tests.targets.under`` exports what it is told to and prints, for each run, the first position that is wrong. The
settings are read when a library is loaded, so that every one of them takes a process of its own.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

from benchmarks.machines import rewriter, runner

SETTINGS: dict[str, dict[str, str]] = {
    "as it comes": {},
    "SSE": {"MKL_ENABLE_INSTRUCTIONS": "SSE4_2", "ATEN_CPU_CAPABILITY": "default", "ONEDNN_MAX_CPU_ISA": "SSE41"},
    "AVX2": {"MKL_ENABLE_INSTRUCTIONS": "AVX2", "ATEN_CPU_CAPABILITY": "avx2", "ONEDNN_MAX_CPU_ISA": "AVX2"},
    "AVX-512": {"MKL_ENABLE_INSTRUCTIONS": "AVX512", "ATEN_CPU_CAPABILITY": "avx512"},
    "compatible": {"MKL_CBWR": "COMPATIBLE"},
}
"""What to set for each kind of kernels."""


def unsupported(setting: str) -> bool:
    """Return whether this processor lacks a setting's instructions: PyTorch, told to use them, would crash."""
    import torch

    return setting == "AVX-512" and torch.backends.cpu.get_cpu_capability() != "AVX512"


def first_wrong(setting: str, *cases: tuple[str, int, int | None, str, dict[str, Any]]) -> list[int | None]:
    """Return for each case the first wrong position under a setting.

    Args:
        cases: program, positions, the bound on |h| (None: a machine that runs right for ever), dtype, options.
    """
    told = {**os.environ, "OMP_NUM_THREADS": "1", **SETTINGS[setting]}
    command = [sys.executable, "-W", "ignore", "-m", "tests.targets.under", json.dumps(cases)]
    done = subprocess.run(command, env=told, capture_output=True, encoding="utf-8", check=False)
    assert done.returncode == 0, done.stderr[-2000:]
    found: list[int | None] = json.loads(done.stdout.splitlines()[-1])
    return found


def _first_wrong(program: str, positions: int, head: int | None, dtype: str, options: dict[str, Any]) -> int | None:
    from tests.targets.matrices.programs import loaded, right_of
    from tm2tfr.api.targets import export_gpt2, export_to
    from tm2tfr.sources.turing.compiler import compile_machine
    from tm2tfr.targets.common.comparison import compared
    from tm2tfr.targets.gpt2.running import Gpt2Running as Gpt2
    from tm2tfr.targets.gpt2.tensors import PAD, UNK
    from tm2tfr.targets.lens.target import LensRunning as Lens

    machine, word = (runner(), "") if head is None else (rewriter(), "1" * (head - 1))
    made, attention = options.pop("generated", 0), options.pop("attention", None)
    chosen = {"positions": positions, "max_head": head, "dtype": dtype, "verify": False, **options}
    vocabulary = compile_machine(machine).vocabulary
    with tempfile.TemporaryDirectory() as folder:
        path, model = Path(folder) / "x", None
        if program == "gpt2":
            export_gpt2(machine, path, **chosen)
            model = Gpt2(path)
            if attention is not None:
                model.model.set_attn_implementation(attention)
        else:
            export_to(program, machine, path, **chosen)
            model = Lens(path) if program == "lens" else loaded(program, path)
        vocabulary = vocabulary if program in ("torch", "onnx") else (*vocabulary, PAD, UNK)
        model.longest_generated = made
        run = compared(model, vocabulary, right_of(machine), word, positions)
    return None if run.divergence is None else run.divergence.position


if __name__ == "__main__":
    print(json.dumps([_first_wrong(*case) for case in json.loads(sys.argv[1])]))
