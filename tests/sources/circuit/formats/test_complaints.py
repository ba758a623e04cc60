r"""Messages about broken circuits in every format, word by word.

A golden file is named after its format; the cases of the binary format are written with escapes, ``\x02``.
"""

from __future__ import annotations

import re
import sys
from collections import Counter
from pathlib import Path

import pytest

from tests.golden import Case, Golden
from tm2tfr.base.errors import SpecError
from tm2tfr.base.text.source import MOST_SHOWN
from tm2tfr.sources.circuit.formats import registry
from tm2tfr.sources.circuit.formats.registry import CIRCUIT_FORMATS, CIRCUIT_READABLE


def said(data: bytes, format: str) -> str:
    """Return all messages about a text, errors and warnings, in order."""
    file = f"f{CIRCUIT_FORMATS[format].endings[0]}"
    try:
        return "\n".join(map(str, registry.read(data, file=file, format=format).warnings))
    except SpecError as error:
        return str(error)


def data_of(case: Case) -> bytes:
    """Return the contents of the file."""
    if not CIRCUIT_FORMATS[case.file].binary:
        return case.text.encode()
    return case.text.encode("latin-1").decode("unicode_escape").encode("latin-1")


def answer(case: Case) -> str:
    return said(data_of(case), case.file)


GOLDEN = Golden(Path(__file__).parent / "complaints", answer)


def test_there_are_forty_broken_files_of_every_format() -> None:
    broken = [case for case in GOLDEN.cases if re.search(r"^f\.(?!.*: warning: )", case.says, re.MULTILINE)]
    counts = Counter(case.file for case in broken)
    assert set(counts) == set(CIRCUIT_READABLE)
    assert min(counts.values()) >= 40


# the places and words of syntax errors in expressions are Python's own, and change with its versions
@pytest.mark.parametrize("case", [pytest.param(case, id=case.id) for case in GOLDEN.cases])
def test_golden(case: Case) -> None:
    if "Python's syntax" in case.says and sys.version_info[:2] != (3, 11):
        assert "Python's syntax" in answer(case)
    else:
        assert answer(case) == case.says


def test_golden_with_carriage_returns_and_a_byte_order_mark() -> None:
    for case in GOLDEN.cases:
        if case.file != "aig":
            windows = said(b"\xef\xbb\xbf" + data_of(case).replace(b"\n", b"\r\n"), case.file)
            assert windows == answer(case), case.id


def test_every_complaint_says_where_what_and_what_to_do() -> None:
    for case in GOLDEN.cases:
        for line in case.says.splitlines():
            if not line.startswith("  "):
                assert re.match(r"f\.[a-z]+(:\d+:\d+)?: (warning: )?.+: .+", line), case.id


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
