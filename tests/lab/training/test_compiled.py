"""Training that starts at compiled weights, at weights of a given size, or with a frozen body."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

torch = pytest.importorskip("torch", reason="PyTorch is not installed: pip install 'tm2tfr[torch]'")

import tm2tfr  # noqa: E402
from tm2tfr.base.errors import TrainingError  # noqa: E402
from tm2tfr.lab.training.compiled import LEAST_MARGIN, CompiledModel, build, built_for, trained_model  # noqa: E402
from tm2tfr.lab.training.examples import adder_examples  # noqa: E402
from tm2tfr.lab.training.model import answered, exact_matches  # noqa: E402
from tm2tfr.lab.training.record import ModelOptions, TrainingOptions  # noqa: E402
from tm2tfr.sources.circuit.arithmetic import binary_adder  # noqa: E402
from tm2tfr.sources.circuit.compiler import compile_circuit  # noqa: E402

pytestmark = pytest.mark.slow

COMPILED = ModelOptions(kind="compiled")


@pytest.mark.parametrize("regime", ["medium", "strong"])
@pytest.mark.parametrize("order", ["paper-1", "paper-2"])
def test_the_compiled_weights_are_right_before_any_training(order: str, regime: str) -> None:
    examples = adder_examples(bits=3, order=order, regime=regime)  # type: ignore[arg-type]
    model = build(COMPILED, examples)
    assert exact_matches(model, examples) == exact_matches(model, examples, examples.train) == (1.0, 1.0, 1.0)


def test_the_margin_of_the_logits_is_what_is_said() -> None:
    examples = adder_examples(bits=3)
    logits = build(COMPILED, examples)(torch.tensor(examples.train.fed)).detach()
    margins = (logits[..., 1] - logits[..., 0]).abs()[torch.tensor(examples.train.scored)]
    assert LEAST_MARGIN <= float(margins.min()) < 2 * LEAST_MARGIN


def test_attention_is_on_the_operands_alone() -> None:
    examples = adder_examples(bits=3)
    circuit = binary_adder(bits=3, order="paper-2")
    (found,) = build(COMPILED, examples).attention(torch.tensor(examples.test.fed[:5]))
    assert found.shape == (5, 1, examples.longest, examples.longest)
    for i, gate in enumerate(circuit.gates, start=len(circuit.inputs) - 1):
        wanted = torch.zeros(examples.longest)
        for net in gate.operands:
            wanted[circuit.numbers[net]] += 1 / len(gate.operands)
        assert torch.allclose(found[:, 0, i], wanted.expand(5, -1), atol=2e-3)


def test_noise_breaks_it_and_training_mends_it(tmp_path: Path) -> None:
    examples = adder_examples(bits=4)
    disturbed = replace(COMPILED, noise=0.03)
    assert exact_matches(build(disturbed, examples, seed=1), examples).answer < 0.5
    options = TrainingOptions(steps=200, lr=1e-3, seed=1)
    run = tm2tfr.train("binary-adder", tmp_path, bits=4, model=disturbed, options=options)
    assert (run.exact_match, run.every_token) == (1.0, 1.0)
    again = trained_model(run)
    assert (answered(again, examples.test) == examples.test.wanted)[examples.test.scored].all()


def test_noise_has_the_size_that_is_said() -> None:
    examples = adder_examples(bits=4)
    plain, disturbed, other = (
        {
            name: each.detach()
            for name, each in build(replace(COMPILED, noise=noise), examples, seed=seed).named_parameters()
        }
        for noise, seed in ((0.0, 0), (0.5, 0), (0.5, 1))
    )
    for name in ("position", "layers.0.heads.0.query", "layers.0.feed_forward.input"):
        entries = plain[name][plain[name] != 0]
        size = float((disturbed[name] - plain[name]).std() / entries.square().mean().sqrt())
        assert size == pytest.approx(0.5, rel=0.15)
        assert not torch.equal(disturbed[name], other[name])
    assert torch.equal(plain["bias"], disturbed["bias"])  # it has no entries


def test_weights_that_answer_wrongly_are_no_start() -> None:
    model = CompiledModel(compile_circuit(binary_adder(bits=3, order="paper-2"), "paper"))
    with torch.no_grad():
        model.unembedding.copy_(model.unembedding.flip(0))
    with pytest.raises(TrainingError, match="answer a training example wrongly: start at those of the circuit"):
        model.scale(adder_examples(bits=3))


@pytest.mark.parametrize("variant", ["lookup", "paper-hard"])
def test_hard_attention_cannot_be_trained(variant: str) -> None:
    with pytest.raises(TrainingError, match="only where their attention is softmax"):
        CompiledModel(compile_circuit(binary_adder(bits=2, order="paper-2"), variant))


def test_only_sums_with_all_gates_start_at_compiled_weights() -> None:
    for examples in (adder_examples(bits=2, regime="weak"), adder_examples(bits=2, intermediates="carries")):
        with pytest.raises(TrainingError, match="only where the model generates the bits of all gates: train on binary-"):
            build(COMPILED, examples)


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"kind": "gpt2", "spread": 0.02}, "spread is an option of the model mingpt, not of gpt2: omit it"),
        ({"frozen": True}, "frozen is an option of the model gpt2, not of mingpt: omit it"),
        ({"noise": 0.1}, "noise is an option of the model compiled, not of mingpt: omit it"),
        (
            {"kind": "compiled", "width": 32},
            "the shape of a compiled model is that of its weights: omit all options but noise",
        ),
        ({"kind": "compiled", "noise": -1.0}, "noise must be a number from 0 to 1e+06, not -1.0: use another one"),
    ],
)
def test_options_of_other_models_are_refused(given: dict[str, object], said: str) -> None:
    with pytest.raises(TrainingError) as failure:
        ModelOptions(**given)  # type: ignore[arg-type]
    assert str(failure.value) == said


def test_weights_start_with_the_spread_that_is_asked_for() -> None:
    model = built_for(ModelOptions(width=128, positions="learned", spread=0.02), 2, 50)
    for name, weights in model.named_parameters():
        if "norm" in name:
            continue
        each = weights.detach()
        assert float(each.std() if each.ndim > 1 else each.abs().max()) == pytest.approx(0.02 * (each.ndim > 1), rel=0.15)


def test_a_frozen_body_stays_as_it_is() -> None:
    pytest.importorskip("transformers", reason="transformers is not installed: pip install 'tm2tfr[hf]'")
    options = ModelOptions(kind="gpt2", width=16, heads=2, frozen=True)
    examples = adder_examples(bits=2, intermediates="carries")
    model = build(options, examples)
    before = {name: each.detach().clone() for name, each in model.named_parameters()}
    run = tm2tfr.train("binary-adder", bits=2, intermediates="carries", model=options, options=TrainingOptions(steps=3))
    trained = tm2tfr.lab.training.loop.train_model(model, examples, TrainingOptions(steps=3))
    assert (run.trained, run.parameters) == (trained.trained, trained.parameters)
    changed = {name for name, each in model.named_parameters() if not torch.equal(each, before[name])}
    assert all(any(part in name for part in ("wte", "wpe", "ln_", "lm_head")) for name in changed)
    assert {name.removeprefix("model.") for name in changed} >= {
        "transformer.wte.weight",
        "transformer.ln_f.weight",
        "lm_head.weight",
    }
    assert sum(before[name].numel() for name in changed) == run.trained < run.parameters
