"""What other programs write into AIGER files: comments of any bytes, and latches."""

from __future__ import annotations

import pytest

from tm2tfr.sources.circuit import library
from tm2tfr.sources.circuit.formats import registry

ADDER = library.load("full-adder")
COMMENTS = {
    "a name and a NUL, as in berkeley-abc": b"c\ntop\0",
    "the same in one line, as in its later versions": b"cn\0\0\0\4top\0",
    "bytes that are no text": b"c\n\xff\xfe\x1b[31m\0\r\n\xe2\x80",
    "nothing": b"c",
    "nothing but a line": b"c\r\n",
}


def data_of(format: str) -> bytes:
    """Return the full adder in a format, without comments."""
    written = registry.write(ADDER, format)
    data = written if isinstance(written, bytes) else written.encode()
    return data[: data.index(b"\nc\n") + 1]


@pytest.mark.parametrize("format", ["aag", "aig"])
@pytest.mark.parametrize("comment", COMMENTS.values(), ids=COMMENTS)
def test_comments_may_contain_any_bytes(format: str, comment: bytes) -> None:
    plain = registry.read(data_of(format), file="adder.x", format=format).circuit
    assert registry.read(data_of(format) + comment, file="adder.x", format=format).circuit == plain


@pytest.mark.parametrize("format", ["aag", "aig"])
def test_our_names_are_read_from_a_comment_with_other_bytes(format: str) -> None:
    data = data_of(format) + b'c\nabc\0\n# net c is "carry in"\n\xff\n# circuit "of two"\n'
    circuit = registry.read(data, file="adder.x", format=format).circuit
    assert (circuit.name, circuit.inputs[2]) == ("of two", "carry in")
