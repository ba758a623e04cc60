"""The loop: the same losses for the same seed, interrupted or not; any module; and that it learns at all."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

torch = pytest.importorskip("torch", reason="PyTorch is not installed: pip install 'tm2tfr[torch]'")

import tm2tfr  # noqa: E402
from tm2tfr.base.errors import TrainingError  # noqa: E402
from tm2tfr.lab.training.compiled import build, trained_model  # noqa: E402
from tm2tfr.lab.training.examples import adder_examples  # noqa: E402
from tm2tfr.lab.training.loop import train_model  # noqa: E402
from tm2tfr.lab.training.model import exact_matches  # noqa: E402
from tm2tfr.lab.training.record import (  # noqa: E402
    ModelOptions,
    Regime,
    TrainingOptions,
    load_run,
)

pytestmark = pytest.mark.slow

SMALL = ModelOptions(width=16, dropout=0.1)
SHORT = TrainingOptions(steps=40, batch=8, evaluate_every=15, warmup=5, weight_decay=0.01)


def after(steps: int) -> Callable[[], bool]:
    """What stops a run after so many steps."""
    asked = iter(range(1, 10**6))
    return lambda: next(asked) >= steps


def small(folder: Path | None = None, **given: Any) -> tm2tfr.lab.training.record.TrainingRun:
    return tm2tfr.train("binary-adder", folder, bits=2, model=SMALL, **{"options": SHORT, **given})


def test_the_same_seed_has_the_same_losses_and_another_has_not() -> None:
    one, two = small(), small()
    assert one.same() == two.same()
    assert (one.steps, one.ended, [step for step, _ in one.losses]) == (40, "all steps", [40])
    assert [step for step, *_ in one.evaluations] == [15, 30, 40]
    other = small(options=TrainingOptions(**{**vars(SHORT), "seed": 1}))
    assert other.losses != one.losses


def test_random_numbers_and_threads_of_the_caller_stay() -> None:
    torch.manual_seed(5)
    before, threads = torch.get_rng_state(), torch.get_num_threads()
    small(options=TrainingOptions(steps=2, threads=threads + 1))
    assert torch.equal(torch.get_rng_state(), before)
    assert torch.get_num_threads() == threads


@pytest.mark.parametrize("at", [(1,), (15,), (7, 8, 20)])
def test_an_interrupted_run_ends_as_if_it_had_not_been(tmp_path: Path, at: tuple[int, ...]) -> None:
    whole = small(tmp_path / "whole")
    folder = tmp_path / "parts"
    for steps in at:
        part = small(folder, stop=after(steps), resume=True)
        assert (part.finished, part.ended) == (False, "interrupted")
        assert json.loads((folder / "run.json").read_text())["finished"] is False
    assert part.steps == sum(at)
    resumed = small(folder, resume=True)
    assert resumed.same() == whole.same()
    assert resumed.weights_sha256
    assert sorted(each.name for each in folder.iterdir()) == ["run.json", "weights.safetensors"]
    assert load_run(folder).same() == whole.same()
    assert small(folder, resume=True).same() == whole.same(), "a finished run is returned"


def test_a_run_says_where_it_was_made_and_where_it_went_on(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    part = small(tmp_path, stop=after(3))
    (here,) = part.made_on
    assert {"platform", "processor"} <= set(here) <= {"platform", "processor", "commit"}
    monkeypatch.setattr("tm2tfr.lab.training.made_on.processor", lambda: "an abacus")
    assert small(tmp_path, stop=after(3), resume=True).made_on == (here, {**here, "processor": "an abacus"})
    monkeypatch.undo()
    assert small(tmp_path, resume=True).made_on == load_run(tmp_path).made_on == (here, {**here, "processor": "an abacus"})


def test_the_commit_of_a_checkout_is_told_with_what_differs_from_it(tmp_path: Path) -> None:
    from tm2tfr.lab.training.made_on import commit

    if shutil.which("git") is None:
        pytest.skip("Git is not installed: install git")

    def git(*arguments: str) -> None:
        who = ("-c", "user.name=a", "-c", "user.email=a@b.c")
        subprocess.run(("git", "-C", str(tmp_path), *who, *arguments), check=True, capture_output=True)

    assert commit(tmp_path) is None
    (tmp_path / "a").write_text("1")
    git("init")
    git("add", "a")
    git("commit", "-m", "a")
    commit.cache_clear()
    head = commit(tmp_path)
    assert head is not None
    assert re.fullmatch("[0-9a-f]{40}", head)
    (tmp_path / "a").write_text("2")
    commit.cache_clear()
    assert commit(tmp_path) == f"{head} with changes"


def test_a_run_is_not_lost_and_not_mixed_with_another(tmp_path: Path) -> None:
    small(tmp_path, stop=after(3))
    with pytest.raises(
        TrainingError, match="there is a training run here: resume it with resume=True, or choose another folder"
    ):
        small(tmp_path)
    with pytest.raises(
        TrainingError, match=r"the run here has different options \(steps\): train this one in another folder"
    ):
        small(tmp_path, resume=True, options=TrainingOptions(**{**vars(SHORT), "steps": 41}))
    with pytest.raises(TrainingError, match=r"the run here has different data \(name, regime, "):
        small(tmp_path, resume=True, regime="weak")
    data = bytearray((tmp_path / "checkpoint.safetensors").read_bytes())
    data[-1] ^= 1
    (tmp_path / "checkpoint.safetensors").write_bytes(data)
    with pytest.raises(TrainingError, match="this checkpoint is damaged: train again in another folder"):
        small(tmp_path, resume=True)
    (tmp_path / "checkpoint.safetensors").write_bytes(data[:100])
    with pytest.raises(TrainingError, match="this is not a checkpoint"):
        small(tmp_path, resume=True)
    (tmp_path / "checkpoint.safetensors").unlink()
    with pytest.raises(TrainingError, match="this run was interrupted, and its checkpoint is not there"):
        small(tmp_path, resume=True)
    with pytest.raises(TrainingError, match="this run has no trained weights: finish it with tm2tfr train --resume"):
        trained_model(load_run(tmp_path))
    (tmp_path / "weights").touch()
    with pytest.raises(TrainingError, match="weights: this is a file, and a training run is a folder: name one"):
        load_run(tmp_path / "weights")
    (tmp_path / "grids").mkdir()
    (tmp_path / "grids" / "grid.yaml").touch()
    with pytest.raises(TrainingError, match="these are the runs of a grid: name the folder of one of them, in this folder"):
        load_run(tmp_path / "grids")
    with pytest.raises(TrainingError, match="there is no training run here: make one with tm2tfr train"):
        load_run(tmp_path / "nothing")


def test_the_weights_that_are_kept_are_the_trained_ones(tmp_path: Path) -> None:
    run = small(tmp_path / "run")
    model = trained_model(load_run(tmp_path / "run"))
    found = adder_examples(bits=2)
    assert exact_matches(model, found) == (run.exact_match, run.every_token, run.token_accuracy)
    assert run.evaluations[-1][1:] == (run.exact_match, run.every_token)
    assert load_run(tmp_path / "run").token_accuracy == run.token_accuracy
    assert (run.base_rate, load_run(tmp_path / "run").base_rate) == (found.base_rate, found.base_rate)
    assert run.parameters == sum(each.numel() for each in model.parameters())
    assert run.trained == run.parameters - found.longest * 16, "sines and cosines are not trained"
    (tmp_path / "run" / "weights.safetensors").write_bytes(b"")
    with pytest.raises(TrainingError, match="these are not the weights of this run"):
        trained_model(run)


def test_any_module_can_be_trained_and_only_what_requires_a_gradient_is() -> None:
    """As a frozen body between a new embedding and a new output."""
    found = adder_examples(bits=2, intermediates="carries")
    body = torch.nn.Linear(8, 8)
    body.requires_grad_(False)
    before = body.weight.clone()
    embedding, output = torch.nn.Embedding(3, 8), torch.nn.Linear(8, 2)
    start = embedding.weight.clone()
    run = train_model(
        torch.nn.Sequential(embedding, body, output), found, SHORT, about={"kind": "frozen", "body": "random"}
    )
    assert run.model == {"kind": "frozen", "body": "random"}
    assert (run.parameters, run.trained) == (24 + 72 + 18, 24 + 18)
    assert torch.equal(body.weight, before)
    assert not torch.equal(embedding.weight, start)
    with pytest.raises(TrainingError, match="the model has no parameter to train"):
        train_model(body, found)


def test_a_loss_that_is_none_ends_the_run() -> None:
    with pytest.raises(TrainingError, match="the loss of step 3 is nan: use a lower learning rate"):
        small(options=TrainingOptions(steps=20, lr=1e6, clip=0.0, warmup=0))


@pytest.mark.parametrize(("bits", "regime"), [(3, "weak"), (3, "medium"), (3, "strong"), (4, "weak"), (4, "medium")])
def test_all_regimes_run(bits: int, regime: Regime) -> None:
    run = tm2tfr.train("binary-adder", bits=bits, regime=regime, options=TrainingOptions(steps=80, evaluate_every=80))
    assert run.loss is not None
    assert run.losses[0][1] > run.loss


def test_steps_that_are_scored_are_learned() -> None:
    """Of 256 pairs of 4 bits, 192 are trained on; the sums of the other 64 come out right, by way of all gates."""
    model = ModelOptions(positions="learned", spread=0.02)
    options = TrainingOptions(steps=600, lr=2e-3, evaluate_every=600)
    run = tm2tfr.train("binary-adder", bits=4, model=model, options=options)
    assert (run.data["train"], run.data["test"]) == (192, 64)
    assert run.exact_match == 1.0
    assert run.loss is not None
    assert run.loss < 0.01


def test_a_gpt2_is_trained() -> None:
    pytest.importorskip("transformers", reason="transformers is not installed: pip install 'tm2tfr[hf]'")
    model = ModelOptions(kind="gpt2", layers=2, heads=2, width=16, config={"activation_function": "relu"})
    run = tm2tfr.train("binary-adder", bits=2, model=model, options=SHORT)
    assert run.loss is not None
    assert run.loss < 0.75
    built: Any = build(model, adder_examples(bits=2))
    assert built.model.config.activation_function == "relu"
    assert [each.shape for each in built.attention(torch.zeros((1, 5), dtype=torch.long))] == [(1, 2, 5, 5)] * 2
