"""What pages and exports show of a Turing machine."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import islice
from typing import Any

from tm2tfr._version import __version__
from tm2tfr.base.text.shown import escaped
from tm2tfr.base.text.states import MOST_STATES_DRAWN
from tm2tfr.base.text.words import FEW, short_words
from tm2tfr.contract.exported import ExportReference
from tm2tfr.contract.shown import Packer, Page, PlainData, Show
from tm2tfr.sources.turing.drawing import rule_lines, svg_or_none, to_dot
from tm2tfr.sources.turing.spec import Machine
from tm2tfr.sources.turing.specification import EXERCISE
from tm2tfr.sources.turing.tokens import VERDICTS
from tm2tfr.sources.turing.truth import TuringTruth


def page(machine: Machine) -> Page:
    """Return the data of the explorer's page about a machine."""
    own = () if machine.input is None else (machine.input,)
    return Page(
        about=machine.description,
        views=partial(_views, machine),
        inputs={"alphabet": list(machine.input_alphabet or ()), "blank": machine.blank},
        examples=(*own, *(example.input for example in machine.examples)),
        texts=(*machine.states, *machine.tape_alphabet),
        reference=simulated,
    )


def tried(machine: Machine, examples: Sequence[Any]) -> Iterable[str]:
    """Return inputs to try: those of its examples, otherwise short ones."""
    own = [example.input for example in machine.examples]
    return own or islice(map("".join, short_words(machine.input_alphabet or ())), FEW)


def simulated(truth: TuringTruth) -> PlainData:
    """Return a machine and the tokens of its verdicts, for a simulator.

    ``entered`` has, for each state, the verdict of a step into it; ``stopped`` that of a run which has no rule there.
    """
    machine, verdicts = truth.machine, set(VERDICTS.values())
    number = {state: n for n, state in enumerate(machine.states)}
    first = truth.first
    return {
        "kind": "machine",
        "states": list(machine.states),
        "start": number[machine.start],
        "halting": sorted(number[state] for state in machine.halting_states),
        "rules": [[number[q], a, number[r], b, m] for (q, a), (r, b, m) in machine.transitions.items()],
        "blank": machine.blank,
        "oneWay": machine.tape == "one-way",
        "nominal": truth.nominal,
        "lead": list(truth.lead),
        "first": first if first in verdicts else None,
        "entered": [truth.entered(state) for state in machine.states],
        "stopped": [truth.stopped(state, "") for state in machine.states],
        "unruled": [[number[state], symbol, verdict] for (state, symbol), verdict in truth.unruled.items()],
        "verdicts": [VERDICTS[outcome] for outcome in truth.outcomes],
        "bump": EXERCISE if truth.nominal else None,
    }


def _views(machine: Machine, show: Show, columns: Packer, drawn: bool, _: object) -> PlainData:
    """Return a machine's states, its rules and its graph; unless it is `drawn`, that is left to the page."""
    lines = rule_lines(machine)
    states = {q: n for n, q in enumerate(machine.states)}
    rules = [[states[q], show(a), states[r], show(b), m, lines[q, a]] for (q, a), (r, b, m) in machine.transitions.items()]
    return {
        "machine": {
            "name": show(machine.name),
            "description": machine.description,
            "tape": machine.tape,
            "blank": show(machine.blank),
            "states": [{"name": show(q), "end": machine.outcome_of(q)} for q in machine.states],
            "rules": rules,
            "graph": _graph(machine, columns, drawn=drawn),
        }
    }


def _graph(machine: Machine, columns: Packer, *, drawn: bool) -> PlainData:
    """Return the drawing, or the DOT text that the page draws itself, or the reason why there is no drawing."""
    if len(machine.states) > MOST_STATES_DRAWN:
        return {"none": f"a drawing of {len(machine.states):,} states would be unreadable"}
    svg = svg_or_none(machine, large=True) if drawn else None
    return {"dot": to_dot(machine, large=True)} if svg is None else {"svg": columns.add_text(svg[svg.index("<svg") :])}


TAG = "turing-machine"
"""The tag of model cards."""


@dataclass(frozen=True)
class ExportedMachine(ExportReference):
    """A machine as an export is compared with it."""

    @property
    def tag(self) -> str:
        """The first tag of a model card."""
        return TAG

    def inputs(self, positions: int) -> list[str]:
        """Return its own input and those of its examples, if they fit."""
        own = [] if self.program.input is None else [self.program.input]
        found = dict.fromkeys([*own, *(example.input for example in self.program.examples)])
        return [word for word in found if len(word) < positions] or [""]

    @property
    def letters(self) -> Sequence[str]:
        """The input alphabet."""
        return self.program.input_alphabet or ()

    def introduction(self, given: str, tokenizer: str = "") -> str:
        """Return the paragraph of a model card that describes the model."""
        more = f" {tokenizer}" if tokenizer else ""
        return f"""{escaped(self.program.description) or "A Turing machine."}

This model was not trained: its weights were compiled from a Turing machine by tm2tfr {__version__}. Given {given}
it generates the machine's run, one token `(state,symbol written,move)` per step, and then the verdict
({", ".join(self.decoder.stop)}).{more}"""

    def checking(self, command: str) -> str:
        """Return the paragraph of a model card that says how to check the model."""
        return f"""**How to check it.** {command} compares the weights with the machine's,
runs them, and compares every token with the simulator's."""
