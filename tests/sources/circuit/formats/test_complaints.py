"""What is said about broken circuits in every format: every word of it."""

from __future__ import annotations

import re
import sys
from collections import Counter

import pytest

from tests.sources.circuit.formats.golden import PATHS, CircuitCase, cases, said
from tm2tfr.base.errors import SpecError
from tm2tfr.base.text.source import MOST_SHOWN
from tm2tfr.sources.circuit.formats import registry
from tm2tfr.sources.circuit.formats.registry import CIRCUIT_READABLE

GOLDEN = [case for path in PATHS for case in cases(path)]


def test_there_are_forty_broken_files_of_every_format() -> None:
    broken = [
        case for path in PATHS for case in cases(path) if re.search(r"^f\.(?!.*: warning: )", case.said, re.MULTILINE)
    ]
    counts = Counter(case.format for case in broken)
    assert set(counts) == set(CIRCUIT_READABLE)
    assert min(counts.values()) >= 40
    written = sum(path.read_text(encoding="utf-8").count("=== says") for path in PATHS)
    assert written == len(GOLDEN)


# the places and words of syntax errors in expressions are Python's own, and change with its versions
@pytest.mark.parametrize("case", [pytest.param(case, id=f"{case.format}: {case.about}") for case in GOLDEN])
def test_golden(case: CircuitCase) -> None:
    if "Python's syntax" in case.said and sys.version_info[:2] != (3, 11):
        assert "Python's syntax" in said(case.data, case.format)
    else:
        assert said(case.data, case.format) == case.said


def test_golden_with_carriage_returns_and_a_byte_order_mark() -> None:
    for case in GOLDEN:
        if case.format != "aig":
            windows = said(b"\xef\xbb\xbf" + case.data.replace(b"\n", b"\r\n"), case.format)
            assert windows == said(case.data, case.format), case.about


def test_every_complaint_says_where_what_and_what_to_do() -> None:
    for case in GOLDEN:
        for line in case.said.splitlines():
            if not line.startswith("  "):
                assert re.match(r"f\.[a-z]+(:\d+:\d+)?: (warning: )?.+: .+", line), case.about


def test_nobody_is_shown_more_than_twenty_complaints_and_the_rest_is_not_read() -> None:
    with pytest.raises(SpecError, match=r"f: … and 480 more: fix those above first") as caught:
        registry.read("this is text\n" * 100_000, file="f", format="bench")
    assert len(caught.value.diagnostics) == MOST_SHOWN + 1


@pytest.mark.parametrize("format", CIRCUIT_READABLE)
@pytest.mark.parametrize(
    "data",
    [
        pytest.param(b"\xff\xfe\x00", id="not text"),
        pytest.param(b"(" * 50_000, id="parentheses"),
        pytest.param(b"[" * 50_000, id="brackets"),
        pytest.param(b"s = " + b"~" * 50_000 + b"a", id="signs"),
        pytest.param(b"s = " + b"not " * 50_000 + b"a", id="words"),
        pytest.param(b"\\\n" * 50_000, id="continuations"),
        pytest.param(b"aig 9999999 9999999 0 9999999 9999999\n", id="a header alone"),
        pytest.param(b"aag 20000000 20000000 0 0 0\n", id="inputs alone"),
        pytest.param(b".names " + b"a " * 50_000 + b"s\n", id="a wide cover"),
        pytest.param(b"-" * 100_000 + b" | 1\n", id="wildcards"),
        pytest.param(b"0x" + b"f" * 100_000, id="a long number"),
    ],
)
def test_what_is_hostile_is_refused_at_once(format: str, data: bytes) -> None:
    with pytest.raises(SpecError):
        registry.read(data, file="f", format=format)


def test_implied_inputs_take_no_memory_before_they_are_refused() -> None:
    with pytest.raises(
        SpecError, match=r"f:1:5: 2,000,001 inputs are more than 2,000,000, the most that are read: check the"
    ):
        registry.read(b"aig 2000001 2000001 0 1 0\n2\n", file="f", format="aig")


@pytest.mark.parametrize(("format", "most"), [("yaml", 64), ("truth-table", 64), ("expression", 16)])
def test_the_largest_text(format: str, most: int) -> None:
    words = f"f: the text is larger than {most} MiB: no circuit needs that much: check that this is the right file"
    assert (
        said(b"#" * ((most << 20) + 1), format).replace("f.yaml", "f").replace("f.tt", "f").replace("f.expr", "f") == words
    )


@pytest.mark.slow
def test_rows_that_say_the_same_again_and_again_are_refused() -> None:
    rows = "-" * 16 + " | 1\n"
    with pytest.raises(SpecError, match=r"f:17:1: the rows so far stand for more than 1,048,576 cases, many of them rep"):
        registry.read(rows * 100_000, file="f", format="truth-table")


def test_a_large_table_is_written_in_full() -> None:
    operands = ", ".join(["a"] * 16)
    with pytest.raises(SpecError, match=r"f:3:9: '0x1' is not a table of 65,536 bits: write it as a hexadecimal number"):
        registry.read(f"INPUT(a)\nOUTPUT(s)\ns = LUT 0x1 ({operands})\n", file="f", format="bench")
