"""Packages that only some commands need: imported on use, with an error that says what to install."""

from __future__ import annotations

from collections.abc import Sequence
from importlib import import_module
from types import ModuleType

from tm2tfr.base.errors import ExportError, Tm2tfrError, first_line


def required(
    what: str, modules: Sequence[str], extra: str, *, otherwise: str = "", error: type[Tm2tfrError] = ExportError
) -> tuple[ModuleType, ...]:
    """Return `modules`, imported.

    Args:
        what: the need, as a clause: ``running a GPT-2 needs torch and transformers``.
        extra: the extra of this package that installs them.
        otherwise: how to do without them, if possible: ``export it with --no-verify``.
        error: what is raised.

    Raises:
        Tm2tfrError: if one of them is not installed, or its installation is broken.
    """
    try:
        return tuple(import_module(module) for module in modules)
    except Exception as fault:  # a package that is there and broken fails in any way it likes
        remedy = f"pip install 'tm2tfr[{extra}]'" + (f", or {otherwise}" if otherwise else "")
        raise error(f"{what} ({first_line(fault)}): {remedy}") from fault
