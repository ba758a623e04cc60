"""Grade 4: trained weights keep the variables of their source as far as their key claims, and a false key is found out."""

from __future__ import annotations

import importlib.util
import json
import sys
from dataclasses import replace
from functools import cache
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest

import tm2tfr
from tests.lab.hidden.cases import hidden, perfect
from tests.lab.hidden.test_commands import said
from tm2tfr.api.hidden import _runs
from tm2tfr.base.errors import DisguiseError
from tm2tfr.lab.hidden.keys import load_any_key
from tm2tfr.lab.hidden.trained.draws import REST, interchanges
from tm2tfr.lab.hidden.trained.key import TrainedKey, TrainingRecipe
from tm2tfr.lab.hidden.trained.make import TrainedDisguise, remeasured, trained
from tm2tfr.lab.hidden.trained.measure import Projections, RightShare, measured
from tm2tfr.lab.hidden.trained.start import started, subspaces_of
from tm2tfr.lab.hidden.trained.values import decoding, refitted
from tm2tfr.transformer.matrix import Matrix
from tm2tfr.transformer.storage import save
from tm2tfr.transformer.weights import Decoder, matrices, replaced

ROOT = Path(__file__).parents[3]
SMALL = TrainingRecipe(seed=3, noise=0.2, steps=250, interchanges=400, measured=200)
"""Of a circuit, some seconds."""


def subject() -> tm2tfr.Subject:
    return tm2tfr.Subject.of("c17", options={"variant": "paper-hard"})


@cache
def runs() -> Any:
    return _runs(subject(), SMALL.longest)


@cache
def model() -> TrainedDisguise:
    pytest.importorskip("torch", reason="install torch: pip install 'tm2tfr[torch]'")
    return trained(runs(), SMALL)


def noised(decoder: Decoder, size: float) -> Decoder:
    """Return weights with noise in every entry of their embedding."""
    chance, dense = np.random.default_rng(0), decoder.token_embedding.dense()
    return replaced(decoder, {"token_embedding": Matrix.from_dense(dense + size * chance.standard_normal(dense.shape))})


@pytest.mark.slow
def test_trained_weights_keep_their_variables_on_inputs_that_training_never_saw() -> None:
    key = model().key
    assert key.quality.answers == RightShare(6, 6)
    assert key.quality.interchange.share >= 0.95
    assert key.quality.effective.share >= 0.95
    assert key.quality.effective.of >= 80
    assert key.quality.rest.share >= 0.95
    assert set(key.quality.variables) == {"s", "mean", "one", "zero"}
    assert key.quality.worst[1] == min(key.quality.alone.values(), key=lambda each: each.share)
    assert sum(each.of for each in key.quality.alone.values()) <= key.quality.effective.of
    assert 0 < max(each.mean for each in key.quality.decoding.values()) < 0.3
    assert 0.1 < key.moved < 0.6


@pytest.mark.slow
def test_scale_and_offset_are_fitted_after_training() -> None:
    key, decoder = model().key, model().decoder
    fed = [runs().fed(runs().base(word).run) for word in runs().part(unseen=True)]
    start = started(runs(), runs().part(unseen=False), np.random.default_rng(SMALL.seed))
    before = decoding(decoder, key.original, start.places, fed)
    mean = [np.mean([each[name].mean for name in key.places]) for each in (before, key.quality.decoding)]
    assert mean[1] < 0.8 * mean[0], mean
    seen = [runs().fed(runs().base(word).run) for word in runs().part(unseen=False)]
    false = {name: replace(place, scale=3 * place.scale, offset=place.offset + 7) for name, place in key.places.items()}
    for name, place in refitted(decoder, key.original, false, seen).items():
        np.testing.assert_allclose(place.scale, key.places[name].scale)
        np.testing.assert_allclose(place.offset, key.places[name].offset)


@pytest.mark.slow
def test_no_entry_is_zero() -> None:
    decoder = model().decoder
    full = {path: matrix.nonzero == matrix.shape[0] * matrix.shape[1] for path, matrix in matrices(decoder).items()}
    assert all(full.values()), full
    assert decoder.nonzero == decoder.parameters
    assert {head.weighting for layer in decoder.layers for head in layer.heads} == {"softmax"}


@pytest.mark.slow
def test_the_start_computes_what_the_source_does_and_noise_undoes_it() -> None:
    """So the figures after training are those of training."""
    own = _runs(tm2tfr.Subject.of("shift"), 4)
    start = started(own, own.part(unseen=False), np.random.default_rng(0))
    projections = Projections(start.places, subspaces_of(own), own.stages)
    unseen = own.part(unseen=True)
    plain = {own.fed(own.base(word).run): own.wanted(word, own.base(word).run) for word in unseen}
    written = {name: each.since for name, each in own.variables.items()}
    drawn = list(interchanges(own, unseen, written, count=100, rest=20, seed="a test"))
    before, after = (measured(each, projections, drawn, plain) for each in (start.decoder, noised(start.decoder, 1.0)))
    assert (before.answers.share, before.interchange, before.rest) == (1, RightShare(100, 100), RightShare(20, 20))
    assert max(after.answers.share, after.interchange.share) < 0.5
    assert {each.rest for each in drawn} == {False, True}
    assert {one.variable for each in drawn for one in each.exchanges if each.rest} == {REST}


@pytest.mark.slow
def test_training_is_deterministic_and_its_key_is_read_as_it_was_written(tmp_path: Path) -> None:
    pytest.importorskip("torch", reason="install torch: pip install 'tm2tfr[torch]'")
    few = replace(SMALL, steps=20, interchanges=80, measured=20)
    once, again, other = (trained(runs(), each) for each in (few, few, replace(few, seed=4)))
    assert once.key.text() == again.key.text()
    assert once.key.digest != other.key.digest
    once.key.save(tmp_path / "key.json")
    there = load_any_key(tmp_path / "key.json")
    assert isinstance(there, TrainedKey)
    assert there.text() == once.key.text()


@pytest.mark.slow
def test_a_key_is_measured_anew_and_sabotage_is_found() -> None:
    decoder, key = model().decoder, model().key
    again = remeasured(decoder, key, runs())
    assert (again.kept, again.quality) == (True, key.quality)
    assert tm2tfr.measure_disguise(decoder, key).quality == key.quality

    swapped = dict(key.places) | {"one": key.places["zero"], "zero": key.places["one"]}
    found = remeasured(decoder, replace(key, places=swapped), runs())
    assert any(refused.startswith("interchange of ") for refused in found.refusals), found
    assert not any("digests" in refused for refused in found.refusals)

    other = noised(decoder, 0.5)
    found = remeasured(other, key, runs())
    assert "their digests differ" in found.refusals[0]
    assert any(refused.startswith("answers: ") for refused in found.refusals[1:]), found

    claimed = replace(key.quality, rest=RightShare(50, 60))
    found = remeasured(decoder, replace(key, quality=claimed), runs())
    assert found.refusals == ("rest: 50 were measured, and the key claims 50 of 60",)
    far = {name: replace(place, offset=place.offset + 0.1) for name, place in key.places.items()}
    found = remeasured(decoder, replace(key, places=far), runs())
    assert found.refusals
    assert all(refused.startswith("values of ") for refused in found.refusals), found
    lower = replace(key.quality, variables={**key.quality.variables, "s": RightShare(0, key.quality.variables["s"].of)})
    assert remeasured(decoder, replace(key, quality=lower), runs()).kept  # it claims less than there is

    found = remeasured(subject().decoder, key, runs())
    assert found.refusals == ("the key is about a stream of another width, and these weights have 20",)


@pytest.mark.slow
def test_claims_about_trained_weights_are_scored() -> None:
    truth = model().key.truth
    scores = tm2tfr.score_claim(model().key, perfect(truth))
    assert {name: score.f1 for name, score in scores.variables.items()} == dict.fromkeys(truth.subspaces, 1.0)
    assert scores.kinds["heads"].measure == 1
    blind = tm2tfr.score_baseline(model().key, "blind", weights=model().decoder)
    assert 0 < (blind.kinds["surface"].measure or 0) < 0.8  # type: ignore[union-attr]
    with pytest.raises(DisguiseError, match="which trained weights hold only nearly"):
        tm2tfr.score_baseline(model().key, "probe", weights=model().decoder)
    with pytest.raises(DisguiseError, match="nothing is proved of trained weights"):
        tm2tfr.verify_disguise(model().decoder, model().key)


@pytest.mark.slow
def test_the_command_trains_measures_and_refuses(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    pytest.importorskip("torch", reason="install torch: pip install 'tm2tfr[torch]'")
    weights, key = str(tmp_path / "hidden.safetensors"), str(tmp_path / "key.json")
    save(model().decoder, weights)
    model().key.save(key)
    code, out, _ = said(capsys, "disguise", weights, "--verify", key)
    assert (code, out.splitlines()[0]) == (
        0,
        "measured, not proved: all that the key claims, less 1 or 0.5 % in each figure",
    )
    save(noised(model().decoder, 0.5), weights)
    code, out, _ = said(capsys, "disguise", weights, "--verify", key)
    assert (code, out.splitlines()[-1]) == (1, f"less than {key} claims")

    given = ("disguise", "c17", "--variant", "paper-hard", "--grade", "4", "--seed", "3", "--steps", "5", "--noise", "0.1")
    code, out, err = said(capsys, *given, "-o", weights, "--key", key)
    assert (code, out.splitlines()[0]) == (0, "c17, grade 4, seed 3")
    assert err.splitlines()[-1].startswith("warning: less than 0.9: "), err
    assert "trained from noise of 0.1; the weights moved by " in out
    assert json.loads(Path(key).read_text(encoding="utf-8"))["recipe"]["steps"] == 5


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("c17", "--grade", "4", "--rename-tokens"), "--rename-tokens is for weights that compute the same function"),
        (("c17", "--grade", "3", "--noise", "0.1"), "--noise is about training: add --grade 4"),
        (("--suite", "--grade", "4"), "not all that are drawn can be trained: name a source for --grade 4"),
        (("c17", "--variant", "paper", "--grade", "4"), "plain attention, and these have layer norms"),
        (("looped-parity", "--grade", "4"), "plain attention, and these have loops"),
        (("c17", "--grade", "4", "--noise", "-1"), "tm2tfr disguise: --noise cannot be -1: use a number of more than 0"),
        (("c17", "--grade", "4", "--steps", "-4"), "--steps: -4 is out of range: use a whole number from 1 to 1e18"),
        (("c17", "--grade", "4", "--steps", "1e9"), "steps cannot be 1000000000: use a whole number from 1 to 1,000,000"),
        (("c17", "--grade", "4", "--noise", "0"), "--noise cannot be 0: use a number of more than 0, at most 100"),
    ],
)
def test_what_cannot_be_trained_is_refused(
    arguments: tuple[str, ...], message: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    pytest.importorskip("torch", reason="install torch: pip install 'tm2tfr[torch]'")
    where = (
        "-o",
        str(tmp_path / "w.safetensors"),
        *(() if "--suite" in arguments else ("--key", str(tmp_path / "k.json"))),
    )
    code, _, err = said(capsys, "disguise", *arguments, *where)
    assert (code, message in err) == (2, True), err
    assert not list(tmp_path.iterdir())


def test_other_grades_are_not_measured_and_torch_is_asked_for(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(DisguiseError, match="a key of grade 1 is proved, not measured"):
        tm2tfr.measure_disguise("half-adder", hidden("half-adder", 1).key)
    with pytest.raises(DisguiseError, match="grade 4 is trained, and no disguise of the same function"):
        tm2tfr.disguise("half-adder", grade=4)
    monkeypatch.setitem(sys.modules, "torch", None)
    with pytest.raises(DisguiseError, match=r"grade 4 is trained, which needs torch .*pip install 'tm2tfr\[torch\]'"):
        tm2tfr.disguise_by_training("half-adder")


LAYER = "places.token.layer"


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize(
    ("path", "value", "message"),
    [
        ("recipe.longest", 10**9, "recipe: longest cannot be 1000000000: use a whole number from 1 to 32"),
        ("recipe.measured", 10**9, "recipe: measured cannot be 1000000000: use a whole number from 1 to 20,000"),
        ("recipe.measured", 1000.5, "recipe: measured cannot be 1000.5: use a whole number"),
        ("recipe.longest", 6.5, "recipe: longest cannot be 6.5: use a whole number"),
        ("recipe.noise", float("nan"), "recipe: noise cannot be nan: use a number"),
        ("name", "c17", "its name is 'c17', and that of the original 'since-b'"),
        ("seed", 99, "its seed is 99, and that of its recipe 1"),
        (LAYER, 99, "'token' is after 'embedding' of layer 99, which the original does not have"),
        (LAYER, -3, "the layer of a place is a whole number, 0 or more, not -3"),
        (LAYER, 1e308, "the layer of a place is a whole number, 0 or more, not 1e+308"),
        ("places.token.part", "nothing", "'token' is after 'nothing' of layer 0, which the original does not have"),
        ("places.token.scale", [0.0] * 4, "'token' has a scale of 0, which loses its values"),
        ("places.token.basis.0.0", 1e308, "the bases of its places are not orthonormal, each and together"),
        ("places.token.labels", ["c", "b", "a", "BOS"], "the labels of 'token' are not those of the original"),
        ("heads", {}, "its heads of layer 2 are not those of the original, each once"),
        ("heads", {"layers.2.heads.0": "layers.0.heads.-1"}, "its heads of layer 2 are not those of the original"),
        ("heads", "add", "it has heads of a layer that the original does not have"),
        ("measured.moved", float("nan"), "nan is not a finite number, 0 or more"),
        ("measured.moved", -5, "-5 is not a finite number, 0 or more"),
        ("places.token.set", False, "'token' is a place of a variable, and says otherwise"),
        ("places.token.error.mean", -1, "-1 is not a finite number, 0 or more"),
        ("measured.answers", [10**400, 10**400], "… is not how many are right, and of how many"),
        ("grade", 4.0, "its grade is 4.0, and it has the recipe of trained weights"),
        ("grade", 3, "its grade is 3, and it has the recipe of trained weights"),
        ("grade", "4", "its grade is '4', and it has the recipe of trained weights"),
        ("recipe", "delete", "its grade is 4, and it has no recipe of trained weights"),
    ],
)
def test_a_damaged_key_is_refused_with_its_file(path: str, value: Any, message: str, tmp_path: Path) -> None:
    document = json.loads((script().FOLDER / "since-b.json").read_text(encoding="utf-8"))
    *outer, last = (int(each) if each.isdigit() else each for each in path.split("."))
    place = document
    for each in outer:
        place = place[each]
    if value == "delete":
        del place[last]
    else:
        place[last] = {**place[last], "layers.9.heads.9": "layers.9.heads.9"} if value == "add" else value
    damaged = tmp_path / "key.json"
    damaged.write_text(json.dumps(document), encoding="utf-8")
    with pytest.raises(DisguiseError) as refused:
        load_any_key(damaged)
    assert str(refused.value).startswith(f"{damaged}: this key is damaged (")
    assert message in str(refused.value)
    assert str(refused.value).endswith("): make it again with 'tm2tfr disguise'")


@pytest.mark.slow
def test_a_key_with_other_variables_than_its_original_is_refused(tmp_path: Path) -> None:
    document = json.loads((script().FOLDER / "since-b.json").read_text(encoding="utf-8"))
    name = "!Q[b] & Q[a] | Q[b]"
    lacking, moved, swapped = (json.loads(json.dumps(document)) for _ in range(3))
    del lacking["places"][name], lacking["variables"][name]
    moved["places"][name]["layer"] += 1
    both = swapped["variables"]
    both["token"]["places"], both[name]["places"] = both[name]["places"], both["token"]["places"]
    damaged = tmp_path / "key.json"
    for each, message in (
        (lacking, f"the key lacks the variable '{name}' of its original"),
        (moved, f"the place '{name}' of the key is after another stage than in its original"),
        (swapped, f"the variable '{name}' of the key is not the one of its original"),
    ):
        damaged.write_text(json.dumps(each), encoding="utf-8")
        with pytest.raises(DisguiseError) as refused:
            tm2tfr.measure_disguise(script().FOLDER / "since-b.safetensors", damaged)
        assert str(refused.value) == f"{damaged}: {message}: make the key again with 'tm2tfr disguise'"


# ── the models of the page
def script() -> ModuleType:
    spec = importlib.util.spec_from_file_location("realistic", ROOT / "docs/learned/realistic.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_the_recorded_models_reach_what_the_page_says() -> None:
    own = script()
    suite = [record for record in own.records() if own.reaches(record["result"])]
    assert len(suite) >= 10
    assert len({record["kind"] for record in suite}) >= 3
    page = (ROOT / "docs/how-to/realistic-models.md").read_text(encoding="utf-8")
    assert own.table(own.records()) in page
    assert own.shapes(own.records()) in " ".join(page.split())
    kept = {path.stem for path in own.FOLDER.glob("*.safetensors")}
    assert kept == {path.stem for path in own.FOLDER.glob("*.json")} - {"suite"} == {record["source"] for record in suite}
    listed = json.loads((own.FOLDER / "suite.json").read_text(encoding="utf-8"))
    assert listed == own.index(own.records())
    assert {load_any_key(own.FOLDER / f"{name}.json").digest for name in kept} == {r["result"]["digest"] for r in suite}


@pytest.mark.slow
def test_base_lines_score_the_recorded_models_as_a_suite() -> None:
    own = script()
    found = tm2tfr.score_baseline(own.FOLDER, "blind").as_dict()
    assert found["models"] == {"4": len(own.index(own.records())["models"])}
    assert 0 < found["grades"]["4"]["subspaces"]["measure"] < 0.3  # type: ignore[index]


@pytest.mark.slow
@pytest.mark.parametrize("name", ["c17", "multiplexer", "shift", "hop-1", "since-b"])
def test_a_recorded_model_is_what_its_key_claims(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Measured anew, without torch."""
    folder = script().FOLDER
    monkeypatch.setitem(sys.modules, "torch", None)
    found = tm2tfr.measure_disguise(folder / f"{name}.safetensors", folder / f"{name}.json")
    assert found.kept, found.refusals


@pytest.mark.slow
def test_a_recorded_model_is_made_again() -> None:
    """Its figures everywhere, its digest where platform and versions are those of the record."""
    pytest.importorskip("torch", reason="install torch: pip install 'tm2tfr[torch]'")
    own = script()
    record = next(each for each in own.records() if each["source"] == "c17")
    found = own.result(own.made(record))
    assert own.reaches(found)
    if found["made_on"] == record["result"]["made_on"]:
        assert found == record["result"]
