"""PLA tables against a plain reading of their cubes, in every type; and the files that others took for something else."""

from __future__ import annotations

import random
from itertools import product
from pathlib import Path

import pytest

from tests.cli.lines import said
from tests.cli.test_commands import tm2tfr_here
from tests.strategies import tries
from tm2tfr.base.choices import CIRCUIT_TEXTS
from tm2tfr.base.errors import SpecError
from tm2tfr.sources.circuit.evaluate import evaluate
from tm2tfr.sources.circuit.formats import pla, registry

TABLES = tries(300)
OUTPUTS = {"f": "01-~", "fd": "01-~24", "fr": "01-~", "fdr": "01-~"}


def random_pla(chance: random.Random, type: str) -> tuple[int, int, list[tuple[str, str]], str]:
    """Return the numbers of inputs and outputs, the cubes, and the text; cubes of types with 0s do not overlap."""
    inputs, outputs = chance.randint(1, 6), chance.randint(1, 4)
    cubes = ["".join(chance.choices("01-2", k=inputs)) for _ in range(chance.randint(0, 8))]
    if "r" in type:
        cubes = [f"{case:0{inputs}b}" for case in chance.sample(range(2**inputs), chance.randint(0, 2**inputs))]
    rows = [(cube, "".join(chance.choices(OUTPUTS[type], k=outputs))) for cube in cubes]
    between = chance.choice([" ", " | ", "|", "", "\t"])
    lines = [f".i {inputs}", f".o {outputs}", *([f".type {type}"] if type != "fd" or chance.random() < 0.5 else [])]
    return inputs, outputs, rows, "\n".join([*lines, *(f"{cube}{between}{signs}" for cube, signs in rows), ".e", ""])


@pytest.mark.slow
@pytest.mark.parametrize("type", OUTPUTS)
def test_an_output_is_1_in_its_cubes_with_a_1_and_nowhere_else(type: str) -> None:
    chance = random.Random(type)
    for _ in range(TABLES):
        inputs, outputs, rows, text = random_pla(chance, type)
        circuit = registry.read(text, file="x.pla").circuit
        assert (len(circuit.inputs), len(circuit.outputs)) == (inputs, outputs)
        for bits in map("".join, product("01", repeat=inputs)):
            met = [
                signs for cube, signs in rows if all(sign in ("-", "2", bit) for sign, bit in zip(cube, bits, strict=True))
            ]
            want = "".join("01"[any(signs[k] in "14" for signs in met)] for k in range(outputs))
            assert evaluate(circuit, bits).output_bits == want, text


def test_what_does_not_matter_is_said() -> None:
    words = {
        "fd": ["1 output has don't-cares: 'f2': leave them: there the circuit answers 0, unless another cube says 1"],
        "f": [],
        "fr": ["type fr leaves open what no cube says of an output: leave it: there the circuit answers 0"],
    }
    for type, told in words.items():
        loaded = registry.read(f".i 2\n.o 2\n.type {type}\n1- 1-\n-1 ~-\n00 1-\n", file="x.pla")
        assert [f"{warning.what}: {warning.remedy}" for warning in loaded.warnings] == told


def test_wide_tables_become_sums_of_products() -> None:
    text = ".i 40\n.o 1\n" + "".join(f"{'-' * k}1{'-' * (39 - k)} 1\n" for k in range(40)) + ".e\n"
    circuit = registry.read(text, file="x.pla").circuit
    assert evaluate(circuit, "0" * 40).output_bits == "0"
    assert {evaluate(circuit, f"{1 << k:040b}").output_bits for k in range(40)} == {"1"}


@pytest.mark.slow
def test_what_would_take_minutes_is_refused() -> None:
    wide = ".i 300\n.o 300\n" + f"{'10' * 150} {'1' * 300}\n" * 300 + ".e\n"
    what = "outputs of more than 16 inputs have more than 4,194,304 literals: minimise the cubes with espresso"
    with pytest.raises(SpecError, match=what):
        registry.read(wide, file="x.pla")
    many = ".i 1\n.o 1\n.type fr\n" + "1 1\n" * 100_000 + ".e\n"
    what = "100,000 cubes of type fr are too many to compare each with each: write type f or fd, without the cubes where"
    with pytest.raises(SpecError, match=what):
        registry.read(many, file="x.pla")


def test_cubes_are_compared_a_block_at_a_time(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each contradiction is told once, at the later cube, with the first cube that contradicts it."""
    chance = random.Random(3)
    told = 0
    for block in range(1, 400):
        monkeypatch.setattr(pla, "_BLOCK", block)
        rows = [("".join(chance.choices("01-", k=3)), "".join(chance.choices("01-~", k=2))) for _ in range(6)]
        wrong = [
            f":{later + 4}:1: 'f{next(k for k in (0, 1) if {signs[k], rows[first][1][k]} == {'0', '1'}) + 1}' is "
            for later, (cube, signs) in enumerate(rows)
            for first in [next((k for k in range(later) if contradict(rows[k], (cube, signs))), None)]
            if first is not None
        ]
        text = ".i 3\n.o 2\n.type fr\n" + "".join(f"{cube} {signs}\n" for cube, signs in rows)
        told += len(wrong)
        if not wrong:
            registry.read(text, file="x.pla")
            continue
        with pytest.raises(SpecError) as caught:
            registry.read(text, file="x.pla")
        found = [line for line in str(caught.value).splitlines() if line.startswith("x.pla")]
        assert len(found) == len(wrong)
        assert all(place in line for place, line in zip(wrong, found, strict=True))
    assert told > 100


def contradict(one: tuple[str, str], other: tuple[str, str]) -> bool:
    apart = any({a, b} == {"0", "1"} for a, b in zip(one[0], other[0], strict=True))
    return not apart and any({a, b} == {"0", "1"} for a, b in zip(one[1], other[1], strict=True))


def test_a_pla_file_is_a_circuit_on_the_command_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "xor.pla"
    path.write_text(".i 2\n.o 1\n.ilb a b\n.ob s\n01 1\n10 1\n.e\n", encoding="utf-8")
    assert tm2tfr_here(capsys, "check", str(path), "--all") == (0, ["xor: 4 runs, 4 bits compared, all agree"])
    named = tmp_path / "xor.txt"
    path.rename(named)
    assert tm2tfr_here(capsys, "check", str(named), "--from", "pla", "--all")[0] == 0
    assert tm2tfr_here(capsys, "convert", str(named), "--to", "pla") == (
        0,
        ['# circuit "xor"', ".i 2", ".o 1", ".ilb a b", ".ob s", ".type f", "01 1", "10 1", ".e"],
    )


@pytest.mark.parametrize("name", [text.name for text in CIRCUIT_TEXTS])
def test_a_format_is_registered_once(name: str) -> None:
    """The command line, the library and the readers know a format from the one table in `tm2tfr.base.choices`."""
    package = Path(registry.__file__).parent.parent.parent.parent
    files = [path for path in package.rglob("*.py") if f'TextFormat("{name}", ' in path.read_text(encoding="utf-8")]
    assert files == [package / "base" / "choices.py"]


# ── what was taken for something else ───────────────────────────────────────────────────────────────────────
def test_a_broken_truth_table_is_no_prompt(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "three.tt"
    path.write_text("00 0\n01 1\n10 1\n", encoding="utf-8")
    words = f"{path}:3:1: 1 row is missing; the first is 11: write all rows; '-' stands for 0 and 1"
    assert said(capsys, "check", str(path)).splitlines()[0] == words
    other = tmp_path / "three"
    other.write_bytes(path.read_bytes())
    assert said(capsys, "check", str(other), "--from", "truth-table").splitlines()[0] == words.replace(".tt", "")
    assert "this is a prompt, not a machine" in said(capsys, "check", str(other))
