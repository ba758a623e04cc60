"""The small decoder: its attention, and the shorter ways to its logits."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

torch = pytest.importorskip("torch", reason="PyTorch is not installed: pip install 'tm2tfr[torch]'")

from tm2tfr.base.errors import TrainingError  # noqa: E402
from tm2tfr.lab.training.compiled import build, built_for  # noqa: E402
from tm2tfr.lab.training.examples import adder_examples  # noqa: E402
from tm2tfr.lab.training.model import answered, exact_matches, position_embedding  # noqa: E402
from tm2tfr.lab.training.record import POSITIONS, ModelOptions, TrainingOptions  # noqa: E402

pytestmark = pytest.mark.slow

SHAPES = [
    ModelOptions(),
    ModelOptions(layers=3, heads=4, width=32, positions="learned"),
    ModelOptions(layers=2, heads=2, positions="hand-coded", hidden=10),
    ModelOptions(sublayers="fssff", heads=2, width=32),
]


@pytest.mark.parametrize("options", SHAPES)
def test_attention_is_causal_and_adds_up_to_1(options: ModelOptions) -> None:
    model = built_for(options, 2, 9).eval()
    tokens = torch.randint(0, 2, (4, 9))
    found = model.attention(tokens)
    assert [each.shape for each in found] == [(4, options.heads, 9, 9)] * "".join(options.parts).count("s")
    for each in found:
        assert torch.allclose(each.sum(dim=-1), torch.ones(4, options.heads, 9))
        assert not each.triu(1).any()
        assert (each > 0).equal(torch.ones_like(each, dtype=torch.bool).tril())


@pytest.mark.parametrize("options", SHAPES)
def test_the_shorter_ways_give_the_same_logits(options: ModelOptions) -> None:
    model = built_for(options, 2, 9).eval()
    tokens = torch.randint(0, 2, (4, 9))
    whole = model(tokens)
    assert whole.shape == (4, 9, 2)
    assert torch.allclose(model(tokens, 5), whole[:, 5:], atol=1e-6)
    memory = model.memory(4, 9)
    for place in range(9):
        assert torch.allclose(model.following(tokens[:, place : place + 1], memory), whole[:, place], atol=1e-6)


@pytest.mark.parametrize("options", SHAPES)
def test_no_position_sees_a_later_one(options: ModelOptions) -> None:
    model, tokens = built_for(options, 2, 9).eval(), torch.zeros((1, 9), dtype=torch.long)
    changed = tokens.clone()
    changed[0, 6] = 1
    differ = (model(tokens) != model(changed)).any(dim=-1)[0]
    assert not differ[:6].any()
    assert differ[6]


def test_hand_coded_positions_are_those_of_equation_18() -> None:
    """W_pos has a 1 at row j and column k if k = j + 3, both counted from 1, of d = 3 + b columns, and 0 elsewhere."""
    found = position_embedding(ModelOptions(positions="hand-coded", width=7), 4)
    assert found.tolist() == [[float(k == j + 3) for k in range(1, 8)] for j in range(1, 5)]
    assert not found.requires_grad


def test_labels_are_seen_from_both_sides_and_padding_is_not_seen() -> None:
    model = built_for(ModelOptions(layers=2), 3, 6, labels=True).eval()
    word = torch.tensor([[0, 1, 2, 1]])
    padded = torch.tensor([[0, 1, 2, 1, 3, 3]])
    assert torch.allclose(model(word), model(padded)[:, :4], atol=1e-6)
    assert not torch.allclose(model(word)[:, 0], model(torch.tensor([[0, 1, 2, 2]]))[:, 0])
    assert all(not each[..., 4:].any() for each in model.attention(padded))


def test_sublayers_stand_in_their_order() -> None:
    assert ModelOptions(sublayers="fssff").parts == ("f", "s", "sf", "f")
    assert ModelOptions(layers=3).parts == ("sf", "sf", "sf")
    names = [name.split(".")[1:3] for name, _ in built_for(ModelOptions(sublayers="fs"), 2, 9).blocks.named_parameters("b")]
    assert list(dict.fromkeys(map(tuple, names))) == [
        ("0", "norm_2"),
        ("0", "feed_forward"),
        ("1", "norm_1"),
        ("1", "attention"),
    ]
    spelled, usual = (
        built_for(each, 2, 9, seed=5).eval() for each in (ModelOptions(sublayers="sfsf"), ModelOptions(layers=2))
    )
    tokens = torch.randint(0, 2, (4, 9))
    assert spelled(tokens).equal(usual(tokens))


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"sublayers": "sxf"}, "sublayers must be letters s .attention. and f .feed-forward., not 'sxf': use for example"),
        ({"sublayers": ""}, "not ''"),
        ({"sublayers": "sf", "layers": 2}, "sublayers already say how many layers there are: omit layers"),
        ({"sublayers": "sf", "kind": "gpt2"}, "sublayers is an option of the model mingpt, not of gpt2: omit it"),
    ],
)
def test_sublayers_that_cannot_be(options: Any, message: str) -> None:
    with pytest.raises(TrainingError, match=message):
        ModelOptions(**options)


class Plain(torch.nn.Module):
    """A model without the shorter ways, around one that has them."""

    def __init__(self, model: Any) -> None:
        super().__init__()
        self.model = model

    def forward(self, tokens: Any) -> Any:
        return self.model(tokens)


def test_what_is_generated_is_fed() -> None:
    """Any model is asked token by token; what it says of its own steps counts, not of the right ones."""
    found = adder_examples(bits=3, regime="medium")
    model = build(ModelOptions(layers=2), found, seed=3)
    once = answered(model, found.test)
    assert (answered(Plain(model), found.test)[:, 5:] == once[:, 5:]).all()
    tokens = torch.tensor(found.test.fed)
    for place in range(5, found.longest - 1):
        tokens[:, place + 1] = torch.tensor(once[:, place])
    assert (model(tokens).argmax(dim=-1).numpy()[:, 5:] == once[:, 5:]).all()
    right = [(once[row] == found.test.wanted[row])[found.test.answer[row]] for row in range(len(found.test))]
    whole, tokens = np.mean([all(each) for each in right]), np.mean(np.concatenate(right))
    assert exact_matches(model, found) == pytest.approx((whole, whole, tokens))
    assert 0 < whole < tokens < 1


class Told(torch.nn.Module):
    """Answers the sum, from the prompt alone, and nonsense before it."""

    def __init__(self) -> None:
        super().__init__()
        self.unused = torch.nn.Parameter(torch.zeros(1))

    def forward(self, tokens: Any) -> Any:
        a, b = (sum(tokens[:, k + i] << i for i in range(3)) for k in (0, 3))
        place = tokens.shape[1] - 19
        bit = ((a + b) >> max(place, 0)) & 1
        return torch.nn.functional.one_hot(bit if place >= 0 else 0 * a, 2)[:, None].float()


def test_exact_match_is_about_the_answer() -> None:
    assert exact_matches(Told(), adder_examples(bits=3, regime="medium")) == (1.0, 1.0, 1.0)
    strong = exact_matches(Told(), adder_examples(bits=3, regime="strong"))
    assert strong.answer == 1.0
    assert strong.scored < 0.5


def test_options_are_checked() -> None:
    for given, said in (
        ({"kind": "gpt3"}, r"unknown model 'gpt3' \(did you mean 'gpt2'\?\): use one of mingpt, gpt2"),
        ({"heads": 3}, "the width must be a multiple of the number of heads, not 64 of 3: use for example 63"),
        ({"layers": 0}, "layers must be a whole number from 1 to 1,048,576, not 0"),
        ({"positions": "sines"}, "unknown positions 'sines': use one of sinusoidal, hand-coded, learned"),
        ({"dropout": 1.0}, "dropout must be a number from 0 to 0.99, not 1.0"),
        ({"config": {"n_layer": 2}}, "a configuration is one of a GPT-2: omit it, or use the model gpt2"),
        ({"kind": "gpt2", "positions": "learned"}, "a GPT-2 is causal and learns its positions: omit these options"),
    ):
        with pytest.raises(TrainingError, match=said):
            ModelOptions(**given)  # type: ignore[arg-type]
    for given, said in (
        ({"steps": -1}, "steps must be a whole number from 0 to 1,000,000,000, not -1"),
        ({"lr": "fast"}, "lr must be a number from 0 to 1e.06, not 'fast'"),
        ({"betas": 0.9}, "betas must be two numbers, not 0.9"),
        ({"device": "tpu"}, r"unknown device 'tpu' \(did you mean 'cpu'\?\): use one of cpu, cuda"),
    ):
        with pytest.raises(TrainingError, match=said):
            TrainingOptions(**given)  # type: ignore[arg-type]
    with pytest.raises(TrainingError, match="hand-coded positions need a width of at least 103 here, not 64"):
        built_for(ModelOptions(positions="hand-coded"), 2, 100)
    with pytest.raises(TrainingError, match="tokens are generated by causal models: omit causal=False"):
        built_for(ModelOptions(causal=False), 2, 10)
    assert POSITIONS == ("sinusoidal", "hand-coded", "learned")
