"""The ground truth: the values of every s-op and the matrix of every selector on an input, by the printed definition.

One pass over the graph in the order of creation, in exact rationals; it knows nothing of transformers. What a loop computes
in every pass is computed again until the loop ends, and is then what it was in the last pass.

An s-op may be undefined on an input: a mean of texts, a division by zero, a missing key, a sequence of texts and numbers.
Where the authors' interpreter refuses a definition because it fails on the current example, here it is the input that is
refused (`Undefined`), and other inputs are evaluated.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from functools import lru_cache
from itertools import compress
from typing import Any

from tm2tfr.base.errors import InputError, UndefinedError
from tm2tfr.sources.rasp import sops as rasp
from tm2tfr.sources.rasp.program import Program, Word
from tm2tfr.sources.rasp.values import BINARY, CONVERSIONS, RELATIONS, UNARY, ValueRefused, averaged, one_type, shown

_Row = tuple[Any, ...]
_Steps = list[Any]
"""The value of each node, by its index in the order of evaluation."""


class Undefined(UndefinedError):  # noqa: N818  (named after the state of the program)
    """The program is undefined on an input.

    Args:
        node: where.
        why: what cannot be done.
        position: of the input, from 0, if it is one.
    """

    def __init__(self, node: rasp.Node, why: str, position: int | None, word: Word) -> None:
        self.node, self.why, self.position, self.word = node, why, position, word
        place = f"line {node.span.line}, column {node.span.column}: " if node.span else ""
        at = "" if position is None else f" at position {position}"
        named = f"{node.name!r} is undefined" if node.name else "a value is undefined"
        super().__init__(
            f"{place}{named} on the input {shown_word(word)!r}{at}: {why}: use another input, or define the value there"
        )


def shown_word(word: Word) -> str:
    """Return an input as text: its characters, or its tokens as a list where they are not single characters."""
    letters = [token for token in word if isinstance(token, str) and len(token) == 1]
    return "".join(letters) if len(letters) == len(word) else f"[{', '.join(map(shown, word))}]"


@dataclass(frozen=True)
class Stages:
    """A run of a program on an input.

    Args:
        word: the input: n tokens.
        values: s-op -> its values: (n,).
        matrices: selector -> its rows, one per query position, with an entry per key position: (n, n).
        passes: loop -> its number of passes.
    """

    word: Word
    values: Mapping[rasp.SOp, tuple[rasp.Atom, ...]]
    matrices: Mapping[rasp.Selector, tuple[tuple[bool, ...], ...]]
    passes: Mapping[rasp.Repeat, int] = field(default_factory=dict)


def evaluate(
    program: Program | rasp.SOp | rasp.Selector | Iterable[rasp.Node],
    word: Iterable[rasp.Atom],
    *,
    passes: Mapping[int, int] | None = None,
) -> Stages:
    """Return the values of all that a program's chosen s-op needs (or some nodes do) on an input, one token per position.

    Args:
        passes: the number of a loop -> the pass after which it is ended early, to see what there is after that pass.

    Raises:
        InputError: if the input is empty.
        Undefined: if one of them is undefined on it.
    """
    nodes = (
        (program.sop,) if isinstance(program, Program) else (program,) if isinstance(program, rasp.Node) else tuple(program)
    )
    return _plan(nodes)(tuple(word), passes or {})


def attempt(nodes: Iterable[rasp.Node], word: Iterable[rasp.Atom]) -> Mapping[rasp.Node, Any]:
    """Return the values or the matrix of each node and of all that they need, or the error of the first one that it lacks.

    Raises:
        InputError: if the input is empty.
    """
    return _plan(tuple(nodes)).attempt(tuple(word))


class _Plan:
    """Some nodes with all that they need, ready to be evaluated on many inputs."""

    def __init__(self, nodes: tuple[rasp.Node, ...]) -> None:
        self.nodes = rasp.needed(nodes)
        places = {node.number: place for place, node in enumerate(self.nodes)}
        self.steps = [_step(node, places) for node in self.nodes]
        for place, node in enumerate(self.nodes):
            if isinstance(node, rasp.Repeat):
                again = [places[each.number] for each in rasp.repeated(node, self.nodes)]
                self.steps[place] = Repeated(node, places, [(at, self.nodes[at], self.steps[at]) for at in again])
        self.loops = tuple((place, node) for place, node in enumerate(self.nodes) if isinstance(node, rasp.Repeat))
        self.sops = tuple((place, node) for place, node in enumerate(self.nodes) if isinstance(node, rasp.SOp))
        self.selectors = tuple((place, node) for place, node in enumerate(self.nodes) if isinstance(node, rasp.Selector))

    def __call__(self, word: Word, passes: Mapping[int, int]) -> Stages:
        _check(word)
        done: _Steps = []
        for step, node in zip(self.steps, self.nodes, strict=True):
            try:
                early = passes.get(node.number) if isinstance(step, Repeated) else None
                done.append(step(done, word, early) if isinstance(step, Repeated) else step(done, word))
            except ValueRefused as why:
                raise Undefined(node, str(why), _where(step, done, word), word) from None
        return Stages(
            word,
            {node: done[place] for place, node in self.sops},
            {node: done[place] for place, node in self.selectors},
            {node: done[place] for place, node in self.loops},
        )

    def attempt(self, word: Word) -> Mapping[rasp.Node, Any]:
        """Return the value of each node, or the reason why it is undefined."""
        _check(word)
        found: dict[rasp.Node, Any] = {}
        done: _Steps = []
        for step, node in zip(self.steps, self.nodes, strict=True):
            parts = (*rasp.made_of(node), *(each for _, each, _ in (step.steps if isinstance(step, Repeated) else ())))
            failed = next((found[part] for part in parts if isinstance(found[part], Undefined)), None)
            try:
                found[node] = failed or step(done, word)
            except ValueRefused as why:
                found[node] = Undefined(node, str(why), _where(step, done, word), word)
            except Undefined as undefined:
                found[node] = undefined
            done.append(found[node])
            if isinstance(step, Repeated):
                found.update({each: done[at] for at, each, _ in step.steps})
        return found


def _check(word: Word) -> None:
    if not word:
        raise InputError("the input is empty: RASP programs are defined on at least one token")


@lru_cache(maxsize=64)
def _plan(nodes: tuple[rasp.Node, ...]) -> _Plan:
    return _Plan(nodes)


MOST_PASSES = 10_000
"""A loop that states no number of passes is refused after this many."""


class Repeated:
    """The step of a loop: its first pass is made when it is reached, the others are made here.

    Args:
        places: the number of each node -> its place in the order of evaluation.
        steps: what it computes in every pass: place, node and step, in the order of evaluation.
    """

    def __init__(
        self,
        loop: rasp.Repeat,
        places: Mapping[int, int],
        steps: list[tuple[int, rasp.Node, Callable[[_Steps, Word], Any]]],
    ) -> None:
        self.steps, self._loop = steps, loop
        self._states = [places[state.number] for state in loop.states]
        self._nexts = [places[sop.number] for sop in loop.nexts]
        self._until = None if loop.until is None else places[loop.until.number]

    def __call__(self, done: _Steps, word: Word, early: int | None = None) -> int:
        """Make the passes and return their number; `done`: the values of nodes, in the end those of the last pass."""
        loop, number, seen = self._loop, 1, set[_Row]()
        while number not in (early, loop.times) and not self._ends(done):
            handed = tuple(done[place] for place in self._nexts)
            if loop.times is None and (handed in seen or number == MOST_PASSES):
                why = "what it hands to the next pass comes back" if handed in seen else f"{MOST_PASSES:,} passes are made"
                raise ValueRefused(f"the loop does not end: {why}, and its condition does not hold at every position")
            seen.add(handed)
            for place, values in zip(self._states, handed, strict=True):
                done[place] = values
            number += 1
            for place, node, step in self.steps:
                try:
                    done[place] = step(done, word)
                except ValueRefused as why:
                    raise Undefined(node, f"in pass {number} of its loop {why}", _where(step, done, word), word) from None
        return number

    def _ends(self, done: _Steps) -> bool:
        if self._until is None:
            return False
        wrong = next((value for value in done[self._until] if not isinstance(value, bool)), None)
        if wrong is not None:
            raise ValueRefused(f"the condition of a loop is true or false, not {shown(wrong)}")
        return all(done[self._until])


def _where(step: Callable[[_Steps, Word], Any], done: _Steps, word: Word) -> int | None:
    """Return the first position at which an elementwise step fails."""
    if isinstance(step, Repeated):
        return None
    for position in range(len(word)):
        part = [row[position : position + 1] if isinstance(row, tuple) else row for row in done]
        try:
            step(part, word[position : position + 1])
        except ValueRefused:
            return position
        except (IndexError, TypeError):
            return None
    return None


def _step(node: rasp.Node, places: Mapping[int, int]) -> Callable[[_Steps, Word], Any]:  # noqa: PLR0911
    """Return the function that evaluates `node`, given what came before it."""
    if isinstance(node, rasp.Tokens):
        convert = CONVERSIONS[node.conversion]
        return lambda done, word: _sequence([convert(token) for token in word])
    if isinstance(node, rasp.Indices):
        return lambda done, word: tuple(range(len(word)))
    if isinstance(node, rasp.Constant):
        value = node.value
        return lambda done, word: (value,) * len(word)
    if isinstance(node, rasp.Elementwise):
        return _elementwise(node, [places[argument.number] for argument in node.arguments])
    if isinstance(node, rasp.Select):
        return _select(node, places[node.key.number], places[node.query.number])
    if isinstance(node, rasp.Combined):
        return _combined(node, [places[part.number] for part in node.parts])
    if isinstance(node, rasp.Aggregate):
        return _aggregate(node, places[node.selector.number], places[node.values.number])
    if isinstance(node, rasp.State | rasp.Looped):
        source = places[(node.initial if isinstance(node, rasp.State) else node.value).number]
        return lambda done, word: done[source]
    if isinstance(node, rasp.Repeat):
        return lambda done, word: 1  # its step is a `Repeated`, once those of its passes are known
    raise TypeError(f"{type(node).__name__} is not a node of a program")


def _sequence(values: list[rasp.Atom]) -> tuple[rasp.Atom, ...]:
    made = tuple(values)
    if not one_type(made):
        text = next(value for value in made if isinstance(value, str))
        other = next(value for value in made if not isinstance(value, str))
        raise ValueRefused(f"a sequence cannot have both texts and other values, here {shown(text)} and {shown(other)}")
    return made


def _elementwise(node: rasp.Elementwise, at: list[int]) -> Callable[[_Steps, Word], _Row]:
    if node.operator in ("table", "in"):
        return _table(node, at[0])
    if node.operator == "if":
        then, condition, other = at
        return lambda done, word: _sequence(
            [a if c else b for a, c, b in zip(done[then], done[condition], done[other], strict=True)]
        )
    if len(at) == 1:
        unary, (only,) = UNARY[node.operator], at
        return lambda done, word: tuple([unary(value) for value in done[only]])
    binary, (left, right) = BINARY[node.operator], at
    return lambda done, word: tuple([binary(a, b) for a, b in zip(done[left], done[right], strict=True)])


def _table(node: rasp.Elementwise, at: int) -> Callable[[_Steps, Word], _Row]:
    known = dict(node.entries)
    if node.operator == "in":
        return lambda done, word: tuple([value in known for value in done[at]])

    def looked_up(done: _Steps, word: Word) -> _Row:
        missing = [value for value in done[at] if value not in known]
        if missing:
            raise ValueRefused(f"there is no entry for {shown(missing[0])}")
        return _sequence([known[value] for value in done[at]])

    return looked_up


def _select(node: rasp.Select, key: int, query: int) -> Callable[[_Steps, Word], _Row]:
    relation = RELATIONS[node.relation]

    def rows(done: _Steps, word: Word) -> _Row:
        keys, made = done[key], {}
        for q in done[query]:
            if q not in made:
                made[q] = tuple([relation(k, q) for k in keys])
        return tuple([made[q] for q in done[query]])

    return rows


def _combined(node: rasp.Combined, at: list[int]) -> Callable[[_Steps, Word], _Row]:
    if node.operator == "not":
        return lambda done, word: tuple([tuple([not entry for entry in row]) for row in done[at[0]]])
    left, right = at
    if node.operator == "and":
        return lambda done, word: tuple(
            [tuple([a and b for a, b in zip(*rows, strict=True)]) for rows in zip(done[left], done[right], strict=True)]
        )
    return lambda done, word: tuple(
        [tuple([a or b for a, b in zip(*rows, strict=True)]) for rows in zip(done[left], done[right], strict=True)]
    )


def _aggregate(node: rasp.Aggregate, selector: int, values: int) -> Callable[[_Steps, Word], _Row]:
    default = node.default

    def rows(done: _Steps, word: Word) -> _Row:
        candidates = done[values]
        made: dict[tuple[bool, ...], rasp.Atom] = {}
        numeric: bool | None = None
        for row in done[selector]:
            if row in made:
                continue
            count = sum(row)
            if count == 0:
                made[row] = default
            elif count == 1:
                made[row] = candidates[row.index(True)]
            else:
                numeric = averaged(candidates) if numeric is None else numeric
                if not numeric:
                    raise ValueRefused(_not_numeric(candidates, done[selector].index(row), count))
                made[row] = Fraction(sum(compress(candidates, row)), count)
        return _sequence([made[row] for row in done[selector]])

    return rows


def _not_numeric(candidates: tuple[rasp.Atom, ...], query: int, count: int) -> str:
    text = isinstance(candidates[0], str)
    what = "texts have no mean" if text else "truth values have no mean, but indicator(…) makes 0 and 1 of them"
    return f"position {query} selects {count} positions, and {what}"
