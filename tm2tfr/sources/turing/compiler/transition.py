"""Step 4: the transition function, the answer to BOS, and the copy of the prompt, as one ReLU layer."""

from __future__ import annotations

from collections.abc import Iterator

from tm2tfr.sources.turing.compiler.layout import Answers
from tm2tfr.sources.turing.spec import Machine
from tm2tfr.sources.turing.tokens import BOS
from tm2tfr.transformer.gadgets import Unit, conjunction, feed_forward, rectified
from tm2tfr.transformer.residual import Residual, at
from tm2tfr.transformer.weights import Layer


def transition(layout: Residual, answers: Answers) -> Layer:
    """Return the layer that writes ``e_y``: δ, ACC, REJ and HALT, with the left-boundary repair if it is on."""
    return Layer(
        name="transition",
        meaning="the next triple δ(q, a), or the verdict",
        source="step 4" + ("; repair 4" if answers.boundary == "repaired" else ""),
        feed_forward=feed_forward(layout, [*_prompt(answers.machine), *_start(answers), *_rules(answers)]),
        equation="y = δ(q, a)",
    )


def _prompt(machine: Machine) -> Iterator[Unit]:
    for a in machine.input_alphabet or ():
        yield from rectified(f"prompt {a}", {at("e_x", a): 1.0}, {at("e_y", a): 1.0})


def _start(answers: Answers) -> Iterator[Unit]:
    machine = answers.machine
    for a in (*(machine.input_alphabet or ()), machine.blank):
        bits = [{at("e_x", BOS): 1.0}, {at("e_a", a): 1.0}]
        yield from conjunction(f"BOS, {a}", bits, {at("e_y", answers.to_bos(a)): 1.0})


def _rules(answers: Answers) -> Iterator[Unit]:
    """Yield the units of δ; a machine that halts without a verdict answers so in a halting state, on any symbol."""
    machine, halting = answers.machine, answers.machine.halting_states
    for q in machine.states:
        if q in halting and not machine.decides:
            yield from rectified(f"δ({q}, any)", {at("e_q", q): 1.0}, {at("e_y", answers.to(q, machine.blank)): 1.0})
    for q in machine.states:
        for a in machine.tape_alphabet if q not in halting else ():
            usual, at_end = answers.both(q, a)
            bits = [{at("e_q", q): 1.0}, {at("e_a", a): 1.0}]
            yield from conjunction(f"δ({q}, {a})", bits, {at("e_y", usual): 1.0})
            if at_end != usual:
                change = {at("e_y", usual): -1.0, at("e_y", at_end): 1.0}
                yield from conjunction(f"δ({q}, {a}) at cell 0", [*bits, {"[h=0]": 1.0}], change)
