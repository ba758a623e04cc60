"""Checks a page with axe-core (the package axe-playwright-python has it)."""

from __future__ import annotations

from collections.abc import Sequence
from importlib.util import find_spec
from typing import Any


def missing() -> str | None:
    """Return why nothing can be checked, or None if it can."""
    return None if find_spec("axe_playwright_python") else "axe-core is not installed: pip install axe-playwright-python"


def violations(page: Any, *, rules: Sequence[str] | None = None, impacts: Sequence[str] | None = None) -> list[str]:
    """Return what axe-core finds wrong with a page, one line each.

    Args:
        rules: those that are checked; None: all.
        impacts: only what is as grave as one of these, such as ``serious``; None: everything.
    """
    from axe_playwright_python.sync_playwright import Axe

    options = {"resultTypes": ["violations"], **({} if rules is None else {"runOnly": list(rules)})}
    return [
        f"{each['impact']}: {each['id']}: {node['html']}: {node['failureSummary']}"
        for each in Axe().run(page, options=options).response["violations"]
        for node in each["nodes"]
        if impacts is None or each["impact"] in impacts
    ]
