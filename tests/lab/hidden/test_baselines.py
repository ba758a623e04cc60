"""Baselines: claims that are made in minutes, scored like any other, of one model and of a suite."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import tm2tfr
from tests.lab.hidden.cases import hidden
from tests.lab.hidden.test_commands import said
from tests.lab.hidden.test_suite import half_adder
from tm2tfr.base.errors import DisguiseError
from tm2tfr.lab.hidden.baselines import BASELINES, baseline, observed
from tm2tfr.lab.hidden.claim import answer
from tm2tfr.lab.hidden.score import KINDS, ClaimScores, score
from tm2tfr.lab.hidden.suite import SuiteScores, make_suite, score_suite
from tm2tfr.transformer.storage import save


def scored(name: Any, of: str, grade: int = 3) -> ClaimScores:
    made = hidden(of, grade)
    return score(baseline(name, made.decoder, made.key), answer(made.key))


@pytest.mark.slow
@pytest.mark.parametrize("of", ["half-adder", "since-b"])
def test_what_each_base_line_finds(of: str) -> None:
    """Position features are read off; probes that are told the values find what varies; nobody finds a decoy."""
    found = {name: scored(name, of) for name in BASELINES}
    measures = {name: {kind: each.kinds[kind].measure for kind in KINDS} for name, each in found.items()}
    for name in BASELINES:
        assert measures[name]["layers"] == measures[name]["units"] == 0.5, name
        assert measures[name]["decoys"] == 0.5 or name == "norms", name
    assert measures["blind"]["subspaces"] >= max(measures[name]["subspaces"] for name in ("embeddings", "variance"))
    assert measures["blind"]["subspaces"] >= (found["blind"].base["subspaces"] or 0) - 1e-9
    assert measures["probe"]["subspaces"] > measures["blind"]["subspaces"]
    assert measures["cancelling"]["surface"] == 0.0


def test_the_column_of_a_position_feature_is_where_it_is() -> None:
    found = scored("embeddings", "half-adder", 2).variables
    assert found["i"].f1 == found["i^2"].f1 == pytest.approx(1.0)
    assert (found["a"].f1 or 0) < 0.5


def test_the_stream_is_observed_in_runs_always_the_same() -> None:
    made = hidden("half-adder")
    stream = observed(made.decoder)
    assert stream.shape[1] == made.decoder.layout.width
    assert np.array_equal(stream, observed(made.decoder))


@pytest.mark.slow
def test_a_suite_is_scored_by_grade(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = make_suite(tmp_path / "suite", half_adder)
    told: list[tuple[int, int]] = []
    found = tm2tfr.score_baseline(folder, "embeddings", progress=lambda *n: told.append(n))
    assert isinstance(found, SuiteScores)
    assert told[-1] == (40, 40)
    assert found.models == {1: 14, 2: 13, 3: 13}
    one = scored("embeddings", "half-adder", 1)
    assert found.grades[3]["surface"] == (pytest.approx(one.kinds["surface"].measure), pytest.approx(one.base["surface"]))
    assert found.grades[1]["decoys"] == (None, None)
    code, out, _ = said(capsys, "score", str(folder), "--baseline", "embeddings")
    assert (code, out) == (0, f"{found}\n")
    data = json.loads(said(capsys, "score", str(folder), "--baseline", "embeddings", "--json")[1])
    assert data["grades"]["2"]["heads"] == {"measure": 0.0, "base": pytest.approx(one.base["heads"])}


@pytest.mark.slow
def test_base_lines_of_one_model_need_its_weights(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    made, key, weights = hidden("half-adder"), str(tmp_path / "key.json"), str(tmp_path / "hidden.safetensors")
    made.key.save(key)
    save(made.decoder, weights)
    code, out, _ = said(capsys, "score", key, "--baseline", "embeddings", "--weights", weights)
    assert (code, out) == (0, f"{scored('embeddings', 'half-adder')}\n")
    for arguments, words in (
        ((key, "--baseline", "embeddings"), "add --weights FILE, or name a suite"),
        ((key, "--baseline", "x"), "x"),
        ((key, "claim.json", "--weights", weights), "--weights is for --baseline: omit it"),
        ((key, "claim.json", "--baseline", "probe"), "--baseline makes its own claim: omit the others"),
    ):
        code, _, err = said(capsys, "score", *arguments)
        assert (code, words in err) == (2, True), err
    other = hidden("half-adder", seed=1).decoder
    (inner := tmp_path / "suite" / "keys").mkdir(parents=True)
    (inner.parent / "suite.json").write_text("{}", encoding="utf-8")
    for call, words in (
        (lambda: tm2tfr.score_baseline(made.key, "probe"), "name their file, weights=FILE"),
        (lambda: tm2tfr.score_baseline(made.key, "probe", weights=other), "their digests differ"),
        (lambda: tm2tfr.score_baseline(made.key, "x"), "there is no baseline 'x': use embeddings, cancelling"),  # type: ignore[arg-type]
        (lambda: tm2tfr.score_baseline(tmp_path, "probe", weights=other), "a suite has its own weights"),
        (lambda: score_suite(tmp_path, "probe"), "it has no suite.json that lists hidden models"),
        (lambda: score_suite(inner, "probe"), f"name the folder above, {tmp_path.resolve() / 'suite'}$"),
    ):
        with pytest.raises(DisguiseError, match=words):
            call()
