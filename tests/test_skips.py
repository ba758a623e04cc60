"""A skipped test says what to do about it, or the whole session fails; and how many of many similar cases are tried."""

from __future__ import annotations

import pytest

from tests.conftest import SIMILAR, silent, tried
from tests.readme import ROOT
from tests.strategies import tries

pytest_plugins = ("pytester",)


@pytest.mark.parametrize(
    ("reason", "unsaid"),
    [
        ("Skipped: PyTorch is not installed: pip install 'tm2tfr[torch]'", False),
        ("Skipped: 47 million steps: set TM2TFR_LONG=1", False),
        ("Skipped: root may read everything: run the tests as another user", False),
        ("Skipped: no CUDA device: this test needs an NVIDIA GPU", False),
        ("Skipped: no LaTeX here", True),
        ("Skipped: unconditional skip", True),
    ],
)
def test_which_reasons_say_enough(reason: str, unsaid: bool) -> None:
    assert silent(reason) is unsaid


@pytest.mark.slow
@pytest.mark.parametrize(
    ("reason", "code"),
    [("no dot: apt-get install graphviz", pytest.ExitCode.OK), ("no dot", pytest.ExitCode.TESTS_FAILED)],
)
def test_a_reason_without_a_remedy_fails_the_session(reason: str, code: int, pytester: pytest.Pytester) -> None:
    pytester.makeconftest("from tests.conftest import *")
    pytester.makepyfile(f"import pytest\n\ndef test_one():\n    pytest.skip({reason!r})\n\ndef test_two():\n    pass\n")
    result = pytester.runpytest_subprocess("-p", "no:cacheprovider")
    assert result.ret == code
    assert ("skipped without a word" in result.stdout.str()) == (code != 0)


def test_of_similar_cases_some_are_tried_and_of_other_tests_all() -> None:
    similar, other = f"{SIMILAR[0]}[{{}}]", "tests/test_skips.py::test_it[{}]"
    names = [name.format(n) for n in range(40) for name in (similar, other)]
    chosen = tried(names)
    assert {other.format(n) for n in range(40)} <= chosen
    assert tries(40) <= len(chosen) - 40 <= tries(40) + 1
    assert {similar.format(0), similar.format(39)} <= chosen
    assert tried([similar.format(0), similar.format(1)]) == {similar.format(0), similar.format(1)}


def test_similar_tests_are_there() -> None:
    for begin in SIMILAR:
        file, _, name = begin.partition("::")
        assert f"def {name}" in (ROOT / file).read_text(encoding="utf-8"), begin
