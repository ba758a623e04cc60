"""The program of a universal decoder: a class of machines, by numbers of states and symbols, and perhaps one machine."""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from html import escape
from itertools import islice

from tm2tfr.base.choices import UNIVERSAL_TAPES, UniversalTape
from tm2tfr.base.errors import CompileError, counted, did_you_mean, visible
from tm2tfr.sources.turing.drawing import html as machine_html
from tm2tfr.sources.turing.spec import Machine, Rule, TapeKind
from tm2tfr.sources.turing.tokens import ACC, REJ
from tm2tfr.sources.turing.universal.names import (
    CHARACTERS,
    MOVES,
    Entry,
    MachineNames,
    Placed,
    canonical,
    placed,
    refuse_other_tape,
)

MOST_TOKENS = 250_000
"""The most tokens of a class; that many take about half a minute to compile."""
VERDICT_STATES = {ACC: f"→{ACC}", REJ: f"→{REJ}"}
"""A verdict -> the state of `Universal.standing` in which it has been given."""


@dataclass(frozen=True, kw_only=True)
class Universal:
    """A class of machines with at most `states` states and `symbols` symbols, and perhaps the machine in the prompt.

    >>> import tm2tfr
    >>> every = tm2tfr.Universal(states=5, symbols=2)
    >>> every.holding(tm2tfr.load("busy-beaver-4")).description[:3]
    ('two-way', 'A,0', '→(B,1,+1)')

    Args:
        states: S, the most states that have rules, not counting states with verdicts. If a machine halts without
            verdicts, its halting states count from the second on.
        symbols: K, the most tape symbols, including the blank.
        tape: ``one-way``, ``two-way``, or ``both``: the first token of the prompt says which.
        machine: the machine in the prompt.
        seed: the seed for the order of its rules; None: the machine's own order.
        described: the rules in the prompt, if a prompt was read; `machine` is then the machine that they describe.

    Raises:
        CompileError: for sizes that are not whole numbers from 1 on, or too large, or an unknown tape; if `machine`
            is not a machine, or does not fit.
    """

    states: int = field(kw_only=False)
    symbols: int = field(kw_only=False)
    tape: UniversalTape = "both"
    machine: Machine | None = None
    seed: int | None = None
    described: tuple[Entry, ...] | None = None

    def __post_init__(self) -> None:
        for what, value, most in (("states", self.states, None), ("symbols", self.symbols, len(CHARACTERS))):
            if isinstance(value, bool) or not isinstance(value, int) or value < 1 or (most and value > most):
                limit = f"from 1 to {most}" if most else "from 1 on"
                raise CompileError(f"a universal decoder cannot have {value!r} {what}: use a whole number {limit}")
        if (tokens := 7 * self.states * self.symbols) > MOST_TOKENS:
            has = f"{counted(self.states, 'state')} and {counted(self.symbols, 'symbol')}"
            what = f"a universal decoder of {has} has more than {tokens:,} tokens"
            raise CompileError(f"{what}: use fewer states or symbols, at most {MOST_TOKENS // 7:,} pairs of them")
        if self.tape not in UNIVERSAL_TAPES:
            close = did_you_mean(str(self.tape), UNIVERSAL_TAPES)
            raise CompileError(f"unknown tape {self.tape!r}{close}: use {', '.join(UNIVERSAL_TAPES)}")
        if self.described is not None and self.machine is None:
            raise CompileError("rules in a prompt stand for a machine: give it as well")
        if not (self.machine is None or isinstance(self.machine, Machine)):
            what = f"the machine in the prompt must be a Machine, not {self.machine!r}"
            raise CompileError(f"{what}: load one first, for example with tm2tfr.load('chapter')")
        if not (self.seed is None or (isinstance(self.seed, int) and not isinstance(self.seed, bool))):
            raise CompileError(f"the seed of the order of the rules cannot be {self.seed!r}: use a whole number")
        _ = self._placed  # refuses a machine that does not fit
        if self.machine is not None and self.described is not None:
            self._check_described(self.machine, self.described)

    def _check_described(self, machine: Machine, described: tuple[Entry, ...]) -> None:
        """Raise CompileError if `described` does not stand for `machine`."""
        refuse_other_tape(machine, self.tape)
        names = self.names
        keys = [(entry.state, entry.symbol) for entry in described]
        inside = all(0 <= q < self.states and 0 <= a < self.symbols for q, a in keys)
        answers = [entry.answer for entry in described if not isinstance(entry.answer, str)]
        inside &= all(0 <= r <= self.states and 0 <= b < self.symbols and m in MOVES for r, b, m in answers)
        if not inside or len(set(keys)) < len(keys):
            problem = "the rules in a prompt answer one question twice, or have states or symbols outside the class"
            raise CompileError(f"{problem}: give each rule once, with numbers from 0 on")
        right = meant(described, "", names, machine.tape)
        if (machine.seven_tuple, machine.blank) != (right.seven_tuple, right.blank):
            problem = f"{machine.name}: the rules in the prompt stand for another machine"
            raise CompileError(f"{problem}: give the one that they stand for, or the machine alone")

    def __repr__(self) -> str:
        """Return ``<Universal 8,4: both tapes, in the prompt chapter: 15 rules in 31 tokens>``."""
        held = "" if self.machine is None else f", in the prompt {self.name}: {self.counts}"
        tape = "both tapes" if self.tape == "both" else f"{self.tape} tape"
        return visible(f"<Universal {self.states},{self.symbols}: {tape}{held}>")

    def _repr_html_(self) -> str:
        """Return what it is, and the machine in the prompt with its tokens, for notebooks."""
        from tm2tfr.sources.turing.universal.program import html  # noqa: PLC0415

        return html(self)

    # ── the class ───────────────────────────────────────────────────────────────────────────────────────────
    @property
    def name(self) -> str:
        """The name of the machine; without a machine, ``universal-8-4``."""
        return f"universal-{self.states}-{self.symbols}" if self.machine is None else self.machine.name

    @property
    def tapes(self) -> tuple[str, ...]:
        """The tokens that name a tape; empty if there is no choice."""
        return ("one-way", "two-way") if self.tape == "both" else ()

    @property
    def two_way(self) -> bool:
        """Whether any of its machines may move left of cell 0."""
        return self.tape != "one-way"

    @property
    def walled(self) -> bool:
        """Whether any of its machines has a one-way tape."""
        return self.tape != "two-way"

    @property
    def empty(self) -> Universal:
        """The class, without a machine."""
        return self if self.machine is None else replace(self, machine=None, seed=None, described=None)

    def holding(self, machine: Machine, *, seed: int | None = None) -> Universal:
        """Return this class with a machine in the prompt.

        Raises:
            CompileError: if the machine does not fit; the message has the sizes that it needs.
        """
        return replace(self, machine=machine, seed=seed, described=None)

    # ── the machine in the prompt ───────────────────────────────────────────────────────────────────────────
    @cached_property
    def _placed(self) -> Placed:
        names = canonical(self.states, self.symbols)
        if self.machine is None:
            return Placed(names, ())
        if self.described is not None:
            return Placed(names, self.described)
        return placed(self.machine, names, self.tape)

    @property
    def names(self) -> MachineNames:
        """The names of states and symbols: the machine's own, or the class's without a machine."""
        return self._placed.names

    @property
    def canonical(self) -> MachineNames:
        """The names of states and symbols in the class, such as q0."""
        return canonical(self.states, self.symbols)

    @cached_property
    def entries(self) -> tuple[Entry, ...]:
        """The rules in the order of the prompt."""
        entries = list(self._placed.entries)
        if self.seed is not None:
            random.Random(self.seed).shuffle(entries)
        return tuple(entries)

    @property
    def vocabulary(self) -> tuple[str, ...]:
        """The tokens, with the machine's own names."""
        return self.names.vocabulary(self.tapes)

    @cached_property
    def description(self) -> tuple[str, ...]:
        """The tokens of the prompt before the input: the tape and the rules, with the machine's own names."""
        return self.described_in(self.names)

    @property
    def counts(self) -> str:
        """The numbers of rules and of tokens that describe the machine, as text: ``15 rules in 31 tokens``."""
        return f"{counted(len(self.entries), 'rule')} in {counted(len(self.description), 'token')}"

    def described_in(self, names: MachineNames) -> tuple[str, ...]:
        """Return the tokens of the prompt before the input, with other names.

        Raises:
            CompileError: if there is no machine.
        """
        tape = (self.right.tape,) if self.tape == "both" else ()
        return (*tape, *(token for entry in self.entries for token in names.rule(entry)))

    @property
    def right(self) -> Machine:
        """The machine.

        Raises:
            CompileError: if there is none.
        """
        if self.machine is None:
            problem = f"{self.name}: a universal decoder runs the machine in its prompt, and no machine is given"
            tape = "" if self.tape == "both" else f", tape={self.tape!r}"
            size = f"({self.states}, {self.symbols}){tape}"
            remedy = f"put one there with tm2tfr.compile(machine, universal={size})"
            raise CompileError(f"{problem}: {remedy}, or read a prompt with tm2tfr.read_prompt(text, {size})")
        return self.machine

    @cached_property
    def standing(self) -> Machine:
        """The machine that the prompt describes, with its own names, which the reference simulates.

        It has no verdicts: where a rule answers ACC or REJ, it enters one of `VERDICT_STATES`, which have no rules. Where
        there is no rule, it halts, as it does where the machine itself has none, see `unruled`.
        """
        own, names = self.right, self.names
        rules: dict[tuple[str, str], Rule] = {}
        for state, symbol, answer in self.entries:
            place = names.states[state], names.symbols[symbol]
            if isinstance(answer, str):
                if place in own.transitions:
                    rules[place] = own.transitions[place]._replace(state=VERDICT_STATES[answer])
            else:
                rules[place] = Rule(names.states[answer.state], names.symbols[answer.symbol], answer.move)
        return Machine(
            transitions=rules,
            start=names.states[0],
            blank=names.blank,
            input_alphabet=own.input_alphabet,
            tape_alphabet=own.tape_alphabet,
            tape=own.tape,
            name=own.name,
        )

    @cached_property
    def unruled(self) -> Mapping[tuple[str, str], str]:
        """The verdicts in the prompt where the machine itself has no rule: (state, symbol) -> ACC or REJ."""
        own, names = self.right, self.names
        rules = ((names.states[q], names.symbols[a], answer) for q, a, answer in self.entries if isinstance(answer, str))
        return {(q, a): answer for q, a, answer in rules if (q, a) not in own.transitions}


def meant(rules: Sequence[Entry], word: str, names: MachineNames, tape: TapeKind) -> Machine:
    """Return the machine that rules in a prompt stand for, with an input; see `Universal.standing`."""
    table: dict[tuple[str, str], Rule] = {}
    for state, symbol, answer in rules:
        place = names.states[state], names.symbols[symbol]
        if isinstance(answer, str):
            table[place] = Rule(VERDICT_STATES[answer], place[1], 0)
        else:
            table[place] = Rule(names.states[answer.state], names.symbols[answer.symbol], answer.move)
    return Machine(
        transitions=table,
        start=names.states[0],
        blank=names.blank,
        input_alphabet=names.symbols[1:],
        tape_alphabet=names.symbols,
        tape=tape,
        name="prompt",
        input=word,
    )


AnyMachine = Machine | Universal
"""A machine, or one in the prompt of a universal decoder."""


# ── a class of machines, and the one in the prompt, as HTML for notebooks ─────────────────────────────
MOST_RULES = 200
"""The most rules of the prompt that are shown."""
_TAPES = {"both": "a one-way or a two-way tape", "one-way": "a one-way tape", "two-way": "a two-way tape"}


def html(universal: Universal) -> str:
    """Return a line about the class; of a machine in the prompt also its tokens, its state graph and its rules."""
    sizes = f"{counted(universal.states, 'state')} and {counted(universal.symbols, 'symbol')}"
    about = f"<p>One decoder for all machines with at most {sizes} and {_TAPES[universal.tape]}"
    if universal.machine is None:
        return f"{about}; no machine is in its prompt.</p>\n"
    rules = [" ".join(universal.names.rule(entry)) for entry in islice(universal.entries, MOST_RULES)]
    more = len(universal.entries) - len(rules)
    texts = [*universal.description[: len(universal.tapes) // 2], *rules]
    shown = " ".join(f'<code style="white-space:nowrap">{escape(visible(text))}</code>' for text in texts)
    shown += f" and {counted(more, 'more rule')}" if more else ""
    held = f"<b>{escape(visible(universal.name))}</b>, {universal.counts}"
    return f"{about}; in its prompt: {held}:</p>\n<p>{shown}</p>\n{machine_html(universal.right)}"
