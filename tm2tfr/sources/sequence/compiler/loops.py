"""Loops: layers that are run again, with the values that a pass hands to the next (the slides' Universal Transformer).

What is before a loop, what it computes in a pass and what is behind it are sections of the stream's times, one after the
other. A state has a one-hot subspace. The first layer of a pass, which has no attention, replaces it by the code of what
it is next, and takes everything away that the last pass has written: all of that is 0 or more, so that a hidden unit
ReLU(x) takes x away exactly, in floats as well (Lemma 7). In the first pass all of it is 0, which tells that pass from
the others: the state is then the code of its first value. After the last pass, everything is there as that pass has
written it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass

from tm2tfr.sources.sequence import graph as seq
from tm2tfr.sources.sequence.compiler.codes import ONE, BitForm, Code, Time, added, of_bits
from tm2tfr.sources.sequence.domains import Domains
from tm2tfr.sources.sequence.naming import ended
from tm2tfr.transformer.gadgets import Unit, rectified
from tm2tfr.transformer.residual import at

SECTION = 1 << 20
"""Attention layers of section s count from s times this on."""


def beginning(section: int, slot: int = 0) -> Time:
    """Return the time at which a section begins."""
    return Time(section * SECTION, slot)


def placed(depth: int) -> str:
    """Return where an attention layer is, in a few words: those in a loop, and past it, count from 1 each."""
    section, number = divmod(depth, SECTION)
    where = f"{'loop' if section % 2 else 'past'} {(section + 1) // 2}, " if section else ""
    return f"{where}depth {number}"


def begins(depth: int) -> bool:
    """Return whether this is where a section begins: there is no attention there."""
    return depth % SECTION == 0


@dataclass(frozen=True)
class StateCode:
    """A state: its subspace, the labels of its values, and the bits of what it is first and of what it is next."""

    space: str
    labels: Mapping[seq.Item, str]
    first: Mapping[seq.Item, BitForm]
    following: Mapping[seq.Item, BitForm]

    def units(self) -> Iterable[Unit]:
        """Yield the hidden units that replace the state."""
        here = {value: at(self.space, label) for value, label in self.labels.items()}
        later: BitForm = dict.fromkeys(here.values(), 1)  # 1 but for the first pass, where all of the state is 0
        for value, direction in here.items():
            name = self.labels[value]
            yield from rectified(ended(self.space, f" = {name}, over"), {direction: 1.0}, {direction: -1.0})
            if form := self.first.get(value):
                yield from rectified(
                    ended(self.space, f" = {name}, first"), _floats(added([form, later], times=[1, -1])), {direction: 1.0}
                )
            if form := self.following.get(value):
                most = sum(max(0.0, coefficient) for coefficient in form.values())
                reads = _floats(added([form, later, ONE], times=[1, most, -most]))
                yield from rectified(ended(self.space, f" = {name}, next"), reads, {direction: 1.0})


def _over(direction: str) -> str:
    """Return the name of a unit that takes a direction back to 0 before the next pass."""
    space, bracket, label = direction.rpartition("[")
    return ended(space, f"{bracket}{label}, over") if bracket else ended(direction, ", over")


def _floats(form: Mapping[str, float]) -> dict[str, float]:
    return {direction: float(coefficient) for direction, coefficient in form.items()}


@dataclass(frozen=True)
class LoopPlan:
    """A loop on its way.

    Args:
        section: that of what it computes in a pass.
        states: those that have more than one value.
        until: the bit that says whether it ends, None if it ends after `times` passes.
    """

    section: int
    states: tuple[StateCode, ...]
    times: int | None
    until: BitForm | None

    @property
    def forms(self) -> Iterable[BitForm]:
        """Yield the linear forms that are read where a pass begins or ends."""
        for state in self.states:
            yield from (*state.first.values(), *state.following.values())
            yield ONE
        if self.until is not None:
            yield self.until

    def replacing(self, written: Sequence[str]) -> list[Unit]:
        """Return the hidden units with which a pass begins; written: the directions that a pass writes but for states."""
        units = [unit for state in self.states for unit in state.units()]
        return [*units, *(unit for d in written for unit in rectified(_over(d), {d: 1.0}, {d: -1.0}))]


class Looping:
    """The loops of a program, each planned once what it ends with is asked for.

    Args:
        linear: returns the code of a node of which each value is one bit.
        space: adds a subspace, see `StreamPlan.space`.
    """

    def __init__(self, domains: Domains, linear: Callable[[seq.Operation], Code], space: Callable[..., str]) -> None:
        self._domains, self._linear, self._space = domains, linear, space
        loops = seq.loops_of(seq.ordered(domains.wanted))
        self._sections = {loop: 2 * k - 1 for k, loop in enumerate(loops, start=1)}
        self._of = {state: loop for loop in loops for state in loop.states}
        self._spaces: dict[seq.PassState, tuple[str, dict[seq.Item, str]]] = {}
        self.plans: dict[seq.PassLoop, LoopPlan] = {}

    def state(self, node: seq.PassState, values: Sequence[seq.Item]) -> Code:
        """Return the code of a state, in a subspace of its own."""
        section = self._sections[self._of[node]]
        labels = dict(zip(values, self._domains.graph.labels(node, values), strict=True))
        time = beginning(section, 1)
        space = self._space(node.name or node.key, holds=f"value {node.key}", time=time, labels=list(labels.values()))
        self._spaces[node] = space, labels
        return of_bits({value: {at(space, label): 1} for value, label in labels.items()}, time)

    def looped(self, node: seq.AfterLoop) -> Code:
        """Return the code of what a node is in the last pass: its own, once the loop has ended."""
        coded = self._linear(node.value)
        self._plan(node.loop)
        section = self._sections[node.loop]
        return Code(coded.alternatives, beginning(section + 1) if coded.time >= beginning(section) else coded.time)

    def _plan(self, loop: seq.PassLoop) -> None:
        if loop in self.plans:
            return
        states = []
        for state, following in zip(loop.states, loop.nexts, strict=True):
            coded = self._linear(state)
            if len(coded.bits) > 1:
                first, after = self._bits(state.initial, state), self._bits(following, state)
                states.append(StateCode(*self._spaces[state], first, after))
        until = None if loop.until is None else self._condition(loop, loop.until)
        self.plans[loop] = LoopPlan(self._sections[loop], tuple(states), loop.times, until)

    def _bits(self, node: seq.Operation, state: seq.PassState) -> dict[seq.Item, BitForm]:
        """Return the bits of a node by the values of a state, of which it is the first one or the next."""
        own = {(value, isinstance(value, bool)): value for value in self._domains.values(state)}
        found: dict[seq.Item, list[BitForm]] = {}
        for value, bit in self._linear(node).bits.items():
            plain = int(value) if isinstance(value, bool) and (value, True) not in own else value
            key = plain, isinstance(plain, bool)
            if key in own:  # what only the last pass can make is handed to none
                found.setdefault(own[key], []).append(bit)
        return {value: added(bits) for value, bits in found.items()}

    def _condition(self, loop: seq.PassLoop, node: seq.Operation) -> BitForm:
        values = self._domains.values(node)
        if not all(isinstance(value, bool) for value in values):
            what = f"the condition of a loop is true or false, and {seq.called(node)} can be {seq.text_of(values[-1])}"
            raise self._domains.graph.refusal(loop, what, "compare it, for example until x == 1")
        if True not in values:
            if loop.times is not None:
                return {}
            what = "the condition of this loop never holds, so that it does not end"
            raise self._domains.graph.refusal(
                loop, what, "fix the condition, or state how often it is run: repeat 9 until …"
            )
        return self._linear(node).bits[True]
