"""The right rows of a machine on many words, as codes of a decoder's labels."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from tm2tfr.engines.fast.many import RowsInTurn
from tm2tfr.runs.batches.kept import kernel
from tm2tfr.runs.batches.right import RightCodes, RightRows, RuleTable, WordsGiven
from tm2tfr.runs.blocks import Labels
from tm2tfr.runs.expected import UNKNOWN
from tm2tfr.sources.turing.fast_simulator import rules_of
from tm2tfr.sources.turing.simulator import Result
from tm2tfr.sources.turing.spec import Machine
from tm2tfr.sources.turing.tokens import BOS
from tm2tfr.sources.turing.truth import VERDICT_TOKENS, TuringTruth, triple_token
from tm2tfr.transformer.matrix import Ints
from tm2tfr.transformer.weights import Decoder

TAPE = 2**12
"""The cells that there are at first."""


MORE_ROWS, MORE_TAPE = 1, 2
"""Why the compiled simulator returns before all runs are done."""
OUTCOMES = ("accept", "reject", "halt", "limit")
"""How a run of the reference ends; the last one is that of a run without an end."""


def room_for(first: int, runs: int, rows: int) -> RightRows:
    """Return room for so many runs and rows."""

    def column() -> NDArray[np.int32]:
        return np.empty(rows, dtype=np.int32)

    def count(size: int = runs) -> Ints:
        return np.zeros(size, dtype=np.int64)

    return RightRows(
        first=first,
        offsets=count(runs + 1),
        x=column(),
        q=column(),
        b=column(),
        m=column(),
        h=column(),
        a=column(),
        y=column(),
        outcome=np.full(runs, -1, dtype=np.int32),
        steps=count(),
        visited=count(),
        ones=count(),
        tape_offsets=count(runs + 1),
        tape=np.empty(rows + 64, dtype=np.int32),
    )


class MachineRuns:
    """The reference of one machine, alone or in the prompt of a universal decoder, or of several.

    Args:
        decoders, truths: of each machine its decoder, and a run of it, which says what is right where. Of several
            `alike` is equal, and they have few states and symbols.
        max_steps: the most steps of a run.
    """

    def __init__(self, decoders: Sequence[Decoder], truths: Sequence[TuringTruth], max_steps: int) -> None:
        self.rules = _rules([truth.machine for truth in truths], max_steps)
        self.codes = _codes(decoders, truths)
        self._simulated = kernel("simulated")
        self._tape, self._now = np.full(TAPE, self.rules.blank, dtype=np.int32), np.zeros(3, dtype=np.int64)

    def rows(self, given: WordsGiven, first: int, last: int, room: int) -> RightRows:
        """Return the right rows of runs from `first` on, as many as there is room for, but at least one."""
        out, done = room_for(first, last - first, room), first
        while True:
            why = self._simulated(given, done, last, self.rules, self.codes, self._tape, out, self._now)
            done = int(self._now[2])
            if why == MORE_TAPE:
                self._tape = np.full(2 * len(self._tape), self.rules.blank, dtype=np.int32)
            elif why == MORE_ROWS and done == first:
                room *= 2
                out = room_for(first, last - first, room)
            else:
                return _cut(out, done - first)

    def differs(self, found: RowsInTurn, tokens: NDArray[np.int32], probed: bool, right: RightRows) -> Ints:
        """Return the place of the first row of each run that differs, see `tm2tfr.runs.batches.running.RightRuns`."""
        differs = np.full(len(found.ends), -1, dtype=np.int64)
        columns = found.answers, found.codes, found.numbers
        kernel("compared")(found.offsets, tokens, *columns, probed, right, differs)
        return differs


def _cut(out: RightRows, runs: int) -> RightRows:
    """Return what is filled."""
    rows, cells = int(out.offsets[runs]), int(out.tape_offsets[runs])
    return RightRows(
        first=out.first,
        offsets=out.offsets[: runs + 1],
        x=out.x[:rows],
        q=out.q[:rows],
        b=out.b[:rows],
        m=out.m[:rows],
        h=out.h[:rows],
        a=out.a[:rows],
        y=out.y[:rows],
        outcome=out.outcome[:runs],
        steps=out.steps[:runs],
        visited=out.visited[:runs],
        ones=out.ones[:runs],
        tape_offsets=out.tape_offsets[: runs + 1],
        tape=out.tape[:cells],
    )


def alike(decoder: Decoder, truth: TuringTruth) -> Hashable:
    """Return what has to be equal of machines that are simulated together."""
    machine, numbers = truth.machine, decoder.numbers
    sizes = machine.states, machine.tape_alphabet, machine.input_alphabet, machine.start, machine.blank, machine.tape
    return (*sizes, truth.nominal, truth.first in VERDICT_TOKENS.values(), numbers.get(BOS, UNKNOWN))


def _rules(machines: Sequence[Machine], max_steps: int) -> RuleTable:
    tables = [rules_of(machine) for machine in machines]
    to, written, move = (np.array([table[n] for table in tables], dtype=np.int32) for n in (1, 2, 3))
    machine, keys = machines[0], tables[0][0]
    blank = machine.tape_alphabet.index(machine.blank)
    start = machine.states.index(machine.start)
    walled = machine.tape == "one-way"
    return RuleTable(keys, to, written, move, len(machine.tape_alphabet), blank, start, walled, max_steps)


class _Said(NamedTuple):
    """What is right for a machine in words: the tokens of `RightCodes.answers`, `stops` and `first`, and the outcomes."""

    answers: tuple[str, ...]
    stops: tuple[str, ...]
    outcomes: tuple[int, ...]
    first: tuple[str, ...]


NOTHING = ""
"""The token where there is a rule."""


def _said(truth: TuringTruth) -> _Said:
    machine = truth.machine
    answers, stops, outcomes = list[str](), list[str](), list[int]()
    for state in machine.states:
        verdict, ended = truth.entered(state), machine.outcome_of(state) or machine.missing_outcome
        for symbol in machine.tape_alphabet:
            answers += [verdict or triple_token(state, symbol, move) for move in (-1, 0, 1)]
            if state in machine.halting_states or (state, symbol) not in machine.transitions:
                found = truth.judged(Result(outcome=ended, steps=0, tape="", cells_visited=1, ones=0), state, symbol)
                stops.append(truth.stopped(state, symbol))
                outcomes.append(OUTCOMES.index(found.outcome))
            else:
                stops.append(NOTHING)
                outcomes.append(-1)
    begins = (truth.on(a if a in (machine.input_alphabet or ()) else "") for a in machine.tape_alphabet)
    return _Said(tuple(answers), tuple(stops), tuple(outcomes), tuple(begin.first for begin in begins))


MOST_KNOWN = 1_024
_KNOWN: dict[Hashable, _Said] = {}


def _said_of(truth: TuringTruth) -> _Said:
    """Return what is right for a machine; of one that is not in a prompt, it follows from its names and where it ends."""
    machine = truth.machine
    if type(truth) is not TuringTruth:
        return _said(truth)
    names = machine.states, machine.tape_alphabet, machine.input_alphabet, machine.start
    key = (*names, machine.decides, machine.accept_states, machine.reject_states, tuple(machine.transitions))
    found = _KNOWN.get(key)
    if found is None:
        if len(_KNOWN) >= MOST_KNOWN:
            _KNOWN.clear()
        found = _KNOWN[key] = _said(truth)
    return found


def _codes(decoders: Sequence[Decoder], truths: Sequence[TuringTruth]) -> RightCodes:
    one = truths[0].machine
    shape = len(truths), len(one.states), len(one.tape_alphabet)
    tokens = max(len(decoder.vocabulary) for decoder in decoders)
    said = [_said_of(truth) for truth in truths]
    labels = [Labels.of(decoder) for decoder in decoders]

    def numbers(name: str, *sizes: int) -> NDArray[np.int32]:
        known = ((decoder.numbers, getattr(each, name)) for decoder, each in zip(decoders, said, strict=True))
        found = [[number.get(token, UNKNOWN) for token in texts] for number, texts in known]
        return np.array(found, dtype=np.int32).reshape(*shape[:1], *sizes)

    def places(names: Sequence[Sequence[str]], of: Sequence[Sequence[str]]) -> NDArray[np.int32]:
        found = [_places(some, known) for some, known in zip(names, of, strict=True)]
        most = max(map(len, found))
        return np.array([(*each, *[UNKNOWN] * (most - len(each))) for each in found], dtype=np.int32)

    states, symbols = ([getattr(truth.machine, name) for truth in truths] for name in ("states", "tape_alphabet"))
    vocabularies = [decoder.vocabulary for decoder in decoders]
    ends = np.zeros((len(decoders), tokens - UNKNOWN), dtype=np.bool_)
    for n, decoder in enumerate(decoders):
        ends[n, [decoder.numbers.get(token, UNKNOWN) - UNKNOWN for token in VERDICT_TOKENS.values()]] = True
    return RightCodes(
        state=places(states, [each.q for each in labels]),
        written=places(symbols, [each.b for each in labels]),
        read=places(symbols, [each.a for each in labels]),
        fed=places(symbols, vocabularies),
        shown=places(vocabularies, [each.x for each in labels]),
        first=numbers("first", shape[2]),
        answers=numbers("answers", *shape[1:], 3),
        stops=numbers("stops", *shape[1:]),
        ends=ends,
        outcomes=np.array([each.outcomes for each in said], dtype=np.int32).reshape(shape),
        bos=decoders[0].numbers.get(BOS, UNKNOWN),
        unknown=UNKNOWN,
        starts_halted=truths[0].first in VERDICT_TOKENS.values(),
        nominal=truths[0].nominal,
    )


def _places(names: Sequence[str], labels: Sequence[str]) -> Sequence[int]:
    """Return the place of each name among labels, `UNKNOWN` for one that is not there."""
    if names is labels:
        return range(len(names))
    places: Mapping[str, int] = {label: n for n, label in enumerate(labels)}
    return [places.get(name, UNKNOWN) for name in names]
