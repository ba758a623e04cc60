"""The evaluator of the graph: beside the interpreter of RASP on shipped programs, and each operation of its own."""

from __future__ import annotations

from fractions import Fraction

import pytest

from tests.sources.sequence.evaluator import evaluate_graph
from tests.sources.sequence.shipped import names, shipped_program, words
from tm2tfr.sources.rasp.compiler.lower import lowered
from tm2tfr.sources.rasp.evaluate import Undefined, evaluate
from tm2tfr.sources.sequence.functions import whole
from tm2tfr.sources.sequence.graph import (
    Apply,
    Attend,
    Combine,
    Compare,
    Fixed,
    Item,
    Nearest,
    Operation,
    Position,
    Property,
    Reckoned,
    Token,
    Weighted,
)


@pytest.mark.parametrize("name", names())
def test_a_lowered_program_is_what_the_interpreter_says(name: str) -> None:
    program = shipped_program(name)
    outputs = list(program.sops.items())
    graph = lowered(program, outputs)
    for word in words(program, 4, 24):
        try:
            said = evaluate([sop for _, sop in outputs], word).values
        except Undefined:
            continue
        found = evaluate_graph(graph, map(whole, word))
        for (output, node), (_, sop) in zip(graph.outputs, outputs, strict=True):
            assert found[node] == tuple(map(whole, said[sop])), (output, word)


tokens, position = Token(key="token"), Position(key="position")
is_a = Apply(key="is a", operator="in", arguments=(tokens,), entries=(("a", True),))
true, none = Fixed(key="true", value=True), Fixed(key="none", value="-")
same = Compare(key="same", keys=tokens, queries=tokens, relation="==")
everything, nothing = (Combine(key=operator, operator=operator, parts=()) for operator in ("and", "or"))
count = Reckoned(key="count", values=is_a, sight="<=")


def nearest(choice: str, sight: str, selector: object) -> Nearest:
    given = {"choice": choice, "sight": sight, "selector": selector}
    return Nearest(key="nearest", values=tokens, default=none, **given)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("node", "values"),
    [
        (tokens, ("a", "b", "b", "a")),
        (position, (0, 1, 2, 3)),
        (none, ("-", "-", "-", "-")),
        (is_a, (True, False, False, True)),
        (Attend(key="mean", selector=same, values=position, default=0), (Fraction(3, 2),) * 4),
        (Attend(key="mean", selector=nothing, values=tokens, default="?"), ("?",) * 4),
        (nearest("latest", "<=", everything), ("a", "b", "b", "a")),
        (nearest("latest", "<", everything), ("-", "a", "b", "b")),
        (nearest("latest", "<", same), ("-", "-", "b", "a")),
        (nearest("earliest", ">", everything), ("b", "b", "a", "-")),
        (nearest("earliest", ">=", Combine(key="other", operator="not", parts=(same,))), ("b", "a", "a", "-")),
        (nearest("earliest", "any", everything), ("a", "a", "a", "a")),
        (nearest("latest", "any", Combine(key="either", operator="or", parts=(same, nothing))), ("a", "b", "b", "a")),
        (nearest("latest", "any", nothing), ("-", "-", "-", "-")),
        (count, (1, 1, 1, 2)),
        (Reckoned(key="count", values=is_a, sight=">="), (2, 1, 1, 1)),
        (Weighted(key="sum", terms=((2, position), (-1, is_a)), constant=3), (2, 5, 7, 8)),
        (Weighted(key="sum", terms=()), (0, 0, 0, 0)),
        (Property(key="odd", of=count, predicate="mod", modulus=2, remainder=1), (True, True, True, False)),
        (Property(key="prime", of=position, predicate="prime"), (False, False, True, True)),
        (Property(key="square", of=position, predicate="square"), (True, True, False, False)),
        (Property(key="power", of=position, predicate="power of 2"), (False, True, True, False)),
    ],
)
def test_each_operation_is_as_it_says(node: Operation, values: tuple[Item, ...]) -> None:
    assert evaluate_graph([node], "abba")[node] == values
