"""What people call the s-ops and selectors of a program: one name for each, wherever it is shown.

- What a variable of the program holds in the end goes by the variable: ``hist``. Of several such variables, the chosen s-op
  counts, otherwise the first one.
- What a function assigns to a variable goes by the call and the variable, ``num_prevs(bools).selected``, and what it
  returns by the call, ``num_prevs(bools)``.
- Anything else goes by its text, which refers to its parts by their names: ``select(tokens, tokens, ==)``.

A name has at most 40 characters. A text that is longer is shortened, and stands behind the variable whose statement makes
it: ``hist.aggregate(… or same, indicator(…))``. Of two things with one name the later one has a mark,
``f(x).y'``; s-ops, and selectors, that are made in the same way may share a name, as they share a
subspace or a head.

Lines elsewhere in the program change no name, unless they assign the same thing to a variable: no name has the number of a
node, a line or a layer in it.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from fractions import Fraction
from functools import cached_property, partial
from typing import Protocol

from tm2tfr.sources.rasp import sops as rasp
from tm2tfr.sources.rasp.program import Program
from tm2tfr.sources.rasp.values import shown
from tm2tfr.sources.rasp.write import CALLED, applied
from tm2tfr.sources.sequence.naming import MOST, marked, shortened

EMBEDDED = ("token", "position", "1", "i", "i^2", "1/(i+1)")
"""What subspaces of the embedding are called."""
LONGEST = 60
"""A text with more characters than this is not written into another one."""
MOST_ENTRIES = 4
"""Of a table that is written out."""
_WRITTEN = re.compile(r"_\d+")
"""What `tm2tfr.sources.rasp.write` calls a node that has no name."""
_WIDTH = {
    "or_first": "width of {}",
    "and_first": "{} at 0",
}
"""The two heads of ``selector_width(…)`` by their variables: one counts, the other one asks for position 0."""
_ROUND = str.maketrans("[]", "()")
"""Square brackets stand around the labels of a subspace."""


class RaspNames:
    """The names of a program's nodes.

    Args:
        program: the program, or an s-op of one, without the names of its variables.
    """

    def __init__(self, program: Program | rasp.SOp) -> None:
        tops: list[tuple[str, rasp.Node]] = []
        if isinstance(program, Program):
            known = {**program.library, **program.sops}
            first = [program.chosen] if program.chosen in known else []
            names = dict.fromkeys([*first, *program.sops])
            tops = [*((name, known[name]) for name in names), *program.selectors.items(), *program.library.items()]
        self._tops = {name for name, _ in tops}
        own = [node for name, node in tops if not isinstance(program, Program) or name not in program.library]
        first_nodes = rasp.needed(own if isinstance(program, Program) else [program])
        self._of_program = {*first_nodes}
        rest = [node for node in rasp.needed(node for _, node in tops) if node not in self._of_program]
        self.nodes = (*first_nodes, *rest)
        self._same = rasp.made_alike(self.nodes)
        self._names: dict[rasp.Node, str] = {}
        self._written: dict[rasp.Node, str] = {}
        self._marks: dict[str, int] = {}
        self._owners: dict[str, rasp.Node | None] = dict.fromkeys(EMBEDDED)
        self.own: set[int] = set()
        loops = [node for node in self.nodes if isinstance(node, rasp.Repeat)]
        self._repeated = {each for loop in loops for each in rasp.repeated(loop, self.nodes)}
        for name, node in tops:
            if node not in self._names and not isinstance(node, _BASES):
                self._give(node, [name])
                self.own.add(node.number)
        for node in self.nodes:
            if node not in self._names:
                self._name(node)

    def __getitem__(self, node: rasp.Node) -> str:
        """Return the name of a node."""
        return self._names[node]

    @cached_property
    def of_weights(self) -> Mapping[int, str]:
        """The number of each node -> the name of its subspace or head, which all that are made in the same way share."""
        best: dict[rasp.Node, rasp.Node] = {}
        for node in self.nodes:
            first = self._same[node]
            if first not in best or self._rank(node) > self._rank(best[first]):
                best[first] = node
        return {node.number: self._names[best[self._same[node]]] for node in self.nodes}

    def _rank(self, node: rasp.Node) -> tuple[bool, bool]:
        """Return how good its name is for all that are made in the same way: those of the library's examples come last."""
        return node in self._of_program, node.number in self.own

    def alike(self, node: rasp.Node) -> int:
        """Return the number of the first node that is made in the same way."""
        return self._same[node].number

    # ── giving names
    def _give(self, node: rasp.Node, names: Sequence[str]) -> None:
        """Give a node the first of some names that is free, or has been given to one that is made in the same way."""
        same = self._same[node]
        short = (shortened(name.translate(_ROUND)) for name in names)
        free = next((each for each in short if self._owners.get(each, same) is same), None)
        name = free or self._marked(shortened(names[0].translate(_ROUND)))
        self._owners[name], self._names[node] = same, name

    def _marked(self, name: str) -> str:
        """Return a name with marks that is not taken: there may be thousands of one name."""
        found = name
        while found in self._owners:
            self._marks[name] = self._marks.get(name, 0) + 1
            found = marked(name, self._marks[name])
        return found

    def _name(self, node: rasp.Node) -> None:
        own = [*self._called(node)]
        text = own[0] if own else self._made(node, self._plainly)
        if own or isinstance(node, rasp.Tokens | rasp.Indices):
            self.own.add(node.number)
        else:
            self._written[node] = shortened(text, 3 * LONGEST)
        whole = bool(own) or _is_call(node)
        within = f"{node.statement}.{text if whole else f'({text})'}" if node.statement else text
        if isinstance(node, rasp.Constant):
            self._names[node] = shortened(text.translate(_ROUND))
        elif len(text) > MOST:
            self._give(node, [within, *own[1:]])
        else:
            self._give(node, [text, *own[1:], within])

    def _plainly(self, node: rasp.Node, *, operand: bool = False) -> str:
        """Return a node by its name, or written out."""
        if node.number in self.own:
            return self._names[node]
        return f"({self._written[node]})" if operand and _needs_brackets(node) else self._written[node]

    def _called(self, node: rasp.Node) -> Iterator[str]:
        """Yield names that a node has from variables and calls, the best one first."""
        if isinstance(node, rasp.Tokens) and node.conversion == "str" and "tokens" not in self._tops:
            yield "tokens"
        if isinstance(node, rasp.State):
            yield f"{node.name} before each pass"
        if node.called is None or isinstance(node, _BASES):
            return
        calls, local = node.called
        local = f"{local} in each pass" if local and node in self._repeated else local
        calls = tuple(call for call in calls if not call.function.startswith("_"))
        if not calls:
            inside = bool(node.called[0]) and bool(node.statement)
            if local and not _WRITTEN.fullmatch(local) and (inside or local not in self._tops):
                yield f"{node.statement}.{local}" if inside else local
            return
        for call in (calls[-1], calls[0]):
            given = call.arguments[0] if call.arguments else None
            if call.function == "selector_width" and isinstance(given, rasp.Selector) and local in _WIDTH:
                yield _WIDTH[local].format(self._plainly(given, operand=True))
            else:
                yield f"{self._call(call)}{'.' if local else ''}{local}"

    def _call(self, call: rasp.Call) -> str:
        return f"{call.function}({', '.join(map(self._argument, call.arguments))})"

    def _argument(self, value: object) -> str:
        if isinstance(value, rasp.Node):
            return self._plainly(value) if value in self._names else "…"
        if isinstance(value, list | tuple):
            more = ["…"] if len(value) > MOST_ENTRIES else []
            return f"({', '.join([*map(self._argument, value[:MOST_ENTRIES]), *more])})"
        return shown(value) if isinstance(value, str | bool | int | Fraction) else getattr(value, "name", "…")

    # ── how a node is made
    def referred(self, nodes: Iterable[rasp.Node], more: Collection[int] = ()) -> set[int]:
        """Return the numbers of those nodes that texts refer to by their names; others are written out.

        These have a variable or a call, or a text of more than `LONGEST` characters.

        Args:
            nodes: each after those that it is made of.
            more: the numbers of further ones.
        """
        found: set[int] = set()
        for node in nodes:
            named = node.number in self.own or node.number in more
            if not isinstance(node, rasp.Constant) and (named or len(self.text(node, found)) > LONGEST):
                found.add(node.number)
        return found

    def text(self, node: rasp.Node, by_name: Collection[int]) -> str:
        """Return how a node is made, as RASP text.

        Args:
            by_name: the numbers of the nodes that it refers to by their names.
        """
        return self._made(node, partial(self._referring, by_name))

    def reference(self, node: rasp.Node, by_name: Collection[int], *, operand: bool = False) -> str:
        """Return how a text refers to a node: by its name, or written out.

        Args:
            operand: whether it stands beside an operator: few readers know RASP's precedences.
        """
        return self._referring(by_name, node, operand=operand)

    def _referring(self, by_name: Collection[int], node: rasp.Node, *, operand: bool = False) -> str:
        named = node.number in by_name
        text = self._names[node] if named else self.text(node, by_name)
        whole = named and (node.number in self.own or text.startswith(f"{node.statement}."))
        return f"({text})" if operand and not whole and _needs_brackets(node) else text

    def _made(self, node: rasp.Node, refer: Refer) -> str:
        """Return how a node is made."""
        if isinstance(node, rasp.Constant):
            return shown(node.value)
        if isinstance(node, rasp.Tokens | rasp.Indices):
            return f"tokens_{node.conversion}" if isinstance(node, rasp.Tokens) else "indices"
        parts = rasp.made_of(node)
        if isinstance(node, rasp.Aggregate):
            usual = type(node.default) is int and node.default == 0
            return f"aggregate({', '.join(map(refer, parts))}{'' if usual else f', {shown(node.default)}'})"
        if isinstance(node, rasp.Select):
            return f"select({', '.join(map(refer, parts))}, {node.relation})"
        if isinstance(node, rasp.Combined):
            texts = [refer(part, operand=not _continues(part, node.operator)) for part in parts]
            return f"not {texts[0]}" if node.operator == "not" else f" {node.operator} ".join(texts)
        return self._applied(node, refer)

    def _applied(self, node: rasp.Node, refer: Refer) -> str:
        if isinstance(node, rasp.State):
            return f"{refer(node.initial)}, then what the pass before has made"
        if isinstance(node, rasp.Looped):
            return f"{refer(node.value)} in the last pass"
        if isinstance(node, rasp.Repeat):
            return f"the loop of {', '.join(map(refer, node.states))}"
        if not isinstance(node, rasp.Elementwise):
            raise TypeError(f"{type(node).__name__} is not a node of a program")
        entries = [shown(k) + (f": {shown(v)}" if node.operator == "table" else "") for k, v in node.entries]
        if len(entries) > MOST_ENTRIES + 1:
            entries = [*entries[:MOST_ENTRIES], f"… {len(entries) - MOST_ENTRIES} more"]
        alone, first = node.operator in (*CALLED, "table"), node.arguments[0]
        texts = [refer(part, operand=not alone) for part in node.arguments[1:]]
        return applied(node, [refer(first, operand=not alone and not _continues(first, node.operator)), *texts], entries)


class Refer(Protocol):
    """Says how a text refers to a node."""

    def __call__(self, node: rasp.Node, /, *, operand: bool = False) -> str: ...


_BASES = (rasp.Tokens, rasp.Indices, rasp.Constant)


def _is_call(node: rasp.Node) -> bool:
    """Return whether a node is written as a call, which needs no brackets around it."""
    return isinstance(node, rasp.Select | rasp.Aggregate) or (
        isinstance(node, rasp.Elementwise) and node.operator in CALLED
    )


def _continues(first: rasp.Node, operator: str) -> bool:
    """Return whether `operator` behind a node needs no brackets around it: in sums, and where both operators are one."""
    if isinstance(first, rasp.Elementwise):
        return len(first.arguments) == 2 and {first.operator, operator} <= {"+", "-"}
    return isinstance(first, rasp.Combined) and first.operator == operator != "not"


def _needs_brackets(node: rasp.Node) -> bool:
    return isinstance(node, rasp.Combined | rasp.Elementwise | rasp.Looped) and not _is_call(node)
