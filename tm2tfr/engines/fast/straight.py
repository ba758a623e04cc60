"""One plan as straight-line Python, which Numba compiles: the kernel without its loops over the plan's arrays.

`written` turns the arrays of a `Laid`, and nothing else, into the text of one function: a row of weights becomes a sum
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

from collections.abc import Callable, Sequence

import numpy as np

from tm2tfr.engines.fast import arrays as k
from tm2tfr.engines.fast import expressions
from tm2tfr.engines.fast.arrays import OF_POSITION, OF_TOKEN, STORED, Laid
from tm2tfr.engines.fast.fresh import GROUPED, LATEST, MEAN, PLACE, SCAN
from tm2tfr.transformer.matrix import Floats

MOST_LINES = 1500
"""Numba would take too long to compile a longer function; such a plan is left to the kernel."""
MOST_TABLED = 64
"""With more directions than this in the position table most of its entries are 0: such a plan is left to the kernel."""
MOST_CELLS = 10**8
"""With keys from a wider range than this, a place for a key does not say that the key is small."""
NEAR = 10**6
"""Up to here a head finds the one position within 1/4 of the maximum of its scores: see `attention`."""
MOST_GUESSED = 2**14
"""The number of entries of the memo that are looked for at once, by the tokens attended to."""
MOST_BITS = 62
"""The tokens attended to are packed into one number if they need at most this many bits."""
GOLDEN = 0x9E3779B97F4A7C15
_POINT = ("f0", "1.0", "f2", "f3")
"""The features at this position, by their codes."""
_HEAD = """def run(s, pools, control, answers, codes, numbers, limit, tables, heads, places):
    table, whole, given_by = tables.by_token, tables.whole, tables.given"""
_TAIL = f"    return {k.STOPPED} if stopped else {k.DONE}"


def written(plan: Laid, *, turns: bool = False) -> tuple[str, expressions.Tables, Floats] | None:
    """Return (text of the function ``run``, its tables, that by position); None if the plan does not allow it.

    Args:
        turns: run after run, see `turns`.
    """
    heads = plan.heads
    early = np.arange(len(heads.kind)) >= (heads.layer[plan.early.layer] if plan.early.layer >= 0 else len(heads.kind))
    if SCAN in heads.kind.tolist() or (heads.kind[~early] == GROUPED).any() or not len(heads.kind):
        return None
    for g in np.flatnonzero(heads.kind == PLACE).tolist():
        ends = heads.key_terms.start[[int(heads.component[g]), int(heads.component[g + 1])]]
        if ends[1] - ends[0] != 2:  # constants besides γj + δj²: the kernel must compute scores
            return None
    if len(expressions.placed(plan.table)) > MOST_TABLED:
        return None
    writer = _Writer(plan)
    text = writer.function(turns=turns)
    if len(writer.lines) > MOST_LINES:
        return None
    return text, writer.tables(plan.heads.value_of_token), expressions.by_position(plan.table)


class _Writer(expressions.Expressions):
    """The lines of the function while they grow, with what is known about the stream at that point."""

    def __init__(self, plan: Laid) -> None:
        super().__init__(
            len(plan.tail.logit_bias),
            [expressions.entries_of(plan.body.token, t) for t in range(len(plan.tail.logit_bias))],
        )
        self.plan = plan
        self._maxima: dict[int, str | None] = {}  # by head: the guess of its v
        self._summed: dict[int, float] = {}  # of a mean's values, those whose running sum is a multiple of an integer
        self._attended = ["t"]  # the tokens that are attended to
        self._farthest: dict[int, list[str]] = {}  # by head: the lines of what follows from its outermost keys

    # ── the parts of a position ─────────────────────────────────────────────────────────────────────────────
    def function(self, *, turns: bool) -> str:
        """Return the text of the function."""
        heads, body = self.plan.heads, self.plan.body
        for r, place in enumerate(body.place_row.tolist()):
            entries = expressions.entries_of(body.place, r)
            total = self.total((_POINT[int(self.plan.features[f])], weight) for f, weight in entries.items())
            self._moved[place] = self.let(self.plus(self.read(place), total))
        for n, direction in enumerate(expressions.placed(self.plan.table).tolist()):
            self._moved[direction] = self.let(self.plus(self.read(direction), f"places[u, {n}]"))
        early = self.plan.early.layer
        for layer in range(early if early >= 0 else self.plan.tail.first):
            inside = range(int(heads.layer[layer]), int(heads.layer[layer + 1]))
            queries = {g: self._query(g) for g in inside}
            self._find_places([g for g in inside if heads.kind[g] == PLACE])
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
            f"    i, token, n = control[{k.POSITION}], control[{k.NEXT}], control[{k.COUNT}]",
            "    start, stopped, f2 = n, False, np.float64(i)",
            *(f"    sum{n} = s.sums[{n}]" for n in sums),
            *(f"    whole{n} = np.int64(np.rint(sum{n} / {times!r}))" for n, times in self._summed.items()),
            *(f"    low{g}, high{g}, zero{g} = s.span[{s}, 0], s.span[{s}, 1], s.span[{s}, 2]" for g, s in spans),
            *(f"    {line}" for g, _ in spans for line in self._farthest[g]),
            "    cells = np.uint64(s.group_position.shape[1])",
            *(f"    limit = n if cells > {MOST_CELLS} or abs(zero{g}) > {MOST_CELLS} else limit" for g, _ in spans),
            "    while n < limit:",
            *(expressions.FED if turns else ()),
            "        t, u, p, i1 = np.uint64(token), np.uint64(i), np.uint64(n), f2 + 1.0",
            "        f0, f3 = 1.0 / i1, f2 * f2",
            "        s.tokens[u] = token",
            f"        near = min(i, {NEAR})",
        ]
        after = [
            *(f"        sum{n} = next{n}" for n in sums),
            *(f"        whole{n} = near{n}" for n in self._summed),
            "        i, n, f2 = i + 1, n + 1, i1",
            f"        if s.stop[np.uint64(token)]{' and i >= fed' if turns else ''}:",
            "            stopped = True",
            "            break",
            *(f"    s.sums[{n}] = sum{n}" for n in sums),
            f"    control[{k.POSITION}], control[{k.NEXT}], control[{k.COUNT}] = i, token, n",
            f"    control[{k.HITS}] += n - start",
        ]
        lines = [self.widths(), *before, *self.lines, *after]
        return "\n".join([*expressions.in_turns(lines), ""] if turns else [_HEAD, *lines, _TAIL, ""])

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
            self.add(f"l{g} = {expressions.product_of(float(h.linear_weight[g]), query[linear])}")
            self.add(f"q{g} = {expressions.product_of(float(h.square_weight[g]), query[square])}")
        elif h.kind[g] == LATEST:
            self.add(f"l{g}, q{g} = {query[linear]}, {query[square]}")
            key = self.row(h.key, linear)
            self.add(f"key{g} = {key}", f"square{g} = {self.row(h.key, square)}")
            guess = self.guess_of(key)
            integer = None if guess is None else guess.integer
            if integer is not None:
                self.add(f"k{g} = {integer}")
            whole = f"key{g} == " + (f"np.rint(key{g})" if integer is None else expressions.in_floats(integer))
            small = f"abs(key{g}) < 1e9 and " if integer is None else ""  # otherwise there is a place for the key
            self.leave_if(f"not ({small}{whole} and square{g} == key{g} * key{g})")
            if integer is None:
                self.add(f"k{g} = np.int64(key{g})")
            self.add(f"at{g} = np.uint64(k{g} + zero{g})")  # what is below 0 is above all cells
            self.leave_if(f"at{g} >= cells")
        if h.kind[g] != MEAN:
            factors = [float(w[g]) if h.kind[g] == PLACE else 1.0 for w in (h.linear_weight, h.square_weight)]
            pair = [self.total_guess(query[c], w) for c, w in zip((linear, square), factors, strict=True)]
            self._maxima[g] = expressions.guess_of_maximum(*pair)
            finite = "" if self._maxima[g] else f" and abs(l{g}) < np.inf"  # v is compared with a guess, which is finite
            self.leave_if(f"not (q{g} < {-k.TINY!r}{finite})")
            self.add(f"v{g} = l{g} / (-2.0 * q{g})")
        return query

    def _attend(self, g: int, query: dict[int, str]) -> dict[int, str]:
        """Store this position, find the one attended to, and return its values: value component -> expression."""
        h = self.plan.heads
        values = range(int(h.value[g]), int(h.value[g + 1]))
        rows = {n: self.let(self.row(h.value_row, n)) for n in values if h.value_kind[n] == STORED}
        if h.kind[g] == MEAN:
            self.add(*(f"next{n} = sum{n} + {row}" for n, row in rows.items()))
            for n, row in rows.items():
                guess = self.guess_of(row)
                if guess is not None and not guess.share:
                    self._summed[n] = float(guess.times)
                    self.add(f"near{n} = whole{n} + {guess.text}")
                    self.guess(f"next{n} / i1", expressions.Guess(f"near{n}", guess.times, share=True))
            return {n: self.let(f"next{n} / i1") for n in rows}
        if h.kind[g] == PLACE:
            self.add(*(f"s.hist[u, {h.value_place[n]}] = {row}" for n, row in rows.items()))
            stored, token = f"s.hist[np.uint64(j{g}), {{}}]", f"s.tokens[np.uint64(j{g})]"
        else:
            self._farthest[g] = [f"m{g} = np.float64(max(abs(low{g}), abs(high{g})))"]
            if (square := self.constant(query[int(h.square[g])])) is not None:
                self._farthest[g].append(f"enough{g} = {abs(square)!r} * (0.9 - 64.0 * {k.U!r} * m{g} * m{g})")
            self._store_latest(g, rows)
            self._find_latest(g, query)
            place = f"[{h.slot[g]}, w{g}"
            self.add(f"j{g} = s.group_position{place}]")
            stored, token = f"s.group_value{place}, {{}}]", f"s.group_token{place}]"
        if h.kind[g] == LATEST:
            self.add(f"g{g} = np.float64(j{g})")
        self.guess(f"g{g}", expressions.Guess(f"j{g}"))
        self.guess(f"g{g} * g{g}", expressions.Guess(f"j{g} * j{g}"))
        there = (f"(1.0 / np.float64(j{g} + 1))", expressions.ONE, f"g{g}", f"g{g} * g{g}")  # the square is rounded once
        if OF_TOKEN in h.value_kind[values.start : values.stop].tolist():
            self.add(f"t{g} = np.uint64({token})")
            self._attended.append(f"t{g}")
            self._by_tokens.add(f"t{g}")
        means = {}
        for n in values:
            if h.value_kind[n] == OF_TOKEN:
                means[n] = self.let(
                    expressions.in_row("given_by", f"t{g}", h.value_of_token.shape[1], int(h.value_place[n]))
                )
            elif h.value_kind[n] == OF_POSITION:
                means[n] = self.let(self.pure(h.value_terms, n, there))
            else:
                means[n] = self.let(stored.format(h.value_place[n]))
        return means

    def _find_places(self, heads: Sequence[int]) -> None:
        """As `attention._select_position` for these heads, where no score has to be computed; all guesses at once."""
        guesses = {g: guess for g in heads if (guess := self._maxima[g]) is not None}
        self.add(*(f"j{g} = {guess}" for g, guess in guesses.items()), *(f"g{g} = np.float64(j{g})" for g in guesses))
        inside, apart = (f"near >= j{g} >= 0" for g in guesses), (f"abs(g{g} - v{g})" for g in guesses)
        if guesses:
            self.add(f"if not ({' and '.join(inside)} and {' + '.join(apart)} <= 0.25):")
        for g in [*guesses, *(g for g in heads if g not in guesses)]:
            near = f"abs(v{g}) + 2.0 < 2e6 and abs(j{g} - v{g}) <= 0.25"
            exact = [f"if not (v{g} <= 0.0 or v{g} >= 2.0 * f2 or ({near})):", "    break", f"g{g} = np.float64(j{g})"]
            exact = [f"if v{g} <= 0.0:", f"    j{g} = 0", f"elif v{g} >= f2:", f"    j{g} = i", *exact]
            exact[4:4] = ["else:", f"    j{g} = np.int64(np.rint(v{g}))"]
            if g in guesses:  # below NEAR, what is within 1/4 of v is alone, whatever v is, and v is finite
                exact[:0] = [f"if not abs(l{g}) < np.inf:", "    break"]
                exact = [
                    f"    if not (0 <= j{g} <= near and abs(g{g} - v{g}) <= 0.25):",
                    *(f"        {line}" for line in exact),
                ]
            self.add(*exact)

    def _store_latest(self, g: int, rows: dict[int, str]) -> None:
        """As `attention._store`."""
        h = self.plan.heads
        slot, place = h.slot[g], f"[{h.slot[g]}, at{g}"
        farthest = [f"    {line}" for line in self._farthest[g]]
        self.add(f"if k{g} < low{g}:", f"    low{g} = s.span[{slot}, 0] = k{g}", *farthest)
        self.add(f"if k{g} > high{g}:", f"    high{g} = s.span[{slot}, 1] = k{g}", *farthest)
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
        guess = self._maxima[g]
        if guess is None:
            self.add(f"if v{g} <= low{g}:", f"    k{g} = low{g}", f"elif v{g} >= high{g}:", f"    k{g} = high{g}", "else:")
            self.add(f"    k{g} = np.int64(np.rint(v{g}))")
        else:
            self.add(f"r{g}, guess{g} = {guess}, {expressions.in_floats(guess)}")
            self.leave_if(f"guess{g} != v{g}")
            self.add(f"k{g} = min(max(r{g}, low{g}), high{g})")
        self.add(f"w{g} = np.uint64(k{g} + zero{g})")
        self.leave_if(f"s.group_position[{h.slot[g]}, w{g}] < 0")
        sizes = [f"abs({query[c]} * ({self.pure(h.key_terms, c, _POINT)}))" for c in query if h.key_kind[c] == 2]
        spread = f"abs({query[tie]} * ({self.pure(h.key_terms, tie, _POINT)}))"
        size = " + ".join([f"abs(l{g}) * m{g} + abs(q{g}) * m{g} * m{g}", *sizes])
        more = f"more{g} = ({spread} + 16.0 * {k.U!r} * ({size})) / abs(q{g})"
        left = f"k{g} == low{g} or left{g} * left{g} > bound{g}"
        right = f"k{g} == high{g} or right{g} * right{g} > bound{g}"
        general = [
            more,
            f"d{g} = k{g} - v{g}",
            f"bound{g} = d{g} * d{g} + more{g}",
            f"left{g}, right{g} = v{g} - (k{g} - 1), k{g} + 1 - v{g}",
            f"if not (({left}) and ({right})):",
            "    break",
        ]
        if guess is None:
            self.add(*general)
            return
        # where k is v itself, the neighbours are at distance 1, and |l| is 2·|q·v| and v at most m: then `more` is at most
        # (spread + 48·U·|q|·m²) / |q|, but for a few roundings
        near = f"{spread} < enough{g}" if len(self._farthest[g]) > 1 and len(sizes) == 1 else "False"
        self.add(f"if not (k{g} == r{g} and {near}):", *(f"    {line}" for line in general))

    def _write(self, heads: range, means: dict[int, str]) -> None:
        """Add the heads' outputs to the stream."""
        h = self.plan.heads
        for g in heads:
            for r in range(int(h.output[g]), int(h.output[g + 1])):
                terms = ((means[n], weight) for n, weight in expressions.entries_of(h.output_terms, r).items())
                direction = int(h.output_row[r])
                self._moved[direction] = self.let(self.plus(self.read(direction), self.total(terms)))

    def _feed_forward(self, layer: int) -> None:
        body = self.plan.body
        hidden = {}
        for u in range(int(body.layer_units[layer]), int(body.layer_units[layer + 1])):
            seed = int(body.seed[u])
            start = self.by_token(body.seeds[:, seed]) if seed >= 0 else expressions.ZERO
            total = self.total(((self.read(c), w) for c, w in expressions.entries_of(body.unit, u).items()), start)
            total = self.plus(expressions.as_literal(body.bias[u]), total)
            guess = self.guess_of(total)
            hidden[u] = self.let(self.guess(f"max({total}, 0.0)", None if guess is None else guess.rectified()))
        added = []
        for r in range(int(body.layer_rows[layer]), int(body.layer_rows[layer + 1])):
            total = self.total((hidden[u], weight) for u, weight in expressions.entries_of(body.row_units, r).items())
            direction = int(body.row[r])
            total = self.plus(self.plus(self.read(direction), total), expressions.as_literal(body.row_bias[r]))
            added.append((direction, self.let(total)))
        self._moved |= dict(added)
        for token in range(self._vocabulary):
            self._held[token] |= expressions.entries_of(body.assigned, layer * self._vocabulary + token)

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
            for first, last in expressions.stretches(int(h.value_place[n]) for n in rows[g]):
                self.add(f"add_values(pools, {h.pool[g]}, own{g}, {first}, {last})")
        self.add("entry = np.int64(pools.early_answer[early])")
        self.add("e = np.uint64(entry)", "following = np.int64(s.memo_answer[e])")
        self._recall("s.memo_codes[e, {}]".format, "s.memo_numbers[e, {}]".format)

    def _finish(self) -> None:
        """As `tail.finish`, with the answer from the memo."""
        read = [self.read(direction) for direction in self.plan.tail.key.tolist()]
        number, place = self._guess()
        self.add(f"context = np.int64({number})", f"guess = {place}", "following = tables.following[guess]")
        # of one context all that follows from the tokens is the same, unless they are too many for a number
        compared = [n for n, value in enumerate(read) if self._unlike or not self.by_tokens(value)]
        self.add(*(f"bits{n} = np.float64({read[n]}).view(np.int64)" for n in compared))
        names = [*(f"bits{n}" for n in compared), *(["token"] if self._unlike else [])]
        bits = {expressions.in_row("tables.bits", "guess", len(names), n): name for n, name in enumerate(names)}
        p = self.plan.probes
        self._kept = len(names), len(p.label_memo), len(p.number_memo)
        kept = [(self._code_kept(n), f"s.memo_codes[e, {n}]") for n in np.flatnonzero(p.label_memo).tolist()]
        kept += [(self._number_kept(n), f"s.memo_numbers[e, {n}]") for n in np.flatnonzero(p.number_memo).tolist()]
        unlike = ["tables.contexts[guess] != context", *(f"{there} != {name}" for there, name in bits.items())]
        self.add(
            f"if {' or '.join(unlike)}:",
            *(f"    s.key_values[{n}] = {self.definition(value)}" for n, value in enumerate(read)),
            "    entry, _ = find(s.memo_slot, s.memo_token, s.memo_bits, s.key_bits, token)",
            "    if entry < 0:",
            "        break",
            "    e = np.uint64(entry)",
            "    following = np.int64(s.memo_answer[e])",
            "    tables.contexts[guess], tables.following[guess] = context, following",
            *(f"    {place} = {value}" for place, value in [*bits.items(), *kept]),
        )
        self._recall(self._code_kept, self._number_kept)

    def _code_kept(self, n: int) -> str:
        """Return the place in the tables of a label that the answer's memo has."""
        return expressions.in_row("tables.codes", "guess", self._kept[1], n)

    def _number_kept(self, n: int) -> str:
        """Return the place in the tables of a number that the answer's memo has."""
        return expressions.in_row("tables.numbers", "guess", self._kept[2], n)

    def _guess(self) -> tuple[str, str]:
        """Return the expressions of the tokens attended to as one number, and of its place in `Tables.entries`."""
        size, terms = 1, list[str]()
        self._unlike = self._vocabulary ** len(self._attended) > 2**MOST_BITS
        for token in self._attended:
            terms.append(token if size == 1 else f"{token} * np.uint64({size})")
            size = size * self._vocabulary % 2**64
            self._guessed = min(self._guessed * self._vocabulary, MOST_GUESSED)
        number = " + ".join(terms)
        if self._guessed < MOST_GUESSED:
            return number, number
        return number, f"(({number}) * np.uint64({GOLDEN})) >> np.uint64({65 - MOST_GUESSED.bit_length()})"

    def _recall(self, code: Callable[[int], str], number: Callable[[int], str]) -> None:
        """Read the probes and the answer; code, number: the expressions of those that the memo has."""
        p = self.plan.probes
        labels, numbers = len(p.label_start), len(p.number)
        for n, (start, stop) in enumerate(zip(p.label_start.tolist(), p.label_stop.tolist(), strict=True)):
            into = expressions.in_row("codes", "p", labels, n)
            if p.label_memo[n]:
                self.add(f"{into} = {code(n)}")
            elif not any(c in self._moved for c in range(start, stop)):
                self.add(f"{into} = {self.whole_by_token(self.labels(start, stop))}")
            else:
                self.add("code = -1")
                for c in range(start, stop):
                    value = self.read(c)
                    self.add(f"if {value} != 0.0:", f"    code = {c - start} if code == -1 and {value} == 1.0 else -2")
                self.add(f"{into} = code")
        for n, direction in enumerate(p.number.tolist()):
            value = number(n) if p.number_memo[n] else self.read(direction)
            self.add(f"{expressions.in_row('numbers', 'p', numbers, n)} = {value}")
        self.add("token = following", "answers[p] = token")
