"""Circuits with registers: named where they are refused, cut where that is asked for, in every format alike."""

from __future__ import annotations

from pathlib import Path

import pytest

import tm2tfr
from tests.cli.lines import said
from tests.cli.test_commands import tm2tfr_here
from tests.sources.circuit.formats.test_complaints import said as complaint
from tm2tfr.base.errors import SpecError, SpecWarning, UsageError
from tm2tfr.sources.circuit import library
from tm2tfr.sources.circuit.evaluate import evaluate
from tm2tfr.sources.circuit.formats import registry
from tm2tfr.sources.circuit.formats.registry import CIRCUIT_FORMATS

COUNTER = {
    "bench": b"INPUT(en)\nOUTPUT(top)\nq0 = DFF(n0)\nq1 = DFF(n1)\n"
    b"n0 = XOR(q0, en)\ntop = AND(q0, en)\nn1 = XOR(q1, top)\n",
    "blif": b".inputs en\n.outputs top\n.latch n0 q0 re clk 1\n.latch n1 q1 3\n.names q0 en n0\n01 1\n10 1\n"
    b".names q0 en top\n11 1\n.names q1 top n1\n01 1\n10 1\n.end\n",
    "aag": b"aag 9 1 2 1 6\n2\n4 12 1\n6 18 6\n8\n8 4 2\n10 5 3\n12 11 9\n14 6 8\n16 7 9\n18 17 15\n"
    b"i0 en\nl0 q0\nl1 q1\no0 top\nc\nof two bits\n",
    "aig": b"aig 9 1 2 1 6\n12 1\n18 6\n8\n"
    + bytes([4, 2, 5, 2, 1, 2, 6, 2, 7, 2, 1, 2])
    + b"i0 en\nl0 q0\nl1 q1\no0 top\n",
}
"""A counter of two bits that counts while ``en`` is 1."""
BEGINS = {
    "bench": "'q0', 'q1' with a value that the file does not state",
    **dict.fromkeys(("blif", "aag", "aig"), "'q0' with 1; 'q1' with a value that the file does not state"),
}


@pytest.mark.parametrize("format", COUNTER)
def test_a_circuit_is_cut_at_its_registers(format: str) -> None:
    loaded = registry.read(COUNTER[format], file="counter", format=format, cut_registers=True)
    circuit = loaded.circuit
    assert circuit.inputs == ("en", "q0", "q1")
    assert [name for name, _ in circuit.outputs] == ["top", "q0_next", "q1_next"]
    for case in range(8):
        en, low, high = case >> 2, case >> 1 & 1, case & 1
        top = low & en
        assert evaluate(circuit, f"{case:03b}").outputs == {"top": top, "q0_next": low ^ en, "q1_next": high ^ top}
    (warning,) = loaded.warnings
    assert warning.what == "2 registers are cut: now inputs: 'q0', 'q1'; now outputs: 'q0_next', 'q1_next'"
    assert warning.remedy == f"the registers begin: {BEGINS[format]}"
    assert circuit.description == f"Cut at its registers, which begin: {BEGINS[format]}."


@pytest.mark.parametrize("format", COUNTER)
def test_all_registers_are_named_where_they_are_refused(format: str) -> None:
    what = "the net 'q0' is the output of a register, as is 1 more: 'q1'"
    remedy = "cut it there with cut_registers=True, or unroll it in time"
    assert f": {what}: only combinational circuits are read: {remedy}\n" in complaint(COUNTER[format], format)


def test_registers_are_named_beside_all_other_errors() -> None:
    latches = "".join(f".latch d{k} s{k} 0\n" for k in range(29))
    gates = "".join(f".names s{k} d{k}\n1 1\n" for k in range(29))
    text = f".model s\n.inputs a\n.outputs y\n{latches}{gates}.names a nothing y\n11 1\n.end\n"
    first, _, _, second, *_ = complaint(text.encode(), "blif").splitlines()
    shown = ", ".join(f"'s{k}'" for k in range(1, 9))
    assert first.startswith(
        f"f.blif:4:11: the net 's0' is the output of a register, as are 28 more: {shown} and 20 more: only"
    )
    assert second.startswith("f.blif:91:10: nothing drives the net 'nothing'")


@pytest.mark.parametrize(
    ("format", "old", "new", "words"),
    [
        ("aag", b"4 12 1", b"4 12 7", r"f:3:6: the latch 4 begins with 7: write 0, 1, or 4 for a value that is not known"),
        ("aag", b"4 12 1", b"4", r"f:3:1: a latch is two or three literals, 'lhs next reset', and this is not"),
        ("aag", b"4 12 1", b"2 12 1", r"f:3:1: variable 1 \(literal 2\) is defined a second time; the first is in line 2"),
        ("aag", b"l1 q1", b"l2 q1", r"f:14:1: there is no latch 2; there are 2, counted from 0"),
        ("aig", b"12 1", b"12 8", r"f:2:4: the latch 4 begins with 8: write 0, 1, or 4 for a value that is not known"),
        ("blif", b" 3\n", b" 4\n", r"f:4:1: this is not a latch: write '\.latch data net', then perhaps its type"),
        (
            "blif",
            b".latch n0 q0 re clk 1",
            b".latch n0",
            r"f:3:1: this is not a latch: write '\.latch data net', then perhaps its type",
        ),
    ],
)
def test_latches_that_cannot_be_read(format: str, old: bytes, new: bytes, words: str) -> None:
    assert old in COUNTER[format]
    with pytest.raises(SpecError, match=words):
        registry.read(COUNTER[format].replace(old, new), file="f", format=format, cut_registers=True)


def test_names_of_next_values_keep_buses_and_are_free() -> None:
    text = "INPUT(a)\nOUTPUT(r_next)\ns[1] = DFF(s[0])\ns[0] = DFF(a)\nr = DFF(a)\nr_next = NOT(r)\n"
    circuit = registry.read(text, file="f", format="bench", cut_registers=True).circuit
    assert circuit.inputs == ("a", "s[1]", "s[0]", "r")
    assert dict(circuit.outputs) == {"r_next": "r_next", "s_next[1]": "s[0]", "s_next[0]": "a", "r_next_1": "a"}
    assert [bus.name for bus in circuit.output_buses] == ["r_next", "s_next", "r_next_1"]


def test_the_same_on_the_command_line_and_in_the_library(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "counter.bench"
    path.write_bytes(COUNTER["bench"])
    assert tm2tfr_here(capsys, "check", str(path), "--cut-registers", "--all") == (
        0,
        ["counter: 8 runs, 24 bits compared, all agree"],
    )
    with pytest.warns(SpecWarning, match="2 registers are cut"):
        assert tm2tfr.load(path, cut_registers=True).inputs == ("en", "q0", "q1")
    assert said(capsys, "check", "full-adder", "--cut-registers") == (
        "full-adder: --cut-registers is for a file of a circuit with registers: omit it"
    )
    with pytest.raises(UsageError, match="cut_registers=True is for a file of a circuit with registers: omit it"):
        tm2tfr.load(tm2tfr.load("full-adder"), cut_registers=True)


def test_formats_without_registers_say_so() -> None:
    known = ", ".join(f.name for f in CIRCUIT_FORMATS.values() if f.registers)
    assert known == "bench, aag, aig, blif"


# ── what else BLIF files of others have ─────────────────────────────────────────────────────────────────────
def test_external_dont_cares_are_skipped_with_a_word() -> None:
    text = ".model m\n.inputs a b\n.outputs s\n.names a b s\n11 1\n.exdc\n.inputs a b\n.outputs s\n.names a s\n0 1\n.end\n"
    loaded = registry.read(text, file="m.blif")
    assert [evaluate(loaded.circuit, bits).output_bits for bits in ("00", "01", "10", "11")] == ["0", "0", "0", "1"]


def test_constants_that_yosys_defines_are_left_out_without_a_word() -> None:
    head = ".model m\n.inputs a\n.outputs s\n.names $false\n.names $true\n1\n.names $undef\n"
    loaded = registry.read(f"{head}.names a $true s\n11 1\n.end\n", file="m.blif")
    assert ([gate.net for gate in loaded.circuit.gates], loaded.warnings) == (["$true", "s"], ())
    (warning,) = registry.read(f"{head}.names a s\n1 1\n.names a t\n0 1\n.end\n", file="m.blif").warnings
    assert warning.what == "1 gate reaches no output: 't'"


def test_a_wide_cover_takes_no_more_gates_than_its_table() -> None:
    names = "uvwxyz"
    ones = [f"{case:06b}" for case in range(64) if case * 37 % 64 % 7 in (1, 2, 4)]
    bits = "".join("01"[f"{case:06b}" in ones] for case in range(64))
    rows = "".join(f"{cube} 1\n" for cube in ones)
    cover = registry.read(
        f".inputs {' '.join(names)}\n.outputs f\n.names {' '.join(names)} f\n{rows}.end\n", file="m.blif"
    ).circuit
    table = registry.read(f"{' '.join(names)} | f\nf = {bits}\n", file="m.tt").circuit
    assert len(cover.gates) == len(table.gates) < 30
    assert "".join(evaluate(cover, f"{case:06b}").output_bits for case in range(64)) == bits
    conjunction = (
        ".inputs " + " ".join(f"x{k}" for k in range(16)) + "\n.outputs f\n.names " + " ".join(f"x{k}" for k in range(16))
    )
    assert len(registry.read(f"{conjunction} f\n{'1' * 16} 1\n.end\n", file="m.blif").circuit.gates) == 9


# ── what other programs write into AIGER files: comments of any bytes, and latches
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
