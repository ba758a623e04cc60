"""Shared by all tests: hypothesis profiles, and the rule that a skipped test says what it needs."""

from __future__ import annotations

import os
import re
import signal
import tempfile
from collections.abc import Iterable, Iterator
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

from tests.strategies import DEPTH, some

pytest.register_assert_rewrite("tests.golden")
settings.register_profile("default", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.register_profile("ci", settings.get_profile("default"), derandomize=True, print_blob=True)
settings.load_profile("ci" if os.environ.get("CI") else "default")

if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    # A shell starts a job in the background with Ctrl-C ignored, and so would be the programs that some tests interrupt.
    signal.signal(signal.SIGINT, signal.default_int_handler)

HEAVY = (
    "tests/cli/test_universal.py",
    "tests/house/test_architecture.py::test_the_picture_is_drawn_from_the_imports",
    "tests/sources/turing/universal/proof/",
    "tests/targets/classifier/",
    "tests/targets/gpt2/",
    "tests/targets/lens/",
    "tests/targets/matrices/",
    "tests/targets/test_formulas.py",
    "tests/targets/test_formulas.py",
    "tests/targets/test_handmade.py",
    "tests/test_renamed.py",
    "tests/transformer/test_parts.py::test_the_exact_scores_of_a_head_behind_a_norm_are_not_looked_at",
)
"""Where node ids begin of tests that are slow together, though hardly one of them is by itself."""
REMEDY = re.compile(r": .*(\binstall\b|\bset \w+=|\brun\b|\bneeds\b)")
"""What the reason of a skipped test has to contain: why, then what to do about it."""
_silent: set[str] = set()


@pytest.fixture(scope="session")
def programs() -> Iterator[Path]:
    """A folder with a program ``tm2tfr`` that starts at once, for tests that run many commands."""
    from tests.cli import warm

    with tempfile.TemporaryDirectory() as folder, warm.commands(Path(folder)) as found:  # a short path, as sockets need
        yield found


def tried(names: Iterable[str]) -> set[str]:
    """Return those of these node ids that are tried: of the cases of each test a share, and at least two."""
    cases: dict[str, list[str]] = {}
    for name in names:
        cases.setdefault(name.partition("[")[0], []).append(name)
    return {name for every in cases.values() for name in (*some(every), *every[-1:])}


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    named = config.option.keyword or any("[" in argument for argument in config.args)
    if DEPTH < 1 and not named:
        similar = {item.nodeid for item in items if item.get_closest_marker("similar")}
        left = similar - tried(item.nodeid for item in items if item.nodeid in similar)
        config.hook.pytest_deselected(items=[item for item in items if item.nodeid in left])
        items[:] = [item for item in items if item.nodeid not in left]
    for item in items:
        if item.nodeid.startswith(HEAVY):
            item.add_marker(pytest.mark.slow)


def silent(reason: str) -> bool:
    """Return whether the reason why a test was skipped leaves out what to do about it."""
    return REMEDY.search(reason) is None


def _noted(report: pytest.TestReport | pytest.CollectReport) -> None:
    if report.skipped and isinstance(report.longrepr, tuple):
        _, _, reason = report.longrepr
        if not hasattr(report, "wasxfail") and silent(reason):
            _silent.add(f"{report.nodeid}: {reason}")


def pytest_runtest_logreport(report: pytest.TestReport) -> None:
    _noted(report)


def pytest_collectreport(report: pytest.CollectReport) -> None:
    _noted(report)


def pytest_sessionfinish(session: pytest.Session) -> None:
    if _silent and session.exitstatus == pytest.ExitCode.OK:
        session.exitstatus = pytest.ExitCode.TESTS_FAILED


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    if _silent:
        terminalreporter.section("skipped without a word on what to install, set or run")
        for line in sorted(_silent):
            terminalreporter.line(line)
