"""Deterministic Turing machines from automata-lib (https://github.com/caleb531/automata): the class `DTM`.

Transitions are ``{state: {symbol: (new state, symbol written, "L" | "R" | "N")}}``, the tape is two-way, a final
state accepts on entry and has no rules, and every other halt rejects. Only `to_dtm` needs automata-lib.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from tm2tfr.errors import ConversionError, Diagnostic, SpecError
from tm2tfr.sources.turing.formats.lossless import Translation, Written, two_way, with_verdicts
from tm2tfr.sources.turing.spec import Machine, Rule

MOVES = {"L": -1, "N": 0, "R": +1}
LETTERS = {move: name for name, move in MOVES.items()}
_FIELDS = ("states", "input_symbols", "tape_symbols", "transitions", "initial_state", "blank_symbol", "final_states")


def from_dtm(dtm: object, *, name: str = "dtm") -> Machine:
    """Return a `DTM` as a machine; states that are not strings are named by their ``str``.

    Raises:
        SpecError: if it has several tapes, choices or clashing names, or is not a machine at all.
    """
    missing = [field for field in _FIELDS if not hasattr(dtm, field)]
    what = f"{type(dtm).__name__} is not a DTM from automata-lib"
    if missing:
        raise _refusal(name, f"{what}: it has no {', '.join(missing)}", "pass an automata.tm.dtm.DTM")
    if hasattr(dtm, "n_tapes"):
        raise _refusal(name, f"{what}: it has {dtm.n_tapes} tapes", "machines here have one: pass a DTM")
    source: Any = dtm
    names = _names(source.states, name)
    rules: dict[tuple[str, str], Rule] = {}
    for q, row in source.transitions.items():
        for a, result in row.items():
            if isinstance(result, set | frozenset | list):
                remedy = "machines here are deterministic: pass a DTM"
                raise _refusal(name, f"state {names[q]!r} has a choice on {a!r} (nondeterminism)", remedy)
            r, b, move = result
            rules[names[q], a] = Rule(names[r], b, MOVES[move])
    gamma = _ordered(source.tape_symbols, (a for _, a in rules))
    return Machine(
        transitions=rules,
        start=names[source.initial_state],
        blank=source.blank_symbol,
        states=_ordered(names.values(), [names[source.initial_state], *(q for q, _ in rules)]),
        input_alphabet=_ordered(source.input_symbols, gamma),
        tape_alphabet=gamma,
        accept=_ordered((names[q] for q in source.final_states), ()),
        name=name,
    )


def _names(states: Iterable[object], name: str) -> dict[Any, str]:
    names = {q: q if isinstance(q, str) else str(q) for q in states}
    if len(set(names.values())) < len(names):
        twice = next(q for q in names.values() if list(names.values()).count(q) > 1)
        raise _refusal(name, f"two states are both called {twice!r}", "rename one of them")
    return names


def _ordered(some: Iterable[str], first: Iterable[str]) -> tuple[str, ...]:
    """Return the members of a set: those in `first`, in that order, then the others, sorted."""
    members = frozenset(some)
    return tuple(dict.fromkeys([*(a for a in first if a in members), *sorted(members)]))


def _refusal(name: str, what: str, remedy: str) -> SpecError:
    return SpecError([Diagnostic(what=what, remedy=remedy, file=name)])


# ── out ─────────────────────────────────────────────────────────────────────────────────────────────────
def arguments(machine: Machine) -> dict[str, Any]:
    """Return the keyword arguments that make `machine` as a `DTM`.

    Raises:
        ConversionError: if it halts without verdicts, or may run into the end of a one-way tape.
    """
    return _arguments(_translated(machine).machine)


def to_dtm(machine: Machine) -> Any:
    """Return `machine` as a `DTM`.

    Raises:
        ConversionError: as for `arguments`, and if automata-lib is not installed.
    """
    given = arguments(machine)
    try:
        from automata.tm.dtm import DTM  # noqa: PLC0415
    except ImportError:
        raise ConversionError("automata-lib is not installed: pip install automata-lib") from None
    return DTM(**given)


def write(machine: Machine) -> Written:
    """Return Python code that makes `machine` with automata-lib.

    Raises:
        ConversionError: as for `arguments`.
    """
    t = _translated(machine)
    given = _arguments(t.machine)
    lines = [f'"""{_docstring(t.machine)}"""', "", "from automata.tm.dtm import DTM", "", "dtm = DTM("]
    for key, value in given.items():
        if key == "transitions":
            lines += ["    transitions={"]
            for q, row in value.items():
                lines += [f"        {q!r}: {{", *(f"            {a!r}: {rule!r}," for a, rule in row.items()), "        },"]
            lines += ["    },"]
        else:
            shown = repr(value) if isinstance(value, str) else _set(value)
            lines += [f"    {key}={shown},"]
    return t.written("\n".join([*lines, ")", ""]))


def _translated(machine: Machine) -> Translation:
    t = two_way(with_verdicts(Translation(machine, "automata-lib")))
    if machine.start in machine.accept_states:
        raise t.refusal("its start state accepts, which it does not allow", "choose another format")
    return t


def _arguments(m: Machine) -> dict[str, Any]:
    rows: dict[str, dict[str, tuple[str, str, str]]] = {q: {} for q in m.states if q not in m.halting_states}
    rows.setdefault(m.start, {})  # a DTM insists on it
    for (q, a), rule in m.transitions.items():
        rows[q][a] = (rule.state, rule.write, LETTERS[rule.move])
    return {
        "states": set(m.states),
        "input_symbols": set(m.input_alphabet or ()),
        "tape_symbols": set(m.tape_alphabet),
        "transitions": rows,
        "initial_state": m.start,
        "blank_symbol": m.blank,
        "final_states": set(m.accept_states),
    }


def _set(members: set[str]) -> str:
    return f"{{{', '.join(map(repr, sorted(members)))}}}" if members else "set()"


def _docstring(m: Machine) -> str:
    text = " ".join(f"{m.name}: {m.description}".split()).rstrip(": ") or "A machine"
    return text.replace("\\", "\\\\").replace('"', "'") + ("" if text.endswith(".") else ".")
