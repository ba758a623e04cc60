"""What is no program is refused, or read, in a time that grows with its length alone: no text of 60 KB holds anybody up."""

from __future__ import annotations

import time
from contextlib import suppress

import pytest

from tm2tfr.base import errors
from tm2tfr.base.choices import LOGIC_LANGUAGES, RASP
from tm2tfr.base.errors import Tm2tfrError
from tm2tfr.base.text.source import MOST_COMPARED, Log, SourceText
from tm2tfr.sources.circuit.formats.registry import CIRCUIT_READABLE
from tm2tfr.sources.registry import kind_of_text, of_text
from tm2tfr.sources.turing.formats.registry import READABLE

LENGTH = 60_000
SECONDS = 6
"""Of processor time, for all texts of a test together: each took as much alone, or minutes, in quadratic time."""

REPEATED = [
    "\n",
    " ",
    "\t",
    " \n",
    "\r\n",
    "(",
    "[",
    "{",
    "<",
    "'",
    '"',
    ",",
    ";",
    ":",
    "-",
    "_",
    "#",
    "a ",
    "0 ",
    "A;",
    "é",
]
STATES = range(1500)
AUTOMATA = """DTM(states={%s}, input_symbols={'0'}, tape_symbols={'0', '_'}, blank_symbol='_', initial_state='q0',
final_states={'q1'}, transitions={%s})"""
MISSPELT = ", ".join(f'"q{k}": [{{"read": "0", "to_state": "p{k}", "write": "0", "action": "LEFT"}}]' for k in STATES)
NAMES = ", ".join(f'"q{k}"' for k in STATES)

HOSTILE = {
    "advent-of-code": [" " * LENGTH + "x", "-" + " " * LENGTH + "x"],
    "automata-lib": [
        AUTOMATA % (NAMES, ", \n".join(f"'q{k}': {{'0': ('q{k}', '{a}', 'R')}}" for k in STATES)) for a in ("0", "é")
    ],
    "bbchallenge": ["1RB1LB_" * (LENGTH // 7)],
    "doty": [
        "x = LUT" + " " * LENGTH + "x",
        "delta =\na," + "->" * (LENGTH // 2) + "!",
        "delta =\na, b -> c" + "," * LENGTH + " x",
        "delta =\na, b -> c" + " ," * (LENGTH // 2) + " x",
    ],
    "ft_turing": [
        f'{{"alphabet": ["0"], "blank": "0", "states": [{NAMES}], "initial": "q0", "finals": [], '
        f'"transitions": {{{MISSPELT}}}}}'
    ],
    "morphett": [f"; {key}: a" + " " * LENGTH + "x" for key in ("input", "$INITIAL_TAPE")],
    "turingmachinesimulator.com": ["// input: a" + " " * LENGTH + "x"],
    "truth-table": ["0 " * (LENGTH // 2), "- " * (LENGTH // 2) + "x", "a " * (LENGTH // 2) + "| s"],
    "expression": ["A;" * (LENGTH // 4)],
    "rasp": ["(" * LENGTH, "{" * (LENGTH // 2) + "}" * (LENGTH // 2)],
}


def read(text: str, format: str | None) -> None:
    with suppress(Tm2tfrError):
        of_text(text, kind_of_text(text, format=format), name="x")


def seconds(*texts: tuple[str, str | None]) -> float:
    read("", None)
    start = time.process_time()
    for text, format in texts:
        read(text, format)
    return time.process_time() - start


@pytest.mark.similar
@pytest.mark.slow
@pytest.mark.parametrize(
    "repeated", [REPEATED[:5], *(pytest.param([each], marks=pytest.mark.slow) for each in REPEATED[5:])]
)
def test_a_text_whose_format_is_not_known(repeated: list[str]) -> None:
    assert seconds(*((each * (LENGTH // len(each)) + "x", None) for each in repeated)) < SECONDS


@pytest.mark.similar
@pytest.mark.slow
@pytest.mark.parametrize("format", HOSTILE)
def test_a_text_that_a_format_finds_hard(format: str) -> None:
    assert seconds(*((text, format) for text in HOSTILE[format])) < SECONDS


@pytest.mark.similar
@pytest.mark.slow
@pytest.mark.parametrize("format", [*READABLE, *CIRCUIT_READABLE, RASP, *LOGIC_LANGUAGES])
def test_every_format(format: str) -> None:
    assert seconds(*((each * (LENGTH // len(each) // 6) + "x", format) for each in REPEATED)) < SECONDS


def test_names_are_compared_only_for_what_is_read() -> None:
    known = [f"q{k}" for k in range(1000)]
    log = Log(SourceText("", "f"))
    inside = log.inside(SourceText("", "g"))
    told = [(log, inside)[k % 2].did_you_mean(f"q{k}x", known) for k in range(100)]
    assert all(told[: MOST_COMPARED // 1000])
    assert not any(told[MOST_COMPARED // 1000 :])
    assert errors.did_you_mean("x" * 201, ["x" * 200]) == ""
    assert errors.did_you_mean("x" * 200, ["x" * 201]) == f" (did you mean {'x' * 201!r}?)"
