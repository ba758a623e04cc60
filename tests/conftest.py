"""Shared by all tests: hypothesis profiles, and the rule that a skipped test says what it needs."""

from __future__ import annotations

import os
import re
import signal
from collections.abc import Iterable

import pytest
from hypothesis import HealthCheck, settings

from tests.strategies import DEPTH, some

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
    "tests/targets/test_framed.py",
    "tests/targets/test_handmade.py",
    "tests/test_renamed.py",
    "tests/transformer/test_parts.py::test_the_exact_scores_of_a_head_behind_a_norm_are_not_looked_at",
)
"""Where node ids begin of tests that are slow together, though hardly one of them is by itself."""
SIMILAR = (
    "tests/cli/test_streams.py::test_a_full_disk_is_no_bug",
    "tests/explorer/test_handmade.py::test_the_table_is_the_trace",
    "tests/explorer/test_live.py::test_a_limit_that_is_none_is_refused",
    "tests/explorer/test_live.py::test_the_page_records_what_python_records",
    "tests/explorer/test_live.py::test_what_is_no_input_is_refused_in_the_words_of_the_command_line",
    "tests/explorer/test_live_labellers.py::test_the_page_shows_what_python_shows",
    "tests/explorer/test_places.py::test_no_state_is_out_of_reach",
    "tests/explorer/test_places.py::test_the_table_has_the_tape",
    "tests/playground/test_front.py::test_a_link_that_makes_no_sense_opens_nothing",
    "tests/sources/circuit/formats/test_iscas85.py::test_it_comes_back",
    "tests/sources/circuit/formats/test_large.py::test_a_large_circuit_comes_back",
    "tests/sources/circuit/formats/test_round_trips.py::",
    "tests/sources/circuit/proof/test_certificate.py::test_adders_of_1_to_48_bits_are_certified_for_all_inputs",
    "tests/sources/logic/test_certificate.py::test_shipped_ones_are_certified",
    "tests/sources/logic/test_numbers_compared.py::test_keys_with_squares",
    "tests/sources/logic/test_numbers_compared.py::test_quotients_and_remainders",
    "tests/sources/sequence/test_compiled.py::test_everything_that_has_a_name",
    "tests/sources/sequence/test_unbounded.py::test_long_inputs_are_right",
    "tests/sources/test_long_texts.py::",
    "tests/sources/turing/formats/test_round_trips.py::test_a_machine_with_awkward_names_comes_back",
    "tests/sources/turing/formats/test_round_trips.py::test_a_random_machine_comes_back",
    "tests/sources/turing/universal/proof/test_rounding.py::test_the_input_is_read_where_it_is_up_to_the_bound_and_not_",
    "tests/sources/turing/universal/proof/test_streams.py::test_a_weight_that_shows_in_a_run_is_refused",
    "tests/tables/test_stream.py::test_a_hundred_thousand_rows",
    "tests/targets/gpt2/test_orders.py::",
    "tests/targets/gpt2/test_running.py::test_machines_run_in_transformers",
    "tests/targets/lens/test_lens.py::test_machines_run_to_1024_positions",
    "tests/targets/matrices/test_labellers.py::test_it_is_exported_run_and_verified",
    "tests/targets/matrices/test_machines.py::test_every_shipped_machine_verifies_itself",
    "tests/targets/matrices/test_machines.py::test_exact_to_1024_positions_in_float64",
    "tests/targets/matrices/test_machines.py::test_random_sabotage_gives_the_dense_engines_wrong_tokens",
    "tests/targets/test_documents.py::test_a_model_card_of_a_class_of_machines_is_true",
    "tests/targets/test_formulas.py::test_every_node_is_the_evaluators",
    "tests/targets/test_framed.py::test_it_is_exported_run_and_verified",
    "tests/targets/test_kernels.py::test_plain_torch_is_right_under",
    "tests/targets/test_kernels.py::test_transformer_lens_is_right_under",
    "tests/trace/test_sabotage.py::test_each_sabotage_is_caught_where_it_is_or_changes_nothing",
)
"""Where node ids begin of tests with many similar cases: some of each are tried, all of them in a thorough run."""
REMEDY = re.compile(r": .*(\binstall\b|\bset \w+=|\brun\b|\bneeds\b)")
"""What the reason of a skipped test has to contain: why, then what to do about it."""
_silent: set[str] = set()


def tried(names: Iterable[str]) -> set[str]:
    """Return those of these node ids that are tried: of the cases of a test in `SIMILAR` a share, and at least two."""
    cases: dict[str, list[str]] = {}
    for name in names:
        cases.setdefault(name.partition("[")[0] if name.startswith(SIMILAR) else name, []).append(name)
    return {name for every in cases.values() for name in (*some(every), *every[-1:])}


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    if DEPTH < 1 and not any("[" in argument for argument in config.args):
        chosen = tried(item.nodeid for item in items)
        config.hook.pytest_deselected(items=[item for item in items if item.nodeid not in chosen])
        items[:] = [item for item in items if item.nodeid in chosen]
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
