"""AIGER's binary form, ``.aig``: inputs and left sides are implied, the ANDs are differences of literals in bytes.

After the header ``aig M I L O A`` and a line for each latch and output, each AND is ``lhs - rhs0`` and ``rhs0 - rhs1``,
seven bits a byte, the lowest ones first, with the highest bit set in all bytes but the last. Symbols and comments follow as
in `aiger`.
"""

from __future__ import annotations

from collections.abc import Iterator

from tm2tfr.base.errors import Diagnostic, SpecError, counted
from tm2tfr.base.text.source import Log, SourceText, decoded
from tm2tfr.sources.circuit.formats.aiger import COMMENTS, AigerFile, and_graph, conclude, read_header
from tm2tfr.sources.circuit.formats.draft import LoadedCircuit, NetDraft, stem
from tm2tfr.sources.circuit.formats.names import symbol_lines
from tm2tfr.sources.circuit.netlist import Circuit

_LONGEST_LINE = 200
_LONGEST_NUMBER = 5
_CUT = "check whether the file is complete; it must be copied as binary, not as text"


def looks_like(data: bytes) -> bool:
    """Return whether some bytes begin like a file of this format."""
    return data.startswith(b"aig ")


def read(data: bytes, *, file: str, cut: bool = False) -> LoadedCircuit:
    """Read a circuit; `cut` it at its latches.

    Raises:
        SpecError: with the errors of the file; those behind a damaged byte cannot be seen.
    """
    first, *_ = data[:_LONGEST_LINE].split(b"\n", 1)
    draft = NetDraft(Log(SourceText(first.decode("latin-1"), file)), name=stem(file), cut=cut)
    header = read_header(draft, "aig")
    if len(data) - len(first) < 2 * header.latches + 2 * header.outputs + 2 * header.ands:
        latches = f"{header.latches:,} latches, " if header.latches else ""
        parts = f"{latches}{counted(header.outputs, 'output')} and {counted(header.ands, 'AND')}"
        problem = f"the header announces {parts}, but the file ends before"
        draft.refuse(0, None, problem, _CUT)
    start = len(first) + 1
    lines = [first]
    for _ in range(header.latches + header.outputs):
        end = data.find(b"\n", start, start + _LONGEST_LINE)
        lines.append(data[start:end] if end >= 0 else b"")
        start = end + 1 if end >= 0 else start
    ands, after = _ands(data, start, 2 * (1 + header.inputs + header.latches), header.ands, file)
    # the binary part as empty lines, so that the lines of the symbols keep their numbers
    head = b"\n".join(lines) + b"\n"
    text = head + b"\n" * data.count(b"\n", start, after) + data[after:]
    draft.log = Log(decoded(text, file=file, most=len(data) + 1, noun="circuit", comments=COMMENTS))
    graph = AigerFile(draft, header, inputs=dict.fromkeys(range(1, 1 + header.inputs)), ands=ands)
    for number in range(header.latches):
        graph.read_latch(1 + number, 2 * (1 + header.inputs + number))
    graph.read_outputs(1 + header.latches)
    conclude(graph)
    graph.symbol_table(1 + header.latches + header.outputs)
    return draft.loaded()


def _ands(data: bytes, at: int, literal: int, count: int, file: str) -> tuple[dict[int, tuple[int, int, int | None]], int]:
    """Return the ANDs by variable, and the place after them.

    Args:
        at: the place of the first one.
        literal: its left side.
        count: their number.
    """
    ands: dict[int, tuple[int, int, int | None]] = {}
    for lhs in range(literal, literal + 2 * count, 2):
        first = at
        above, at = _number(data, at, lhs, file)
        between, at = _number(data, at, lhs, file)
        left, right = lhs - above, lhs - above - between
        if not above or right < 0:
            raise _damaged(f"the AND of literal {lhs}, at byte {first}, does not read smaller literals", file)
        ands[lhs >> 1] = (left, right, None)
    return ands, at


def _number(data: bytes, at: int, lhs: int, file: str) -> tuple[int, int]:
    """Return the number in the bytes from `at` on, and the place after it."""
    number = 0
    for shift in range(0, 7 * _LONGEST_NUMBER, 7):
        if at >= len(data):
            raise _damaged(f"the file ends in the AND of literal {lhs}, at byte {at}", file)
        byte = data[at]
        at += 1
        number |= (byte & 127) << shift
        if byte < 128:
            return number, at
    raise _damaged(f"a number in the AND of literal {lhs}, before byte {at}, has too many bytes", file)


def _damaged(what: str, file: str) -> SpecError:
    return SpecError([Diagnostic(what=what, remedy=_CUT, file=file)])


def write(circuit: Circuit) -> bytes:
    """Return `circuit` in binary, with its names as symbols."""
    graph, outputs = and_graph(circuit)
    top = graph.inputs + len(graph.ands)
    head = f"aig {top} {graph.inputs} 0 {len(outputs)} {len(graph.ands)}\n" + "".join(f"{out}\n" for out in outputs)
    body = bytearray()
    for (left, right), literal in graph.ands.items():
        body += bytes((*_bytes(literal - left), *_bytes(left - right)))
    return head.encode() + bytes(body) + "".join(f"{line}\n" for line in symbol_lines(circuit)).encode()


def _bytes(number: int) -> Iterator[int]:
    while number > 127:
        yield number & 127 | 128
        number >>= 7
    yield number
