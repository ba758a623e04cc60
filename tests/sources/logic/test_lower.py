"""What formulas and programs are, by the printed definitions, beside what the graph is that they are lowered to."""

from __future__ import annotations

import pytest

from tests.sources.logic.random_formulas import EVERYTHING, PAST_LTL, Kinds, random_programs
from tests.sources.sequence.evaluator import evaluate_graph
from tests.strategies import tries
from tm2tfr.base.text.words import all_words
from tm2tfr.sources.logic.compiler import lowered
from tm2tfr.sources.logic.evaluate import evaluate
from tm2tfr.sources.logic.library import load, shipped
from tm2tfr.sources.logic.program import LogicProgram


def differences(program: LogicProgram, longest: int) -> list[str]:
    """Return where node and operation are not the same on words up to this length; values of one type, too."""
    graph, operations = lowered([("", program.root)], name=program.name, file=program.name, alphabet=program.alphabet)
    found = []
    for n in range(1, longest + 1):
        for word in all_words(program.alphabet, n):
            here, there = evaluate(program, word), evaluate_graph(graph, word)
            if graph.outputs[0][1] not in there:
                found.append(f"{program.name}: the graph does not have the root")
            for node, values in here.items():
                other = there.get(operations[node])
                if other is not None and list(map(repr, values)) != list(map(repr, other)):
                    found.append(f"{program.name}: {node} on {word}: {values} and {other}")
    return found


@pytest.mark.parametrize(
    ("kinds", "number", "longest"),
    [(EVERYTHING, 300, 4), (PAST_LTL, 100, 4), (Kinds(alphabet="xyz", size=10), 150, 3)],
    ids=["everything", "past LTL", "three tokens"],
)
def test_random_formulas_are_lowered_rightly(kinds: Kinds, number: int, longest: int) -> None:
    for program in random_programs(tries(number), kinds):
        assert differences(program, longest) == []


@pytest.mark.slow
@pytest.mark.parametrize("name", shipped())
def test_shipped_formulas_and_programs_are_lowered_rightly(name: str) -> None:
    program = load(name).program
    assert differences(program, {2: 6, 3: 4, 4: 3}.get(len(program.alphabet), 2)) == []
