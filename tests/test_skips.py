"""A skipped test says what to do about it, or the whole session fails; and how many of many similar cases are tried."""

from __future__ import annotations

import pytest

from tests.conftest import silent, tried
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


def test_of_similar_cases_some_are_tried() -> None:
    one, other = ([f"tests/test_skips.py::{name}[{n}]" for n in range(40)] for name in ("test_one", "test_other"))
    chosen = tried([case for both in zip(one, other, strict=True) for case in both])
    for cases in (one, other):
        assert tries(40) <= len(chosen.intersection(cases)) <= tries(40) + 1
        assert {cases[0], cases[-1]} <= chosen
    assert tried(one[:2]) == set(one[:2])


@pytest.mark.slow
def test_what_is_not_marked_is_tried_whole_and_so_is_a_case_that_is_named(pytester: pytest.Pytester) -> None:
    pytester.makeconftest("from tests.conftest import *")
    pytester.makeini("[pytest]\nmarkers = similar")
    test = 'pytest.mark.parametrize("n", range(40))\ndef test_{}(n):\n    pass\n'
    pytester.makepyfile(test_it=f"import pytest\n\n@pytest.mark.similar\n@{test.format('one')}\n@{test.format('other')}")
    for asked, number in (("test_it.py", 40 + len(tried(f"x[{n}]" for n in range(40)))), ("test_it.py::test_one[7]", 1)):
        pytester.runpytest_subprocess("-p", "no:cacheprovider", asked).assert_outcomes(
            passed=number, deselected=0 if number == 1 else 80 - number
        )
    chosen = pytester.runpytest_subprocess("-p", "no:cacheprovider", "-k", "test_one", "test_it.py")
    chosen.assert_outcomes(passed=40, deselected=40)
