"""What a training run is asked for: the model, and how it is trained."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import asdict, dataclass, field, fields
from typing import Any, Literal, get_args

from tm2tfr.base.errors import TrainingError, did_you_mean

Regime = Literal["weak", "medium", "strong"]
REGIMES: Mapping[Regime, str] = {"weak": "answer", "medium": "steps shown", "strong": "steps scored"}
"""The paper's names of the forms of supervision, see `tm2tfr.lab.datasets.spec.FORMS`."""
Positions = Literal["sinusoidal", "one-hot", "learned"]
POSITIONS: tuple[Positions, ...] = get_args(Positions)
"""Position embeddings: fixed sines and cosines; fixed one-hot vectors, as Appendix A has them by hand; learned."""
MODELS = ("mingpt", "gpt2", "compiled")
DEVICES = ("cpu", "cuda")
MOST_STEPS = 10**9


@dataclass(frozen=True, kw_only=True)
class ModelOptions:
    """The shape of a model.

    Args:
        kind: ``mingpt``: ours, of that shape; ``gpt2``: the GPT-2 of transformers (extra ``hf``), not pretrained;
            ``compiled``: it starts at the compiled weights of the circuit that the examples are of, see
            `tm2tfr.lab.training.compiled`, and its shape is theirs.
        width: of the residual stream; a multiple of `heads`.
        hidden: the units of a feed-forward layer; by default 4 · width.
        positions: of ``mingpt``; a GPT-2 learns them.
        causal: of ``mingpt``, whether no position sees later ones; None: unless words are labelled.
        config: of ``gpt2``, further entries of its configuration.
        spread: of ``mingpt``, the standard deviation of matrices and embeddings at the start, 0.02 in minGPT itself; biases
            are then 0. None: what torch chooses.
        frozen: of ``gpt2``, whether its body keeps the random weights it has at the start, so that only embeddings, layer
            norms and the output are trained, as in Section 6 of the paper; the output then has weights of its own.
        noise: of ``compiled``, the size of the noise that is added to the weights.

    Raises:
        TrainingError: if there is no such model.
    """

    kind: str = "mingpt"
    layers: int = 1
    heads: int = 1
    width: int = 64
    hidden: int | None = None
    positions: Positions = "sinusoidal"
    dropout: float = 0.0
    causal: bool | None = None
    config: Mapping[str, Any] = field(default_factory=dict)
    spread: float | None = None
    frozen: bool = False
    noise: float = 0.0

    def __post_init__(self) -> None:
        one_of("model", self.kind, MODELS)
        one_of("positions", self.positions, POSITIONS)
        for name in ("layers", "heads", "width", "hidden"):
            if getattr(self, name) is not None:
                _whole(name, getattr(self, name), 1)
        if self.width % self.heads:
            what = f"the width must be a multiple of the number of heads, not {self.width} of {self.heads}"
            raise TrainingError(f"{what}: use for example {self.heads * max(1, round(self.width / self.heads))}")
        _number("dropout", self.dropout, 0, 0.99)
        if self.config and self.kind != "gpt2":
            raise TrainingError("a configuration is one of a GPT-2: omit it, or use the model gpt2")
        if self.kind == "gpt2" and (self.causal is False or self.positions != "sinusoidal"):
            raise TrainingError("a GPT-2 is causal and learns its positions: omit these options")
        if self.spread is not None:
            _number("spread", self.spread, 0, 100)
        _number("noise", self.noise, 0, 1e6)
        own = {"mingpt": "spread", "gpt2": "frozen", "compiled": "noise"}
        for kind, name in own.items():
            if getattr(self, name) not in (None, False, 0) and self.kind != kind:
                raise TrainingError(f"{name} is an option of the model {kind}, not of {self.kind}: omit it")
        if self.kind == "compiled" and any(
            getattr(self, each.name) != each.default
            for each in fields(self)
            if each.name not in ("kind", "noise", "config")
        ):
            raise TrainingError("the shape of a compiled model is that of its weights: omit all options but noise")


@dataclass(frozen=True, kw_only=True)
class TrainingOptions:
    """How a model is trained.

    Args:
        steps: of the optimiser, at most; the learning rate falls to 0 over all of them like a cosine.
        batch: sequences of a step; each epoch has all of them once, in an order of its own.
        lr: the learning rate at the start, after `warmup` steps of linear growth.
        weight_decay: of matrices, as AdamW has it; `betas` are its others.
        clip: the largest norm of a gradient.
        seed: of the weights at the start, the order of the examples, and dropout.
        evaluate_every: steps between two evaluations on the unseen examples; each is also a checkpoint.
        evaluated: at most this many unseen examples at each of them; at the end all of them are used.
        stop_loss: training stops at an evaluation with an exact match of 1 if the mean loss since the last one is lower.
        threads: of torch; with 1, the same seed has the same losses on the same machine.
        device: ``cpu``, or ``cuda``, where runs are not repeatable to the last bit.

    Raises:
        TrainingError: if a value is out of range.
    """

    steps: int = 3_000
    batch: int = 32
    lr: float = 3e-3
    warmup: int = 0
    weight_decay: float = 0.01
    betas: tuple[float, float] = (0.9, 0.95)
    clip: float = 1.0
    seed: int = 0
    evaluate_every: int = 250
    evaluated: int = 1_000
    stop_loss: float = 1e-3
    threads: int = 1
    device: str = "cpu"

    def __post_init__(self) -> None:
        for name, least, most in (
            ("steps", 0, MOST_STEPS),
            ("batch", 1, 2**20),
            ("warmup", 0, MOST_STEPS),
            ("seed", 0, 2**63 - 1),
            ("evaluate_every", 1, MOST_STEPS),
            ("evaluated", 1, 2**31),
            ("threads", 1, 1024),
        ):
            _whole(name, getattr(self, name), least, most)
        for name in ("lr", "weight_decay", "clip", "stop_loss"):
            _number(name, getattr(self, name), 0, 1e6)
        if not isinstance(self.betas, tuple) or len(self.betas) != 2:
            raise TrainingError(f"betas must be two numbers, not {self.betas!r}: use for example (0.9, 0.95)")
        for beta in self.betas:
            _number("betas", beta, 0, 0.999_999)
        one_of("device", self.device, DEVICES)


def plain(options: ModelOptions | TrainingOptions) -> dict[str, object]:
    """Return options as they stand in the record of a run."""
    return {name: list(value) if isinstance(value, tuple) else value for name, value in asdict(options).items()}


def model_options(found: Mapping[str, Any]) -> ModelOptions:
    """Return the options of a model that `plain` turned into `found`.

    Raises:
        TrainingError: if they are none.
    """
    names = [each.name for each in fields(ModelOptions)]
    for name in found:
        one_of("option", name, names)
    return ModelOptions(**found)


def one_of(what: str, value: object, words: Collection[str]) -> None:
    """Raise TrainingError unless a value is one of some words."""
    if value not in words:
        raise TrainingError(f"unknown {what} {value!r}{did_you_mean(str(value), words)}: use one of {', '.join(words)}")


def _whole(name: str, value: object, least: int, most: int = 2**20) -> None:
    if isinstance(value, bool) or not isinstance(value, int) or not least <= value <= most:
        raise TrainingError(f"{name} must be a whole number from {least} to {most:,}, not {value!r}: use another one")


def _number(name: str, value: object, least: float, most: float) -> None:
    if isinstance(value, bool) or not isinstance(value, int | float) or not least <= value <= most:
        raise TrainingError(f"{name} must be a number from {least:g} to {most:g}, not {value!r}: use another one")
