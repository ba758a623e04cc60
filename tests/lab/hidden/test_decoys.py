"""Decoys: those whose sum is 0, and searches for the role of a head, which find none in grade 3."""

from __future__ import annotations

import dataclasses
import math
import random
from collections.abc import Callable, Iterator
from itertools import combinations
from typing import Any

import numpy as np
import pytest

import tm2tfr
from tests.lab.hidden.cases import answers, hidden
from tests.strategies import tries
from tm2tfr.engines.exact import Exact
from tm2tfr.lab.hidden.build import built
from tm2tfr.lab.hidden.claim import NOTHING, answer
from tm2tfr.lab.hidden.dead_code import DeadCode, dead_code, profiled, prompts_of
from tm2tfr.lab.hidden.key import Key, load_key
from tm2tfr.lab.hidden.score import by_dead_code
from tm2tfr.lab.hidden.verify import proof_of
from tm2tfr.lab.hidden.wide import written
from tm2tfr.transformer.matrix import Matrix
from tm2tfr.transformer.weights import Decoder, Head, matrices, replaced


# ── decoys whose sum is 0: what each of them writes is read, and all of them together write nothing
def refusals(decoder: Decoder, key: Key) -> str:
    return " ".join(proof_of(decoder, key).refusals)


def without(decoder: Decoder, paths: list[str]) -> Decoder:
    """Return it with matrices of zeros in these places."""
    every = matrices(decoder)
    return replaced(decoder, {path: Matrix.from_dense(np.zeros(every[path].shape)) for path in paths})


@pytest.mark.slow
def test_all_decoys_can_be_taken_out_and_one_cannot() -> None:
    made = hidden("half-adder")
    truth, every = answer(made.key), matrices(made.decoder)
    decoys = [f"{head}.output" for head, role in truth.heads.items() if role == NOTHING]
    assert len(decoys) == sum(len(group) for layer in made.key.layers for group in layer.head_groups) > 3
    changed = {}
    for number, layer in enumerate(made.decoder.layers, start=1):
        if layer.feed_forward is not None:
            written = every[path := f"layers.{number}.feed_forward.output"].dense()
            written[:, [int(unit.split(".")[-1]) for unit in truth.units if unit.startswith(f"layers.{number}.")]] = 0.0
            changed[path] = Matrix.from_dense(written)
    bare = without(replaced(made.decoder, changed), decoys)
    for prompt in prompts_of(made.key.original, None, positions=3, runs=4):
        assert answers(bare, prompt, Exact(), 3) == answers(made.key.original, prompt, Exact(), 3)
    for decoy in decoys:
        assert "sum of output · value: entry" in refusals(without(made.decoder, [decoy]), made.key)


def test_decoys_that_differ_are_refused() -> None:
    made = hidden("half-adder")
    (number, group), *_ = [(n, layer.head_groups[0]) for n, layer in enumerate(made.key.layers) if layer.head_groups]
    layer = made.decoder.layers[number]
    for change, words in (
        ({"mask": "none"}, "their masks or weightings are not the same"),
        ({"key": Matrix.from_dense(np.ones(layer.heads[group[0]].key.shape))}, "query · key: entry"),
    ):
        heads = list(layer.heads)
        heads[group[0]] = dataclasses.replace(heads[group[0]], **change)  # type: ignore[arg-type]
        layers = list(made.decoder.layers)
        layers[number] = dataclasses.replace(layer, heads=tuple(heads))
        assert words in refusals(dataclasses.replace(made.decoder, layers=tuple(layers)), made.key)


@pytest.mark.slow
def test_a_key_with_other_groups_is_refused() -> None:
    made = hidden("half-adder")
    number, said = next((n, layer) for n, layer in enumerate(made.key.layers) if layer.of is not None)
    real, first = said.heads.index((0, 0)), said.unit_groups[0]
    units = said.units or ()
    scaled = tuple(dataclasses.replace(unit, scale=3.0) if u == first[0] else unit for u, unit in enumerate(units))
    doubled = tuple(
        dataclasses.replace(unit, scale=2 * unit.scale) if u == first[0] else unit for u, unit in enumerate(units)
    )
    for change, words in (
        ({"head_groups": (*said.head_groups, (real, real))}, "something in a group of decoys that is none, or is in two"),
        ({"unit_groups": (*said.unit_groups, said.unit_groups[0])}, "something in a group of decoys that is none"),
        ({"head_groups": (*said.head_groups, ())}, "the key has an empty group of decoys"),
        ({"head_groups": ()}, "output · value: entry"),
        ({"unit_groups": ()}, "writes: entry"),
        ({"units": scaled}, "their scales are not powers of two"),
        ({"units": doubled}, "reads: entry"),
    ):
        layers = list(made.key.layers)
        layers[number] = dataclasses.replace(said, **change)  # type: ignore[arg-type]
        assert words in refusals(made.decoder, dataclasses.replace(made.key, layers=tuple(layers))), words


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


def unchanged_forms(decoder: Decoder) -> Iterator[np.ndarray]:
    """Yield what is written, (n, width): forms that are 0 on all of it are the same at every position, in every layer."""
    tokens = decoder.token_embedding.dense().T
    yield tokens[1:] - tokens[:1]
    yield decoder.position_embedding.dense().T
    if decoder.position_table is not None:
        yield decoder.position_table.dense().T
    for layer in decoder.layers:
        yield from ((head.output.dense() @ head.value.dense()).T for head in layer.heads)
        if layer.feed_forward is not None:
            yield layer.feed_forward.output.dense().T


@pytest.mark.slow
@pytest.mark.parametrize("name", ["half-adder", "since-b"])
def test_comparing_scores_without_constants_finds_groups(name: str) -> None:
    """What the disguise does not hide, as the page says: which heads attend alike, once constants are found."""
    made = hidden(name)
    rows = np.vstack([found for found in unchanged_forms(made.decoder) if len(found)])
    _, sizes, basis = np.linalg.svd(rows)
    written = basis[: int((sizes > 1e-9 * sizes[0]).sum())]
    roles, alike = answer(made.key).heads, []
    for number, layer in enumerate(made.decoder.layers, start=1):
        scores = [head.query.dense().T @ head.key.dense() @ written.T @ written for head in layer.heads]
        alike += [
            (f"layers.{number}.heads.{a}", f"layers.{number}.heads.{b}")
            for a, b in combinations(range(len(scores)), 2)
            if np.allclose(scores[a], scores[b], atol=1e-9)
        ]
    assert alike
    assert all(roles[one] == roles[other] == NOTHING for one, other in alike)


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
