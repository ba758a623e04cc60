"""Sabotage: one weight of the decoder is changed. `check` says so and names its layer, or the change changes nothing.

Engines that knew what a Turing machine is, or took the prompt for what it says, would go on giving the right tokens: the
dense, the exact and the fast one give the same wrong ones.
"""

from __future__ import annotations

import dataclasses
import random
from collections import Counter
from collections.abc import Iterator
from functools import cache

import pytest

from tests.sources.turing.universal.cases import answered, compiled, described, positions, random_prompt
from tests.strategies import tries
from tm2tfr.engines.dense import Dense
from tm2tfr.engines.exact import Exact
from tm2tfr.engines.fast import Fast, available
from tm2tfr.runs.comparison import Trace, check
from tm2tfr.sources.turing.universal.program import Universal
from tm2tfr.sources.turing.universal.truth import UniversalTruth
from tm2tfr.transformer.weights import Decoder, matrices, replaced

STEPS = 25
SIZES = ((3, 2), (8, 4))
NUMBER = 150
"""Of sabotages of each decoder."""


def changed(decoder: Decoder, chance: random.Random) -> tuple[str, str, Decoder]:
    """Return the path of a matrix, what happened to one of its entries, and the decoder with that."""
    sizes = {path: len(matrix.values) for path, matrix in matrices(decoder).items() if len(matrix.values)}
    weights = list(sizes.values()) if chance.random() < 0.5 else None  # any entry, or any matrix
    [path], how = chance.choices(list(sizes), weights), chance.choice(("negated", "zeroed", "doubled", "moved"))
    matrix = matrices(decoder)[path]
    row, column, old = chance.choice(list(matrix.entries()))
    new = matrix.with_entry(row, column, {"negated": -old, "doubled": 2 * old}.get(how, 0.0))
    if how == "moved":
        free = [(row, n) for n in range(matrix.shape[1])] + [(n, column) for n in range(matrix.shape[0])]
        taken = {(r, c) for r, c, _ in matrix.entries()}
        open_places = [place for place in free if place not in taken]
        if open_places:
            new = new.with_entry(*chance.choice(open_places), old)
    return path, f"{path}[{row}, {column}] {how}", replaced(decoder, {path: new})


def layer_of(path: str) -> int:
    """Return the number of the layer that a matrix belongs to, as causes count them."""
    if path.startswith("layers."):
        return int(path.split(".")[1])
    return 8 if "unembedding" in path else 0


@cache
def battery(states: int, symbols: int) -> tuple[tuple[str, Universal, str], ...]:
    """Return prompts of both tapes: whole sets of rules, which use as much of the decoder as there is, and small ones."""
    universal, chance = Universal(states=states, symbols=symbols), random.Random(5)
    whole = [random_prompt(chance, states, symbols, ("one-way", "two-way")[n % 2]) for n in range(4)]
    small = [random_prompt(chance, min(2, states), symbols, tape) for tape in ("one-way", "two-way")]
    return tuple((text, *described(text, universal)) for text in (*small, *whole))


def checked(decoder: Decoder, states: int, symbols: int) -> Iterator[Trace]:
    for _, program, word in battery(states, symbols):
        yield check(decoder, UniversalTruth(program, word, max_steps=STEPS), engine=Dense(), max_steps=STEPS)


@pytest.mark.parametrize(("states", "symbols"), SIZES)
def test_the_battery_finds_nothing_wrong_with_the_right_weights(states: int, symbols: int) -> None:
    decoder = compiled(Universal(states=states, symbols=symbols))
    assert all(trace.agrees for trace in checked(decoder, states, symbols))


@pytest.mark.slow
@pytest.mark.parametrize(("states", "symbols"), SIZES)
def test_each_sabotage_is_caught_where_it_is_or_harmless(states: int, symbols: int) -> None:
    decoder, chance = compiled(Universal(states=states, symbols=symbols)), random.Random(states)
    counts: Counter[str] = Counter()
    for _ in range(tries(NUMBER)):
        path, what, broken = changed(decoder, chance)
        wrong = next((trace.divergence for trace in checked(broken, states, symbols) if not trace.agrees), None)
        counts["harmless" if wrong is None else "caught"] += 1
        if wrong is not None:
            assert wrong.cause is not None, what
            assert wrong.cause.layer == layer_of(path), f"{what}\n{wrong}"
    assert counts["caught"] > counts.total() / 4  # others are of tokens that the battery does not use


@pytest.mark.parametrize(
    ("layer", "unit", "reads", "where"),
    [
        (1, "[value]", "e_x[→(q1,2,+1)]", "layer 1 (unpack), feed-forward at position 2: [rule] should be 1, is 0"),
        (2, "r_q[q1]", "e_q(key)[q1]", "layer 2 (head position), feed-forward at position 4: r_q should be q1, is ⊥ (0)"),
        (2, "r_a[2]", "[value]", "layer 2 (head position), feed-forward at position 6: r_a should be 2, is ⊥ (0)"),
    ],
)
def test_what_is_wrong_at_one_of_many_positions_of_a_head_is_found_there(
    layer: int, unit: str, reads: str, where: str
) -> None:
    """It shows much later, in a mean over all positions, or as one of many rules that the head of layer 6 takes instead."""
    decoder = compiled(Universal(states=8, symbols=4))
    part = decoder.layers[layer - 1].feed_forward
    assert part is not None
    path, place = f"layers.{layer}.feed_forward.input", (part.units.index(unit), decoder.layout.index(reads))
    broken = replaced(decoder, {path: part.input.with_entry(*place, 0.0)})
    rest = " ".join(f"q{n},{a} →(q1,2,-1)" for n in range(2, 8) for a in range(4))
    text = f"two-way q0,1 →(q1,2,+1) q1,0 →(q1,3,-1) q1,2 →ACC {rest} 1 BOS"
    program, word = described(text, Universal(states=8, symbols=4))
    assert check(decoder, UniversalTruth(program, word), engine=Dense()).agrees
    found = check(broken, UniversalTruth(program, word), engine=Dense(), max_steps=9).divergence
    assert found is not None
    assert str(found.cause).splitlines()[0] == where


@pytest.mark.slow
@pytest.mark.parametrize(("states", "symbols"), SIZES)
def test_all_engines_give_the_same_wrong_tokens(states: int, symbols: int) -> None:
    """Runs go on past ACC, REJ and HALT."""
    decoder, chance = compiled(Universal(states=states, symbols=symbols)), random.Random(10 + states)
    decoder = dataclasses.replace(decoder, stop=())
    text, different = battery(states, symbols)[-1][0], 0
    right = answered(decoder, text, Dense(), positions(text, 12))
    number = tries(NUMBER if states < 8 else NUMBER // 3)  # a large decoder takes the exact engine long
    for _ in range(number):
        _, what, broken = changed(decoder, chance)
        most = positions(text, 12)
        found = answered(broken, text, Dense(), most)
        different += found != right
        assert answered(broken, text, Exact(), most) == found, what
        if available():
            assert answered(broken, text, Fast(), most) == found, what
    assert different > number / 10
