"""The causal model of a universal decoder's run: the chapter's equations around those that find a rule in the prompt.

Beside the variables of `tm2tfr.sources.turing.causal`, at position i:

- ``[key]``, ``[value]`` and ``[rule]`` say what part of the machine's description the token is; ``k/(i+1)`` is the number
  of tokens that are part of it, the sum of ``[rule]`` up to i;
- ``e_q(key)`` and ``e_a(key)`` are state and symbol of the latest token up to i of which ``[key]`` is 1, and at a value
  ``r_q`` and ``r_a`` are those of its rule;
- the input symbol of cell h is that of position h + k;
- the rule for q and a is at the positions up to i with the most of ``r_q`` = q and ``r_a`` = a; ``r*_q``, ``r*_a`` and
  ``out`` are its state, symbol and answer: shares of several where there are several. ``[r*_q=q]`` and ``[r*_a=a]`` are the
  shares of q and a, and an answer has as many votes as all three of these are more than 2, none if they are less.

Nothing here is taken from the compiler.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from fractions import Fraction
from typing import Any

from tm2tfr.contract.causality import CausalCells, CausalValue
from tm2tfr.contract.model import ModelVariable
from tm2tfr.sources.turing import causal as chapter
from tm2tfr.sources.turing.tokens import BOS, HALT
from tm2tfr.sources.turing.universal.names import RuleAnswer, value_token
from tm2tfr.sources.turing.universal.program import Universal
from tm2tfr.transformer.weights import Decoder

_KINDS, _READ, _RULES, _LEFT = (0, "feed_forward"), (1, "attention"), (1, "feed_forward"), (2, "feed_forward")
_FINDING, _FLAGS = (5, "attention"), (5, "feed_forward")


class UniversalCausal(chapter.TuringCausal):
    """The causal model of a run of the machine in the prompt, see `tm2tfr.contract.causality.CausalModel`."""

    def __init__(self, universal: Universal, word: str, decoder: Decoder) -> None:
        self._names = names = universal.names
        self._tapes = universal.tapes
        self._class_two_way, self._walled_class = universal.two_way, universal.walled
        states, symbols = names.ruled, names.symbols
        self._keys = {
            names.key(q, a): (state, symbol) for q, state in enumerate(states) for a, symbol in enumerate(symbols)
        }
        self._values = frozenset(names.values)
        said = [value for value in names.values if value not in map(value_token, ("ACC", "REJ"))]
        answers = list(names.answers())
        self._still = {v: names.triple(a._replace(move=0)) for v, a in zip(said, answers, strict=True) if a.move < 0}
        self._copied = frozenset((*symbols[1:], *names.keys, *names.values, *self._tapes))
        super().__init__(universal.standing, (*universal.description, *word), decoder)
        self._two_way = self._class_two_way
        self._sigma = frozenset(symbols[1:])

    def _every(self, labels: Mapping[str, tuple[str, ...]]) -> Iterator[ModelVariable]:
        yield from chapter.chapter_variables(labels, two_way=self._class_two_way)
        yield chapter.number_variable(
            "[rule]", "whether the token describes the machine", _KINDS, "k, here and later", 0, 1
        )
        key = "the heads that look for the last key, here and later"
        yield chapter.number_variable("[key]", "whether a rule begins here", _KINDS, key, 0, 1)
        yield chapter.number_variable("[value]", "whether a rule ends here", _KINDS, "r_q and r_a, here", 0, 1)
        given = "the head that looks up the input symbol, here"
        yield chapter.number_variable(
            "k/(i+1)", "how many tokens describe the machine, as a share", _READ, given, 0, share=True
        )
        for name, part in (("q", "state"), ("a", "symbol")):
            yield chapter.label_variable(f"e_{name}(key)", f"the {part} of the last key", _READ, f"r_{name}, here", labels)
            later = "the heads that look for a rule, here and later"
            yield chapter.label_variable(f"r_{name}", f"the {part} of the rule that ends here", _RULES, later, labels)
            flag = f"[r*_{name}={name}], here"
            yield chapter.label_variable(f"r*_{name}", f"the {part} of the rule that is found", _FINDING, flag, labels)
            whether = f"whether that is the {part}"
            yield chapter.number_variable(f"[r*_{name}={name}]", whether, _FLAGS, "the answer here", 0, 1)
        wall = "[left end], here"
        yield chapter.number_variable("[one-way]", "whether the tape is one-way", _READ, wall, 0, 1)
        yield chapter.number_variable("[left end]", "whether the head is at the left end", _LEFT, "the answer here", 0, 1)
        yield chapter.label_variable("out", "what the rule that is found answers", _FINDING, "the answer here", labels)
        yield chapter.label_variable("e_y", "the answer", (6, "feed_forward"), "the token answered", labels)

    # ── one position ────────────────────────────────────────────────────────────────────────────────────────
    def _position(self, rows: Sequence[CausalCells], token: str) -> None:
        here = rows[-1]
        here["e_x"] = token
        chapter.unpacked(here)
        self._described(here)
        chapter.head_position(rows)
        self._last_key(rows)
        if self._class_two_way:
            chapter.halves(here)
        for name in ("q", "a"):
            here[f"r_{name}"] = here[f"e_{name}(key)"] if here["[value]"] else None
        chapter.numbers(rows, two_way=self._class_two_way)
        behind = here["h+/(i+1)" if self._class_two_way else "h/(i+1)"] + here["k/(i+1)"]
        self._given(rows, chapter.nearest(behind, len(rows) - 1))
        if self._tapes:
            here["[left end]"] = max(0, here["[one-way]"] - here["h"] - 2 * here["h-"])
        else:
            here["[left end]"] = max(0, 1 - here["h"]) if self._walled_class else 0
        chapter.read_tape(rows)
        chapter.symbol_read(here, self._names.blank)
        self._rule(rows)
        here["e_y"] = self._votes(here)

    def _described(self, here: CausalCells) -> None:
        token = here["e_x"]
        here["[key]"], here["[value]"] = int(token in self._keys), int(token in self._values)
        here["[rule]"] = int(token in self._keys or token in self._values or token in self._tapes)

    def _last_key(self, rows: Sequence[CausalCells]) -> None:
        here = rows[-1]
        here["k/(i+1)"] = sum(row["[rule]"] for row in rows)
        place = max(range(len(rows)), key=lambda j: (rows[j]["[key]"], j))
        here["e_q(key)"], here["e_a(key)"] = self._keys.get(rows[place]["e_x"], (None, None))
        here["[one-way]"] = int(rows[0]["e_x"] == "one-way")

    def _rule(self, rows: Sequence[CausalCells]) -> None:
        """Find the rule for the state and the symbol."""
        here = rows[-1]
        state, symbol = here["e_q"], here["e_a"]
        asked = state if state in self._names.ruled else None
        scores = [_same(asked, row["r_q"]) + _same(symbol, row["r_a"]) for row in rows]
        places = [j for j, score in enumerate(scores) if score == max(scores)]
        here["r*_q"] = _shares(rows[j]["r_q"] for j in places)
        here["r*_a"] = _shares(rows[j]["r_a"] for j in places)
        tokens = [rows[j]["e_x"] for j in places]
        here["out"] = _shares(token if token in self._values else None for token in tokens)
        here["[r*_q=q]"] = _share_of(asked, here["r*_q"])
        here["[r*_a=a]"] = _share_of(symbol, here["r*_a"])

    def _votes(self, here: CausalCells) -> CausalValue:
        votes: dict[str, Any] = {}

        def vote(token: str, number: Any) -> None:
            if number := votes.get(token, 0) + number:
                votes[token] = number
            else:
                votes.pop(token, None)

        token, symbol, names = here["e_x"], here["e_a"], self._names
        found = here["[r*_q=q]"] + here["[r*_a=a]"]
        if token in self._copied:
            vote(token, 1)
        if token == BOS and symbol is not None:
            vote(names.triple(RuleAnswer(0, names.symbols.index(symbol), 0)), 1)
        if here["e_q"] is not None:
            vote(HALT, 1 - max(0, found - 1))
        shares = here["out"] if isinstance(here["out"], Mapping) else {} if here["out"] is None else {here["out"]: 1}
        for value, share in shares.items():
            vote(value.removeprefix(value_token("")), max(0, share + found - 2))
        for value in self._still if here["[left end]"] else ():
            moved = max(0, shares.get(value, 0) + found + here["[left end]"] - 3)
            vote(value.removeprefix(value_token("")), -moved)
            vote(self._still[value], moved)
        return chapter.settled(votes)


def _same(one: str | None, other: str | None) -> int:
    return int(one is not None and one == other)


def _shares(found: Iterator[str | None]) -> CausalValue:
    """Return the mean of labels: a single label as such, None if there is none, otherwise the share of each."""
    every = list(found)
    shares: dict[str, Fraction] = {}
    for label in every:
        if label is not None:
            shares[label] = shares.get(label, Fraction(0)) + Fraction(1, len(every))
    return chapter.settled(shares)


def _share_of(label: str | None, shares: CausalValue) -> Any:
    if label is None or shares is None:
        return 0
    return shares.get(label, 0) if isinstance(shares, Mapping) else int(shares == label)


def causal_model(universal: Universal, word: str, decoder: Decoder) -> UniversalCausal:
    """Return the causal model of the run of the machine in the prompt on `word`.

    Raises:
        CompileError: if there is no machine in the prompt.
        InputError: if `word` is not over its input alphabet.
    """
    return UniversalCausal(universal, universal.right.check_input(word), decoder)
