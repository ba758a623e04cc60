"""Memory of this process and of the machine, in megabytes, as far as the system tells."""

from __future__ import annotations

import os
import sys


def peak() -> float | None:
    """Return the most memory that this process has had; None where the system does not tell, as on Windows."""
    try:
        import resource  # noqa: PLC0415  (POSIX has it)
    except ImportError:
        return None
    most = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return most / (1 << 20) if sys.platform == "darwin" else most / (1 << 10)


def of_machine() -> float | None:
    """Return the memory of the machine; None where the system does not tell."""
    try:
        return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / (1 << 20)
    except (AttributeError, ValueError, OSError):
        return None
