"""Where machines come from: a path, standard input, or the machines shipped with the package."""

from __future__ import annotations

import sys
import warnings
from pathlib import Path
from typing import TYPE_CHECKING

from tm2tfr.base import resources
from tm2tfr.base.errors import ReadError, SpecWarning
from tm2tfr.base.files import is_safetensors
from tm2tfr.base.text.source import MACHINE_BYTES, decoded
from tm2tfr.sources.turing.formats import registry

if TYPE_CHECKING:
    from tm2tfr.sources.turing.formats.bbchallenge import ListedMachine
    from tm2tfr.sources.turing.formats.draft import Loaded
    from tm2tfr.sources.turing.spec import Machine

STDIN = "-"


def shipped() -> tuple[str, ...]:
    """Return the names of the shipped machines, sorted."""
    return resources.shipped(resources.MACHINES)


def shipped_text(name: str) -> str:
    """Return the YAML of a shipped machine.

    Raises:
        NotFoundError: if there is no machine of that name.
    """
    return resources.shipped_text(resources.MACHINES, name)


def load(where: str | Path, *, format: str | None = None) -> Machine:
    """Load a machine from a path, from standard input (``-``), or a shipped one by its name.

    A name without a suffix or a slash means a file in the current folder if there is one. A name that is neither and
    looks like bbchallenge text, ``1RB1LB_1LA1RZ``, is read as such. The format of a file is determined by its extension
    or, failing that, its contents, unless `format` names it (`tm2tfr.sources.turing.formats.registry`). Anything that the
    author of the machine may not have meant is issued as a `SpecWarning`.

    Raises:
        NotFoundError: if there is no such file and no such shipped machine.
        ReadError: if it cannot be read.
        ConversionError: if no such format is read.
        SpecError: with every error of the document.
    """
    loaded = load_with_warnings(where, format=format)
    for warning in loaded.warnings:
        warnings.warn(str(warning), SpecWarning, stacklevel=2)
    return loaded.machine


def load_with_warnings(where: str | Path, *, format: str | None = None) -> Loaded:
    """Load a machine as `load` does, but return the warnings with it instead of issuing them.

    Raises:
        NotFoundError, ReadError, ConversionError, SpecError: as for `load`.
    """
    if isinstance(where, str) and resources.is_shipped(resources.MACHINES, where):
        return registry.read(shipped_text(where), file=f"{where}.yaml", format=format or "yaml")
    if where == STDIN:
        return registry.read(_standard_input(), file="<stdin>", format=format)
    from tm2tfr.sources.turing.formats import bbchallenge  # noqa: PLC0415  (a shipped machine needs its own format alone)

    name = str(where)
    text = format in (None, "bbchallenge") and isinstance(where, str) and bbchallenge.is_argument(name)
    if text and not Path(name).exists():
        return registry.read(name, file=name, format="bbchallenge")
    return registry.read(resources.contents(resources.MACHINES, name), file=resources.display(name), format=format)


def load_list(where: str | Path) -> tuple[ListedMachine, ...] | None:
    """Return the machines of a file that lists bbchallenge machines, see `formats.bbchallenge`; None if it does not.

    Raises:
        ReadError: if the file cannot be read.
        SpecError: with every error of the list.
    """
    from tm2tfr.sources.turing.formats import bbchallenge  # noqa: PLC0415

    name = str(where)
    if name == STDIN or not resources.is_file(name) or is_safetensors(_beginning(name), Path(name).stat().st_size):
        return None
    if not bbchallenge.is_list(_beginning(name).decode(errors="replace").removeprefix("\ufeff")):
        return None
    contents = resources.contents(resources.MACHINES, name)
    return bbchallenge.read_list(
        decoded(contents, file=resources.display(name), most=MACHINE_BYTES, noun="list of machines")
    )


def _beginning(name: str) -> bytes:
    with Path(name).open("rb") as file:
        return file.read(1 << 16)


def _standard_input() -> bytes:
    if sys.stdin is None:
        raise ReadError("<stdin>: standard input is closed: name a file")
    try:
        data = sys.stdin.buffer.read(MACHINE_BYTES + 1)
    except OSError as error:
        raise ReadError(f"<stdin>: standard input cannot be read ({error.strerror}): name a file") from None
    if is_safetensors(data[:9], len(data)):
        raise ReadError("<stdin>: this is a weight file, and standard input is for the text of a machine: name the file")
    return data
