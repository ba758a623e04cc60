"""Claims about hidden weights: read, refused at the place of what is wrong, and scored."""

from __future__ import annotations

import json
import random
from typing import Any

import numpy as np
import pytest

import tm2tfr
from tests.lab.hidden.cases import hidden, perfect
from tm2tfr.base.errors import DisguiseError, SpecError
from tm2tfr.lab.hidden.claim import HiddenClaim, HiddenTruth, answer, orthonormal, read_claim, template
from tm2tfr.lab.hidden.score import KINDS, ClaimScores, Score, score, shared


@pytest.fixture(scope="module")
def truth() -> HiddenTruth:
    return answer(hidden("parity").key)


@pytest.mark.slow
def test_a_claim_made_from_the_key_is_right_in_everything(truth: HiddenTruth) -> None:
    found = score(read_claim(perfect(truth).text(), truth), truth)
    assert {kind: (s.precision, s.recall) for kind, s in found.kinds.items()} == {
        kind: (pytest.approx(1.0), pytest.approx(1.0)) for kind in KINDS
    }
    assert all(s.measure == pytest.approx(1.0) for s in found.kinds.values())
    assert set(found.roles) == {"all", "h", "h_{i-1}", "j*", "nothing"}
    assert len(str(found).splitlines()) == 12


@pytest.mark.slow
def test_an_empty_claim_finds_nothing(truth: HiddenTruth) -> None:
    found = score(read_claim(template(truth), truth), truth)
    assert tuple(found.kinds) == KINDS
    assert {(s.precision, s.recall) for s in found.kinds.values()} == {(None, 0.0)}
    assert {kind: s.measure for kind, s in found.kinds.items()} == {
        kind: 0.5 if kind in ("decoys", "layers", "units") else 0.0 for kind in KINDS
    }


def test_a_random_claim_is_near_chance(truth: HiddenTruth) -> None:
    """Roles drawn from how often each occurs are right in Σp²; a random subspace of k dimensions shares k²/width."""
    draw, chance = random.Random(0), np.random.default_rng(0)
    roles = list(truth.heads.values())
    every = [
        score(
            HiddenClaim(
                heads={head: draw.choice(roles) for head in truth.heads},
                subspaces={name: chance.normal(size=basis.shape) for name, basis in truth.subspaces.items()},
            ),
            truth,
        )
        for _ in range(50)
    ]
    found = sum(roles.count(role) ** 2 / len(roles) for role in set(roles) - {"nothing"})
    expected = found / sum(role != "nothing" for role in roles)  # as many are claimed, on average, as there are
    heads = [s.kinds["heads"] for s in every]
    assert np.mean([s.right / s.there for s in heads]) == pytest.approx(expected, abs=0.05)
    sizes = [len(basis) for basis in truth.subspaces.values()]
    right = sum(k * k / truth.width for k in sizes) / sum(sizes)
    parts = [[s.kinds[kind] for kind in ("subspaces", "surface")] for s in every]
    shares = [sum(part.right for part in both) / sum(part.there for part in both) for both in parts]
    assert np.mean(shares) == pytest.approx(right, abs=0.03)
    assert np.mean([s.kinds["decoys"].measure for s in every]) == pytest.approx(0.5, abs=0.05)


@pytest.mark.slow
def test_a_claim_that_is_too_much_loses_precision(truth: HiddenTruth) -> None:
    everything = HiddenClaim(
        heads=dict.fromkeys(truth.heads, "nothing"),
        layers=frozenset(range(1, truth.layer_count + 1)),
        units=truth.unit_paths,
        subspaces={name: np.eye(truth.width) for name in truth.subspaces},
    )
    found = score(everything, truth).kinds
    for kind in ("layers", "units", "subspaces"):
        assert found[kind].recall == pytest.approx(1.0), kind
        assert 0 < (found[kind].precision or 0) < 1, kind


def test_who_calls_every_head_a_decoy_has_found_no_role_and_is_the_base_line(truth: HiddenTruth) -> None:
    decoys = sum(role == "nothing" for role in truth.heads.values())
    found = score(HiddenClaim(heads=dict.fromkeys(truth.heads, "nothing")), truth)
    assert (found.kinds["heads"].claimed, found.kinds["heads"].there) == (0, len(truth.heads) - decoys)
    assert found.kinds["decoys"] == Score(decoys, len(truth.heads), decoys, len(truth.heads))
    assert found.kinds["decoys"].measure == found.base["decoys"] == 0.5


def test_what_can_be_had_for_nothing_is_the_base_line(truth: HiddenTruth) -> None:
    roles = [role for role in truth.heads.values() if role != "nothing"]
    everything = HiddenClaim(
        heads=dict.fromkeys(truth.heads, max(roles, key=roles.count)),
        layers=frozenset(range(1, truth.layer_count + 1)),
        units=truth.unit_paths,
        subspaces={name: np.eye(truth.width) for name in truth.subspaces},
    )
    found = score(everything, truth)
    for kind in KINDS:
        assert found.kinds[kind].measure == pytest.approx(found.base[kind]), kind
        assert 0 < (found.base[kind] or 0) < 1, kind


def test_each_variable_counts_once_and_those_on_the_surface_are_apart(truth: HiddenTruth) -> None:
    """Variables of one dimension count as much as those of twelve."""
    assert {"e_x", "e_y", "i"} <= truth.surface
    assert {"h", "e_q", "[h=0]"}.isdisjoint(truth.surface)
    inner = [name for name in truth.subspaces if name not in truth.surface]
    found = score(HiddenClaim(subspaces={"h": truth.subspaces["h"]}), truth)
    assert found.kinds["subspaces"].measure == pytest.approx(1 / len(inner))
    assert found.kinds["surface"].measure == 0.0


def test_the_measure_of_a_set_is_balanced() -> None:
    assert Score(2, 4, 4, 20).balanced == pytest.approx((2 / 4 + 14 / 16) / 2)
    assert [Score(0, 0, there, 20).balanced for there in (0, 4, 20)] == [None, 0.5, None]
    assert Score(2, 4, 4).measure == Score(2, 4, 4).f1 == 0.5


def test_dimensions_that_subspaces_share() -> None:
    axes = np.eye(4)
    assert shared(axes[:2], axes[1:3]) == pytest.approx(1.0)
    assert shared(axes[:2], axes[2:]) == 0.0
    assert shared(axes[:1], orthonormal(np.array([[1.0, 1.0, 0.0, 0.0]]))) == pytest.approx(0.5)
    assert len(orthonormal(np.array([[1.0, 2.0], [2.0, 4.0]]))) == 1
    assert orthonormal(np.zeros((2, 3))).shape == (0, 3)


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (
            {"heads": {"layers.1.heads.99": "all"}},
            r"there is no head 'layers.1.heads.99'.*: use paths such as layers.1.heads.0",
        ),
        ({"heads": {"layers.1.heads.0": "al"}}, r"no head has the role 'al' \(did you mean 'all'\?\): use one"),
        ({"heads": {"layers.1.heads.0": 5}}, "the role of a head is text, found text|the role of a head is text"),
        ({"heads": []}, "expected an object, found a list: write it in braces"),
        ({"layers": [0]}, "a layer is given by its number: use 1 to"),
        ({"layers": [int("1" * 4000)]}, "a layer is given by its number: use 1 to"),
        ({"layers": {}}, "expected a list, found a mapping: write it in brackets"),
        ({"units": ["layers.1.units.999"]}, "there is no unit 'layers.1.units.999': use paths such as layers.1.units.0"),
        ({"subspaces": {"e_z": []}}, r"there is no variable 'e_z' \(did you mean"),
        ({"subspaces": {"e_q": [[1.0]]}}, r"a vector has \d+ numbers, found 1: give one for each direction"),
        ({"version": "2"}, "the version of a claim must be '1': start with 'tm2tfr score KEY --template'"),
        ({"head": {}}, r"unknown key 'head' in a claim \(did you mean 'heads'\?\): use format, version, heads"),
    ],
)
def test_what_is_wrong_with_a_claim_is_said_at_its_place(change: dict[str, object], words: str, truth: HiddenTruth) -> None:
    document = {**json.loads(template(truth)), **change}
    with pytest.raises(SpecError, match=rf"claim.json:\d+:\d+: \S+: {words}"):
        read_claim(json.dumps(document, indent=1), truth, file="claim.json")


def test_little_of_a_claim_on_one_line_is_quoted_and_its_place_is_named(truth: HiddenTruth) -> None:
    zeros = [0.0] * truth.width
    document = {**json.loads(template(truth)), "subspaces": {"e_q": [zeros, [*zeros[:-1], "x" * 500]], "y" * 500: []}}
    with pytest.raises(SpecError) as refused:
        read_claim(json.dumps(document), truth)
    first, second = refused.value.diagnostics
    assert first.what == f"subspaces.e_q[1][{truth.width - 1}]: a vector consists of numbers"
    assert second.what == f"subspaces.{'y' * 60}: there is no variable '{'y' * 59}…'"
    assert all(len(line) <= 62 for each in refused.value.diagnostics for line in str(each).splitlines()[1:])
    with pytest.raises(SpecError) as broken:
        read_claim(json.dumps(document)[:-1], truth)
    assert all(len(line) <= 62 for line in str(broken.value).splitlines()[1:])


def test_the_lengths_of_vectors_do_not_count(truth: HiddenTruth) -> None:
    for name, basis in truth.subspaces.items():
        sizes = 10.0 ** (-4.0 * np.arange(len(basis)))[:, None]
        found = score(HiddenClaim(subspaces={name: basis * sizes}), truth).variables[name]
        assert (found.right, found.claimed) == (pytest.approx(found.there), found.there)


@pytest.mark.parametrize(
    ("claim", "words"),
    [
        ({"layers": frozenset({99})}, "layer 99, which these weights do not have"),
        ({"heads": {"layers.99.heads.0": "all"}}, "head 'layers.99.heads.0', which these weights do not have"),
        ({"units": frozenset({"x"})}, "unit 'x', which these weights do not have"),
        ({"subspaces": {"x": np.zeros((1, 3))}}, "variable 'x', which these weights do not have"),
        ({"subspaces": {"e_q": np.full((1, 3), 1.0)}}, "something else than vectors of"),
        ({"subspaces": {"e_q": np.array([np.nan])}}, "something else than vectors of"),
    ],
)
def test_a_claim_that_was_not_read_is_looked_at_too(claim: dict[str, Any], words: str, truth: HiddenTruth) -> None:
    with pytest.raises(DisguiseError, match=words):
        score(HiddenClaim(**claim), truth)


def test_a_vector_of_something_else_is_refused(truth: HiddenTruth) -> None:
    vector = ["x"] * truth.width
    document = {**json.loads(template(truth)), "subspaces": {"e_q": [vector]}}
    with pytest.raises(SpecError, match="a vector consists of numbers: write for example 0.5"):
        read_claim(json.dumps(document), truth)
    with pytest.raises(SpecError, match="too large"):
        read_claim(json.dumps(document).replace('"x"', "1e999"), truth)


def test_claims_and_keys_are_given_as_paths(tmp_path: object) -> None:
    from pathlib import Path

    folder = Path(str(tmp_path))
    made = hidden("half-adder")
    made.key.save(folder / "key.json")
    (folder / "claim.json").write_text(perfect(answer(made.key)).text(), encoding="utf-8")
    found = tm2tfr.score_claim(folder / "key.json", str(folder / "claim.json"))
    assert found == tm2tfr.score_claim(made.key, perfect(answer(made.key)))
    assert tm2tfr.claim_template(str(folder / "key.json")) == template(answer(made.key))
    assert tm2tfr.verify_disguise(made.decoder, folder / "key.json").proved
    with pytest.raises(tm2tfr.Tm2tfrError, match="it cannot be read"):
        tm2tfr.score_claim(made.key, folder / "none.json")


def test_the_columns_of_a_table_of_scores_are_explained_below_it() -> None:
    units = Score(3, 4, 6, 12)
    found = ClaimScores({"units": units}, {"units": 0.5}, {}, {}, {"units": Score(0, 1, 6, 12)})
    assert (
        str(found)
        == """\
             precision  recall   score    base  dead code   right / claimed / there
units            0.750   0.500   0.667   0.500      0.417   3 / 4 / 6
score: heads, subspaces, surface: mean F1 over roles or variables; decoys, layers, units: balanced accuracy (chance: 0.5)
base: the score of the best claim that knows only how many of each there are; –: nothing to find, or not computed
dead code: the score of a search along products of matrices for parts that nothing reads
right, claimed, there: counts of heads, layers or units; of subspaces and surface, dimensions
surface: variables that the embedding writes or the unembedding reads; subspaces: all other variables"""
    )
