"""Step 4: the transition function, the answer to BOS, and the copy of the prompt, as one ReLU layer."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import NamedTuple

from tm2tfr.sources.turing.compiler.layout import Answers
from tm2tfr.sources.turing.tokens import BOS
from tm2tfr.transformer.gadgets import Unit, conjunction, feed_forward, rectified
from tm2tfr.transformer.residual import Residual, at
from tm2tfr.transformer.weights import Layer


class Responses(NamedTuple):
    """Every answer of step 4, as a token.

    Args:
        prompt: the input symbols, which are answered by themselves.
        start: (symbol under the head, answer to BOS).
        halted: (halting state, answer on any symbol), of a machine that halts without a verdict.
        rules: (state, symbol, answer, answer at cell 0), of the others.
        repaired: whether the left boundary is (repair 4).
    """

    prompt: tuple[str, ...]
    start: tuple[tuple[str, str], ...]
    halted: tuple[tuple[str, str], ...]
    rules: tuple[tuple[str, str, str, str], ...]
    repaired: bool

    @classmethod
    def of(cls, answers: Answers) -> Responses:
        """Return the answers of a machine."""
        machine = answers.machine
        sigma, halting = machine.input_alphabet or (), machine.halting_states
        busy = [q for q in machine.states if q not in halting]
        return cls(
            prompt=sigma,
            start=tuple((a, answers.to_bos(a)) for a in (*sigma, machine.blank)),
            halted=tuple((q, answers.to(q, machine.blank)) for q in machine.states if q in halting and not machine.decides),
            rules=tuple((q, a, *answers.both(q, a)) for q in busy for a in machine.tape_alphabet),
            repaired=answers.boundary == "repaired",
        )

    def renamed(self, names: Mapping[str, str]) -> Responses:
        """Return the same with other names for the tokens that are answers."""
        return self._replace(
            start=tuple((a, names[token]) for a, token in self.start),
            halted=tuple((q, names[token]) for q, token in self.halted),
            rules=tuple((q, a, names[usual], names[at_end]) for q, a, usual, at_end in self.rules),
        )


def transition(layout: Residual, responses: Responses) -> Layer:
    """Return the layer that writes ``e_y``: δ, ACC, REJ and HALT, with the left-boundary repair if it is on."""
    units = [*_prompt(responses), *_start(responses), *_halted(responses), *_rules(responses)]
    return Layer(
        name="transition",
        meaning="the next triple δ(q, a), or the verdict",
        source="step 4" + ("; repair 4" if responses.repaired else ""),
        feed_forward=feed_forward(layout, units),
        equation="y = δ(q, a)",
    )


def _prompt(responses: Responses) -> Iterator[Unit]:
    for a in responses.prompt:
        yield from rectified(f"prompt {a}", {at("e_x", a): 1.0}, {at("e_y", a): 1.0})


def _start(responses: Responses) -> Iterator[Unit]:
    for a, answer in responses.start:
        bits = [{at("e_x", BOS): 1.0}, {at("e_a", a): 1.0}]
        yield from conjunction(f"BOS, {a}", bits, {at("e_y", answer): 1.0})


def _halted(responses: Responses) -> Iterator[Unit]:
    for q, answer in responses.halted:
        yield from rectified(f"δ({q}, any)", {at("e_q", q): 1.0}, {at("e_y", answer): 1.0})


def _rules(responses: Responses) -> Iterator[Unit]:
    for q, a, usual, at_end in responses.rules:
        bits = [{at("e_q", q): 1.0}, {at("e_a", a): 1.0}]
        yield from conjunction(f"δ({q}, {a})", bits, {at("e_y", usual): 1.0})
        if at_end != usual:
            change = {at("e_y", usual): -1.0, at("e_y", at_end): 1.0}
            yield from conjunction(f"δ({q}, {a}) at cell 0", [*bits, {"[h=0]": 1.0}], change)
