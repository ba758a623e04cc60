"""The evaluator by the printed definitions: their own words as small tables, and laws that hold of them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from dataclasses import fields, replace
from typing import Any

import numpy as np
import pytest

from tests.sources.logic.random_formulas import EVERYTHING, PAST_LTL, Kinds, constant, random_programs, words_of
from tests.strategies import tries
from tm2tfr.base.text.words import all_words
from tm2tfr.sources.logic import nodes as logic
from tm2tfr.sources.logic.evaluate import LogicValue, evaluate
from tm2tfr.sources.logic.evaluate_many import ManyWords
from tm2tfr.sources.logic.library import own_word, word_of
from tm2tfr.sources.logic.nodes import (
    AllOf,
    Always,
    And,
    AnyOf,
    AtKey,
    AtQuery,
    Build,
    Choose,
    Comparison,
    CountLeft,
    CountRight,
    Equal,
    Input,
    Next,
    Node,
    Not,
    NotOf,
    OneOf,
    Or,
    Place,
    Predicate,
    Previous,
    Retrieve,
    Same,
    Since,
    Sum,
    Text,
    Until,
)
from tm2tfr.sources.logic.program import LogicProgram, WordExample

build = Build()
tokens = build(Input)
a, b, c = (build(OneOf, of=tokens, values=(letter,)) for letter in "abc")
true, false, place = build(Always, value=True), build(Always, value=False), build(Place)
one = build(Sum, constant=1)
fourth = build(Comparison, left=place, relation="==", right=build(Sum, constant=4))


def retrieve(choice: str = "latest", sight: str = "<=", **others: object) -> Node:
    given = {"choice": choice, "sight": sight, "values": tokens, "default": build(Text, value="?")}
    return build(Retrieve, **{**given, **others})


def shown(values: tuple[LogicValue, ...]) -> str:
    return "".join(("F", "T")[value] if isinstance(value, bool) else str(value) for value in values)


TABLE: list[tuple[Node, str, str]] = [
    (tokens, "abca", "abca"),
    (build(Text, value="x"), "abca", "xxxx"),
    (build(Choose, condition=a, then=tokens, other=build(Text, value="-")), "abca", "a--a"),
    (true, "ab", "TT"),
    (build(OneOf, of=tokens, values=("a", "c")), "abca", "TFTT"),
    (build(Same, left=tokens, right=build(Choose, condition=a, then=tokens, other=build(Text, value="c"))), "abca", "TFTT"),
    (build(Not, of=a), "abca", "FTTF"),
    (build(And, parts=(build(Not, of=a), build(Not, of=b))), "abca", "FFTF"),
    (build(Or, parts=(a, b, c)), "abda", "TTFT"),
    (build(Previous, of=a), "abaa", "FTFT"),
    (build(Next, of=a), "abaa", "FTTF"),
    (build(Not, of=build(Previous, of=a)), "abaa", "TFTF"),
    # as printed, φ1 has to hold at j as well: two letters never do
    (build(Since, left=a, right=b), "baaab", "FFFFF"),
    (build(Until, left=a, right=b), "baaab", "FFFFF"),
    (build(Since, left=build(Or, parts=(a, b)), right=b), "abaacab", "FTTTFFT"),
    (build(Until, left=build(Or, parts=(a, b)), right=b), "bacaaba", "TFFTTTF"),
    (build(Since, left=build(Not, of=c), right=a), "bacbab", "FTFFTT"),
    (build(CountLeft, of=a), "abaa", "1123"),
    (build(CountRight, of=a), "abaa", "3221"),
    (place, "abaa", "1234"),
    (build(Sum, terms=((2, place), (-1, a), (1, build(CountLeft, of=b))), constant=3), "aba", "489"),
    (build(Comparison, left=build(CountLeft, of=a), relation="<=", right=build(CountLeft, of=b)), "abba", "FTTT"),
    *(
        (build(Comparison, left=build(CountLeft, of=a), relation=relation, right=one), "aba", truth)
        for relation, truth in (("<=", "TTF"), ("<", "FFF"), (">=", "TTT"), (">", "FFT"), ("==", "TTF"), ("!=", "FFT"))
    ),
    (build(Predicate, predicate="mod", of=build(CountLeft, of=a), modulus=2, remainder=1), "baab", "FTFF"),
    (build(Predicate, predicate="mod", of=place, modulus=3, remainder=0), "aaaaaa", "FFTFFT"),
    (build(Predicate, predicate="prime", of=place), "a" * 13, "FTTFTFTFFFTFT"),
    (build(Predicate, predicate="prime", of=build(CountLeft, of=a)), "baaa", "FFTT"),
    (build(Predicate, predicate="square", of=build(CountLeft, of=a)), "baaaa", "TTFFT"),
    (build(Predicate, predicate="power of 2", of=build(CountLeft, of=a)), "baaaa", "FTTFT"),
    (retrieve(score=AllOf(())), "abc", "abc"),
    (retrieve(sight="<", score=AllOf(())), "abc", "?ab"),
    (retrieve(sight=">", score=AllOf(())), "abc", "cc?"),
    (retrieve("earliest", ">", score=AllOf(())), "abc", "bc?"),
    (retrieve("earliest", ">=", score=AtKey(build(Not, of=a))), "abca", "bbc?"),
    (retrieve("earliest", "any", score=AtKey(b)), "aba", "bbb"),
    (retrieve("latest", "any", score=AtKey(b), values=fourth, default=true), "ababa", "TTTTT"),
    (retrieve("earliest", "any", score=AtKey(b), values=fourth, default=true), "ababa", "FFFFF"),
    (retrieve(score=AtQuery(b)), "abc", "?b?"),
    (retrieve(sight="<", score=Equal(tokens, tokens)), "abcab", "???ab"),
    (retrieve(sight="<", score=NotOf(Equal(tokens, tokens))), "aabb", "??aa"),
    (retrieve(score=Equal(place, build(CountLeft, of=a))), "cbaab", "??cbb"),
    (retrieve(sight="<", score=AllOf((AtKey(a), AtQuery(b)))), "acbcb", "??a?a"),
    (retrieve(sight="<", score=AnyOf((AtKey(c), AtQuery(b)))), "acbcb", "??ccc"),
    (retrieve(score=AnyOf(())), "ab", "??"),
]


@pytest.mark.parametrize(("node", "word", "values"), TABLE)
def test_each_operator_is_as_printed(node: Node, word: str, values: str) -> None:
    assert shown(evaluate(node, word)[node]) == values


def test_all_that_the_nodes_are_made_of_is_there() -> None:
    node = build(Since, left=build(Not, of=c), right=a)
    assert list(evaluate([node], "ab")) == [tokens, a, c, build(Not, of=c), node]


def negated(node: Node) -> Node:
    return build(Not, of=node)


def past(left: Node, right: Node) -> Node:
    """The usual S: φ2 at some j <= i, and φ1 after it."""
    return build(Since, left=build(Or, parts=(left, right)), right=right)


LAWS: dict[str, Callable[[Node, Node], tuple[Node, Node]]] = {
    "De Morgan": lambda p, q: (build(And, parts=(p, q)), negated(build(Or, parts=(negated(p), negated(q))))),
    "the printed since by the usual one": lambda p, q: (build(Since, left=p, right=q), past(p, build(And, parts=(p, q)))),
    "since unfolds": lambda p, q: (
        past(p, q),
        build(Or, parts=(q, build(And, parts=(p, build(Previous, of=past(p, q)))))),
    ),
    "until unfolds": lambda p, q: (
        build(Until, left=p, right=q),
        build(And, parts=(p, build(Or, parts=(q, build(Next, of=build(Until, left=p, right=q)))))),
    ),
    "not S: ¬φ1 ∧ ¬φ2 since which no φ2, or never φ2": lambda p, q: (
        negated(past(p, q)),
        build(
            Or,
            parts=(past(negated(q), build(And, parts=(negated(p), negated(q)))), negated(build(Since, left=true, right=q))),
        ),
    ),
    "previous of a disjunction": lambda p, q: (
        build(Previous, of=build(Or, parts=(p, q))),
        build(Or, parts=(build(Previous, of=p), build(Previous, of=q))),
    ),
    "previous is a retrieval": lambda p, _: (
        build(Previous, of=p),
        retrieve(sight="<", score=AllOf(()), values=p, default=false),
    ),
    "since is a retrieval": lambda p, q: (
        build(Since, left=p, right=q),
        retrieve(score=AtKey(negated(build(And, parts=(p, negated(q))))), values=p, default=false),
    ),
    "once is a count": lambda p, _: (
        build(Since, left=true, right=p),
        build(Comparison, left=build(CountLeft, of=p), relation=">=", right=one),
    ),
    "historically is a count": lambda p, _: (
        negated(build(Since, left=true, right=negated(p))),
        build(Comparison, left=build(CountLeft, of=p), relation="==", right=place),
    ),
}


@pytest.mark.parametrize("law", LAWS)
def test_laws_hold(law: str) -> None:
    bits = (a, negated(b), build(Previous, of=a), build(Next, of=b), past(a, b), build(Until, left=negated(a), right=b))
    sides = [LAWS[law](left, right) for left in bits for right in bits]
    for word in words(4):
        found = evaluate([node for pair in sides for node in pair], word)
        for left, right in sides:
            assert found[left] == found[right]


def test_a_mirrored_formula_is_true_where_the_formula_is_on_the_mirrored_word() -> None:
    programs = list(random_programs(tries(300)))
    kinds = set()
    for program in programs:
        mirror = mirrored(program.nodes)
        kinds |= {type(node) for node in program.nodes}
        for word in words(3):
            here, there = evaluate(program, word), evaluate(list(mirror.values()), word[::-1])
            assert {node: here[node] for node in mirror} == {node: there[other][::-1] for node, other in mirror.items()}
    assert kinds >= {Since, Until, Previous, Next, CountLeft, CountRight, Retrieve, Predicate, Place}


FLIPPED = {
    **{Previous: Next, Next: Previous, Since: Until, Until: Since, CountLeft: CountRight, CountRight: CountLeft},
    **{"<=": ">=", "<": ">", ">=": "<=", ">": "<", "any": "any", "latest": "earliest", "earliest": "latest"},
}


def mirrored(nodes: Iterable[Node]) -> dict[Node, Node]:
    """Return for each node the one with left and right exchanged."""
    made, build = {}, Build()

    def other(value: Any) -> Any:
        if isinstance(value, Node):
            return made[value]
        if isinstance(value, tuple):
            return tuple(map(other, value))
        if isinstance(value, AtKey | AtQuery | Equal | AllOf | AnyOf | NotOf):
            return type(value)(**{each.name: other(getattr(value, each.name)) for each in fields(value)})
        return value

    for node in nodes:
        own = {each.name: other(getattr(node, each.name)) for each in fields(node) if each.name != "number"}
        if isinstance(node, Place):
            made[node] = build(CountRight, of=build(Always, value=True))
            continue
        if isinstance(node, Retrieve):
            own |= {"choice": FLIPPED[node.choice], "sight": FLIPPED[node.sight]}
        made[node] = build(FLIPPED.get(type(node), type(node)), **own)
    return made


def words(most: int) -> Iterator[tuple[str, ...]]:
    for n in range(1, most + 1):
        yield from all_words("ab", n)


def program(**fields: Any) -> LogicProgram:
    example = WordExample(of="", word=("b", "a"), values=("T",))
    given = {"name": "first", "text": "", "alphabet": ("a", "b"), "examples": (example,), **fields}
    return LogicProgram(language="tl", definitions={"": a}, chosen="", **given)


def test_a_program_evaluates_its_chosen_definition() -> None:
    chosen = program(alphabet=())
    chosen = replace(chosen, definitions={"x": b, "y": a}, chosen="y")
    assert list(evaluate(chosen, "ac")) == [tokens, a]


def test_words_are_read() -> None:
    assert word_of(program(), "abba") == ("a", "b", "b", "a")
    assert word_of(program(alphabet=("push", "3")), '["push", 3]') == ("push", "3")
    assert own_word(program()) == "ba"
    assert own_word(program(examples=())) == "ab"
    assert own_word(program(examples=(), alphabet=("push", "pop"))) == '["push", "pop"]'


# ── the evaluator of many words beside the one by the printed definitions, cell by cell
@pytest.mark.slow
@pytest.mark.parametrize(
    ("kinds", "number", "longest"),
    [(EVERYTHING, 400, 5), (PAST_LTL, 200, 5), (Kinds(alphabet=("x", "yz", "["), size=10), 200, 3)],
    ids=["everything", "past LTL", "three tokens"],
)
def test_both_evaluators_agree_on_all_short_words(kinds: Kinds, number: int, longest: int) -> None:
    for program in random_programs(tries(number), kinds):
        many = ManyWords([program.root], kinds.alphabet)
        for n in range(1, longest + 1):
            words = list(all_words(kinds.alphabet, n))
            rows = many(words)
            assert np.array_equal(rows.rows[program.root], many.run(words_of(len(kinds.alphabet), n)).rows[program.root])
            for k, word in enumerate(words):
                assert {node: rows.values(node, k) for node in program.nodes} == evaluate(program, word), (program, word)


def test_a_long_word_is_looked_at_in_parts() -> None:
    build = Build()
    bit = build(logic.OneOf, of=build(logic.Input), values=("a",))
    count = build(logic.CountLeft, of=bit)
    same = build(
        logic.Retrieve,
        choice="latest",
        sight="<",
        score=logic.Equal(count, count),
        values=bit,
        default=build(logic.Always, value=True),
    )
    given = np.random.default_rng(5).integers(0, 2, (1, 3_000))
    found = ManyWords([same], "ab").run(given)
    # the same count before: then this is a b, and the position before is of the same count
    after = given[0, 1:] == 1
    assert found.rows[same][0].tolist() == [True, *np.where(after, given[0, :-1] == 0, True).tolist()]


def test_random_formulas_say_something() -> None:
    """Nearly all roots, and most nodes, are not the same everywhere; every operator comes up."""
    programs = list(random_programs(200))
    operators: Counter[type[Node]] = Counter(type(node) for program in programs for node in program.nodes)
    assert sum(constant(program.root, "ab") for program in programs) <= 4
    assert len({type(program.root) for program in programs}) >= 10
    assert min(operators[kind] for kind in Node.__subclasses__()) >= 8
    left = [node for program in random_programs(100, Kinds(past_only=True)) for node in program.nodes]
    assert not any(map(logic.looks_right, left))
