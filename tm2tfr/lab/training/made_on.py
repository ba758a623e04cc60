"""Where a run was made: the platform, the processor and the commit, which no result may depend on but some do.

Times do, and so do the last bits of a sum: another processor, or another library of matrix products, rounds in another
order. Versions of packages are told apart, see `tm2tfr.lab.line.pool.versions`.
"""

from __future__ import annotations

import platform
import re
import subprocess
from functools import cache
from pathlib import Path

import torch

ROOT = Path(__file__).parents[3]
"""The checkout, if this file is in one."""
CHANGED = "with changes"
"""Behind a commit, if files that Git knows differ from it."""


def made_on(device: torch.device) -> dict[str, str]:
    """Return the platform, the processor, for ``cuda`` the graphics card, and for a checkout of tm2tfr its commit."""
    found = {"platform": platform.platform(), "processor": processor()}
    if device.type == "cuda":
        found["device"] = torch.cuda.get_device_name(device)
    if (known := commit(ROOT)) is not None:
        found["commit"] = known
    return found


@cache
def processor() -> str:
    """Return the name of the processor; the kind of machine, as ``x86_64``, where the system does not tell it."""
    try:
        said = re.search(r"^model name\s*:\s*(.+)$", Path("/proc/cpuinfo").read_text(encoding="utf-8"), re.MULTILINE)
    except (OSError, UnicodeError):
        said = None
    return said[1].strip() if said else platform.processor() or platform.machine()


@cache
def commit(root: Path) -> str | None:
    """Return the commit of a checkout, `CHANGED` behind it if files differ; None for another folder, or without Git."""
    if not (root / ".git").exists():
        return None
    try:
        head = _git(root, "rev-parse", "HEAD")
        changed = _git(root, "status", "--porcelain", "--untracked-files=no")
    except (OSError, subprocess.SubprocessError):
        return None
    return f"{head} {CHANGED}" if changed else head


def _git(root: Path, *arguments: str) -> str:
    done = subprocess.run(("git", "-C", str(root), *arguments), capture_output=True, text=True, check=True, timeout=10)
    return done.stdout.strip()
