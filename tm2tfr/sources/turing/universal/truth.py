"""The rows that the simulator expects of a universal decoder: the chapter's table, after the machine's description.

The machine is the one that stands in the prompt. Nothing here is taken from the compiler.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property
from typing import Any, Self

from tm2tfr.contract.specification import Specification, reached
from tm2tfr.sources.turing.columns import OUTCOME_OF_TOKEN, Row
from tm2tfr.sources.turing.simulator import Result
from tm2tfr.sources.turing.spec import Outcome
from tm2tfr.sources.turing.tokens import HALT
from tm2tfr.sources.turing.truth import WRITTEN as CHAPTER
from tm2tfr.sources.turing.truth import TuringSpecification, TuringTruth, triple_token
from tm2tfr.sources.turing.universal.names import MachineNames
from tm2tfr.sources.turing.universal.program import VERDICT_STATES, Universal
from tm2tfr.transformer.residual import Residual

# ── what every subspace of the universal decoder must contain at every position, and where each head must look
# The chapter's subspaces are those of `tm2tfr.sources.turing.truth`, with the machine's description as further rows
# before the input. Computed from the simulator's rows and the tokens of the prompt, in exact arithmetic, without any
# weights.
WRITTEN: Mapping[str, tuple[int, str]] = {
    **{what: since for what, since in CHAPTER.items() if what not in ("[h=0]", "e_y")},
    **dict.fromkeys(("[rule]", "[key]", "[value]"), (0, "feed_forward")),
    **dict.fromkeys(("k/(i+1)", "e_q(key)", "e_a(key)", "[one-way]"), (1, "attention")),
    **dict.fromkeys(("r_q", "r_a"), (1, "feed_forward")),
    "[left end]": (2, "feed_forward"),
    **dict.fromkeys(("r*_q", "r*_a", "out"), (5, "attention")),
    **dict.fromkeys(("[r*_q=q]", "[r*_a=a]"), (5, "feed_forward")),
    "e_y": (6, "feed_forward"),
}
"""What is held -> (layer from 0, part) after which it has its value; before that, it is 0. ``e_x(h)``: see `written`."""


def since(what: str, *, two_way: bool) -> tuple[int, str]:
    """Return the stage after which the subspace that holds `what` has its value, in the decoder of a class of machines."""
    if what == "e_x(h)":  # straight from the lookup where all tapes are one-way; otherwise masked left of 0
        return (2, "feed_forward" if two_way else "attention")
    return WRITTEN[what]


Shares = Mapping[str, Fraction]
"""The labels of one-hot vectors, each with its share in their mean."""


@dataclass(frozen=True)
class UniversalSpecification(Specification):
    """The specification of a run: `rows` are the reference's, from position 0 on.

    Args:
        names: those of the states and symbols in the tokens.
        lead: the number of tokens of the machine's description, k.
        walled: whether the tape is one-way.
        two_way: whether the decoder's class has machines with a two-way tape.
        chapter: the specification of the chapter's subspaces, of the same rows.
    """

    names: MachineNames
    rows: Sequence[Row]
    lead: int
    walled: bool
    two_way: bool
    chapter: TuringSpecification

    @classmethod
    def of(cls, universal: Universal, word: str, rows: Sequence[Row]) -> UniversalSpecification:
        """Return the specification of a run of the machine in the prompt on `word`."""
        machine = universal.standing
        return cls(
            names=universal.names,
            rows=rows,
            lead=len(universal.description),
            walled=machine.tape == "one-way",
            two_way=universal.two_way,
            chapter=TuringSpecification(machine, word, rows),
        )

    @property
    def tokens(self) -> Sequence[str]:
        """The tokens fed, from position 0 on."""
        return self.chapter.tokens

    def covers(self, layout: Residual) -> bool:
        """Return whether every subspace of `layout` is claimed to hold something that this specification covers."""
        return all(s.holds in WRITTEN or s.holds == "e_x(h)" for s in layout.subspaces)

    def written(self, what: str) -> tuple[int, str]:
        """Return the stage after which the subspace that holds `what` has its value."""
        return since(what, two_way=self.two_way)

    def holds(self, what: str, layer: int, part: str) -> bool:
        """Return whether the subspace that holds `what` has its value after `part` of `layer`."""
        return reached(self.written(what), layer, part)

    def values(self, i: int) -> Mapping[str, Any]:
        """Return what every subspace holds at position `i`, once it is written."""
        row, token, (key_q, key_a) = self.rows[i], str(self.rows[i].x), self._last_key(i)
        found = self.attended("rule", i)
        rule_q, rule_a = self._mean(0, found), self._mean(1, found)
        ends = self._ends[i]
        return {
            **self.chapter.values(i),
            "e_x(h+)": self._given(max(int(row.h), 0), i),
            "e_x(h)": self._given(int(row.h), i),
            "[rule]": int(i < self.lead),
            "[key]": int(token in self._keys),
            "[value]": int(ends is not None),
            "k/(i+1)": Fraction(min(self.lead, i + 1), i + 1),
            "e_q(key)": key_q,
            "e_a(key)": key_a,
            "[one-way]": int(self.tokens[0] == "one-way" and self.lead > 0),
            "r_q": ends and ends[0],
            "r_a": ends and ends[1],
            "[left end]": int(self.walled and int(row.h) == 0),
            "r*_q": rule_q,
            "r*_a": rule_a,
            "out": self._mean(2, found),
            "[r*_q=q]": rule_q.get(str(row.q), 0) if row.q is not None else 0,
            "[r*_a=a]": rule_a.get(str(row.a), 0),
        }

    def attended(self, where: str, i: int) -> Sequence[int]:
        """Return the positions that a head with the claim `where` must attend to from position `i`; none: no such claim."""
        if where == "last key":
            return (self._key_place(i),)
        if where == "first":
            return (0,)
        if where == "h+k":
            return (min(max(int(self.rows[i].h), 0) + min(self.lead, i + 1), i),)
        if where == "rule":
            row = self.rows[i]
            scores = [0 if end is None else (end[0] == row.q) + (end[1] == row.a) for end in self._ends[: i + 1]]
            best = max(scores)
            return [j for j, score in enumerate(scores) if score == best]
        return self.chapter.attended(where, i)

    def about(self, i: int) -> str | None:
        """Return which rule position `i` uses, in words."""
        row = self.rows[i]
        found = [j for j in range(min(i, self.lead)) if self._ends[j] == (row.q, row.a)]
        return f"the rule {self.tokens[found[0] - 1]} {self.tokens[found[0]]}, at position {found[0]}" if found else None

    # ── the machine's description ───────────────────────────────────────────────────────────────────────────
    @cached_property
    def _keys(self) -> Mapping[str, tuple[str, str]]:
        """Token of what a rule is for -> its state and symbol."""
        states, symbols = self.names.ruled, self.names.symbols
        return {self.names.key(q, a): (state, symbol) for q, state in enumerate(states) for a, symbol in enumerate(symbols)}

    @cached_property
    def _values(self) -> frozenset[str]:
        return frozenset(self.names.values)

    @cached_property
    def _ends(self) -> Sequence[tuple[str, str] | None]:
        """For each position the state and symbol of the rule that ends there, if one does."""
        found, last = list[tuple[str, str] | None](), None
        for token in self.tokens:
            last = self._keys.get(token, last)
            found.append(last if token in self._values else None)
        return found

    def _key_place(self, i: int) -> int:
        """Return the position of the last key up to `i`; `i` itself if there is none."""
        return next((j for j in range(min(i, self.lead), -1, -1) if self.tokens[j] in self._keys), i)

    def _last_key(self, i: int) -> tuple[str | None, str | None]:
        return self._keys.get(self.tokens[self._key_place(i)], (None, None))

    def _mean(self, part: int, places: Sequence[int]) -> Shares:
        """Return the mean of one-hot vectors at these positions: of the rules' states (0), symbols (1) or answers (2)."""
        total: dict[str, Fraction] = {}
        for j in places:
            end = self._ends[j]
            if end is not None:
                label = (*end, self.tokens[j])[part]
                total[label] = total.get(label, Fraction(0)) + Fraction(1, len(places))
        return total

    def _given(self, cell: int, i: int) -> str | None:
        """Return the input symbol of a cell, as far as it has been read at position `i`."""
        place = cell + min(self.lead, i + 1)
        word = self.chapter.word
        return word[cell] if 0 <= cell < len(word) and self.lead <= place <= i else None


GIVEN = {state: verdict for verdict, state in VERDICT_STATES.items()}
"""A state of the machine as it stands in the prompt -> the verdict that has been given in it."""


class UniversalTruth(TuringTruth):
    """A run of the machine that stands in the prompt, see `tm2tfr.contract.source.Truth`.

    Args:
        max_steps: stop after this many steps of the machine; None: run until it halts.

    Raises:
        CompileError: if there is no machine.
        InputError: if `word` is not over its input alphabet.
    """

    outcomes: tuple[Outcome, ...] = ("accept", "reject", "halt")

    def __init__(self, universal: Universal, word: str, *, max_steps: int | None = None) -> None:
        super().__init__(universal.standing, universal.right.check_input(word), max_steps=max_steps)
        self.universal, self.unruled = universal, universal.unruled

    def on(self, word: str) -> Self:
        """Return the run of the same machine on another word."""
        return type(self)(self.universal, word, max_steps=self._max_steps)

    @property
    def lead(self) -> tuple[str, ...]:
        """The tokens of the machine's description."""
        return self.universal.description

    @property
    def prompt(self) -> tuple[str, ...]:
        """The tokens of the machine's description, and those of the input."""
        return (*self.lead, *self.input)

    @property
    def first(self) -> str:
        """The answer to BOS: the triple of the start state, whose verdict would be a rule's."""
        return triple_token(self.machine.start, self.under, 0)

    def entered(self, state: str) -> str | None:
        """Return the verdict of the rule that enters one of `VERDICT_STATES`; None: it answers a triple."""
        return GIVEN.get(state)

    def stopped(self, state: str, symbol: str) -> str:
        """Return HALT, as there is no rule, or the verdict of one that stands in the prompt alone."""
        return self.universal.unruled.get((state, symbol), HALT)

    def judged(self, found: Result, state: str, symbol: str) -> Result:
        """Return the result with the verdict of the prompt's rules, if they gave one."""
        verdict = GIVEN.get(state) or self.universal.unruled.get((state, symbol))
        return found if verdict is None else replace(found, outcome=_outcome(verdict))

    def specification(self, upto: int) -> Specification:
        """Return the specification of the run up to position `upto`."""
        return UniversalSpecification.of(self.universal, self.input, self.rows_upto(upto))


def _outcome(verdict: str) -> Outcome:
    return "accept" if OUTCOME_OF_TOKEN[verdict] == "accept" else "reject"
