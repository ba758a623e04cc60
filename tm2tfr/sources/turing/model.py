"""The model of a Turing machine's run: the chapter's equations (8.4)-(8.19), without any weights.

The variables stand in the order of the chapter, each with its equation. What is computed from a variable that is set sees
the new value, so a position that there is not yet is replaced by the nearest one, 0 or i. Where heads look (Eqs. 8.6, 8.8,
8.11, 8.15, 8.16) is in `patterns`, what step 4 answers in `answers`. The answer is a vote: for each token that step 4
names, one. Nothing here is taken from the compiler. The repairs are those of docs/construction/repairs.md.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial
from typing import NamedTuple

import numpy as np

from tm2tfr.contract.labelling import HeldVariable
from tm2tfr.contract.model import (
    NOTHING,
    Equation,
    ModelColumns,
    ModelStage,
    ModelVariable,
    SourceModel,
    VariableValues,
    place_table,
)
from tm2tfr.sources.turing.columns import OUTCOMES
from tm2tfr.sources.turing.patterns import ALIASES, LABELS, given, most_votes, patterns, votes
from tm2tfr.sources.turing.spec import Machine
from tm2tfr.sources.turing.tokens import parsed

UNPACKED: ModelStage = (0, "feed_forward")
SUMMED: ModelStage = (1, "attention")
HALVED: ModelStage = (1, "feed_forward")
LOOKED_UP: ModelStage = (2, "attention")
KEPT: ModelStage = (2, "feed_forward")
RETRIEVED: ModelStage = (3, "attention")
COMPARED: ModelStage = (3, "feed_forward")
READ: ModelStage = (4, "feed_forward")
ANSWERED: ModelStage = (5, "feed_forward")
"""The stages of the construction, each named for what there is after it."""
_PLACE = "it says where a position is, and has no cause: set what is computed from it, such as h"


class Alphabets(NamedTuple):
    """The values of a run's variables: tokens, states Q, symbols Γ and Σ, the blank; and whether h can be negative."""

    tokens: tuple[str, ...]
    states: tuple[str, ...]
    gamma: tuple[str, ...]
    sigma: tuple[str, ...]
    blank: str
    two_way: bool


def turing_model(
    machine: Machine, vocabulary: Sequence[str], *, repaired: bool = True, stop: Sequence[str] = ()
) -> SourceModel:
    """Return the model of a machine's runs.

    Args:
        vocabulary: the tokens that can be fed or answered, of several with as many votes the first is answered.
        repaired: whether a move left at cell 0 of a one-way tape answers m = 0 (repair 4); stop: the tokens that end a run.
    """
    two_way = machine.tape == "two-way"
    triples = [triple for triple in map(parsed, vocabulary) if triple is not None]
    alphabets = Alphabets(
        tokens=tuple(vocabulary),
        states=tuple(dict.fromkeys((*machine.states, *(triple.state for triple in triples)))),
        gamma=tuple(dict.fromkeys((*machine.tape_alphabet, *(triple.symbol for triple in triples)))),
        sigma=machine.input_alphabet or (),
        blank=machine.blank,
        two_way=two_way,
    )
    return SourceModel(
        variables=(
            *chapter(alphabets, input_at="h+" if two_way else "h"),
            ModelVariable(
                name="e_y",
                meaning="the answer",
                kind="label",
                labels=alphabets.tokens,
                mixed=True,
                equation=partial(votes, machine=machine, walled=repaired and not two_way),
                formula="y = x if x ∈ Σ, (q_start, a, 0) if x = BOS, else δ(q, a), or its verdict",
                source="step 4",
                since=ANSWERED,
                read_by="the token answered",
                held=HeldVariable(column="answer"),
            ),
        ),
        patterns=tuple(patterns()),
        vocabulary=alphabets.tokens,
        answer=most_votes(alphabets.tokens),
        columns=tuple(LABELS),
        aliases=ALIASES,
        outcomes=OUTCOMES,
        stop=frozenset(stop),
        given=given,
    )


# ── the chapter's equations
def chapter(of: Alphabets, *, input_at: str) -> Iterator[ModelVariable]:
    """Yield the variables of the chapter's vectors, but for the answer.

    Args:
        input_at: the claim of the head that finds the input symbol of the cell under the head.
    """
    yield from _embedded(of)
    yield from _unpacked(of)
    yield from _head_position(of)
    yield from _looked_up(of, input_at)
    yield from _read(of)


def _embedded(of: Alphabets) -> Iterator[ModelVariable]:
    yield ModelVariable(
        name="e_x",
        meaning="the token",
        kind="label",
        labels=of.tokens,
        nothing=False,
        equation=lambda c: c.token,
        formula="x_i: the prompt, then BOS, then the answers",
        source="Eq. 8.4",
        read_by="step 1, step 4, and the heads that look up the input",
        held=HeldVariable(column="token"),
    )
    one, square = HeldVariable(), HeldVariable(column="position", function="square")
    yield _feature("1/(i+1)", "one, as a share", lambda c: np.ones_like(c.i), HeldVariable(over=True), share=True)
    yield _feature("1", "one", lambda c: np.ones_like(c.i), one)
    yield _feature("i", "the position", lambda c: c.i, HeldVariable(column="position"))
    yield _feature("i^2", "its square", lambda c: c.i * c.i, square)


def _feature(name: str, meaning: str, equation: Equation, held: HeldVariable, *, share: bool = False) -> ModelVariable:
    return ModelVariable(
        name=name,
        meaning=meaning,
        equation=equation,
        formula=name.replace("^2", "²"),
        source="Eq. 8.4",
        feature=True,
        share=share,
        unset=_PLACE,
        held=held,
    )


def _unpacked(of: Alphabets) -> Iterator[ModelVariable]:
    """Step 1: state, symbol written and move of the token (r, b, m); ⊥, ⊥ and 0 of any other."""
    triples = [parsed(token) for token in of.tokens]
    state = place_table([triple and triple.state for triple in triples], of.states)
    symbol = place_table([triple and triple.symbol for triple in triples], of.gamma)
    move = np.array([*(triple.move if triple else 0 for triple in triples), 0], dtype=np.int64)
    yield ModelVariable(
        name="e_q",
        meaning="the state",
        kind="label",
        labels=of.states,
        equation=lambda c: state[c["e_x"]],
        formula="x = (q, b, m)",
        source="Eq. 8.5",
        since=UNPACKED,
        read_by=STEP_4,
        column=LABELS["q"],
    )
    yield ModelVariable(
        name="e_b",
        meaning="the symbol just written",
        kind="label",
        labels=of.gamma,
        equation=lambda c: symbol[c["e_x"]],
        formula="x = (q, b, m)",
        source="Eq. 8.5",
        since=UNPACKED,
        read_by=f"{_LATER}, as what they carry",
        column=LABELS["b"],
    )
    yield ModelVariable(
        name="m",
        meaning="the move",
        equation=lambda c: move[c["e_x"]],
        formula="x = (q, b, m)",
        source="Eq. 8.5",
        since=UNPACKED,
        read_by="the sum of the moves, here and at all later positions",
        least=-1,
        largest=1,
        column=LABELS["m"],
    )
    yield ModelVariable(
        name="m/(i+1)",
        meaning="the move, as a share",
        equation=lambda c: move[c["e_x"]],
        formula="m/(i+1)",
        source="repair 2",
        since=UNPACKED,
        read_by="the equation of h_{i-1}, here alone",
        least=-1,
        largest=1,
        share=True,
        held=HeldVariable(column="m", over=True),
    )


def _head_position(of: Alphabets) -> Iterator[ModelVariable]:
    """Step 2: the head position is the sum of all moves so far; the one before lacks the last."""
    halves = "the positive and negative parts of h and h_{i-1}, here: so the key for later positions as well"
    looked = "the heads that look up h and h_{i-1} here, and so the key of this position for later ones"
    yield ModelVariable(
        name="h/(i+1)",
        meaning="the head position, as a share",
        equation=lambda c: c.total("m"),
        formula="h = Σ_{j≤i} m_{j-1}",
        source="Eqs. 8.6-8.7",
        since=SUMMED,
        read_by=halves if of.two_way else looked,
        least=None if of.two_way else 0,
        share=True,
        held=HeldVariable(column="h", over=True),
    )
    yield ModelVariable(
        name="h_{i-1}/(i+1)",
        meaning="the head position before, as a share",
        equation=lambda c: c["h/(i+1)"] - c["m/(i+1)"],
        formula="h_{i-1} = h - m",
        source="Eq. 8.11, repair 2",
        since=SUMMED,
        stored=False,
        share=True,
    )
    for name, column in (("h", "h"), ("h_{i-1}", "h_before")):
        for sign, part in (("+", "positive"), ("-", "negative")):
            yield ModelVariable(
                name=f"{name}{sign}/(i+1)",
                meaning=f"the {part} part of {name}, as a share",
                equation=partial(_half, name=f"{name}/(i+1)", times=+1 if sign == "+" else -1),
                formula=f"max({'' if sign == '+' else '-'}{name}, 0)",
                source="repair 5",
                since=HALVED,
                read_by=f"the head that looks up {name}{sign}, here",
                least=0,
                share=True,
                held=HeldVariable(column=column, function="positive" if sign == "+" else "negative", over=True),
            )


def _half(c: ModelColumns, name: str, times: int) -> VariableValues:
    return np.asarray(np.maximum(times * c[name], 0))


def _looked_up(of: Alphabets, input_at: str) -> Iterator[ModelVariable]:
    """Step 3, first half: h and h_{i-1}, their squares and the input symbol, from the positions of these numbers.

    On a two-way tape a number is looked up by its positive and its negative part, one of which is 0 (repair 5).
    """

    def found(claim: str, feature: str, sign: int = -1) -> Equation:
        if not of.two_way:
            return lambda c: c.at(claim, feature)
        return lambda c: c.at(f"{claim}+", feature) + sign * c.at(f"{claim}-", feature)

    given = place_table([token if token in of.sigma else None for token in of.tokens], of.sigma)
    least, repair = None if of.two_way else 0, ", repair 5" if of.two_way else ""
    yield ModelVariable(
        name="h",
        meaning="the head position",
        equation=found("h", "i"),
        formula="h = argmax_j (2h·j - j²)/(i+1)",
        source=f"Eqs. 8.8-8.10{repair}",
        since=LOOKED_UP,
        read_by=f"the latest-write head here, as its query; {_FLAG}{'' if of.two_way else ', and [h=0]'}",
        least=least,
        column=LABELS["h"],
    )
    yield ModelVariable(
        name="h^2",
        meaning="its square",
        equation=found("h", "i^2", +1),
        formula="h²",
        source=f"Eq. 8.10{repair}",
        since=LOOKED_UP,
        least=0,
        held=HeldVariable(column="h", function="square"),
    )
    yield ModelVariable(
        name="h-",
        meaning="the negative part of the head position",
        equation=(lambda c: c.at("h-", "i")) if of.two_way else (lambda c: np.zeros_like(c.i)),
        formula="max(-h, 0)",
        source="repair 5",
        since=LOOKED_UP,
        read_by="what keeps the input symbol only where h- is 0",
        least=0,
        held=HeldVariable(column="h", function="negative"),
    )
    yield ModelVariable(
        name="e_x(h+)",
        meaning="the input symbol of cell h+",
        kind="label",
        labels=of.sigma,
        equation=lambda c: given[c.at(input_at, "e_x")],
        formula="e_{x_h}, where x_h ∈ Σ",
        source=f"Eq. 8.10{repair}",
        since=LOOKED_UP,
        read_by="e_x(h), here",
        column=LABELS["given(h+)"],
    )
    yield ModelVariable(
        name="e_x(h)",
        meaning="the input symbol of cell h",
        kind="label",
        labels=of.sigma,
        equation=(lambda c: np.where(c["h-"] == 0, c["e_x(h+)"], NOTHING)) if of.two_way else (lambda c: c["e_x(h+)"]),
        formula="e_{x_h}, where x_h ∈ Σ and h ≥ 0",
        source=f"Eq. 8.10{repair}",
        since=KEPT if of.two_way else LOOKED_UP,
        read_by="the symbol read, here",
        column=LABELS["given(h)"],
    )
    yield ModelVariable(
        name="[h=0]",
        meaning="whether the head is at cell 0",
        equation=lambda c: c["h"] == 0,
        formula="h = 0",
        source="repair 4",
        since=KEPT,
        read_by=f"{STEP_4}, where a rule moves left",
        least=0,
        largest=1,
        held=HeldVariable(column="h", function="is 0"),
    )
    yield ModelVariable(
        name="h_{i-1}",
        meaning="the head position before",
        equation=found("h_{i-1}", "i"),
        formula="h_{i-1} = argmax_j (2h_{i-1}·j - j²)/(i+1)",
        source=f"Eqs. 8.11-8.14, repair 2{repair}",
        since=LOOKED_UP,
        read_by=f"{_LATER}, as the key of this one",
        least=least,
        column=LABELS["h_before"],
    )
    yield ModelVariable(
        name="h_{i-1}^2",
        meaning="its square",
        equation=found("h_{i-1}", "i^2", +1),
        formula="h_{i-1}²",
        source=f"Eqs. 8.12-8.14, repair 2{repair}",
        since=LOOKED_UP,
        read_by=f"{_LATER}, as the key of this one",
        least=0,
        held=HeldVariable(column="h_before", function="square"),
    )


def _read(of: Alphabets) -> Iterator[ModelVariable]:
    """Step 3, second half: the latest write of the cell under the head, else the input symbol, else the blank."""
    to_gamma, blank = place_table(of.sigma, of.gamma), of.gamma.index(of.blank)

    def symbol(c: ModelColumns) -> VariableValues:
        written = np.where(c["[h_{j*-1}=h]"] != 0, c["e_b(j*-1)"], NOTHING)
        symbols = np.where(written != NOTHING, written, to_gamma[c["e_x(h)"]])
        return np.where(symbols != NOTHING, symbols, blank)

    yield ModelVariable(
        name="h_{j*-1}",
        meaning="the cell that was found",
        equation=lambda c: c.at("j*", "h_{i-1}"),
        formula="h_{j*-1}",
        source="Eq. 8.17",
        since=RETRIEVED,
        read_by=_FLAG,
        least=None if of.two_way else 0,
        column=LABELS["h_before(j*)"],
    )
    yield ModelVariable(
        name="e_b(j*-1)",
        meaning="the symbol that was found",
        kind="label",
        labels=of.gamma,
        equation=lambda c: c.at("j*", "e_b"),
        formula="b_{j*-1}",
        source="Eq. 8.17",
        since=RETRIEVED,
        read_by="the symbol read, here",
        column=LABELS["b(j*)"],
    )
    yield ModelVariable(
        name="[h_{j*-1}=h]",
        meaning="whether it is the right cell",
        equation=lambda c: c["h_{j*-1}"] == c["h"],
        formula="h_{j*-1} = h",
        source="Eq. 8.18, repair 9",
        since=COMPARED,
        read_by="the symbol read, here",
        least=0,
        largest=1,
        column=LABELS["found"],
    )
    yield ModelVariable(
        name="e_a",
        meaning="the symbol under the head",
        kind="label",
        labels=of.gamma,
        equation=symbol,
        formula="a = b_{j*-1} if h_{j*-1} = h and b_{j*-1} ≠ ⊥, else x_h, else blank",
        source="Eqs. 8.18-8.19",
        since=READ,
        read_by=STEP_4,
        column=LABELS["a"],
    )


STEP_4 = "step 4, the answer here"
_FLAG = "the flag [h_{j*-1}=h] here"
_LATER = "the latest-write heads of this position and all later ones"
