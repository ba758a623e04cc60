"""Layer 7: what the rule answers, HALT where there is none, the answer to BOS, and the copy of the prompt."""

from __future__ import annotations

from collections.abc import Iterator

from tm2tfr.sources.turing.tokens import ACC, BOS, HALT, REJ
from tm2tfr.sources.turing.universal.names import GivenVerdict, MachineNames, RuleAnswer, value_token
from tm2tfr.transformer.gadgets import Unit, conjunction, feed_forward, rectified
from tm2tfr.transformer.residual import Linear, Residual, at, total
from tm2tfr.transformer.weights import Layer

FOUND: tuple[Linear, ...] = ({"[r*_q=q]": 1.0}, {"[r*_a=a]": 1.0})
"""The two bits that say that the rule found is the right one."""


def answer(layout: Residual, names: MachineNames, copied: tuple[str, ...], *, walled: bool) -> Layer:
    """Return the layer that writes ``e_y``.

    Args:
        copied: the tokens of the prompt, which are answered by themselves.
        walled: whether a tape may have a left end, where a move left is answered by m = 0 (repair 4).
    """
    units = [*_prompt(copied), *_start(names), *_halted(names), *_rules(names, walled=walled)]
    return Layer(
        name="answer",
        meaning="the next triple, or the verdict: what the rule says",
        source="step 4; universal, layer 7" + ("; repair 4" if walled else ""),
        feed_forward=feed_forward(layout, units),
        equation="y = δ(q, a)",
    )


def _prompt(copied: tuple[str, ...]) -> Iterator[Unit]:
    for token in copied:
        yield from rectified(f"prompt {token}", {at("e_x", token): 1.0}, {at("e_y", token): 1.0})


def _start(names: MachineNames) -> Iterator[Unit]:
    for n, a in enumerate(names.symbols):
        bits = [{at("e_x", BOS): 1.0}, {at("e_a", a): 1.0}]
        yield from conjunction(f"BOS, {a}", bits, {at("e_y", names.triple(RuleAnswer(0, n, 0))): 1.0})


def _halted(names: MachineNames) -> Iterator[Unit]:
    """HALT = [triple] - ([triple] and the rule is found)."""
    triple = total(at("e_q", q) for q in names.states)
    yield from rectified("triple", triple, {at("e_y", HALT): 1.0})
    yield from conjunction("triple with a rule", [triple, *FOUND], {at("e_y", HALT): -1.0})


def _rules(names: MachineNames, *, walled: bool) -> Iterator[Unit]:
    answers: list[RuleAnswer | GivenVerdict] = [*names.answers(), ACC, REJ]  # type: ignore[list-item]
    for said in answers:
        token = said if isinstance(said, str) else names.triple(said)
        bits = [{at("out", value_token(token)): 1.0}, *FOUND]
        yield from conjunction(f"rule → {token}", bits, {at("e_y", token): 1.0})
        if walled and not isinstance(said, str) and said.move < 0:
            change = {at("e_y", token): -1.0, at("e_y", names.triple(said._replace(move=0))): 1.0}
            yield from conjunction(f"rule → {token} at the left end", [*bits, {"[left end]": 1.0}], change)
