"""The causal model of a Turing machine's run: the chapter's equations (8.4)-(8.19), without any weights.

The variables at position i, in the order in which they get their values (what is set counts from there on):

- ``e_x`` is the token fed; state ``e_q``, symbol ``e_b`` and move ``m`` are parsed from it, and ``m/(i+1)`` is the move
  once more, for the equation of h_{i-1} alone;
- ``h/(i+1)``: h is the sum of ``m`` at all positions up to i; on a two-way tape its positive and negative parts, and those
  of h - m, have variables of their own;
- ``h``, ``h^2`` and the input symbol ``e_x(h)`` are those of position h; ``h_{i-1}`` and its square those of position
  h - m. A position that there is not yet is replaced by the nearest one, 0 or i;
- j* is the latest position with the largest 2h·k - k², k = ``h_{i-1}`` there, so the latest whose cell is nearest; from it
  come ``h_{j*-1}`` and ``e_b(j*-1)``, and ``[h_{j*-1}=h]`` says whether it is the right cell;
- ``e_a`` is the symbol last written there if that is so, else the input symbol, else the blank;
- ``e_y`` has a vote for each token that step 4 says: of an input symbol itself, of BOS the first triple, of a state δ. The
  token answered is the one with the most votes, the first in the vocabulary of several.

Nothing here is taken from the compiler.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from tm2tfr.contract.causality import CausalCells, CausalRun, CausalValue, Settings, first_of_the_most, only
from tm2tfr.contract.model import ModelVariable
from tm2tfr.sources.turing.spec import Machine
from tm2tfr.sources.turing.tokens import BOS, VERDICTS, parsed
from tm2tfr.sources.turing.truth import triple_token
from tm2tfr.transformer.provenance import option
from tm2tfr.transformer.weights import Decoder

_UNPACKED, _SUM, _HALVES = (0, "feed_forward"), (1, "attention"), (1, "feed_forward")
_FOUND, _FOUND_AFTER, _WRITTEN = (2, "attention"), (2, "feed_forward"), (3, "attention")
FEATURES = dict.fromkeys(
    ("1/(i+1)", "1", "i", "i^2"), "it says where a position is, and has no cause: set what is computed from it, such as h"
)
"""What a stream holds that cannot be set, with the reason."""
ALIASES = {"x": "e_x", "q": "e_q", "b": "e_b", "a": "e_a", "y": "e_y", "state": "e_q", "symbol": "e_a", "written": "e_b"}
ALIASES |= {"move": "m", "head": "h/(i+1)"}
"""The columns of the table, and words for them: what else the variables are called."""


class TuringCausal:
    """The causal model of a run, see `tm2tfr.contract.causality.CausalModel`.

    Args:
        decoder: of these weights, the vocabulary, the stop tokens, what their subspaces are claimed to hold, and which left
            boundary they say that they were compiled with.
    """

    fixed: Mapping[str, str] = FEATURES

    def __init__(self, machine: Machine, prompt: Sequence[str], decoder: Decoder) -> None:
        self._machine, self._prompt = machine, (*prompt, BOS)
        self._order, self._stop = decoder.vocabulary, frozenset(decoder.stop)
        self._two_way = machine.tape == "two-way"
        self._walled = not self._two_way and option(decoder.provenance, "left_boundary") != "chapter"
        self._sigma = frozenset(machine.input_alphabet or ())
        labels = {s.holds: s.labels for s in decoder.layout.subspaces if s.labels is not None}
        held = [subspace.holds for subspace in decoder.layout.subspaces]
        self.variables: Mapping[str, ModelVariable] = only(held, self._every(labels))

    @property
    def aliases(self) -> Mapping[str, str]:
        """The columns of the table, and words for them."""
        return ALIASES

    def _every(self, labels: Mapping[str, tuple[str, ...]]) -> Iterator[ModelVariable]:
        yield from chapter_variables(labels, two_way=self._two_way)
        yield label_variable("e_y", "the answer", (5, "feed_forward"), "the token answered", labels)

    def run(self, settings: Settings, max_positions: int) -> CausalRun:
        """Return the run in which variables have these values, up to so many positions."""
        rows: list[CausalCells] = []
        tokens, answers = list[str](), list[str]()
        while len(rows) < max_positions:
            i = len(rows)
            tokens.append(self._prompt[i] if i < len(self._prompt) else answers[-1])
            rows.append(CausalCells(settings, i))
            self._position(rows, tokens[-1])
            answers.append(first_of_the_most(votes_of(rows[-1]["e_y"]), self._order))
            if answers[-1] in self._stop and len(rows) >= len(self._prompt):
                break
        cells = tuple({name: row[name] for name in self.variables} for row in rows)
        return CausalRun(tuple(tokens), tuple(answers), cells)

    # ── one position ────────────────────────────────────────────────────────────────────────────────────────
    def _position(self, rows: Sequence[CausalCells], token: str) -> None:
        """Compute the last of `rows`, the values at one position, from those before it."""
        here = rows[-1]
        here["e_x"] = token
        unpacked(here)
        head_position(rows)
        if self._two_way:
            halves(here)
        found = numbers(rows, two_way=self._two_way)
        self._given(rows, found)
        here["[h=0]"] = int(here["h"] == 0)
        read_tape(rows)
        symbol_read(here, self._machine.blank)
        here["e_y"] = self._votes(here)

    def _given(self, rows: Sequence[CausalCells], place: int) -> None:
        """Find the input symbol of the cell under the head; left of cell 0 there is none."""
        here, token = rows[-1], rows[place]["e_x"]
        symbol = token if token in self._sigma else None
        if self._two_way:
            here["e_x(h+)"] = symbol
            here["e_x(h)"] = here["e_x(h+)"] if here["h-"] == 0 else None
        else:
            here["e_x(h)"] = symbol

    def _votes(self, here: CausalCells) -> CausalValue:
        machine, votes = self._machine, dict[str, int]()
        state, symbol, token = here["e_q"], here["e_a"], here["e_x"]
        if token in self._sigma:
            votes[token] = 1
        if token == BOS and (symbol in self._sigma or symbol == machine.blank):
            verdict = machine.outcome_of(machine.start)
            first = VERDICTS[verdict] if verdict else triple_token(machine.start, symbol, 0)
            votes[first] = votes.get(first, 0) + 1
        said = self._said(state, symbol, at_left_end=self._walled and here["[h=0]"] == 1)
        if said is not None:
            votes[said] = votes.get(said, 0) + 1
        return settled(votes)

    def _said(self, state: str | None, symbol: str | None, *, at_left_end: bool) -> str | None:
        """Return what step 4 answers in a state on a symbol; None where it says nothing."""
        machine = self._machine
        if state is None:
            return None
        missing = VERDICTS[machine.outcome_of(state) or machine.missing_outcome]
        if state in machine.halting_states:
            return None if machine.decides else missing
        if symbol is None:
            return None
        rule = machine.transitions.get((state, symbol))
        if rule is None:
            return missing
        if machine.decides and rule.state in machine.halting_states:
            return VERDICTS[machine.outcome_of(rule.state) or machine.missing_outcome]
        move = 0 if at_left_end and rule.move < 0 else rule.move
        return triple_token(rule.state, rule.write, move)


# ── the chapter's equations ─────────────────────────────────────────────────────────────────────────────────
def unpacked(here: CausalCells) -> None:
    """Step 1, Eq. 8.5: state, symbol written and move of the token."""
    triple = parsed(here["e_x"]) if here["e_x"] is not None else None
    here["e_q"], here["e_b"] = (None, None) if triple is None else (triple.state, triple.symbol)
    here["m"] = here["m/(i+1)"] = 0 if triple is None else triple.move


def head_position(rows: Sequence[CausalCells]) -> None:
    """Step 2, Eqs. 8.6-8.7: the head position is the sum of all moves so far."""
    rows[-1]["h/(i+1)"] = sum(row["m"] for row in rows)


def halves(here: CausalCells) -> None:
    """Repair 5: the positive and the negative part of h and of h - m."""
    h, before = here["h/(i+1)"], here["h/(i+1)"] - here["m/(i+1)"]
    here["h+/(i+1)"], here["h-/(i+1)"] = max(h, 0), max(-h, 0)
    here["h_{i-1}+/(i+1)"], here["h_{i-1}-/(i+1)"] = max(before, 0), max(-before, 0)


def numbers(rows: Sequence[CausalCells], *, two_way: bool) -> int:
    """Step 3, Eqs. 8.8-8.14: h and h_{i-1} and their squares, found at the positions of these numbers.

    Returns the position that was found for h, or for its positive part.
    """
    here, last = rows[-1], len(rows) - 1
    if not two_way:
        found = nearest(here["h/(i+1)"], last)
        here["h"], here["h^2"] = found, found * found
        before = nearest(here["h/(i+1)"] - here["m/(i+1)"], last)
        here["h_{i-1}"], here["h_{i-1}^2"] = before, before * before
        return found
    up, down = nearest(here["h+/(i+1)"], last), nearest(here["h-/(i+1)"], last)
    here["h"], here["h^2"], here["h-"] = up - down, up * up + down * down, down
    right, left = nearest(here["h_{i-1}+/(i+1)"], last), nearest(here["h_{i-1}-/(i+1)"], last)
    here["h_{i-1}"], here["h_{i-1}^2"] = right - left, right * right + left * left
    return up


def nearest(number: int, last: int) -> int:
    """Return the position from 0 to `last` that is nearest to a number."""
    return min(max(number, 0), last)


def read_tape(rows: Sequence[CausalCells]) -> None:
    """Step 3, Eqs. 8.15-8.17: the latest write of the cell under the head, and whether there was one."""
    here = rows[-1]
    wanted = here["h"]
    scores = [2 * wanted * row["h_{i-1}"] - row["h_{i-1}^2"] for row in rows]
    best = max(range(len(rows)), key=lambda j: (scores[j], j))
    here["h_{j*-1}"], here["e_b(j*-1)"] = rows[best]["h_{i-1}"], rows[best]["e_b"]
    here["[h_{j*-1}=h]"] = int(here["h_{j*-1}"] == here["h"])


def symbol_read(here: CausalCells, blank: str) -> None:
    """Eq. 8.18: the symbol last written in the cell under the head, else that of the input, else the blank."""
    written = here["e_b(j*-1)"] if here["[h_{j*-1}=h]"] else None
    here["e_a"] = written if written is not None else here["e_x(h)"] if here["e_x(h)"] is not None else blank


def settled(votes: Mapping[str, Any]) -> CausalValue:
    """Return votes as a value: a single one for one token as that token, None if there is none."""
    if len(votes) == 1 and 1 in votes.values():
        return next(iter(votes))
    return votes or None


def votes_of(value: CausalValue) -> Mapping[str, Any]:
    """Return the votes of an answer: of a label that is set, one for it."""
    return {} if value is None else {value: 1} if isinstance(value, str) else value


def chapter_variables(labels: Mapping[str, tuple[str, ...]], *, two_way: bool) -> Iterator[ModelVariable]:
    """Yield the variables of the chapter's vectors, but for the answer; labels: those of each subspace."""
    latest, flag = "the latest-write head here", "the flag [h_{j*-1}=h] here"
    later = "the latest-write heads of this position and all later ones"
    step = "step 4, the answer here"
    yield label_variable(
        "e_x", "the token", (-1, "embedding"), "step 1, step 4, and the heads that look up the input", labels, sure=True
    )
    yield label_variable("e_q", "the state", _UNPACKED, step, labels)
    yield label_variable("e_b", "the symbol just written", _UNPACKED, f"{later}, as what they carry", labels)
    yield number_variable("m", "the move", _UNPACKED, "the sum of the moves, here and at all later positions", -1, 1)
    own = "the equation of h_{i-1}, here alone"
    yield number_variable("m/(i+1)", "the move, as a share", _UNPACKED, own, -1, 1, share=True)
    looked = "the heads that look up h and h_{i-1}, here: so what is the key for later positions as well"
    least = None if two_way else 0
    if two_way:
        looked = "the positive and negative parts of h and h_{i-1}, here: so the key for later positions as well"
    yield number_variable("h/(i+1)", "the head position, as a share", _SUM, looked, least, share=True)
    for name, reader in (("h", "h"), ("h_{i-1}", "h_{i-1}")):
        for sign, part in (("+", "positive"), ("-", "negative")):
            meaning = f"the {part} part of {name}, as a share"
            yield number_variable(
                f"{name}{sign}/(i+1)", meaning, _HALVES, f"the head that looks up {reader}{sign}, here", 0, share=True
            )
    walled = "" if two_way else ", and [h=0]"
    yield number_variable("h", "the head position", _FOUND, f"{latest}, as its query; {flag}{walled}", least)
    yield number_variable("h^2", "its square", _FOUND, "", 0)
    yield number_variable(
        "h-", "the negative part of the head position", _FOUND, "what keeps the input symbol only where h- is 0", 0
    )
    yield label_variable("e_x(h+)", "the input symbol of cell h+", _FOUND, "e_x(h), here", labels)
    yield label_variable(
        "e_x(h)", "the input symbol of cell h", _FOUND_AFTER if two_way else _FOUND, "the symbol read, here", labels
    )
    yield number_variable("[h=0]", "whether the head is at cell 0", _FOUND_AFTER, f"{step}, where a rule moves left", 0, 1)
    yield number_variable("h_{i-1}", "the head position before", _FOUND, f"{later}, as the key of this one", least)
    yield number_variable("h_{i-1}^2", "its square", _FOUND, f"{later}, as the key of this one", 0)
    yield number_variable("h_{j*-1}", "the cell that was found", _WRITTEN, flag, least)
    yield label_variable("e_b(j*-1)", "the symbol that was found", _WRITTEN, "the symbol read, here", labels)
    yield number_variable(
        "[h_{j*-1}=h]", "whether it is the right cell", (3, "feed_forward"), "the symbol read, here", 0, 1
    )
    yield label_variable("e_a", "the symbol under the head", (4, "feed_forward"), step, labels)


def label_variable(
    name: str,
    meaning: str,
    since: tuple[int, str],
    read_by: str,
    labels: Mapping[str, tuple[str, ...]],
    *,
    sure: bool = False,
) -> ModelVariable:
    return ModelVariable(
        name=name,
        meaning=meaning,
        kind="label",
        since=since,
        read_by=read_by,
        labels=labels.get(name, ()),
        nothing=not sure,
    )


def number_variable(
    name: str,
    meaning: str,
    since: tuple[int, str],
    read_by: str,
    least: int | None,
    largest: int | None = None,
    *,
    share: bool = False,
) -> ModelVariable:
    return ModelVariable(
        name=name, meaning=meaning, kind="number", since=since, read_by=read_by, least=least, largest=largest, share=share
    )


def causal_model(machine: Machine, word: str, decoder: Decoder) -> TuringCausal:
    """Return the causal model of the run of a machine on `word`.

    Raises:
        InputError: if `word` is not over its input alphabet.
    """
    return TuringCausal(machine, machine.check_input(word), decoder)
