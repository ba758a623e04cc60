"""Nodes as text: written with as few brackets as can be, and read back to equal nodes."""

from __future__ import annotations

import re
from pathlib import Path
from random import Random

import pytest

import tm2tfr
from tests.sources.logic.language.random_programs import Maker
from tests.sources.logic.language.test_reading import FORMULAS, PROGRAMS, shown
from tests.strategies import tries
from tm2tfr.base.errors import SpecError
from tm2tfr.sources.logic import nodes as n
from tm2tfr.sources.logic.nodes import Build
from tm2tfr.sources.logic.program import LogicProgram, WordExample
from tm2tfr.sources.logic.read import formula, read
from tm2tfr.sources.logic.write import text_of, texts_of, write


@pytest.mark.slow
@pytest.mark.parametrize("language", ["tl", "srasp"])
def test_random_programs_read_back(language: str) -> None:
    for seed in range(tries(1_000)):
        maker = Maker(Random(seed), language)
        node = maker.bit(4)
        name = "" if language == "tl" and seed % 2 else "out"
        program = LogicProgram(name="x", text="", language=language, definitions={name: node}, chosen=name)
        text = write(program)
        assert shown(read(text, file=f"x.{language}").program.root) == shown(node), text


@pytest.mark.slow
def test_random_formulas_read_back_in_the_signs_of_the_paper() -> None:
    for seed in range(tries(1_000)):
        node = Maker(Random(seed), "tl").bit(2)
        for style in ("ascii", "paper"):
            text = text_of(node, style)
            if not any(f"s{number}" in text for number in range(100)):
                assert shown(formula(text).root) == shown(node), text


@pytest.mark.parametrize("text", [text for text, want in FORMULAS.items() if want])
def test_formulas_read_back(text: str) -> None:
    program = read(text, file="x.tl").program
    again = read(write(program), file="x.tl").program
    assert shown(again.root) == shown(program.root)
    assert again.definitions.keys() == program.definitions.keys()
    assert again.alphabet == program.alphabet


def test_a_formula_that_begins_with_a_minus_does_not_go_on_with_the_line_before() -> None:
    program = read("x := Q[a]\n(-3 * position + x < x - 1)", file="x.tl").program
    assert write(program).endswith("x = Q[a]\n(-3*position + x < x - 1)\n")
    assert shown(read(write(program), file="x.tl").program.root) == shown(program.root)


@pytest.mark.parametrize("text", PROGRAMS)
def test_programs_read_back(text: str) -> None:
    program = read(f"x(i) = {text}", file="x.srasp").program
    assert shown(read(write(program), file="x.srasp").program.root) == shown(program.root)


WRITTEN = {
    "(Q[a] & Q[b]) | !(Q[c] | prev Q[a])": (
        "Q[a] & Q[b] | !(Q[c] | prev Q[a])",
        "Q_a ∧ Q_b ∨ ¬(Q_c ∨ ⊖Q_a)",
        r"Q_{a} \land Q_{b} \lor \lnot (Q_{c} \lor \ominus Q_{a})",
    ),
    "Q[a] S Q[b]": (
        "Q[a] S Q[b]",
        "(Q_a ∨ Q_b) since Q_b",
        r"Q_{a} \mathbin{\mathbf{S}} Q_{b}",
    ),
    "(Q[a] | Q[b]) since Q[b]": (
        "(Q[a] | Q[b]) since Q[b]",
        "(Q_a ∨ Q_b) since Q_b",
        r"(Q_{a} \lor Q_{b}) \mathbin{\mathbf{since}} Q_{b}",
    ),
    "once Q[a] until next Q[ab]": (
        "once Q[a] until next Q[ab]",
        "(⊤ since Q_a) until ⊕Q_ab",
        r"\mathbf{once}\ Q_{a} \mathbin{\mathbf{until}} \oplus Q_{\texttt{ab}}",
    ),
    "2*count(Q[(]) - count_right(historically Q[a]) <= 3": (
        "2*count(Q[(]) - count_right(historically Q[a]) <= 3",
        "2*#←[Q[(]] - #→[¬(⊤ since ¬Q_a)] ≤ 3",
        r"2 \cdot \overleftarrow{\#}[Q_{\texttt{(}}] - \overrightarrow{\#}[\mathbf{historically}\ Q_{a}] \leq 3",
    ),
    "odd(position) & mod(count(first), 5, 0) & power_of_2(count(last))": (
        "odd(position) & mod(count(first), 5, 0) & power_of_2(count(last))",
        "odd(position) ∧ mod(#←[¬⊖⊤], 5, 0) ∧ power_of_2(#←[¬⊕⊤])",
        r"\mathrm{odd}(\mathit{position}) \land \mathrm{mod}(\overleftarrow{\#}[\mathit{first}], 5, 0) \land "
        r"\mathrm{power\_of\_2}(\overleftarrow{\#}[\mathit{last}])",
    ),
}


@pytest.mark.parametrize(
    "text",
    [
        *("(Q[a] | Q[b]) since Q[b]", "Q[a] S Q[b]", "true since Q[b]", "once Q[b]", "!(true since !Q[a])"),
        *("!once !Q[a]", "historically Q[a]", "true until Q[b]", "eventually Q[b]", "!eventually !Q[a]", "always Q[a]"),
        *("(Q[a] | Q[b]) until Q[b]", "Q[a] U Q[b]"),
    ],
)
def test_an_operator_is_shown_as_it_was_typed(text: str) -> None:
    program = formula(text, alphabet="ab")
    assert text_of(program.root) == text
    assert tm2tfr.compile(program).outputs[0].name == text
    stored = write(program)  # what is stored with weights is shown so as well
    assert stored.splitlines()[-1] in (text, f"({text})")
    assert text_of(read(stored, file="stored.tl").program.root) == text


@pytest.mark.parametrize(("text", "want"), WRITTEN.items())
def test_the_three_ways_of_writing(text: str, want: tuple[str, str, str]) -> None:
    node = formula(text).root
    assert (text_of(node), text_of(node, "paper"), text_of(node, "latex")) == want


def test_names_stand_for_parts_and_can_be_left_out() -> None:
    program = read("x := Q[a] & Q[b]\nprev x", file="x.tl").program
    assert text_of(program.root) == "prev x"
    assert text_of(program.root, named=False) == "prev (Q[a] & Q[b])"
    assert list(texts_of(program).values()) == ["in", "Q[a]", "Q[b]", "x", "prev x"]
    assert text_of(program.definitions["x"]) == "Q[a] & Q[b]"


def test_a_part_that_is_too_long_is_shortened() -> None:
    build = Build()
    node: n.Node = build(n.OneOf, of=build(n.Input), values=("a",))
    for _ in range(2_000):
        node = build(n.And, parts=(node, node))
    quarter = "((((…) & (…)) & (… & (…))) & ((…) & (…)))"
    assert text_of(node) == f"({quarter} & {quarter}) & ({quarter} & {quarter})"


def test_a_program_is_written_with_its_headers_and_without_its_macros() -> None:
    text = (
        '# title: A title\n# alphabet: ["a", "bc"]\n# define: x\n# example: ["a", "bc"] -> FT\n# example: y(["bc"]) -> T\n'
        "# example: a -> F\n\nboth(s, t) = s & t\nx(i) = both(Q[bc](i), in(i) = 'bc')\n"
        "y(i) = prev (latest_j [j < i, x(j)] x(j))\n"
    )
    program = read(text, file="x.srasp").program
    again = read(write(program), file="x.srasp").program
    assert (again.examples, again.title, again.chosen) == (program.examples, program.title, program.chosen)


def test_an_example_that_looks_like_a_call_is_written_as_a_list() -> None:
    text = '# alphabet: x()\n# example: ["x", "(", ")"] -> T\nx := Q[x]\ny := x'
    program = read(text, file="x.tl").program
    assert program.examples == (WordExample(of="", word=("x", "(", ")"), values=("T",)),)
    assert read(write(program), file="x.tl").program.examples == program.examples


ROOT = Path(__file__).parents[4]
FILES = [*sorted((ROOT / "formulas").glob("*.tl")), *sorted((ROOT / "programs").glob("*.srasp"))]
SHIPPED = [path.read_text(encoding="utf-8") for path in FILES]


@pytest.mark.slow
def test_damaged_texts_are_refused_with_places_or_read_back() -> None:
    pieces = re.findall(r"\w+|\S", "".join(SHIPPED))
    found, unplaced = {True: 0, False: 0}, []
    for seed in range(tries(1_000)):
        random = Random(seed)
        text = random.choice(SHIPPED)
        for _ in range(random.randint(1, 3)):
            start = random.randrange(len(text) + 1)
            end = min(len(text), start + random.randint(0, 12))
            sign = random.choice("()[]{}'\"#;:=\n?!&|")
            put = random.choice(["", text[start:end] * 2, f" {random.choice(pieces)} ", sign])
            text = text[:start] + put + text[end:]
        try:
            program = read(text, file="-").program
        except SpecError as error:
            found[False] += 1
            unplaced += [each for each in error.diagnostics if each.span is None and "no formula" not in each.what]
            continue
        found[True] += 1
        again = read(write(program), file=f"x.{program.language}").program
        assert shown(again.root) == shown(program.root), text
        assert (again.examples, again.alphabet, again.chosen) == (program.examples, program.alphabet, program.chosen)
    assert unplaced == []
    assert min(found.values()) > tries(1_000) / 20
