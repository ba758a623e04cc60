"""One plan as straight-line Python, which Numba compiles: the kernel without its loops over the plan's arrays.

`written` turns the arrays of a `Plan`, and nothing else, into the text of one function: a row of weights becomes a sum
with the weights in it, a direction that the token determines becomes a column of a table. The function runs positions
as `kernel.advance` does, operation by operation, as long as they are plain: the tail's answer is in the memo, every head
attends to one position that needs no comparison of scores, nothing has to grow, no guard fails. Grouped heads it knows in
the last layer with heads alone: there it adds the position to a group that exists, and takes the answer from the memo of
`early`, so that neither these heads nor what follows them is computed. At any other position
it stops before that position has changed anything that matters (a head would store the same numbers again), and
`advance` runs the position instead. So this code decides nothing: it is a shortcut.

Additions of literal zeros and products with 1 are omitted; neither changes a number.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any

import numpy as np

from tm2tfr.engines.fast import state as k
from tm2tfr.engines.fast.arrays import OF_POSITION, OF_TOKEN, STORED, Plan, Rows, Terms3
from tm2tfr.engines.fast.early import valid
from tm2tfr.engines.fast.fresh import GROUPED, LATEST, MEAN, PLACE, SCAN
from tm2tfr.engines.fast.groups import add_values, find_group, join
from tm2tfr.engines.fast.tail import find
from tm2tfr.transformer.matrix import Floats

MOST_LINES = 1500
"""Numba would take too long to compile a longer function; such a plan is left to the kernel."""
MOST_TABLED = 64
"""With more directions than this in the position table most of its entries are 0: such a plan is left to the kernel."""
CALLED: Mapping[str, Callable[..., Any]] = {f.__name__: f for f in (find, find_group, valid, join, add_values)}
"""The compiled functions that the code calls."""
_ZERO, _ONE = "0.0", "1.0"
_POINT = ("f0", "1.0", "f2", "f3")
"""The features at this position, by their codes."""


def written(plan: Plan) -> tuple[str, Floats, Floats] | None:
    """Return (text of the function ``run``, its table by token, that by position); None if the plan does not allow it."""
    heads = plan.heads
    early = np.arange(len(heads.kind)) >= (heads.layer[plan.early.layer] if plan.early.layer >= 0 else len(heads.kind))
    if SCAN in heads.kind.tolist() or (heads.kind[~early] == GROUPED).any() or not len(heads.kind):
        return None
    for g in np.flatnonzero(heads.kind == PLACE).tolist():
        ends = heads.key_terms.start[[int(heads.component[g]), int(heads.component[g + 1])]]
        if ends[1] - ends[0] != 2:  # constants besides γj + δj²: the kernel must compute scores
            return None
    if len(np.unique(plan.table.number)) > MOST_TABLED:
        return None
    writer = _Writer(plan)
    text = writer.function()
    return None if len(writer.lines) > MOST_LINES else (text, writer.table(), _by_position(plan.table))


def _by_position(table: Rows) -> Floats:
    """Return the position table as numbers: (positions, directions that it writes)."""
    directions, places = np.unique(table.number, return_inverse=True)
    numbers = np.zeros((len(table.start) - 1, len(directions)))
    numbers[np.repeat(np.arange(len(numbers)), np.diff(table.start)), places] = table.weight
    return numbers


def compiled(text: str) -> Callable[..., Any]:
    """Compile the text of ``run``; nothing is kept on disk."""
    names: dict[str, Any] = {"np": np, **CALLED}
    exec(compile(text, "<plan>", "exec"), names)
    run: Callable[..., Any] = k.compiled_once(names["run"])
    return run


class _Writer:
    """The lines of the function while they grow, with what is known about the stream at that point."""

    def __init__(self, plan: Plan) -> None:
        self.plan, self.lines, self.indent = plan, list[str](), 8
        vocabulary = len(plan.tail.logit_bias)
        self._vocabulary = vocabulary
        self._moved: dict[int, str] = {}  # direction -> the variable that holds it; all others go by the token
        self._held = [_entries(plan.body.token, token) for token in range(vocabulary)]
        self._columns: dict[bytes, tuple[str, Floats]] = {}
        self._names = 0

    # ── words ───────────────────────────────────────────────────────────────────────────────────────────────
    def add(self, *lines: str) -> None:
        self.lines += [" " * self.indent + line for line in lines]

    def let(self, expression: str) -> str:
        """Add a variable and return its name; one that is just another name is not needed."""
        if expression.isidentifier():
            return expression
        name = f"a{self._names}"
        self._names += 1
        self.add(f"{name} = {expression}")
        return name

    def leave_if(self, condition: str) -> None:
        self.add(f"if {condition}:", "    break")

    def read(self, direction: int) -> str:
        """Return the expression of a direction's current value."""
        if direction in self._moved:
            return self._moved[direction]
        return self.by_token(np.array([held.get(direction, 0.0) for held in self._held]))

    def by_token(self, column: Floats) -> str:
        """Return the expression of a number that the token determines."""
        column = column + 0.0
        if (column == column[0]).all():
            return _literal(column[0])
        known = self._columns.get(column.tobytes())
        if known is None:
            known = (self.let(f"table[t, {len(self._columns)}]"), column)
            self._columns[column.tobytes()] = known
        return known[0]

    def table(self) -> Floats:
        """Return the table by token: (vocabulary, columns)."""
        columns = [column for _, column in self._columns.values()]
        return np.array(columns, dtype=np.float64).reshape(len(columns), self._vocabulary).T.copy()

    def total(self, terms: Iterable[tuple[str, float]], start: str = _ZERO) -> str:
        """Return the sum of (expression, weight) from left to right; it is never -0.0 if no expression is."""
        text = start
        for value, weight in terms:
            if _ZERO in (value, product := _product(weight, value)):
                continue
            alone = text == _ZERO and weight >= 1.0 and "-" not in value
            text = product if alone else f"{text} + {product}"
        return text

    def row(self, table: Rows, r: int) -> str:
        return self.total((self.read(c), weight) for c, weight in _entries(table, r).items())

    def pure(self, table: Terms3, r: int, features: tuple[str, ...]) -> str:
        """Return a combination of position features."""
        cut = slice(int(table.start[r]), int(table.start[r + 1]))
        columns = (table.feature, table.embedded, table.weight)
        terms = zip(*(column[cut].tolist() for column in columns), strict=True)
        return self.total((_product(embedded, features[f]), weight) for f, embedded, weight in terms)

    # ── the parts of a position ─────────────────────────────────────────────────────────────────────────────
    def function(self) -> str:
        """Return the text of the function."""
        heads, body = self.plan.heads, self.plan.body
        for r, place in enumerate(body.place_row.tolist()):
            entries = _entries(body.place, r)
            total = self.total((_POINT[int(self.plan.features[f])], weight) for f, weight in entries.items())
            self._moved[place] = self.let(_plus(self.read(place), total))
        for n, direction in enumerate(np.unique(self.plan.table.number).tolist()):
            self._moved[direction] = self.let(_plus(self.read(direction), f"places[u, {n}]"))
        early = self.plan.early.layer
        for layer in range(early if early >= 0 else self.plan.tail.first):
            inside = range(int(heads.layer[layer]), int(heads.layer[layer + 1]))
            queries = {g: self._query(g) for g in inside}
            means: dict[int, str] = {}
            for g in inside:
                means |= self._attend(g, queries[g])
            self._write(inside, means)
            self._feed_forward(layer)
        if early >= 0:
            self._finish_early()
        else:
            self._finish()
        sums = [n for n in range(len(heads.value_kind)) if self._sums(n)]
        spans = [(g, int(heads.slot[g])) for g in range(len(heads.kind)) if heads.kind[g] == LATEST]
        before = [
            "def run(s, pools, control, answers, codes, numbers, limit, table, heads, places):",
            f"    i, token, n = control[{k.POSITION}], control[{k.NEXT}], control[{k.COUNT}]",
            "    start, stopped = n, False",
            *(f"    sum{n} = s.sums[{n}]" for n in sums),
            *(f"    low{g}, high{g}, zero{g} = s.span[{s}, 0], s.span[{s}, 1], s.span[{s}, 2]" for g, s in spans),
            "    while n < limit:",
            "        t, u, i1, f2 = np.uint64(token), np.uint64(i), np.float64(i + 1), np.float64(i)",
            "        f0, f3 = 1.0 / i1, np.float64(i * i)",
            "        s.tokens[i] = token",
        ]
        after = [
            *(f"        sum{n} = next{n}" for n in sums),
            "        i, n = i + 1, n + 1",
            "        if s.stop[token]:",
            "            stopped = True",
            "            break",
            *(f"    s.sums[{n}] = sum{n}" for n in sums),
            f"    control[{k.POSITION}], control[{k.NEXT}], control[{k.COUNT}] = i, token, n",
            f"    control[{k.HITS}] += n - start",
            f"    return {k.STOPPED} if stopped else {k.DONE}",
        ]
        return "\n".join([*before, *self.lines, *after, ""])

    def _sums(self, n: int) -> bool:
        heads = self.plan.heads
        g = int(np.searchsorted(heads.value, n, side="right")) - 1
        return bool(heads.kind[g] == MEAN and heads.value_kind[n] == STORED)

    def _query(self, g: int) -> dict[int, str]:
        """Compute a head's query, and check what `attention.prepare` checks; return component -> variable."""
        h = self.plan.heads
        query = {c: self.let(self.row(h.query, c)) for c in range(int(h.component[g]), int(h.component[g + 1]))}
        linear, square = int(h.linear[g]), int(h.square[g])
        if h.kind[g] == PLACE:
            self.add(f"l{g} = {_product(float(h.linear_weight[g]), query[linear])}")
            self.add(f"q{g} = {_product(float(h.square_weight[g]), query[square])}")
        elif h.kind[g] == LATEST:
            self.add(f"l{g}, q{g} = {query[linear]}, {query[square]}")
            self.add(f"key{g} = {self.row(h.key, linear)}", f"square{g} = {self.row(h.key, square)}")
            whole = f"abs(key{g}) < 1e9 and key{g} == np.rint(key{g}) and square{g} == key{g} * key{g}"
            self.leave_if(f"not ({whole})")
            self.add(f"at{g} = np.int64(key{g}) + zero{g}")
            self.leave_if(f"at{g} < 0 or at{g} >= s.group_position.shape[1]")
        if h.kind[g] != MEAN:
            self.leave_if(f"not (q{g} < {-k.TINY!r} and abs(l{g}) < np.inf)")
            self.add(f"v{g} = -l{g} / (2.0 * q{g})")
        return query

    def _attend(self, g: int, query: dict[int, str]) -> dict[int, str]:
        """Store this position, find the one attended to, and return its values: value component -> expression."""
        h = self.plan.heads
        values = range(int(h.value[g]), int(h.value[g + 1]))
        rows = {n: self.let(self.row(h.value_row, n)) for n in values if h.value_kind[n] == STORED}
        if h.kind[g] == MEAN:
            self.add(*(f"next{n} = sum{n} + {row}" for n, row in rows.items()))
            return {n: self.let(f"next{n} / i1") for n in rows}
        if h.kind[g] == PLACE:
            self.add(*(f"s.hist[i, {h.value_place[n]}] = {row}" for n, row in rows.items()))
            self._find_place(g)
            stored, token = f"s.hist[j{g}, {{}}]", f"s.tokens[np.uint64(j{g})]"
        else:
            self._store_latest(g, rows)
            self._find_latest(g, query)
            place = f"[{h.slot[g]}, np.uint64(w{g})"
            self.add(f"j{g} = s.group_position{place}]")
            stored, token = f"s.group_value{place}, {{}}]", f"s.group_token{place}]"
        self.add(f"g{g} = np.float64(j{g})")
        there = (f"(1.0 / np.float64(j{g} + 1))", _ONE, f"g{g}", f"np.float64(j{g} * j{g})")
        if OF_TOKEN in h.value_kind[values.start : values.stop].tolist():
            self.add(f"t{g} = np.uint64({token})")
        means = {}
        for n in values:
            if h.value_kind[n] == OF_TOKEN:
                means[n] = self.let(f"heads.value_of_token[t{g}, {h.value_place[n]}]")
            elif h.value_kind[n] == OF_POSITION:
                means[n] = self.let(self.pure(h.value_terms, n, there))
            else:
                means[n] = self.let(stored.format(h.value_place[n]))
        return means

    def _find_place(self, g: int) -> None:
        """As `attention._select_position`, where no score has to be computed."""
        self.add(
            f"if v{g} <= 0.0:",
            f"    j{g} = 0",
            f"elif v{g} >= f2:",
            f"    j{g} = i",
            "else:",
            f"    j{g} = np.int64(np.rint(v{g}))",
        )
        near = f"abs(v{g}) + 2.0 < 2e6 and abs(j{g} - v{g}) <= 0.25"
        self.leave_if(f"not (v{g} <= 0.0 or v{g} >= 2.0 * f2 or ({near}))")

    def _store_latest(self, g: int, rows: dict[int, str]) -> None:
        """As `attention._store`."""
        h = self.plan.heads
        slot, place = h.slot[g], f"[{h.slot[g]}, at{g}"
        self.add(
            f"k{g} = np.int64(key{g})",
            f"if k{g} < low{g}:",
            f"    low{g} = s.span[{slot}, 0] = k{g}",
            f"if k{g} > high{g}:",
            f"    high{g} = s.span[{slot}, 1] = k{g}",
        )
        stores = [f"s.group_position{place}], s.group_token{place}] = i, token"]
        stores += [f"s.group_value{place}, {h.value_place[n]}] = {row}" for n, row in rows.items()]
        if h.sign[g] > 0:
            self.add(*stores)
        else:
            self.add(f"if s.group_position{place}] < 0:", *(f"    {line}" for line in stores))

    def _find_latest(self, g: int, query: dict[int, str]) -> None:
        """As `attention._select_latest`, where the nearest key is there and wins against its neighbours."""
        h = self.plan.heads
        tie = int(h.tie[g])
        self.add(
            f"if v{g} <= low{g}:",
            f"    k{g} = low{g}",
            f"elif v{g} >= high{g}:",
            f"    k{g} = high{g}",
            "else:",
            f"    k{g} = np.int64(np.rint(v{g}))",
            f"w{g} = k{g} + zero{g}",
        )
        self.leave_if(f"s.group_position[{h.slot[g]}, w{g}] < 0")
        sizes = [f"abs({query[c]} * ({self.pure(h.key_terms, c, _POINT)}))" for c in query if h.key_kind[c] == 2]
        spread = f"abs({query[tie]} * ({self.pure(h.key_terms, tie, _POINT)}))"
        self.add(
            f"m{g} = np.float64(max(abs(low{g}), abs(high{g})))",
            f"size{g} = " + " + ".join([f"abs(l{g}) * m{g} + abs(q{g}) * m{g} * m{g}", *sizes]),
            f"d{g} = k{g} - v{g}",
            f"bound{g} = d{g} * d{g} + ({spread} + 16.0 * {k.U!r} * size{g}) / abs(q{g})",
            f"left{g}, right{g} = v{g} - (k{g} - 1), k{g} + 1 - v{g}",
        )
        left = f"k{g} == low{g} or left{g} * left{g} > bound{g}"
        right = f"k{g} == high{g} or right{g} * right{g} > bound{g}"
        self.leave_if(f"not (({left}) and ({right}))")

    def _write(self, heads: range, means: dict[int, str]) -> None:
        """Add the heads' outputs to the stream."""
        h = self.plan.heads
        for g in heads:
            for r in range(int(h.output[g]), int(h.output[g + 1])):
                terms = ((means[n], weight) for n, weight in _entries(h.output_terms, r).items())
                direction = int(h.output_row[r])
                self._moved[direction] = self.let(_plus(self.read(direction), self.total(terms)))

    def _feed_forward(self, layer: int) -> None:
        body = self.plan.body
        hidden = {}
        for u in range(int(body.layer_units[layer]), int(body.layer_units[layer + 1])):
            seed = int(body.seed[u])
            start = self.by_token(body.seeds[:, seed]) if seed >= 0 else _ZERO
            total = self.total(((self.read(c), w) for c, w in _entries(body.unit, u).items()), start)
            hidden[u] = self.let(f"max({_plus(_literal(body.bias[u]), total)}, 0.0)")
        added = []
        for r in range(int(body.layer_rows[layer]), int(body.layer_rows[layer + 1])):
            total = self.total((hidden[u], weight) for u, weight in _entries(body.row_units, r).items())
            direction = int(body.row[r])
            total = _plus(_plus(self.read(direction), total), _literal(body.row_bias[r]))
            added.append((direction, self.let(total)))
        self._moved |= dict(added)
        for token in range(self._vocabulary):
            self._held[token] |= _entries(body.assigned, layer * self._vocabulary + token)

    def _finish_early(self) -> None:
        """As `attention.attend` and the rest, with the answer from the memo of `early`: nothing is stored before that."""
        h, early = self.plan.heads, self.plan.early
        heads = range(int(h.layer[early.layer]), int(h.layer[early.layer + 1]))
        rows: dict[int, dict[int, str]] = {}
        for g in heads:
            first, size = int(h.component[g]), int(h.component[g + 1] - h.component[g])
            self.add(*(f"pools.keys[{c}] = {self.row(h.key, c)}" for c in range(first, first + size)))
            self.add(f"own{g}, _ = find_group(pools, {h.pool[g]}, {first}, {size})")
            self.leave_if(f"own{g} < 0")
            values = range(int(h.value[g]), int(h.value[g + 1]))
            rows[g] = {n: self.let(self.row(h.value_row, n)) for n in values if h.value_kind[n] == STORED}
        self.add(*(f"pools.early_values[{n}] = {self.read(c)}" for n, c in enumerate(early.key.tolist())))
        self.add("early, _ = find(pools.early_slot, pools.early_token, pools.early_key, pools.early_bits, token)")
        self.leave_if("early < 0")
        for g in heads:
            self.leave_if(f"not valid(pools, early, {h.pool[g]}, own{g})")
        for g in heads:
            self.add(f"join(heads.given, pools, {h.pool[g]}, own{g}, {int(h.pool[g]) * self._vocabulary} + token)")
            self.add(*(f"pools.values[{h.value_place[n]}] = {value}" for n, value in rows[g].items()))
            for first, last in _stretches(int(h.value_place[n]) for n in rows[g]):
                self.add(f"add_values(pools, {h.pool[g]}, own{g}, {first}, {last})")
        self.add("entry = np.int64(pools.early_answer[early])")
        self._recall()

    def _finish(self) -> None:
        """As `tail.finish`, with the answer from the memo."""
        for n, direction in enumerate(self.plan.tail.key.tolist()):
            self.add(f"s.key_values[{n}] = {self.read(direction)}")
        self.add("entry, _ = find(s.memo_slot, s.memo_token, s.memo_bits, s.key_bits, token)")
        self.leave_if("entry < 0")
        self._recall()

    def _recall(self) -> None:
        """Read the probes and the answer."""
        p = self.plan.probes
        for n, (start, stop) in enumerate(zip(p.label_start.tolist(), p.label_stop.tolist(), strict=True)):
            self.add(f"codes[n, {n}] = s.memo_codes[entry, {n}]" if p.label_memo[n] else "code = -1")
            for c in range(start, stop) if not p.label_memo[n] else ():
                value = self.read(c)
                self.add(f"if {value} != 0.0:", f"    code = {c - start} if code == -1 and {value} == 1.0 else -2")
            if not p.label_memo[n]:
                self.add(f"codes[n, {n}] = code")
        for n, direction in enumerate(p.number.tolist()):
            value = f"s.memo_numbers[entry, {n}]" if p.number_memo[n] else self.read(direction)
            self.add(f"numbers[n, {n}] = {value}")
        self.add("token = np.int64(s.memo_answer[entry])", "answers[n] = token")


def _stretches(numbers: Iterable[int]) -> list[tuple[int, int]]:
    """Return ascending numbers as ranges (first, last + 1)."""
    found: list[tuple[int, int]] = []
    for number in numbers:
        if found and found[-1][1] == number:
            found[-1] = (found[-1][0], number + 1)
        else:
            found.append((number, number + 1))
    return found


def _entries(table: Rows, r: int) -> dict[int, float]:
    cut = slice(int(table.start[r]), int(table.start[r + 1]))
    return dict(zip(table.number[cut].tolist(), table.weight[cut].tolist(), strict=True))


def _literal(number: float) -> str:
    return repr(float(number))


def _product(weight: float, value: str) -> str:
    """Return the product of a weight and an expression that is a name, a call or a literal."""
    if value == _ZERO or weight == 1.0:
        return value
    if value == _ONE:
        return _literal(weight)
    return f"{_literal(weight)} * ({value})" if "*" in value else f"{_literal(weight)} * {value}"


def _plus(first: str, second: str) -> str:
    """Return the sum of two expressions that are never -0.0."""
    if _ZERO in (first, second):
        return first if second == _ZERO else second
    return f"{first} + ({second})"
