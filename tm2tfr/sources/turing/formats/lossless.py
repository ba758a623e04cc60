"""Exact translations: from a machine to one with the same outcome, steps and tape that a format can express.

Each either changes nothing, or notes what it changed, or refuses and gives the reason. Outer blanks are not part
of a tape; symbols and states may be renamed, one to one, or many to one for halting states.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from itertools import count
from types import MappingProxyType
from typing import NamedTuple

from tm2tfr.base.errors import ConversionError, visible
from tm2tfr.sources.turing.spec import MOVE_LETTERS, Machine, Rule

ACCEPT = "accept"
_SPARE = "xyzabcdefghijklmnopqrstuvwXYZABCDEFGHIJKLMNOPQRSTUVW0123456789#$%&@+=?"


class Written(NamedTuple):
    """A machine in some format, with notes for the reader about the translation.

    Args:
        symbols: the symbols of the machine that have another name there.
    """

    text: str
    notes: tuple[str, ...] = ()
    symbols: Mapping[str, str] = MappingProxyType({})


@dataclass(frozen=True)
class Translation:
    """A machine on its way into the format `target`."""

    machine: Machine
    target: str
    notes: tuple[str, ...] = ()
    symbols: Mapping[str, str] = field(default_factory=dict)
    """The symbols that have other names by now."""

    def to(self, machine: Machine, *notes: str) -> Translation:
        """Return the translation with its machine replaced."""
        return replace(self, machine=machine, notes=(*self.notes, *notes))

    def written(self, text: str, *notes: str) -> Written:
        """Return the machine as it is written."""
        return Written(text, (*self.notes, *notes), self.symbols)

    def refusal(self, what: str, remedy: str) -> ConversionError:
        """Return the error that says why `target` cannot express the machine."""
        return ConversionError(f"{visible(self.machine.name)}: {self.target} cannot express this machine: {what}: {remedy}")


def two_way(t: Translation) -> Translation:
    """Return the machine on a two-way tape.

    Raises:
        ConversionError: if it has a one-way tape and might move left at cell 0.
    """
    if t.machine.tape == "two-way":
        return t
    bad = left_at_the_edge(t.machine)
    if bad is not None:
        q, a = bad
        problem = f"its tape is one-way, and in state {q!r} it may move left at cell 0 (on {a!r}) without halting"
        raise t.refusal(problem, "mark cell 0 so that no run does so, or choose a format with one-way tapes")
    note = "the one-way tape becomes a two-way one: no run moves left at cell 0 without halting, so no run differs"
    blank = t.machine.blank  # on a two-way tape the outer blanks are cut on both sides
    examples = tuple(e if e.tape is None else replace(e, tape=e.tape.strip(blank)) for e in t.machine.examples)
    return t.to(replace(t.machine, tape="two-way", examples=examples, yaml=None), note)


def one_way(t: Translation) -> Translation:
    """Return the machine on a one-way tape.

    Raises:
        ConversionError: if it has a two-way tape and might move left of the cell in which it starts.
    """
    if t.machine.tape == "one-way":
        return t
    bad = left_at_the_edge(t.machine)
    if bad is not None:
        q, a = bad
        problem = f"its tape is two-way, and in state {q!r} it may move left of the cell in which it starts (on {a!r})"
        raise t.refusal(problem, "keep to the right of that cell, or choose a format with two-way tapes")
    note = "the two-way tape becomes a one-way one: no run moves left of its first cell without halting, so no run differs"
    return t.to(replace(t.machine, tape="one-way", examples=(), yaml=None), note)


def left_at_the_edge(machine: Machine) -> tuple[str, str] | None:
    """Return a (state, symbol) in which some run may move left at cell 0 without halting, or None if no run does.

    A search of all (state, symbol in cell 0, head there or not), where every other cell may hold any symbol:
    what it does not find cannot happen.
    """
    sigma = (*(machine.input_alphabet or ()), machine.blank)
    queue = [(machine.start, a, True) for a in sigma]
    seen = set(queue)
    while queue:
        state, first, at_left = queue.pop()
        if state in machine.halting_states:
            continue
        for symbol in (first,) if at_left else machine.tape_alphabet:
            rule = machine.transitions.get((state, symbol))
            if rule is None:
                continue
            if at_left and rule.move < 0 and rule.state not in machine.halting_states:
                return state, symbol
            held = rule.write if at_left else first
            places = (at_left,) if rule.move == 0 else (False, True) if rule.move < 0 else (False,)
            new = [at for place in places if (at := (rule.state, held, place)) not in seen]
            seen.update(new)
            queue += new
    return None


def without_stays(t: Translation) -> Translation:
    """Return the machine without the move S: a step into a halting state may just as well move right.

    Raises:
        ConversionError: if a step that stays may be followed by another: going right and back would be two steps.
    """
    stays = [(key, rule) for key, rule in t.machine.transitions.items() if rule.move == 0]
    for (q, a), rule in stays:
        if rule.state not in t.machine.halting_states:
            problem = f"δ({q}, {a!r}) stays in its cell, but the format has no such move"
            raise t.refusal(
                problem, "move right and back with an extra state (which makes runs longer), or choose another format"
            )
    if not stays:
        return t
    moved = {key: Rule(rule.state, rule.write, rule.move or 1) for key, rule in t.machine.transitions.items()}
    which = f"{len(stays)} rules that stayed in the cell" if len(stays) > 1 else "a rule that stayed in the cell"
    note = f"{which} before a halt now move{'s' * (len(stays) == 1)} right"
    return t.to(replace(t.machine, transitions=moved, yaml=None), note)


def with_verdicts(t: Translation) -> Translation:
    """Return the machine.

    Raises:
        ConversionError: if it halts without verdicts, as no machine of the target does.
    """
    if not t.machine.decides:
        raise t.refusal(
            "it halts without a verdict, but every run there accepts or rejects",
            "say what every halt is taken for, with --verdict accept or --verdict reject, or declare which one accepts, in "
            "YAML with a key such as 'accept: STATE'",
        )
    return t


def renamed(machine: Machine, states: Mapping[str, str], symbols: Mapping[str, str]) -> Machine:
    """Return `machine` with states and symbols renamed; halting states may share a name."""

    def word(text: str) -> str:
        return "".join(symbols.get(a, a) for a in text)

    def named(some: tuple[str, ...] | None) -> tuple[str, ...] | None:
        return None if some is None else tuple(states.get(q, q) for q in some)

    rules = {
        (states.get(q, q), symbols.get(a, a)): Rule(states.get(r, r), symbols.get(b, b), m)
        for (q, a), (r, b, m) in machine.transitions.items()
    }
    examples = (replace(e, input=word(e.input), tape=None if e.tape is None else word(e.tape)) for e in machine.examples)
    return replace(
        machine,
        transitions=rules,
        start=states.get(machine.start, machine.start),
        blank=word(machine.blank),
        states=named(machine.states) or (),
        input_alphabet=tuple(map(word, machine.input_alphabet or ())),
        tape_alphabet=tuple(map(word, machine.tape_alphabet)),
        accept=named(machine.accept_states if machine.decides else None),  # its name no longer says so
        reject=named(machine.reject),
        input=None if machine.input is None else word(machine.input),
        examples=tuple(examples),
        yaml=None,
    )


def with_symbols(t: Translation, allowed: Callable[[str], bool], blank: str | None = None) -> Translation:
    """Return the machine with every symbol that is not `allowed` replaced, and with `blank` for its blank.

    Raises:
        ConversionError: if no character is left to replace a symbol with.
    """
    m = t.machine
    names: dict[str, str] = {} if blank in (None, m.blank) else {m.blank: str(blank)}
    taken = {*m.tape_alphabet, *names.values()}
    for a in m.tape_alphabet:
        if a != m.blank and (not allowed(a) or a == blank):
            spare = next((s for s in _spare() if s not in taken and allowed(s)), None)
            if spare is None:
                raise t.refusal(f"no character is left to represent the symbol {a!r}", "use fewer symbols")
            names[a] = spare
            taken.add(spare)
    return with_names(t, names)


def with_names(t: Translation, symbols: Mapping[str, str]) -> Translation:
    """Return the machine with symbols renamed, one to one."""
    changed = {a: b for a, b in symbols.items() if a != b}
    if not changed:
        return t
    found = t.to(renamed(t.machine, {}, changed), *renamings("symbol", changed))
    before = {a: changed.get(b, b) for a, b in t.symbols.items()}
    added = {a: b for a, b in changed.items() if a not in t.symbols.values()}
    return replace(found, symbols={**added, **before})


def with_states(t: Translation, names: Mapping[str, str]) -> Translation:
    """Return the machine with states renamed; a state whose name is given to another one gets a new name."""
    m, given = t.machine, frozenset(names.values())
    changed = {q: r for q, r in names.items() if q != r}
    taken = {*m.states, *given}
    for q in m.states:
        if q in given and q not in names:
            changed[q] = fresh(q, taken)
            taken.add(changed[q])
    return t.to(renamed(m, changed, {}), *renamings("state", changed)) if changed else t


def accepting_by_name(t: Translation) -> Translation:
    """Return the machine with a state named ``accept`` instead of the keys, if it decides: by convention that accepts."""
    m = t.machine
    if not m.decides:
        return t
    t = with_states(t, dict.fromkeys(m.accept_states, ACCEPT))
    if not m.accept_states:
        t = with_states(t, {ACCEPT: ACCEPT + "_"} if ACCEPT in m.states else {})
        more = replace(t.machine, states=(*t.machine.states, ACCEPT), yaml=None)
        t = t.to(more, "a state 'accept' that no run enters declares that every halt rejects")
    return t.to(replace(t.machine, accept=None, reject=None, yaml=None))


def fresh(name: str, taken: Iterable[str]) -> str:
    """Return `name` with a number that makes it unique."""
    known = frozenset(taken)
    return next(new for k in count(1) if (new := f"{name}_{k}") not in known)


def renumbered(machine: Machine, allowed: Callable[[str], bool], prefix: str = "s") -> dict[str, str]:
    """Return new names, ``s0, s1, …``, for the states whose names are not `allowed`."""
    taken = set(machine.states)
    names: dict[str, str] = {}
    for k, q in enumerate(machine.states):
        if not allowed(q):
            new = f"{prefix}{k}"
            names[q] = new if new not in taken else fresh(new, taken)
            taken.add(names[q])
    return names


def letter(rule: Rule) -> str:
    """Return L, R or S."""
    return MOVE_LETTERS[rule.move]


def _spare() -> Iterator[str]:
    yield from _SPARE
    yield from map(chr, range(0x391, 0x3CA))
    yield from map(chr, range(0x410, 0x450))


def renamings(noun: str, names: Mapping[str, str]) -> Iterator[str]:
    """Yield the note on names that change, the first eight of them; nothing if none does."""
    shown = [f"{old!r} to {new!r}" for old, new in names.items() if old != new]
    if shown:
        more = f" and {len(shown) - 8} more" if len(shown) > 8 else ""
        yield f"{noun}s are renamed: {', '.join(shown[:8])}{more}"
