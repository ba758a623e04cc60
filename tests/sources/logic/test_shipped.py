"""The shipped formulas and programs: what they say on every short word, beside plain functions of it."""

from __future__ import annotations

from collections import Counter
from itertools import product
from pathlib import Path
from random import Random

import pytest

from tests.sources.logic.compiling import weights
from tests.sources.logic.language.test_reading import shown
from tests.sources.logic.plain import AT_THE_END, FORMULAS, PLAIN, PROGRAMS
from tm2tfr.base import resources
from tm2tfr.base.choices import LogicCompare
from tm2tfr.base.errors import NotFoundError
from tm2tfr.contract.options import LogicOptions
from tm2tfr.runs.streams import checked_streams
from tm2tfr.sources.circuit.library import GENERATORS
from tm2tfr.sources.logic.evaluate import evaluate
from tm2tfr.sources.logic.evaluate_many import ManyWords
from tm2tfr.sources.logic.library import from_text, is_logic, load, looks_like, shipped
from tm2tfr.sources.logic.program import LogicProgram
from tm2tfr.sources.logic.read import formula, read
from tm2tfr.sources.logic.write import write
from tm2tfr.transformer.weights import Decoder

ROOT = Path(__file__).parents[3]
NAMES = shipped()


def test_there_are_many_and_all_are_tested() -> None:
    PLAIN.check(NAMES)
    assert len(FORMULAS) >= 20
    assert len(PROGRAMS) >= 8


def test_their_names_are_theirs_alone() -> None:
    others = {
        *resources.shipped(resources.MACHINES),
        *resources.shipped(resources.PROGRAMS),
        *resources.shipped(resources.SPECS),
        *GENERATORS,
    }
    assert len({*NAMES}) == len(NAMES)
    assert not {*NAMES} & others


@pytest.mark.slow
@pytest.mark.parametrize("name", NAMES)
def test_what_it_says_on_all_short_words(name: str) -> None:
    program = load(name).program
    longest = {1: 9, 2: 6, 3: 5, 4: 4}.get(len(program.alphabet), 3)
    for length in range(1, longest + 1):
        for word in product(program.alphabet, repeat=length):
            found = list(evaluate(program.root, word)[program.root])
            start = length - 1 if name in AT_THE_END else 0
            assert found[start:] == PLAIN[name](word)[start:], word


@pytest.mark.parametrize("name", NAMES)
def test_its_headers_and_examples(name: str) -> None:
    loaded = load(name)
    program = loaded.program
    assert loaded.warnings == ()
    assert program.title
    assert program.alphabet
    assert program.examples
    for example in program.examples:
        node = program.definitions[example.of or program.chosen]
        values = [{True: "T", False: "F"}.get(value, value) for value in evaluate(node, example.word)[node]]
        wanted = list(example.values)
        assert (values if len(wanted) == len(values) else values[-1:]) == wanted


@pytest.mark.parametrize("name", NAMES)
def test_it_reads_back_as_it_is_written(name: str) -> None:
    program = load(name).program
    again = read(write(program), file=f"x.{program.language}").program
    assert shown(again.root) == shown(program.root)
    assert (again.alphabet, again.examples, again.title) == (program.alphabet, program.examples, program.title)
    assert {name: shown(node) for name, node in again.definitions.items()} == {
        name: shown(node) for name, node in program.definitions.items()
    }


def test_a_file_or_a_name_is_loaded(tmp_path: Path) -> None:
    path = tmp_path / "mine.tl"
    path.write_text("once Q[a]")
    assert load(path).program.name == "mine"
    assert load("hop-1").program.name == load("hop-1.srasp").program.name == "hop-1"
    assert load("since-b").program.language == "tl"
    assert is_logic("since-b")
    assert is_logic("x/y.SRASP")
    assert not is_logic("dyck-1")
    with pytest.raises(NotFoundError, match="no formula of that name is shipped .did you mean 'since-b'"):
        load("since-d")


def test_what_looks_like_a_formula_or_a_program() -> None:
    for name in NAMES:
        assert looks_like(load(name).program.text.encode()), name
    for text in (b"odd(count(Q[a]))", b"x = 3\ny := x since x", b"# a comment\n\nf(s) = s = 'a'\nx(i) = f(in(i))", b"Q[a"):
        assert looks_like(text)
    for folder, ending in (("machines", ".yaml"), ("programs", ".rasp"), ("specs", ".yaml")):
        for path in (ROOT / folder).glob(f"*{ending}"):
            assert not looks_like(path.read_bytes()), path
    for text in (b"", b"INPUT(Q_1)\nOUTPUT(y)\ny = NOT(Q_1)\n", b"aag 1 1 0 1 0\n2\n2\n", b".model x\n", b"\xff\xfe"):
        assert not looks_like(text)


def test_standard_input_is_read() -> None:
    assert from_text(b"once Q[a]").program.name == "stdin"


# ── shipped formulas and programs on long words: the evaluator of many words beside plain functions of a word
SHORT = {"prime-count": 16}
"""Where the plain function knows small numbers alone."""


def words(program: LogicProgram, number: int, n: int) -> list[tuple[str, ...]]:
    """Return random words: nearly balanced ones of brackets; otherwise in runs, so that counts differ and tokens repeat."""
    random, tokens = Random(program.name), program.alphabet
    brackets = tokens[0] == "("
    found = []
    for _ in range(number):
        word: list[str] = []
        stack: list[str] = []
        while len(word) < n:
            if brackets and random.random() < 0.98:
                opening = len(stack) < min(8, n - len(word)) and (not stack or random.random() < 0.5)
                token = random.choice(tokens[::2]) if opening else tokens[tokens.index(stack.pop()) + 1]
                stack += [token] * opening
                word.append(token)
            else:
                word += [random.choice(tokens)] * (1 if brackets else random.choice((1, 1, 2, 5)))
        found.append(tuple(word[:n]))
    return found


@pytest.mark.parametrize("name", [*FORMULAS, *PROGRAMS])
def test_long_words_are_as_a_plain_function_says(name: str) -> None:
    program = load(name).program
    given = words(program, 12, SHORT.get(name, 60))
    many = ManyWords(program.definitions.values(), program.alphabet)(given)
    said = [PLAIN[name](word) for word in given]
    assert [list(many.values(program.root, k)) for k in range(len(given))] == said
    found = evaluate(program.definitions.values(), given[0])
    assert {node: many.values(node, 0) for node in found} == found


@pytest.mark.parametrize("name", AT_THE_END)
def test_long_words_are_as_a_plain_function_says_of_their_end(name: str) -> None:
    program = load(name).program
    given = words(program, 12, 60)
    many = ManyWords([program.root], program.alphabet)(given)
    assert [many.values(program.root, k)[-1] for k in range(12)] == [PLAIN[name](word)[-1] for word in given]


def test_a_word_of_ten_thousand_brackets() -> None:
    program = load("dyck-2-by-depth").program
    half = program.alphabet[::2] * 3
    other = tuple(program.alphabet[program.alphabet.index(token) + 1] for token in reversed(half))
    word = (half + other) * (10_000 // (2 * len(half)))
    found = ManyWords([program.root], program.alphabet)([word]).values(program.root, 0)
    assert [n for n, bit in enumerate(found, 1) if bit] == list(range(2 * len(half), len(word) + 1, 2 * len(half)))


# ── how many layers, heads and units shipped formulas and programs have
def shipped(name: str) -> Decoder:
    return weights(load(name).program, LogicOptions())


@pytest.mark.parametrize("k", [1, 2, 3])
def test_dyck_k_has_nine_layers_and_eight_heads(k: int) -> None:
    decoder = shipped(f"dyck-{k}-by-depth")
    assert (len(decoder.layers), decoder.heads) == (9, 8)


@pytest.mark.parametrize("k", [1, 2, 3])
def test_k_hops_have_a_head_each_and_one_for_what_stands_before(k: int) -> None:
    assert shipped(f"hop-{k}").heads == k + 1


SHAPES = {
    "Q[a] & prev Q[b]": (1, 1, 3),
    "(Q[a] | Q[b]) since Q[b]": (1, 1, 3),
    "count(Q[a]) <= count(Q[b])": (2, 3, 2),
    "odd(count(Q[a]))": (2, 2, 2),
    "next Q[a]": (1, 1, 2),
    "Q[a] until Q[b]": (2, 2, 3),
    "!!(Q[a] & !Q[b])": (0, 0, 1),
}


@pytest.mark.parametrize("text", SHAPES)
def test_attention_layers_heads_and_units(text: str) -> None:
    decoder = weights(formula(text, "ab"), LogicOptions())
    attending = [layer for layer in decoder.layers if layer.heads]
    assert (len(attending), decoder.heads, decoder.hidden) == SHAPES[text], text


def test_equal_nodes_are_computed_once() -> None:
    twice = weights(formula("(prev Q[a] & prev Q[b]) | !(prev Q[a] & prev Q[b])", "ab"), LogicOptions())
    assert Counter(head.name for layer in twice.layers for head in layer.heads) == {"j = i-1": 1}


@pytest.mark.slow
@pytest.mark.parametrize(
    ("text", "compare", "claimed"),
    [
        ("prev Q[a]", "lookup", {(1, "constant", 7)}),
        ("Q[a] S Q[b]", "lookup", {(0.5, "position", 4)}),
        ("Q[a] U Q[b]", "lookup", {(0.5, "length", 4)}),
        ("odd(count(Q[a]))", "lookup", {(1, "position", 7)}),
        ("odd(count_right(Q[a]))", "lookup", {(1, "length", 7)}),
        ("count(Q[a]) <= 2*count(Q[b])", "lookup", {(1, "position", 18)}),
        ("count(Q[a]) <= 2*count_right(Q[b])", "lookup", {(1, "position", 18), (1, "length", 18)}),
        ("count(Q[a]) <= 2*count(Q[b])", "sign", {(0.5, "position", 3.01)}),
    ],
)
def test_gaps_and_margins_are_those_of_the_table(text: str, compare: LogicCompare, claimed: set[object]) -> None:
    program = formula(text, alphabet=("a", "b"))
    decoder = weights(program, LogicOptions(compare=compare))
    claims = [head.claim for layer in decoder.layers for head in layer.heads if head.claim is not None]
    assert {(each.gap, each.over, each.margin) for each in claims if each.gap is not None} == claimed
    gaps = checked_streams(decoder, program, longest=5).gaps
    assert len(gaps) > 0
    assert all(gap.holds and gap.measured < 3 * gap.claimed for gap in gaps)
