"""A long run on disk, to be resumed later: the engine's state, and what identifies the run.

A NumPy archive (.npz, uncompressed): the arrays of `LongRun.save`, and ``about``, JSON as bytes, with the weights'
digest, the machine's, the input word, the number of rows written to a file, and the digest of all this and of every array.
Written whole or not at all. A digest finds damage, and edits by somebody who does not make it anew; what must hold in any
case is checked by whom the arrays belong to (`tm2tfr.engines.fast.fresh`, `LongRun`).
"""

from __future__ import annotations

import hashlib
import json
import zipfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

import numpy as np
from numpy.typing import NDArray

from tm2tfr.base.errors import CheckpointError
from tm2tfr.base.files import write_whole
from tm2tfr.contract.blocks import BlockReference
from tm2tfr.transformer.weights import Decoder, digest

PROGRAM, FORMAT = "tm2tfr checkpoint", 2
ABOUT = "about"
Arrays = Mapping[str, NDArray[Any]]


@dataclass(frozen=True)
class About:
    """What identifies the run of a checkpoint, and the number of rows that it had written to a file."""

    weights: str
    machine: str
    input: str
    rows: int | None = None

    @classmethod
    def of(cls, decoder: Decoder, blocks: BlockReference | None, word: str, fed: Sequence[str] | None = None) -> About:
        """Return the identity of the run of `decoder` on `word`, compared with a machine's, or on the tokens `fed`."""
        lines = ("", *(fed or ())) if blocks is None else blocks.identity
        return cls(weights_digest(decoder), hashlib.sha256("\n".join(lines).encode()).hexdigest(), word)


def weights_digest(decoder: Decoder) -> str:
    """Return the SHA-256 of everything that an engine reads from a decoder."""
    heads = [[(head.mask, head.weighting) for head in layer.heads] for layer in decoder.layers]
    read = [digest(decoder), decoder.bos, decoder.stop, decoder.features, heads]
    return hashlib.sha256(json.dumps(read).encode()).hexdigest()


def save(path: Path, of: About, arrays: Arrays) -> None:
    """Write a checkpoint.

    Raises:
        OutputError: if it cannot be written; an existing checkpoint is then unchanged.
    """
    text = json.dumps({"program": PROGRAM, "format": FORMAT, **of.__dict__, "digest": _content(of, arrays)})
    every = {**arrays, ABOUT: np.frombuffer(text.encode(), dtype=np.uint8)}

    def write(file: IO[bytes]) -> None:
        np.savez(file, allow_pickle=False, **every)

    write_whole(path, write)


def load(path: Path) -> tuple[About, dict[str, NDArray[Any]]]:
    """Return what a checkpoint says about itself, and its arrays.

    Raises:
        CheckpointError: if there is no such file, or it is not a checkpoint of this version, or is damaged.
    """
    with _opened(path) as (said, digest, archive):
        arrays = {name: archive[name] for name in archive.files if name != ABOUT}
        if digest != _content(said, arrays):
            raise ValueError("changed")
        return said, arrays


def about(path: Path) -> About:
    """Return what a checkpoint says about itself, without reading its arrays. See `load` for errors."""
    with _opened(path) as (said, _, _):
        return said


def _content(of: About, arrays: Arrays) -> str:
    """Return the SHA-256 of everything in a checkpoint."""
    total = hashlib.sha256(json.dumps(of.__dict__).encode())
    for name, array in sorted(arrays.items()):
        total.update(json.dumps([name, array.dtype.str, array.shape]).encode())
        total.update(np.ascontiguousarray(array).data)
    return total.hexdigest()


@contextmanager
def _opened(path: Path) -> Iterator[tuple[About, str, Any]]:
    """Open a checkpoint, yield it with its digest, and report what is wrong with it, also while it is read."""
    try:
        with path.open("rb") as file, np.load(file, allow_pickle=False) as archive:
            if any(member.compress_type != zipfile.ZIP_STORED for member in archive.zip.infolist()):
                raise ValueError("compressed, so that it may be larger than memory")
            said = json.loads(archive[ABOUT].tobytes())
            if said["program"] != PROGRAM:
                raise ValueError("from another program")
            if said["format"] != FORMAT:
                what = f"{path}: this checkpoint has format {said['format']}, but this version reads {FORMAT}"
                raise CheckpointError(f"{what}: resume it with the version that wrote it, or start again")
            rows = said["rows"]
            if not (rows is None or (type(rows) is int and rows >= 0)):
                raise ValueError("no number of rows")
            yield About(said["weights"], said["machine"], said["input"], rows), said["digest"], archive
    except FileNotFoundError as error:
        raise CheckpointError(f"{path}: there is no such file: start the run with --checkpoint {path}") from error
    except IsADirectoryError as error:
        raise CheckpointError(f"{path}: it is a folder: name a checkpoint file") from error
    except PermissionError as error:
        raise CheckpointError(f"{path}: no permission to read it: change its permissions, or start again") from error
    except CheckpointError:
        raise
    except Exception as error:  # zipfile, NumPy and json raise errors of all kinds where a file was edited
        what = f"{path}: it is not a checkpoint, or was changed or damaged"
        raise CheckpointError(f"{what}: start the run again with --checkpoint") from error


def refuse_another_run(path: Path, found: About, wanted: About) -> None:
    """Raise CheckpointError unless a checkpoint is from the run that is to be resumed."""
    for what, remedy in (
        ("weights", "name the machine or weight file that it was made with"),
        ("machine", "compare with the same machine as before, or with nothing"),
        ("input", f"it was made with --input {found.input!r}"),
    ):
        if getattr(found, what) != getattr(wanted, what):
            other = {"input": "another input", "weights": "other weights"}.get(what, "another machine to compare with")
            raise CheckpointError(f"{path}: this checkpoint is from a run with {other}: {remedy}, or start again")
