"""Feed-forward layers, weight by weight: what shows in a run is refused. No case of the proof may be left out.

The streams are those of runs, recorded before each layer; a change of one weight is wrong if a unit that writes anything
has another value on one of them. That is an answer of its own: nothing of the proof's cases is used.
"""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from functools import cache
from itertools import product
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from tests.mutations.weights import grown, with_layer
from tests.sources.turing.proof.test_refusals import mutated, refusals, with_unit
from tm2tfr.engines.dense import Dense
from tm2tfr.sources.turing.compiler import compile_machine
from tm2tfr.sources.turing.library import load
from tm2tfr.sources.turing.proof.cases import Case, Neurons
from tm2tfr.sources.turing.proof.domain import Domain
from tm2tfr.sources.turing.proof.feed_forward import FeedForwardProof
from tm2tfr.sources.turing.proof.prove import prove, spread
from tm2tfr.sources.turing.proof.rounding import different_keys_use, equal_keys_use, lookup_use
from tm2tfr.sources.turing.spec import Machine
from tm2tfr.transformer.weights import Decoder, FeedForward, matrices, replaced

Array = NDArray[Any]
MACHINES = {"one-way": load("chapter"), "two-way": load("busy-beaver-4")}
MOST, EACH = 60, 3
"""The positions of a run; how many units are tried for each direction and each change."""


class Recorder:
    """What the stream holds before each feed-forward layer."""

    def __init__(self) -> None:
        self.found: dict[int, list[Array]] = {}

    def stage(self, layer: int, part: str, x: Array) -> None:
        if part == "attention":
            self.found.setdefault(layer, []).append(x)

    def head(self, *_: Any) -> None:
        """Take no notice of heads."""


@cache
def compiled(tape: str) -> tuple[Machine, Decoder]:
    return MACHINES[tape], compile_machine(MACHINES[tape])


@cache
def streams(tape: str) -> dict[int, Array]:
    """Return layer (from 1) -> (n, width) the streams before it, in runs on all short words."""
    machine, decoder = compiled(tape)
    seen = Recorder()
    for word in ("".join(w) for n in range(5) for w in product(machine.input_alphabet or (), repeat=n)):
        session = Dense().start(decoder)
        fed = [decoder.vocabulary.index(token) for token in (*word, decoder.bos)]
        for n in range(MOST):
            answer = session.feed(fed[n], seen)
            fed += [answer] if n + 1 == len(fed) else []
            if decoder.vocabulary[answer] in decoder.stop and n + 1 >= len(word) + 1:
                break
    return {layer + 1: np.unique(np.array(found), axis=0) for layer, found in seen.found.items()}


def values(part: FeedForward, x: Array) -> Array:
    """(n, hidden): the values of all units before the ReLU."""
    sums: Array = x @ part.input.dense().T + part.input_bias.dense()[:, 0]
    return sums


def wrong_changes(decoder: Decoder, layer: int, x: Array) -> list[tuple[str, int, int, float]]:
    """Return (matrix, row, column, new value) for changes of one weight that show on the streams x: (n, width)."""
    part = decoder.layers[layer - 1].feed_forward
    assert part is not None
    before, writes = values(part, x), {u for _, u, _ in part.output.entries()}
    found = []
    for direction, change in product([*range(x.shape[1]), -1], (1.0, -1.0, 0.5)):
        read = np.ones(len(x)) if direction == -1 else x[:, direction]
        after = np.maximum(before + change * read[:, None], 0)
        shows = [u for u in np.flatnonzero((abs(after - np.maximum(before, 0)) > 1e-9).any(axis=0)) if int(u) in writes]
        name, column = ("input_bias", 0) if direction == -1 else ("input", direction)
        old = getattr(part, name).dense()
        found += [(name, int(u), column, float(old[u, column] + change)) for u in shows[:: 1 + len(shows) // EACH]]
    active = before.max(axis=0) > 0
    found += [("output", r, u, 2 * w) for r, u, w in part.output.entries() if active[u]]
    return found + [("output_bias", r, 0, 1.0) for r in range(0, x.shape[1], 7)]


PARTS = [(tape, layer) for tape in MACHINES for layer in range(1, 7) if (tape, layer) != ("one-way", 2)]
"""All but the one layer without units."""


@pytest.mark.slow
@pytest.mark.parametrize(("tape", "layer"), PARTS)
def test_a_weight_that_shows_in_a_run_is_refused(tape: str, layer: int) -> None:
    machine, decoder = compiled(tape)
    domain = Domain(machine, flagged=tape == "one-way")
    assert FeedForwardProof(decoder, domain, layer).refusals == ()
    tried = wrong_changes(decoder, layer, streams(tape)[layer])
    assert len(tried) > 15
    for name, row, column, value in tried:
        path = f"layers.{layer}.feed_forward.{name}"
        broken = replaced(decoder, {path: matrices(decoder)[path].with_entry(row, column, value)})
        assert FeedForwardProof(broken, domain, layer).refusals, (path, row, column, value)


@pytest.mark.parametrize("tape", MACHINES)
@pytest.mark.parametrize("layer", range(1, 6))
def test_the_cases_of_a_layer_cover_the_streams_of_runs(tape: str, layer: int) -> None:
    """Each stream of a run, as far as the layer may read it, is on the line of a case; scaled by i + 1 in layer 2."""
    machine, decoder = compiled(tape)
    domain = Domain(machine, flagged=tape == "one-way")
    layout = decoder.layout
    names = sorted(domain.reads(layer) & {s.name for s in layout.subspaces})
    columns = np.concatenate([np.arange(width)[layout[name]] for name in names for width in (layout.width,)])
    lines = [(vector(line.at, decoder), vector(line.along, decoder), line) for line in domain.lines(layer)]
    for x in np.unique(streams(tape)[layer][:, columns], axis=0):
        whole = np.zeros(layout.width)
        whole[columns] = x / whole_scale(x, layer, names, layout, columns)
        if layer == 4:  # cases of one h stand for all, see `_differences`
            whole[layout["h_{j*-1}"]] -= whole[layout["h"]]
            whole[layout["h"]] = 0
        assert any(on(whole, at, along, line, layer) for at, along, line in lines), dict(enumerate(x))


def vector(named: Any, decoder: Decoder) -> Array:
    found = np.zeros(decoder.layout.width)
    for name, value in named.items():
        found[decoder.layout.index(name)] = value
    return found


def whole_scale(x: Array, layer: int, names: list[str], layout: Any, columns: Array) -> float:
    """1/(i+1) in layer 2, which scales with it."""
    return float(x[list(columns).index(layout["1/(i+1)"].start)]) if layer == 2 else 1.0


def on(x: Array, at: Array, along: Array, line: Any, layer: int) -> bool:
    direction = np.flatnonzero(along)
    s = (x - at)[direction[0]] / along[direction[0]] if len(direction) else 0.0
    near = (abs(x - at - s * along) < 1e-9).all()
    inside = (line.low is None or s >= line.low - 1e-9) and (line.high is None or s <= line.high + 1e-9)
    return bool(near and inside and not (line.integers and abs(s - round(s)) > 1e-9))


def test_a_miss_beyond_the_last_kink_is_found_on_both_sides() -> None:
    """Without ends two more points are looked at, one step beyond the outermost kinks."""
    _, decoder = compiled("two-way")
    part = decoder.layers[3].feed_forward  # max(0, d + 1) - 2·max(0, d) + max(0, d - 1): 0 beyond the kinks
    assert part is not None
    here, flag = decoder.layout.index("h_{j*-1}"), decoder.layout.index("[h_{j*-1}=h]")
    neurons = Neurons(part)
    for low, high in ((None, -1), (1, None)):
        assert neurons.miss(Case("far", {}, {}, {here: 1}, {}, low, high)) is None
        for slope in (1, -1):
            missed = neurons.miss(Case("far", {}, {}, {here: 1}, {flag: slope}, low, high))
            assert missed is not None
            assert missed.row == flag


@pytest.mark.parametrize("shares", [(0.75, 0.25), (0.5, 0.5)])
def test_the_rounded_position_has_to_come_from_one_unit(shares: tuple[float, float]) -> None:
    """Right in rational numbers; in floats nothing is proved of a sum of parts of 1/(i+1)."""
    machine, decoder = compiled("two-way")
    part, unit = decoder.layers[0].feed_forward, "m/(i+1), m = +1"
    assert part is not None
    n = part.units.index(unit)
    reads = {decoder.layout.directions[c]: w for c, w in part.input.by_row()[n].items()}
    halved = mutated(decoder, "layers.1.feed_forward.output", "m/(i+1)", n, shares[0])
    split = with_unit(halved, reads, part.input_bias.by_row()[n].get(0, 0.0), {"m/(i+1)": shares[1]}, layer=1)
    found = refusals(split, machine)
    assert len(found) == 1
    assert f"unit {unit!r} would round 1/(i+1): for token (" in found[0]


# ── the conditions ──────────────────────────────────────────────────────────────────────────────────────────
def test_the_conditions_one_by_one() -> None:
    """Where each is, whether it has to be kept strictly, and how much of it is used at N = 100, |h| ≤ 20 in float32."""
    machine, decoder = compiled("two-way")
    proof, u = prove(decoder, machine), Fraction(1, 2**24)
    dense = {
        (c.layer, c.part, c.where, c.formula): (c.use(100, 20), c.strict) for c in proof.conditions("dense", "float32")
    }
    here, before = 20 * u, u * (21 * (1 + u) + 20)
    room = Fraction(1, 2) * (1 - u) * (1 - 200 * u)
    wanted = {
        (0, "weights", "all", "25·N⁴ ≤ 2^119"): (Fraction(25 * 100**4, 2**119), False),
        (1, "feed_forward", "m/(i+1)", "22 + 0·H ≤ 16,777,216"): (22 * u, False),
        (2, "attention", "sum of moves", "N ≤ 16,777,216"): (100 * u, False),
        (3, "attention", "cell h+", "about 16·H²·u < 1"): (lookup(20, here, u), True),
        (3, "attention", "cell h_{i-1}+", "about 20·H²·u < 1"): (lookup(20, before, u), True),
        (3, "feed_forward", "e_x(h)[1] unless h < 0", "1 + 1·H ≤ 16,777,216"): (21 * u, False),
        (4, "attention", "latest write", "3·H² ≤ 16,777,216"): (1200 * u, False),
        (4, "attention", "latest write", "u·(H² + 1) < 1 - 1/2"): (401 * u / (1 - (1 + u) ** 2 / 2), True),
        (4, "attention", "latest write", "2·u·N·(H² + 1/2) < 1/2"): (200 * u * (400 + (1 + u) ** 2 / 2) / room, True),
        (4, "feed_forward", "[h_{j*-1}=h]", "2 + 8·H ≤ 16,777,216"): (162 * u, False),
        (5, "feed_forward", "e_a[0]", "15 + 0·H ≤ 16,777,216"): (15 * u, False),
        (6, "feed_forward", "BOS, 1", "3 + 0·H ≤ 16,777,216"): (3 * u, False),
        (7, "unembedding", "logits", "1 + 0·H ≤ 16,777,216"): (u, False),
    }
    assert dense == wanted
    fast = {(c.layer, c.part, c.where, c.formula): c for c in proof.conditions("fast", "float64")}
    others = set(wanted) - {
        (4, "attention", "latest write", "2·u·N·(H² + 1/2) < 1/2"),
        (0, "weights", "all", "25·N⁴ ≤ 2^119"),
    }
    numbered = (0, "embedding", "positions", "N ≤ 2,147,483,647")
    spelt = {(*key[:3], key[3].replace("16,777,216", "9,007,199,254,740,992")) for key in others}
    assert set(fast) == {*spelt, (0, "weights", "all", "25·N⁴ ≤ 2^1015"), numbered}
    assert (fast[numbered].use(2**31 - 1, 0), fast[numbered].strict) == (1, False)
    assert [c.layer for c in proof.conditions("dense", "float32")] == sorted([key[0] for key in wanted])
    assert proof.conditions("exact", "rational") == ()


def lookup(t: int, e: Fraction, u: Fraction) -> Fraction:
    """g(t, E), term by term as the module has it: the errors of S_t and of S_{t+1}, in units of v."""
    a, b = 2 * e * (1 + u) + 2 * t * u, (1 + u) ** 3 - 1
    at_t, at_next = t * a + t * t * b, (t + 1) * a + (t + 1) ** 2 * b
    return (at_t + at_next) * (1 + u) + u * 2 * t * t


def test_the_edges_of_the_conditions() -> None:
    """Where nothing is left of the room for rounding, nothing holds; at t = 0 the next place scores -v."""
    u = Fraction(1, 2**24)
    assert equal_keys_use(2**23, 0, Fraction(1, 2), u) == different_keys_use(0, Fraction(1), u) == 2
    assert different_keys_use(0, 1 - 3 * u, u) < 2
    assert lookup_use(0, Fraction(0), u) == ((1 + u) ** 3 - 1) * (1 + u) + u
    assert [lookup_use(t, 3 * u, u) for t in (1, 2, 9)] == [lookup(t, 3 * u, u) for t in (1, 2, 9)]
    assert equal_keys_use(10, 3, Fraction(1, 4), u) == 20 * u * (9 + (1 + u) ** 2 / 4) / ((1 - u) * (1 - 20 * u) / 4)


def test_a_head_that_is_wrong_in_every_way_is_taken_for_what_its_name_says() -> None:
    machine, decoder = compiled("two-way")
    k = next(k for k, head in enumerate(decoder.layers[2].heads) if head.name == "cell h_{i-1}-")
    lost = mutated(decoder, f"layers.3.heads.{k}.query", 1, "1/(i+1)", 1)
    found = refusals(mutated(lost, f"layers.3.heads.{k}.value", 0, "i", 2), machine)
    assert "head 'cell h_{i-1}-' is not a lookup of h_{i-1}-, v·(2tj - j²) up to a factor: repeated moves" in found[0]


def test_a_unit_that_is_never_active_may_write_the_position_too() -> None:
    machine, decoder = compiled("two-way")
    assert refusals(with_unit(decoder, {"1/(i+1)": -1.0}, 0.0, {"m/(i+1)": 1.0}, layer=1), machine) == []


def test_components_that_only_queries_or_only_keys_have_do_not_count() -> None:
    machine, decoder = compiled("two-way")
    for n, part in product((1, 2, 3), ("query", "key")):
        head = decoder.layers[n].heads[-1]
        more = {name: grown(getattr(head, name), 1, 0, {}) for name in ("query", "key")}
        more[part] = grown(getattr(head, part), 1, 0, {(head.query.shape[0], decoder.layout.index("1")): 3.0})
        assert refusals(with_layer(decoder, n, heads=(*decoder.layers[n].heads[:-1], replace(head, **more))), machine) == []


def test_logits_are_counted_in_their_finest_unit() -> None:
    _, decoder = compiled("two-way")
    finer = replaced(decoder, {"unembedding_bias": decoder.unembedding_bias.with_entry(0, 0, -0.25)})
    assert (spread(decoder).constant, spread(finer).constant) == (1, 5)
    finest = replaced(finer, {"unembedding": decoder.unembedding.with_entry(0, 0, 1.0 + 2.0**-10)})
    assert spread(finest).constant == (1 + 2**10) + 2**8


def test_weights_without_the_flag_are_said_to_have_none() -> None:
    edge = load("left-edge")
    found = refusals(compile_machine(edge, left_boundary="chapter"), edge)
    assert len(found) == 1
    assert "a move left at cell 0 must emit m = 0 (Exercise 8.3), but these weights have no flag [h=0]" in found[0]


def test_what_is_said_of_more_than_is_certified() -> None:
    machine, decoder = compiled("two-way")
    assert prove(decoder, machine).certificate("dense", positions=131_073).statement == (
        "for every input and every run with at most 131,072 positions, dense in float64 generates exactly the simulator's "
        "tokens; the 131,073 positions asked for are not certified"
    )
