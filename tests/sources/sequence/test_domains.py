"""The sets of values have whatever occurs in a run, and, for some programs, nothing else."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import pytest

from tests.sources.rasp.running import read
from tests.sources.sequence.shipped import names, shipped_program, words
from tm2tfr.sources.rasp.compiler.lower import lowered
from tm2tfr.sources.rasp.evaluate import Undefined, evaluate
from tm2tfr.sources.rasp.program import Program
from tm2tfr.sources.rasp.sops import Aggregate, needed
from tm2tfr.sources.sequence.domains import Domains
from tm2tfr.sources.sequence.functions import whole
from tm2tfr.sources.sequence.graph import Attend

LONGEST = 4


def outputs(program: Program) -> list[tuple[str, Any]]:
    """Return every s-op that has a name, and every aggregate."""
    named = dict(program.sops)
    every = [node for node in needed([program.sop]) if isinstance(node, Aggregate)]
    return [*named.items(), *((f"aggregate {node.number}", node) for node in every)]


@pytest.mark.slow
@pytest.mark.parametrize("name", names())
def test_what_occurs_is_in_the_sets(name: str) -> None:
    """Values, empty selections, several positions, looking ahead: nothing occurs that was not expected."""
    program = shipped_program(name)
    wanted = outputs(program)
    graph = lowered(program, wanted)
    domains = Domains(graph, LONGEST, wanted=[node for _, node in graph.outputs])
    images: dict[tuple[int, int, int], set[Any]] = {}
    seen = 0
    for word in words(program, LONGEST, 60):
        try:
            run = evaluate([sop for _, sop in wanted], word)
        except Undefined:
            continue
        n = len(word)
        for k, ((_, sop), (_, node)) in enumerate(zip(wanted, graph.outputs, strict=True)):
            roots = domains.function(node).roots
            for i, value in enumerate(run.values[sop]):
                if (k, n, i) not in images:
                    images[k, n, i] = {text_and_kind(v) for v in domains.image(node, domains.sets_at(roots, n, i))}
                assert text_and_kind(value) in images[k, n, i], (name, word, i, value)
                seen += 1
            if isinstance(sop, Aggregate) and isinstance(node, Attend):
                facts = domains.facts[node]
                for i, row in enumerate(run.matrices[sop.selector]):
                    assert facts.empty or any(row)
                    assert facts.several or sum(row) < 2
                    assert facts.ahead is not None or not any(row[i + 1 :])
    assert seen >= 60


def text_and_kind(value: Any) -> tuple[str, Any]:
    """Return a value so that the text 1 is no number; truth values may be the numbers 0 and 1."""
    return ("text", value) if isinstance(value, str) else ("number", Fraction(value))


def found(text: str, length: int = 6, *, causal: bool = False) -> tuple[Any, ...]:
    """Return all values of the last s-op of a program."""
    program = read(text)
    graph = lowered(program, [("it", program.sop)])
    node = graph.outputs[0][1]
    return Domains(graph, length, wanted=[node], causal=causal).values(node)


PINS = {
    "hist = selector_width(select(tokens, tokens, ==));": (1, 2, 3, 4, 5, 6),
    "n = length;": (1, 2, 3, 4, 5, 6),
    'before = (indices + 1) * aggregate(select(indices, indices, <=), indicator(tokens == "a"));': (0, 1, 2, 3, 4, 5, 6),
    "r = aggregate(select(indices, length - indices - 1, ==), tokens);": ("a", "b"),
    'p = aggregate(select(indices, indices - 1, ==), tokens, "-");': ("-", "a", "b"),
    "f = aggregate(select(indices, indices, <=), indices);": tuple(sorted({whole(Fraction(i, 2)) for i in range(6)})),
    "m = aggregate(select(tokens, tokens, ==), 1 if indices < 0 else 3);": (3,),
    "e = aggregate(select(indices, indices, <), 1);": (0, 1),
    "parity = length % 2 == 0;": (False, True),
}


@pytest.mark.parametrize("text", PINS, ids=lambda text: text.partition(" =")[0])
def test_nothing_else_is(text: str) -> None:
    assert found(f"# alphabet: ab\n{text}") == PINS[text]


def test_in_causal_models_keys_end_at_the_query() -> None:
    text = "# alphabet: ab\nm = aggregate(select(indices, 100, <), indices);"
    assert found(text) == tuple(whole(Fraction(i, 2)) for i in range(6))
    assert found(text, causal=True) == found(text)
    last = '# alphabet: ab\nl = aggregate(select(indices, indices + 1, ==), tokens, "-");'
    assert found(last) == ("-", "a", "b")
    assert found(last, causal=True) == ("-",)


def test_the_mean_of_a_prefix_is_known_at_each_position() -> None:
    """At position i there are i + 2 means of 0s and 1s, whole numbers of (i + 1)-ths."""
    program = read('# alphabet: ab\nm = aggregate(select(indices, indices, <=), indicator(tokens == "a"));')
    graph = lowered(program, [("m", program.sop)])
    node = graph.outputs[0][1]
    domains = Domains(graph, 5, wanted=[node])
    for n in range(1, 6):
        for i in range(n):
            (number,) = domains.sets_at([node], n, i)
            assert domains.values_of(number) == {Fraction(k, i + 1) for k in range(i + 2)}
