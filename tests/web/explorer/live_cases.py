"""Decoders of every source, right ones and sabotaged ones, with tokens to run them on, for the engine in the page."""

from __future__ import annotations

import dataclasses
import random
from collections.abc import Iterator
from itertools import islice
from typing import NamedTuple

from tests.engines.labellers import causal, labeller, scrambled, with_heads
from tests.engines.lookups import looking, random_looks
from tests.engines.test_fast_sabotage import MUTATED, mutated
from tests.engines.test_overflow import attacks
from tests.handmade import HANDMADE, normed, tabled
from tests.sources.circuit.running import PAPER, random_of
from tests.sources.turing.universal.cases import compiled, random_prompt
from tm2tfr.api.subject import Subject
from tm2tfr.base.resources import ATTENTION_PROGRAMS, FORMULAS, MACHINES, PROGRAMS, shipped
from tm2tfr.sources.circuit.compiler import compile_circuit
from tm2tfr.sources.turing.universal.program import Universal
from tm2tfr.transformer.matrix import Matrix
from tm2tfr.transformer.weights import Decoder, Norm, matrices, norms, replaced

POSITIONS = 24
LABELLED = 9
CIRCUITS = ("half-adder", "full-adder", "binary-adder", "multiplier", "comparator", "multiplexer", "majority", "c17")
ONE_WAY = ("chapter", "left-edge", "power-of-two", "parity", "same-ends")
CLASSES = (Universal(states=1, symbols=2), Universal(states=2, symbols=2), Universal(states=3, symbols=2, tape="two-way"))
SABOTAGED = 70


class Case(NamedTuple):
    """A decoder and what it is run on.

    Args:
        given: the numbers of the tokens of its prompt, or of the whole sequence.
        whole: whether the sequence is run at once, and not token by token.
    """

    name: str
    decoder: Decoder
    given: list[int]
    whole: bool = False


def cases() -> list[Case]:
    """Return all cases, the same every time."""
    chance = random.Random(16)
    right = [*_shipped(chance), *_circuits(), *_universal(chance), *_handmade(chance)]
    huge = [Case(f"huge: {name}", each, _own(each, chance)) for name, each in islice(attacks(), 0, None, 3)]
    return [*right, *huge, *_sabotaged(right, chance)]


def _shipped(chance: random.Random) -> Iterator[Case]:
    for name in shipped(MACHINES):
        yield _generating(name, Subject.of(name))
    for name in ONE_WAY:
        yield _generating(f"{name}, without the repair", Subject.of(name, left_boundary="chapter"))
    for kind in (PROGRAMS, ATTENTION_PROGRAMS, FORMULAS):
        for name in shipped(kind):
            if name not in shipped(MACHINES):
                yield from _labelling(name, Subject.of(name).decoder, chance)


def _generating(name: str, subject: Subject) -> Case:
    decoder = subject.decoder
    numbers = [decoder.numbers[token] for token in subject.prompt(None)]
    return Case(name, decoder, [*numbers, *([] if decoder.bos is None else [decoder.numbers[decoder.bos]])])


def _labelling(name: str, decoder: Decoder, chance: random.Random) -> Iterator[Case]:
    given = _random(decoder, chance, LABELLED)
    yield Case(name, decoder, given, whole=True)
    if not decoder.looks_ahead:
        yield Case(f"{name}, token by token", decoder, given)


def _circuits() -> Iterator[Case]:
    for name in CIRCUITS:
        yield _generating(name, Subject.of(name))
    for seed, variant in enumerate(("paper-hard", "paper", "lookup") * 3):
        made = compile_circuit(random_of(PAPER, 3, 7, seed), variant, epsilon=1e-5 * (variant == "paper" and seed % 2))
        hard = with_heads(made, lambda head: dataclasses.replace(head, weighting="average-hard"))
        yield Case(f"random circuit {seed}, {variant}", hard, [1, 0, 1])


def _universal(chance: random.Random) -> Iterator[Case]:
    for each in CLASSES:
        decoder = compiled(each)
        first = None if each.tape == "two-way" else chance.choice(("one-way", "two-way"))
        tokens = random_prompt(chance, each.states, each.symbols, first).split()
        yield Case(f"universal {each}", decoder, [decoder.numbers[token] for token in tokens])


def _handmade(chance: random.Random) -> Iterator[Case]:
    for name, (make, prompt, _) in HANDMADE.items():
        decoder = make()
        tokens = [*prompt, *([] if decoder.bos is None else [decoder.bos])]
        yield Case(name, decoder, [decoder.numbers[token] for token in tokens])
    made = {"tabled": tabled(), "normed": normed(), "normed, epsilon": normed(0.25), "looking": looking(random_looks(12))}
    for name, decoder in made.items():
        yield Case(name, decoder, _own(decoder, chance))
    for name, size in {"flat": 0.0, "steep": 1e200}.items():
        tokens = matrices(normed())["token_embedding"]
        alike = Matrix(tokens.shape, tokens.rows, tokens.columns, tokens.values * size)
        decoder = replaced(
            normed(), {"token_embedding": alike, "position_embedding": Matrix.from_entries((len(tokens.dense()), 1), {})}
        )
        yield Case(f"normed, {name}", decoder, _own(decoder, chance))
    for name, decoder in {"labeller": labeller(), "causal": causal()}.items():
        yield from _labelling(name, decoder, chance)
    for seed in range(40):
        positions = (None, 7, 12)[seed % 3]
        decoder = scrambled(seed, integers=seed % 4 == 0, positions=positions)
        if seed % 5 == 0:
            decoder = _with_norms(decoder, epsilon=0.5 * (seed % 2))
        yield from _labelling(f"scrambled {seed}", decoder, chance)


def _with_norms(decoder: Decoder, epsilon: float) -> Decoder:
    like = normed(epsilon)
    width = decoder.layout.width
    norm = next(norm for _, norm in norms(like))
    gain = type(norm.gain).from_entries((width, 1), {(n, 0): 0.7 + n for n in range(width)})
    own = Norm(gain=gain, bias=type(norm.bias).from_entries((width, 1), {(0, 0): 0.3}), epsilon=epsilon)
    layers = tuple(dataclasses.replace(layer, attention_norm=own, feed_forward_norm=own) for layer in decoder.layers)
    return dataclasses.replace(decoder, layers=layers, norm=own)


def _sabotaged(right: list[Case], chance: random.Random) -> Iterator[Case]:
    able = [case for case in right if _can_be_mutated(case.decoder)]
    for n, case in enumerate(islice(able, 0, None, max(1, len(able) // SABOTAGED))):
        broken, where = mutated(case.decoder, chance, times=1 + n % 3)
        yield case._replace(name=f"{case.name}, sabotaged: {where}", decoder=broken)


def _can_be_mutated(decoder: Decoder) -> bool:
    there = {path.split(".")[-1] for path, matrix in matrices(decoder).items() if 0 not in matrix.shape}
    return there.issuperset(MUTATED)


def _own(decoder: Decoder, chance: random.Random) -> list[int]:
    """A random prompt of a decoder, with its BOS."""
    return [*_random(decoder, chance, 3), *([] if decoder.bos is None else [decoder.numbers[decoder.bos]])]


def _random(decoder: Decoder, chance: random.Random, most: int) -> list[int]:
    return [chance.randrange(len(decoder.vocabulary)) for _ in range(min(most, decoder.positions or most))]
