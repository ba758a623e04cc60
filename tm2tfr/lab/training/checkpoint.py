"""The weights of a trained model, and the checkpoint of a run: safetensors files, written whole or not at all."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import torch
from safetensors import SafetensorError
from safetensors.torch import load, save
from torch import Tensor, nn

from tm2tfr.base.errors import TrainingError, first_line
from tm2tfr.base.files import write_bytes
from tm2tfr.contract.shown import PlainData
from tm2tfr.lab.training.record import CHECKPOINT, WEIGHTS, TrainingRun, run_of

_MODEL, _OPTIMISER, _CHANCE = "model.", "optimiser.", "random"
_RECORD, _DIGEST = "record", "sha256"


@dataclass(frozen=True, eq=False)
class Checkpoint:
    """A run between two steps.

    Args:
        run: its record so far.
        tensors: the model's, the optimiser's, and the state of the random numbers.
        sums, since: losses that are not in the record yet, and those since the last evaluation.
    """

    run: TrainingRun
    tensors: dict[str, Tensor]
    sums: Sequence[float]
    since: Sequence[float]

    @classmethod
    def of(
        cls,
        run: TrainingRun,
        model: nn.Module,
        optimiser: torch.optim.Optimizer,
        sums: Sequence[float],
        since: Sequence[float],
    ) -> Checkpoint:
        """Return the checkpoint of a run."""
        kept = {f"{_MODEL}{name}": each for name, each in _tensors(model).items()}
        for number, state in optimiser.state_dict()["state"].items():
            kept |= {f"{_OPTIMISER}{number}.{name}": _own(torch.as_tensor(each)) for name, each in state.items()}
        return cls(run, {**kept, _CHANCE: torch.get_rng_state()}, tuple(sums), tuple(since))

    def into(self, model: nn.Module, optimiser: torch.optim.Optimizer) -> None:
        """Set a model, its optimiser and the random numbers to this state.

        Raises:
            TrainingError: if they are others.
        """
        found: dict[int, dict[str, Tensor]] = {}
        for name, each in self.tensors.items():
            if name.startswith(_OPTIMISER):
                number, what = name.removeprefix(_OPTIMISER).split(".")
                found.setdefault(int(number), {})[what] = each
        try:
            own = ((name, each) for name, each in self.tensors.items() if name.startswith(_MODEL))
            model.load_state_dict({name.removeprefix(_MODEL): each for name, each in own})
            optimiser.load_state_dict({**optimiser.state_dict(), "state": found})
            torch.set_rng_state(self.tensors[_CHANCE])
        except (RuntimeError, ValueError, KeyError) as error:
            what = f"the checkpoint here is one of another model ({first_line(error)})"
            raise TrainingError(f"{self.run.folder}: {what}: train this one in another folder") from error


def write_checkpoint(folder: Path, checkpoint: Checkpoint) -> None:
    """Write a checkpoint.

    Raises:
        OutputError: if it cannot be written.
    """
    told = {"run": checkpoint.run.as_dict(), "sums": list(checkpoint.sums), "since": list(checkpoint.since)}
    record = json.dumps(told)
    data = save(checkpoint.tensors, metadata={_RECORD: record, _DIGEST: digest_of(checkpoint.tensors, record)})
    write_bytes(folder / CHECKPOINT, data)


def read_checkpoint(folder: Path) -> Checkpoint:
    """Return the checkpoint in a folder.

    Raises:
        TrainingError: if there is none, or it is damaged.
    """
    file = folder / CHECKPOINT
    try:
        data = file.read_bytes()
        tensors, about = load(data), _metadata(data)
        if about[_DIGEST] != digest_of(tensors, about[_RECORD]):
            raise TrainingError(f"{file}: this checkpoint is damaged: train again in another folder")
        found = json.loads(about[_RECORD])
        return Checkpoint(run_of(found["run"], folder), tensors, found["sums"], found["since"])
    except FileNotFoundError:
        what = "this run was interrupted, and its checkpoint is not there"
        raise TrainingError(f"{folder}: {what}: train again in another folder") from None
    except (OSError, SafetensorError, ValueError, KeyError, TypeError) as error:
        raise TrainingError(
            f"{file}: this is not a checkpoint ({first_line(error)}): train again in another folder"
        ) from error


def write_weights(folder: Path, model: nn.Module) -> str:
    """Write a model's tensors, and return the digest of the file.

    Raises:
        OutputError: if it cannot be written.
    """
    data = save(_tensors(model))
    write_bytes(folder / WEIGHTS, data)
    return hashlib.sha256(data).hexdigest()


def read_weights(run: TrainingRun, model: nn.Module) -> None:
    """Load the weights of a finished run into its model.

    Raises:
        TrainingError: if they are not there, or others.
    """
    file = (run.folder or Path()) / WEIGHTS
    try:
        data = file.read_bytes()
        if hashlib.sha256(data).hexdigest() != run.weights_sha256:
            raise TrainingError(f"{file}: these are not the weights of this run: train it again in another folder")
        model.load_state_dict(load(data))
    except (OSError, SafetensorError, RuntimeError) as error:
        what = f"the weights cannot be read ({first_line(error)})"
        raise TrainingError(f"{file}: {what}: train again in another folder") from error


def _tensors(model: nn.Module) -> dict[str, Tensor]:
    """Return all tensors of a model, each with memory of its own."""
    return {name: _own(each) for name, each in model.state_dict().items()}


def _own(each: Tensor) -> Tensor:
    return each.detach().cpu().contiguous().clone()


def digest_of(tensors: Mapping[str, Tensor], record: str) -> str:
    """Return the SHA-256 of a text and of tensors: names, shapes and entries, in the order of their names."""
    found = hashlib.sha256(record.encode())
    for name, each in sorted(tensors.items()):
        found.update(f"\n{name} {tuple(each.shape)}\n".encode())
        found.update(each.contiguous().flatten().view(torch.uint8).numpy().tobytes())
    return found.hexdigest()


def _metadata(data: bytes) -> PlainData:
    """Return the metadata in the header of a safetensors file."""
    length = int.from_bytes(data[:8], "little")
    return dict(json.loads(data[8 : 8 + length]).get("__metadata__", {}))
