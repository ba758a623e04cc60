"""Decoys: what they write decides nothing, and searches for the role of a head, which find none in grade 3."""

from __future__ import annotations

import dataclasses
import math
import random
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

import tm2tfr
from tests.lab.hidden.cases import answers, hidden
from tests.strategies import tries
from tm2tfr.engines.decode import observe_all
from tm2tfr.engines.dense import Dense
from tm2tfr.engines.exact import Exact
from tm2tfr.lab.hidden.baselines import cancelling
from tm2tfr.lab.hidden.bounds import StreamBounds, silent_units
from tm2tfr.lab.hidden.build import built
from tm2tfr.lab.hidden.claim import NOTHING, answer
from tm2tfr.lab.hidden.dead_code import DeadCode, dead_code, profiled, prompts_of
from tm2tfr.lab.hidden.disguise import Disguised
from tm2tfr.lab.hidden.key import Key, load_key
from tm2tfr.lab.hidden.score import by_dead_code
from tm2tfr.lab.hidden.verify import proof_of
from tm2tfr.lab.hidden.wide import Wide, WideUnit, turned, widened, written
from tm2tfr.transformer.matrix import Matrix
from tm2tfr.transformer.weights import Decoder, Head, matrices, replaced


# ── decoys: what they write is read by silent units alone
def refusals(decoder: Decoder, key: Key) -> str:
    return " ".join(proof_of(decoder, key).refusals)


def without(decoder: Decoder, paths: list[str]) -> Decoder:
    """Return it with matrices of zeros in these places."""
    every = matrices(decoder)
    return replaced(decoder, {path: Matrix.from_dense(np.zeros(every[path].shape)) for path in paths})


def turned_back(made: Disguised) -> Wide:
    basis = made.key.basis
    return turned(widened(made.decoder, basis.width), basis.inverse, basis.matrix)


@pytest.mark.slow
@pytest.mark.parametrize("name", ["half-adder", "since-b"])
def test_all_decoys_and_silent_units_can_be_taken_out(name: str) -> None:
    made = hidden(name)
    truth, every = answer(made.key), matrices(made.decoder)
    decoys = [f"{head}.output" for head, role in truth.heads.items() if role == NOTHING]
    assert len(decoys) > 1
    changed = {}
    for number, layer in enumerate(made.decoder.layers, start=1):
        if layer.feed_forward is not None:
            written = every[path := f"layers.{number}.feed_forward.output"].dense()
            written[:, [int(unit.split(".")[-1]) for unit in truth.units if unit.startswith(f"layers.{number}.")]] = 0.0
            changed[path] = Matrix.from_dense(written)
    bare = without(replaced(made.decoder, changed), decoys)
    for prompt in prompts_of(made.key.original, None, positions=3, runs=4):
        assert answers(bare, prompt, Exact(), 3) == answers(made.key.original, prompt, Exact(), 3)


@pytest.mark.slow
@pytest.mark.parametrize("name", ["half-adder", "since-b", "reverse", "parity"])
def test_the_stream_stays_within_its_bounds_and_silent_units_are_silent(name: str) -> None:
    """Intervals follow from weights; what runs have lies within them."""
    made = hidden(name)
    wide, basis = turned_back(made), made.key.basis
    silent = silent_units(wide, made.decoder.features)
    assert sum(map(len, silent)) >= len(answer(made.key).units) > 0
    bounds, stages = StreamBounds.embedded(wide, made.decoder.features), []
    for layer in wide.layers:
        stages.append(bounds := bounds.after_heads(layer.heads))
        stages.append(bounds := bounds.after_units(layer.units or (), layer.offset))
    bounded = 0
    for prompt in prompts_of(made.key.original, None, positions=8, runs=6):
        for seen in observe_all(made.decoder, prompt, engine=Dense()):
            streams = {(layer, part): basis.inverse @ np.asarray(x) for layer, part, x in seen.stages if layer >= 0}
            for (layer, part), x in streams.items():
                if part == "feed_forward":
                    there = stages[2 * layer + 1]
                    assert (there.low - 1e-9 <= x).all()
                    assert (x <= there.high + 1e-9).all()
                    bounded += int(there.finite.sum())
    assert bounded


def test_a_silent_unit_that_some_input_may_activate_is_refused() -> None:
    made = hidden("half-adder")
    path = sorted(answer(made.key).units)[0]
    layer, unit = int(path.split(".")[1]), int(path.split(".")[3])
    bias = matrices(made.decoder)[name := f"layers.{layer}.feed_forward.input_bias"].dense()
    bias[unit, 0] += 100.0
    assert "writes: entry" in refusals(replaced(made.decoder, {name: Matrix.from_dense(bias)}), made.key)


def test_what_is_bounded() -> None:
    """A token, a share and a mean are; a position is not, nor what is added to one."""
    wide = widened(tm2tfr.compile("chapter"), tm2tfr.compile("chapter").layout.width)
    features = ("1/(i+1)", "1", "i")
    wide.position, wide.token = np.eye(wide.width)[:, :3], np.zeros_like(wide.token)
    found = StreamBounds.embedded(wide, features)
    assert found.finite.tolist() == [True, True, False, *[True] * (wide.width - 3)]
    assert (found.low[0], found.high[1]) == (pytest.approx(0.0, abs=1e-9), pytest.approx(1.0))
    unit = WideUnit(None, np.eye(wide.width)[0], -1.0, np.eye(wide.width)[3])
    assert found.read(unit) == (pytest.approx(-1.0), pytest.approx(0.0, abs=1e-9))
    position = WideUnit(None, np.eye(wide.width)[2], 0.0, np.eye(wide.width)[3])
    assert not found.after_units([position], np.zeros(wide.width)).finite[3]


# ── searches ────────────────────────────────────────────────────────────────────────────────────────────────
@pytest.mark.slow
@pytest.mark.parametrize("name", ["half-adder", "histogram", "since-b", "parity"])
def test_following_back_what_is_read_finds_no_decoy(name: str) -> None:
    made = hidden(name)
    assert made.key.dead == DeadCode()
    found = by_dead_code(answer(made.key))
    assert {kind: (score.claimed, score.there > 0) for kind, score in found.items()} == dict.fromkeys(
        ("decoys", "layers", "units"), (0, True)
    )


@pytest.mark.slow
def test_the_same_search_finds_what_nothing_reads(tmp_path: object) -> None:
    made = hidden("half-adder")
    layer, units = len(made.decoder.layers), made.decoder.layers[0].feed_forward
    assert units is not None
    found = dead_code(without(made.decoder, [f"layers.{layer}.heads.0.output", "layers.1.feed_forward.output"]))
    assert f"layers.{layer}.heads.0" in found.heads
    assert found.units == {f"layers.1.units.{u}" for u in range(len(units.units))}
    bare = without(made.decoder, [f"layers.1.heads.{k}.output" for k in range(len(made.decoder.layers[0].heads))])
    assert dead_code(without(bare, ["layers.1.feed_forward.output"])).layers == {1}
    key = dataclasses.replace(made.key, dead=found)
    key.save(path := f"{tmp_path}/key.json")
    assert load_key(path).dead == found


def with_cancelling(decoder: Decoder) -> Decoder:
    """Return it with two more heads in its last layer, which cancel."""
    layer = decoder.layers[-1]
    one = layer.heads[0]
    other = dataclasses.replace(one, output=Matrix.from_dense(-one.output.dense()))
    last = dataclasses.replace(layer, heads=(*layer.heads, one, other))
    return dataclasses.replace(decoder, layers=(*decoder.layers[:-1], last))


@pytest.mark.slow
@pytest.mark.parametrize("name", ["half-adder", "histogram", "since-b", "parity"])
def test_heads_that_cancel_are_found_and_decoys_do_not_cancel(name: str) -> None:
    made = hidden(name)
    assert cancelling(made.decoder).heads == {}
    number, many = len(made.decoder.layers), len(made.decoder.layers[-1].heads)
    found = cancelling(with_cancelling(made.decoder)).heads
    assert {f"layers.{number}.heads.{k}" for k in (many, many + 1)} <= set(found)


# ── simple searches for the role of a head: by names, sizes, zeros, ranks and norms. In grade 3 they find none
Feature = Callable[[Head], float]
MATRICES = ("query", "key", "value", "output")
FEATURES: dict[str, Feature] = {
    "name": lambda h: float(sum(map(ord, h.name.partition(".")[2]))),
    "claim": lambda h: -1.0 if h.claim is None else float(h.claim.gap or 0.0),
    **{f"size of {m}": lambda h, m=m: float(min(getattr(h, m).shape)) for m in MATRICES},  # type: ignore[misc]
    **{f"zeros of {m}": lambda h, m=m: 1.0 - _share(h, m) for m in MATRICES},  # type: ignore[misc]
    **{f"rank of {m}": lambda h, m=m: float(np.linalg.matrix_rank(getattr(h, m).dense())) for m in MATRICES},  # type: ignore[misc]
    **{f"norm of {m}": lambda h, m=m: float(np.linalg.norm(getattr(h, m).values)) for m in MATRICES},  # type: ignore[misc]
    **{f"largest of {m}": lambda h, m=m: float(np.abs(getattr(h, m).values).max(initial=0)) for m in MATRICES},  # type: ignore[misc]
}


def _share(head: Head, name: str) -> float:
    matrix = getattr(head, name)
    return float(matrix.nonzero / max(1, matrix.shape[0] * matrix.shape[1]))


def models(name: str, grade: int, seeds: int) -> Iterator[tuple[list[Head], list[Head | None]]]:
    """Yield the heads of disguises, and what each is."""
    decoder = tm2tfr.compile(name)
    seen: Any = profiled(decoder, tm2tfr.load(name))
    for seed in range(seeds):
        made = built(decoder, seen, grade, random.Random(f"{name} {seed}"))
        hidden = written(made.wide, decoder, None, {})
        heads = [head for layer in hidden.layers for head in layer.heads]
        places = [of for layer in made.layers for of in layer.heads]
        yield heads, [None if of is None else decoder.layers[of[0]].heads[of[1]] for of in places]


def scores(grade: int, seeds: int) -> dict[tuple[str, int, str], float]:
    """Return the z-score of every search, by feature, direction and role."""
    draw = random.Random(0)
    hits: dict[tuple[str, int, str], float] = {}
    expected, variance = {"mean": 0.0, "decoy or not": 0.0}, {"mean": 0.0, "decoy or not": 0.0}
    for name in ("parity", "busy-beaver-2"):
        for heads, what in models(name, grade, seeds):
            roles = {
                "mean": [each is not None and each.uniform for each in what],
                "decoy or not": [each is not None for each in what],
            }
            for role, has in roles.items():
                share = sum(has) / len(has)
                expected[role] += share
                variance[role] += share * (1 - share)
            for feature, value in FEATURES.items():
                values = [round(value(head), 9) for head in heads]
                for direction, best in ((1, max(values)), (-1, min(values))):
                    picked = draw.choice([n for n, v in enumerate(values) if v == best])
                    for role, has in roles.items():
                        hits[feature, direction, role] = hits.get((feature, direction, role), 0.0) + has[picked]
    return {
        key: (found - expected[key[2]]) / math.sqrt(variance[key[2]]) if variance[key[2]] else 0.0
        for key, found in hits.items()
    }


@pytest.mark.slow
def test_simple_searches_find_no_role_in_grade_3() -> None:
    found = scores(3, tries(30))
    assert len(found) == 2 * 2 * len(FEATURES) == 88
    assert {key: z for key, z in found.items() if z > 4.2} == {}


@pytest.mark.slow
@pytest.mark.parametrize("grade", [1, 2])
def test_the_same_searches_find_the_mean_in_lower_grades(grade: int) -> None:
    found = scores(grade, tries(30))
    assert max(z for (_, _, role), z in found.items() if role == "mean") > 6


# ── norms and products of norms: heads that matter are ranked among decoys as by chance
PRODUCTS: dict[str, Feature] = {
    **{name: feature for name, feature in FEATURES.items() if name.startswith(("norm", "largest"))},
    "norm of query times key": lambda h: float(np.linalg.norm(h.query.dense().T @ h.key.dense())),
    "largest singular value of query times key": lambda h: float(np.linalg.norm(h.query.dense().T @ h.key.dense(), 2)),
    "norm of output times value": lambda h: float(np.linalg.norm(h.output.dense() @ h.value.dense())),
    "norm of query times norm of key": lambda h: float(np.linalg.norm(h.query.values) * np.linalg.norm(h.key.values)),
    "norm of value times norm of output": lambda h: float(np.linalg.norm(h.value.values) * np.linalg.norm(h.output.values)),
}


def area(values: list[float], matters: list[bool]) -> float:
    """Return how often a head that matters has the larger value than a decoy, ties counting half."""
    real = np.round([value for value, own in zip(values, matters, strict=True) if own], 9)[:, None]
    decoy = np.round([value for value, own in zip(values, matters, strict=True) if not own], 9)[None, :]
    return float((real > decoy).mean() + (real == decoy).mean() / 2)


@pytest.mark.slow
def test_no_norm_tells_heads_that_matter_from_decoys() -> None:
    found: dict[str, list[float]] = {name: [] for name in PRODUCTS}
    for source in ("parity", "half-adder", "since-b"):
        for heads, what in models(source, 3, max(8, tries(30))):
            matters = [each is not None for each in what]
            for name, feature in PRODUCTS.items():
                found[name].append(area([feature(head) for head in heads], matters))
    means = {name: float(np.mean(areas)) for name, areas in found.items()}
    assert {name: mean for name, mean in means.items() if not 0.33 < mean < 0.67} == {}
