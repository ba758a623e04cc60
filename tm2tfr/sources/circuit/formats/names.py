"""Names that a format cannot carry, made legal, and found again by the comments that say so.

A comment ``# net n3 is "a[0] x"`` gives the net ``n3`` of the text its name back, and ``# output n3 is "sum"`` makes the
output ``n3`` of the text the output ``sum``.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace

from tm2tfr.sources.circuit.building import FreshNames
from tm2tfr.sources.circuit.formats.draft import NetDraft
from tm2tfr.sources.circuit.netlist import Circuit, Gate

_COMMENT = re.compile(r"[#/]+ (?P<kind>net|output) (?P<legal>\S+) is (?P<name>\".+\")\s*")
_NAME = re.compile(r"[#/]+ circuit (?P<name>\".+\")\s*")
_ILLEGAL = re.compile(r"[^A-Za-z0-9_]+")


@dataclass(frozen=True)
class Legal:
    """A circuit whose names a format can carry, each output being the net of that name, and what they stand for.

    Args:
        circuit: the circuit with legal names.
        nets: legal name -> name of the net.
        outputs: legal name -> name of the output.
    """

    circuit: Circuit
    nets: dict[str, str]
    outputs: dict[str, str]

    def comments(self, sign: str = "#") -> Iterator[str]:
        """Yield the lines that let a reader undo it."""
        if self.circuit.name:
            yield f"{sign} circuit {json.dumps(self.circuit.name)}"
        for kind, names in (("net", self.nets), ("output", self.outputs)):
            yield from (f"{sign} {kind} {legal} is {json.dumps(name)}" for legal, name in names.items())


def legalised(circuit: Circuit, legal: Callable[[str], object]) -> Legal:
    """Return `circuit` with names that are `legal`, and a BUF for each output that is not called like its net."""
    fresh = FreshNames([*circuit.numbers, *(name for name, _ in circuit.outputs)])
    illegal = {net: _like(net, fresh) for net in circuit.numbers if not legal(net)}
    names = dict(illegal)
    own = dict(circuit.outputs)
    for gate in circuit.gates:  # an output of that name is another net
        if gate.net in own and own[gate.net] != gate.net and gate.net not in names:
            names[gate.net] = fresh(gate.net)
    gates = [Gate(names.get(g.net, g.net), g.table, tuple(names.get(n, n) for n in g.operands)) for g in circuit.gates]
    inputs = tuple(names.get(net, net) for net in circuit.inputs)
    taken = {*inputs, *(gate.net for gate in gates)}
    outputs, called = [], dict[str, str]()
    for name, net in circuit.outputs:
        shown = name
        if name != net or net in names:
            if not legal(name) or name in taken:
                shown = _like(name, fresh)
                called[shown] = name
            gates.append(Gate(shown, "01", (names.get(net, net),)))
        outputs.append((shown, shown))
    new = replace(circuit, inputs=inputs, gates=tuple(gates), outputs=tuple(outputs))
    return Legal(new, {legal: net for net, legal in illegal.items()}, called)


def name_comments(circuit: Circuit, legal: Callable[[str], object]) -> tuple[list[str], list[str], list[str]]:
    """Return legal names for the inputs and for the outputs, which may be the same, and the comments that undo it."""
    comments, found = [f"# circuit {json.dumps(circuit.name)}"], list[list[str]]()
    fresh = FreshNames([*circuit.numbers, *(name for name, _ in circuit.outputs)])
    for noun, names in (("net", circuit.inputs), ("output", [name for name, _ in circuit.outputs])):
        shown = [name if legal(name) else _like(name, fresh) for name in names]
        found.append(shown)
        comments += [f"# {noun} {new} is {json.dumps(old)}" for new, old in zip(shown, names, strict=True) if new != old]
    return found[0], found[1], comments


def symbol_lines(circuit: Circuit) -> Iterator[str]:
    """Yield the symbols of an AIGER file, which cannot be lines themselves, and the comments for those that would be."""
    notes = []
    for kind, noun, names in (("i", "net", circuit.inputs), ("o", "output", [name for name, _ in circuit.outputs])):
        fresh = FreshNames(names)
        for number, name in enumerate(names):
            shown = name
            if not name.isprintable() or name != name.strip():
                shown = _like(name, fresh)
                notes.append(f"# {noun} {shown} is {json.dumps(name)}")
            yield f"{kind}{number} {shown}"
    yield "c"
    yield f"# circuit {json.dumps(circuit.name)}"
    yield from notes


def _like(name: str, fresh: FreshNames) -> str:
    stem = _ILLEGAL.sub("_", name).strip("_") or "net"
    return fresh(stem if stem[0].isalpha() else f"n{stem}")


def restore(draft: NetDraft, comments: Iterable[tuple[int, str]]) -> None:
    """Give nets and outputs the names that `comments`, pairs of a line's number and its text, have for them.

    To be called when all else is read. A name that is in use is an error.
    """
    nets: dict[str, str] = {}
    for line, text in comments:
        if match := _NAME.fullmatch(text.strip()):
            draft.name = _quoted(draft, line, match["name"]) or draft.name
        elif match := _COMMENT.fullmatch(text.strip()):
            name, old = _quoted(draft, line, match["name"]), match["legal"]
            if name is None:
                continue
            if match["kind"] == "output" and old in draft.outputs and name not in draft.outputs:
                draft.outputs = {name if key == old else key: value for key, value in draft.outputs.items()}
            elif match["kind"] == "net" and (old in draft.inputs or old in draft.drivers) and not draft.knows(name):
                nets[old] = name
                draft.broken.add(name)
            else:
                problem = f"this comment renames {old!r} to {name!r}, but one is unknown or the other in use"
                draft.error(line, old, problem, "correct or remove the comment")
    draft.broken.difference_update(nets.values())
    if nets:
        draft.rename(nets)


def _quoted(draft: NetDraft, line: int, text: str) -> str | None:
    try:
        name = json.loads(text)
    except ValueError:
        name = None
    if isinstance(name, str) and name:
        return name
    draft.error(line, None, f"{text} is not a name in double quotes", "correct or remove the comment")
    return None
