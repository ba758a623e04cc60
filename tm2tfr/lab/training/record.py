"""The options of a training run, and its record: one JSON, ``run.json``, beside the weights.

Times and the place apart, it is a function of the model at the start, the examples, the options and the versions in it, on
one kind of machine.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Collection, Mapping
from dataclasses import asdict, dataclass, field, fields
from pathlib import Path
from typing import Literal, get_args

from tm2tfr.base.errors import TrainingError, counted, did_you_mean, first_line, visible
from tm2tfr.base.files import write_text
from tm2tfr.base.text.shown import aligned, json_text
from tm2tfr.contract.shown import PlainData

# ── The options of a training run: the model, and its training.
Regime = Literal["weak", "medium", "strong"]
REGIMES: Mapping[Regime, str] = {"weak": "answer", "medium": "steps shown", "strong": "steps scored"}
"""The paper's names of the forms of supervision, see `tm2tfr.lab.datasets.spec.FORMS`."""
Positions = Literal["sinusoidal", "hand-coded", "learned"]
POSITIONS: tuple[Positions, ...] = get_args(Positions)
"""Position embeddings: fixed sines and cosines; fixed one-hot vectors, those of Appendix A (Eq. 18); learned."""
MODELS = ("mingpt", "gpt2", "compiled")
_SUBLAYERS = re.compile(r"[sf]{1,1000}")
PRETRAINED, PRETRAINED_SHA256 = "pretrained", "pretrained_sha256"
"""A record's entry about the pretrained body of a model besides its options: the folder as named, and its digest."""
SPEC_FILE = "spec_file"
"""A record's entry about the file of the data's spec, as named."""
DEVICES = ("cpu", "cuda")
MOST_STEPS = 10**9


@dataclass(frozen=True, kw_only=True)
class ModelOptions:
    """The shape of a model.

    Args:
        kind: ``mingpt``: ours, of that shape; ``gpt2``: the GPT-2 of transformers (extra ``hf``), not pretrained;
            ``compiled``: it starts at the compiled weights of the circuit that the examples are of, see
            `tm2tfr.lab.training.compiled`, and its shape is theirs; any other word is the folder of a pretrained GPT-2,
            whose body is frozen, see `tm2tfr.lab.training.gpt2`: ``./gpt2`` if it is called like one of those three.
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
        sublayers: of ``mingpt``, the order of attention (s) and feed-forward (f) sublayers instead of `layers`: ``sfsf`` is
            two layers. Source: Press et al., *Improving Transformer Models by Reordering their Sublayers* (2020).

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
    config: PlainData = field(default_factory=dict)
    spread: float | None = None
    frozen: bool = False
    noise: float = 0.0
    sublayers: str | None = None

    def __post_init__(self) -> None:
        if self.pretrained and not ({"/", os.sep} & set(self.kind) or Path(self.kind).is_dir()):
            said = f"unknown model {self.kind!r}{did_you_mean(self.kind, MODELS)}: use one of {', '.join(MODELS)}"
            raise TrainingError(f"{said}, or name the folder of a pretrained GPT-2")
        if self.kind == "compiled":
            self._shapeless("the shape of a compiled model is that of its weights", "noise")
        if self.pretrained:
            self._shapeless("the shape of a pretrained model is that of its folder", "dropout")
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
        own = {"spread": "mingpt", "sublayers": "mingpt", "frozen": "gpt2", "noise": "compiled"}
        for name, kind in own.items():
            if getattr(self, name) not in (None, False, 0) and self.kind != kind:
                raise TrainingError(f"{name} is an option of the model {kind}, not of {self.kind}: omit it")
        self._check_sublayers()

    def _shapeless(self, why: str, own: str) -> None:
        """Raise TrainingError if another option than `own` is set."""
        if self.config or any(
            getattr(self, each.name) != each.default for each in fields(self) if each.name not in ("kind", "config", own)
        ):
            raise TrainingError(f"{why}: omit all options but {own}")

    def _check_sublayers(self) -> None:
        if self.sublayers is not None and not _SUBLAYERS.fullmatch(self.sublayers):
            what = "sublayers must be letters s (attention) and f (feed-forward)"
            raise TrainingError(f"{what}, not {self.sublayers!r}: use for example sfsf")
        if self.sublayers is not None and self.layers != 1:
            raise TrainingError("sublayers already say how many layers there are: omit layers")

    @property
    def parts(self) -> tuple[str, ...]:
        """The sublayers of each layer, in order: ``sf``, or one of the two alone."""
        return tuple(re.findall("sf|s|f", self.sublayers or "sf" * self.layers))

    @property
    def pretrained(self) -> bool:
        """Whether the body is pretrained, in the folder that `kind` names."""
        return self.kind not in MODELS


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


def model_options(found: PlainData) -> ModelOptions:
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


FORMAT = 1
RUN, WEIGHTS, CHECKPOINT = "run.json", "weights.safetensors", "checkpoint.safetensors"
GRID = "grid.yaml"
"""The file that the folder of a grid of runs has."""
RIGHT, ALL_STEPS, INTERRUPTED = "exact match", "all steps", "interrupted"
"""Why a run has ended: every unseen answer was right and the loss small; its steps were done; by the user, unfinished."""


@dataclass(frozen=True, kw_only=True, eq=False)
class TrainingRun:
    """A run of `tm2tfr.train`, finished or interrupted.

    Args:
        model: the options of the model, or its maker's description.
        data: what it was trained on, with its digest; see `tm2tfr.lab.training.examples.Examples`.
        options: see `tm2tfr.lab.training.record.TrainingOptions`.
        versions: of the software.
        made_on: the platform, processor and commit, see `tm2tfr.lab.training.made_on`; several where an interrupted run
            went on elsewhere, and none in a record that does not say it.
        parameters, trained: the numbers of all parameters and of those that are trained.
        losses: pairs of a step and the mean loss of the steps up to it, since the pair before.
        evaluations: of a step, the shares of the unseen examples whose answer is right, and of which every scored token is.
        exact_match, every_token: the same at the end, on all unseen examples; None in an interrupted run.
        token_accuracy: at the end, the share of the tokens of all unseen answers that are right, each for itself; None as
            above, and in a record that does not say it.
        base_rate: the share of the unseen examples whose answer is the most frequent one, which an exact match has to
            exceed to mean anything; None in a record that does not say it.
        steps: those that were done.
        ended: why; see `RIGHT` and the other words here.
        weights_sha256: the digest of the weights' file.
        seconds, cpu_seconds: what it took, all parts of an interrupted run together.
        folder: the folder of the run; None if it is not saved.
    """

    model: PlainData
    data: PlainData
    options: PlainData
    versions: Mapping[str, str]
    parameters: int
    trained: int
    losses: tuple[tuple[int, float], ...]
    evaluations: tuple[tuple[int, float, float], ...]
    exact_match: float | None
    every_token: float | None
    steps: int
    ended: str
    weights_sha256: str = ""
    seconds: float = 0.0
    cpu_seconds: float = 0.0
    base_rate: float | None = None
    token_accuracy: float | None = None
    made_on: tuple[Mapping[str, str], ...] = ()
    folder: Path | None = None

    @property
    def finished(self) -> bool:
        """Whether it was not interrupted."""
        return self.ended != INTERRUPTED

    @property
    def loss(self) -> float | None:
        """The mean loss of the last steps; None if there were none."""
        return self.losses[-1][1] if self.losses else None

    def as_dict(self) -> dict[str, object]:
        """Return it as plain data."""
        kept = {each.name: getattr(self, each.name) for each in fields(self) if each.name != "folder"}
        return {"format": FORMAT, **kept, "loss": self.loss, "finished": self.finished}

    def json(self) -> str:
        """Return it as JSON."""
        return json_text(self.as_dict())

    def write(self) -> None:
        """Write it into its folder, if it has one.

        Raises:
            OutputError: if it cannot be written.
        """
        if self.folder is not None:
            write_text(self.folder / RUN, self.json())

    def same(self) -> dict[str, object]:
        """Return what is the same whenever the run is repeated: all but the times, and where it was made."""
        other = ("seconds", "cpu_seconds", "made_on")
        return {key: value for key, value in json.loads(self.json()).items() if key not in other}


def run_of(found: PlainData, folder: Path | None) -> TrainingRun:
    """Return the run that `TrainingRun.as_dict` turned into `found`.

    Raises:
        KeyError, TypeError, ValueError: for anything else.
    """
    later = ("base_rate", "token_accuracy", "made_on")  # records of earlier versions do not have them
    given = {each.name: found[each.name] for each in fields(TrainingRun) if each.name not in ("folder", *later)}
    given |= {name: found.get(name) for name in later}
    for name in ("model", "data", "options"):
        if not isinstance(given[name], dict):
            raise TypeError(f"{name!r} is not an object")
    if given["exact_match"] is not None:
        given["exact_match"] = float(given["exact_match"])
    given["made_on"] = tuple({str(key): str(value) for key, value in each.items()} for each in given["made_on"] or ())
    given["losses"] = tuple((int(step), float(loss)) for step, loss in found["losses"])
    given["evaluations"] = tuple((int(step), float(a), float(s)) for step, a, s in found["evaluations"])
    return TrainingRun(**given, folder=folder)


def load_run(folder: str | Path) -> TrainingRun:
    """Return the run in a folder; the path may also be that of ``run.json``.

    Raises:
        TrainingError: if there is none, or it cannot be read.
    """
    where = Path(folder)
    file = where if where.name == RUN else where / RUN
    try:
        found = json.loads(file.read_text(encoding="utf-8"))
        if found["format"] != FORMAT:
            raise TrainingError(f"{file}: this run has format {found['format']}, not {FORMAT}: train it again")
        return run_of(found, file.parent)
    except (FileNotFoundError, NotADirectoryError):
        what = "there is no training run here: make one with tm2tfr train"
        if (where / GRID).is_file():
            what = "these are the runs of a grid: name the folder of one of them, in this folder"
        if where.is_file():
            is_weights = where.suffix.lower() == ".safetensors"
            what = "this is a file of weights" if is_weights else "this is a file"
            what = f"{what}, and a training run is a folder: name one that tm2tfr train wrote"
        raise TrainingError(f"{where}: {what}") from None
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise TrainingError(f"{file}: this run cannot be read ({first_line(error)}): train it again") from error


# ── A training run in words.
_SHOWN = ("kind", "layers", "heads", "width", "positions")
_WHY = {RIGHT: "every answer is right, and the loss is small", ALL_STEPS: "all steps are done"}
_ROWS = 12
"""At most this many evaluations are listed."""


def training_report(run: TrainingRun) -> str:
    """Return the evaluations of a run and its result, as lines."""
    data = run.data
    lines = [
        f"{data['name']}: {data['train']:,} training examples, {data['test']:,} unseen ones",
        f"{_model(run)}{counted(run.parameters, 'parameter')}, {run.trained:,} trained",
        "",
        *_table(run),
    ]
    if run.exact_match is not None:
        right = round(run.exact_match * data["test"])
        every = "" if run.every_token in (None, run.exact_match) else f"; every scored token {run.every_token:.4f}"
        taken = f"{counted(run.steps, 'step')}, {run.cpu_seconds:.1f} seconds of processor time"
        lines += ["", f"Exact match {run.exact_match:.4f} ({right:,} of {data['test']:,} unseen inputs){every}."]
        if run.token_accuracy is not None:
            lines += [f"Right tokens: {run.token_accuracy:.4f}."]
        if run.base_rate is not None:
            same = round(run.base_rate * data["test"])
            lines += [f"Always the most frequent answer: {run.base_rate:.4f} ({same:,} of them)."]
        lines += [f"Ended after {taken}: {_WHY.get(run.ended, run.ended)}."]
    return "\n".join(lines)


def _model(run: TrainingRun) -> str:
    told = run.model
    if not all(name in told for name in _SHOWN):
        return f"{told.get('kind', 'model')}: "
    sublayers = told.get("sublayers")
    depth = counted(told["layers"], "layer") if sublayers is None else f"sublayers {sublayers}"
    shape = f"{depth}, {counted(told['heads'], 'head')}, width {told['width']}"
    positions = "" if told["kind"] == "gpt2" else f", {told['positions']} positions"
    body = "gpt2 with random weights" if told["kind"] == "gpt2" else told["kind"]
    body = f"pretrained {visible(told[PRETRAINED])}" if PRETRAINED in told else body
    return f"{body}, {shape}{positions}: "


def _table(run: TrainingRun) -> list[str]:
    """Return the loss and the shares of exact answers by step."""
    losses = dict(run.losses)
    every = -(-len(run.evaluations) // _ROWS)
    shown = (
        [each for n, each in enumerate(run.evaluations, 1) if n % every == 0 or n == len(run.evaluations)] if every else []
    )
    rows = [["steps", "loss", "exact match", "every scored token"]]
    for step, answer, scored in shown:
        near = [losses[at] for at in losses if at <= step]
        rows.append([f"{step:,}", f"{near[-1]:.4f}" if near else "-", f"{answer:.4f}", f"{scored:.4f}"])
    return aligned(rows, {0, 1, 2, 3}) if shown else []
