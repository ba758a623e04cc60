"""The references of RASP, formulas and automata in the page beside Python's: every value as text, and every error."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence
from functools import cache
from importlib import import_module
from typing import Any

import pytest

from tests.web.explorer.sequence.cases import ReferenceCase, random_formulas, random_programs, random_words
from tests.web.explorer.test_live_engine import SCRIPT, in_a_worker
from tm2tfr.api.subject import Subject
from tm2tfr.base.errors import UndefinedError
from tm2tfr.base.resources import ATTENTION_PROGRAMS, AUTOMATA, FORMULAS, PROGRAMS, shipped
from tm2tfr.contract.source import ANY
from tm2tfr.engines.reading import plain_number
from tm2tfr.runs.choose import truth_of
from tm2tfr.runs.rows import as_computed, columns_of
from tm2tfr.sources.logic import graph_data as logic_data
from tm2tfr.sources.logic.evaluate import evaluate as evaluate_logic
from tm2tfr.sources.rasp import graph_data as rasp_data
from tm2tfr.sources.rasp.evaluate import evaluate as evaluate_rasp
from tm2tfr.sources.rasp.program import shown_atom
from tm2tfr.sources.rasp.read import read
from tm2tfr.sources.rasp.values import shown

EVALUATE = """
async ({ specs, cases }) => cases.map(({ spec, word }) => {
  try {
    const { values, selected, passes } = explorer.evaluate(specs[spec], word);
    return values.map((row, n) => {
      const matrix = specs[spec].nodes[n].kind === "selector" ? selected[n] : null;
      const said = matrix ? matrix.map((row) => row.map(Number).join("")) : row.map(explorer.shown);
      return passes.has(n) ? `${passes.get(n)} passes` : said.join(" ");
    }).join("\\n");
  } catch (error) {
    return error.name === "Refused" ? error.message : String(error.stack);
  }
})
"""
ROWS = """
async ({ specs, cases }) => {
  const shown = (cell) => (typeof cell === "symbol" ? "any" : `${typeof cell} ${cell}`);
  const rows = ({ spec, word }) => [...explorer.sequenceTruth(specs[spec], word).rows];
  return cases.map((each) => {
    try {
      return rows(each).map((row) => row.map(shown).join("|")).join("\\n");
    } catch (error) {
      return error.name === "Refused" ? error.message : String(error.stack);
    }
  });
}
"""


FIXED = {
    "code points, not halves of them": ('["𝒳", "\uffee"]', 'less = tokens < "\uffee";', ("𝒳", "\uffee")),
    "undefined in a pass": ("ab", "x = 3;\nrepeat 3 { x = 2 / (x - 1); }", ("a", "b")),
    "too many passes": ("ab", "x = 0; y = 1;\nrepeat until y == 0 { x = x + 1; y = x; }", ("a", "b")),
}


def of_rasp(number: int) -> Iterator[ReferenceCase]:
    for alphabet, text, tokens in FIXED.values():
        program = read(f"# alphabet: {alphabet}\n{text}\n", file="fixed.rasp").program
        spec = rasp_data.evaluated_data(program, [program.sop], [("fixed", False)])
        yield ReferenceCase(spec, [*tokens], rasp_said([program.sop], tokens))
    for seed, program in enumerate(random_programs(number)):
        sops = list(dict.fromkeys(program.sops.values()))
        spec = rasp_data.evaluated_data(program, sops, [(str(n), False) for n in range(len(sops))])
        alone = rasp_data.evaluated_data(program, [program.sop], [("alone", False)])
        for word in random_words(program.alphabet, seed, 3):
            for each, asked in ((spec, sops), (alone, [program.sop])):
                wanted = rasp_said(asked, word)
                if not re.search(r"in pass \d{3}|\d{3} passes", wanted):  # fractions grow: a gcd takes long there
                    yield ReferenceCase(each, [*map(shown_atom, word)], wanted)


def rasp_said(sops: Sequence[Any], word: Any) -> str:
    try:
        stages = evaluate_rasp(sops, word)
    except UndefinedError as error:
        return str(error)
    nodes: list[Any] = sorted((*stages.values, *stages.matrices, *stages.passes), key=lambda node: node.number)
    lines = []
    for node in nodes:
        if node in stages.values:
            lines.append(" ".join(map(shown, stages.values[node])))
        elif node in stages.matrices:
            lines.append(" ".join("".join(str(int(entry)) for entry in row) for row in stages.matrices[node]))
        else:
            lines.append(f"{stages.passes[node]} passes")
    return "\n".join(lines)


def of_logic(number: int) -> Iterator[ReferenceCase]:
    for seed, program in enumerate(random_formulas(number)):
        spec = logic_data.evaluated_data(program)
        for word in random_words(program.alphabet, seed, 4):
            found = evaluate_logic(program, map(str, word))
            yield ReferenceCase(spec, [*map(str, word)], "\n".join(" ".join(map(shown, found[n])) for n in program.nodes))


@cache
def programs() -> tuple[ReferenceCase, ...]:
    return tuple(of_rasp(300))


@cache
def formulas() -> tuple[ReferenceCase, ...]:
    return tuple(of_logic(300))


def cell(value: Any) -> str:
    """Return a cell as the page's script writes it, with its type."""
    if value is ANY:
        return "any"
    return f"string {value}" if isinstance(value, str) else f"number {plain_number(float(value))}"


def in_the_page(chromium: Any, task: str, cases: Sequence[ReferenceCase], script: str = SCRIPT) -> list[str]:
    specs = {id(case.spec): case.spec for case in cases}
    places = {key: n for n, key in enumerate(specs)}
    given = [{"spec": places[id(case.spec)], "word": case.word} for case in cases]
    answer: list[str] = in_a_worker(chromium, task, {"specs": [*specs.values()], "cases": given}, script)
    return answer


def differences(cases: Sequence[ReferenceCase], found: Sequence[str]) -> list[str]:
    pairs = zip(cases, found, strict=True)
    return [f"{case.word}:\n{said}\ninstead of\n{case.wanted}" for case, said in pairs if said != case.wanted]


@pytest.mark.slow
def test_300_programs_have_the_same_values_of_the_same_types_and_the_same_errors(chromium: Any) -> None:
    cases = programs()
    assert differences(cases, in_the_page(chromium, EVALUATE, cases)) == []
    undefined = [case.wanted for case in cases if " is undefined on the input " in case.wanted]
    assert len(cases) > 1_500
    assert len(cases) / 5 < len(undefined) < len(cases) * 3 / 4
    for words in (
        "division by zero",
        "cannot be applied to",
        "no entry for",
        "have no mean",
        "not a whole number",
        "irrational",
    ):
        assert any(words in error for error in undefined), words
    for words in ("the loop does not end", "in pass 2 of its loop", "a sequence cannot have both"):
        assert any(words in error for error in undefined), words
    assert sum(" passes" in case.wanted for case in cases) > 80
    assert sum("/" in case.wanted for case in cases) > 100


@pytest.mark.slow
def test_300_formulas_have_the_same_values_at_every_position(chromium: Any) -> None:
    cases = formulas()
    assert differences(cases, in_the_page(chromium, EVALUATE, cases)) == []
    operators = {node["operator"] for case in cases for node in case.spec["nodes"]}
    assert operators == set(logic_data.OPERATORS.values())


def wanted_rows(subject: Subject, word: Sequence[Any]) -> str:
    """Return the rows of the reference's run, a line per position, or its error."""
    try:
        truth: Any = truth_of(subject.program, json.dumps(word), subject.decoder, None)
    except UndefinedError as error:
        return str(error)
    rows = [as_computed(row, "float64") for row in truth.rows(columns_of(subject.decoder))]
    return "\n".join("|".join(map(cell, row[1:])) for row in rows)


@pytest.mark.slow
def test_the_rows_of_everything_that_is_shipped_are_those_of_python(chromium: Any) -> None:
    cases = []
    for kind, source in ((PROGRAMS, "rasp"), (ATTENTION_PROGRAMS, "logic"), (FORMULAS, "logic"), (AUTOMATA, "automaton")):
        for name in shipped(kind):
            subject = Subject.of(name)
            if subject.kind.name != source:
                continue
            data = import_module(f"tm2tfr.sources.{source}.graph_data").sequence_data(subject.program, subject.decoder)
            for word in random_words(data["alphabet"], len(name), 3):
                cases.append(ReferenceCase(data, [*map(str, word)], wanted_rows(subject, word)))
    assert differences(cases, in_the_page(chromium, ROWS, cases)) == []
    assert len(cases) > 200


WRONG = {
    "half goes up": ("return below % 2n === 0n ? below : below + 1n", "return below + 1n"),
    "a quotient is cut off": ("a % b !== 0n && a < 0n !== b < 0n ? quotient - 1n : quotient", "quotient"),
    "a mean of one is a fraction": ("places.length === 1 ? found[0] : mean(found)", "mean(found)"),
    "since begins after j": ("between(j, i).every((k) => at(first, k)))", "between(j + 1, i).every((k) => at(first, k)))"),
    "the earliest is the latest": ('choice === "latest" ?', "choice ?"),
    "texts are compared by halves": ("return byCodePoint(a, b)", "return a < b ? -1 : a > b ? 1 : 0"),
    "a loop goes on where its condition holds": ("&& !ends(", "&& ends("),
}


@pytest.mark.slow
@pytest.mark.parametrize("name", WRONG)
def test_a_reference_that_computes_otherwise_is_noticed(chromium: Any, name: str) -> None:
    right, wrong = WRONG[name]
    assert right in SCRIPT
    cases = (*programs()[: len(FIXED) * 2], *programs()[::7], *formulas()[::8])
    assert differences(cases, in_the_page(chromium, EVALUATE, cases, SCRIPT.replace(right, wrong))) != []
