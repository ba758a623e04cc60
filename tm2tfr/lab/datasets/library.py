"""Where specs come from: a path, or the specs shipped with the package."""

from __future__ import annotations

import json
import warnings
from collections.abc import Sequence
from pathlib import Path

from tm2tfr.base import resources
from tm2tfr.base.errors import DatasetError, NotFoundError, SpecWarning
from tm2tfr.base.text.words import number_of
from tm2tfr.lab.datasets.reader import read
from tm2tfr.lab.datasets.spec import DatasetSpec
from tm2tfr.runs.plan import is_count
from tm2tfr.sources import names
from tm2tfr.sources.circuit.formats.registry import by_ending, recognised
from tm2tfr.sources.circuit.library import GENERATORS
from tm2tfr.sources.circuit.netlist import Circuit
from tm2tfr.sources.logic.library import is_logic
from tm2tfr.sources.rasp.library import is_program
from tm2tfr.sources.registry import built, loaded
from tm2tfr.sources.turing.formats.bbchallenge import repeated
from tm2tfr.sources.turing.library import load_list
from tm2tfr.sources.turing.library import shipped as machines

TRAINED, TESTED = 10_000, 1_000
"""How many words there are to train on, and longer ones to test, where the longest to train on is all that is said."""
MOST_INPUTS = 16
"""All inputs of a circuit with at most so many are taken where no spec says which."""


def spec_of(given: object, max_length: int | None = None) -> DatasetSpec:
    """Return a spec that is given as such, as a file, or by its name; see `load_spec`.

    Raises:
        NotFoundError: also for anything else.
        DatasetError: also for a longest word beside a spec, which says it itself.
    """
    if isinstance(given, DatasetSpec):
        if max_length is not None:
            raise DatasetError(f"{given.name}: a spec says its lengths itself: omit max_length")
        return given
    if not isinstance(given, str | Path):
        what = f"{given!r} ({type(given).__name__}) is neither a spec nor the name of one"
        raise NotFoundError(f"{what}: use a path, or the name of a shipped spec")
    if max_length is not None and not is_count(max_length, 1):
        raise DatasetError(f"max_length must be a number of tokens, not {max_length!r}: use 1 or more, or None")
    return load_spec(given, max_length=max_length)


def load_spec(where: str | Path, *, max_length: int | None = None) -> DatasetSpec:
    """Read a spec from a path, or a shipped one by its name; a file of that name takes precedence.

    The name of a shipped circuit, or the file of a circuit, stands for a spec of that circuit: on all inputs, where
    these are at most 2^16, otherwise on 1,000 random ones. That of a RASP program or a formula stands for 1,000 random
    inputs with 1 to 10 tokens, and with a single token for all of them. A list of bbchallenge machines stands for a spec of
    these on the blank tape, with at most 1,000 steps; a `SpecWarning` says which are on several lines.

    Args:
        max_length: of what labels words, the longest word of the split ``train``; the split ``test`` has words of more
            tokens, up to four times as many.

    Raises:
        NotFoundError: if there is no such file and no such shipped spec.
        ReadError: if it cannot be read.
        SpecError: with every error of the document.
        ConversionError: if the file of a circuit cannot be read.
        DatasetError: for a longest word of anything else.
    """
    where = _plain(where)
    name = str(where)
    if (is_program(where) or is_logic(where)) and name not in machines() and name not in GENERATORS:
        return _of_labeller(name, max_length)
    if max_length is not None:
        what = f"{resources.display(name)}: a longest word to train on is that of a program or a formula"
        raise DatasetError(f"{what}: omit --max-length, or write 'split by: length' in the spec")
    if isinstance(where, str) and resources.is_shipped(resources.SPECS, name):
        return read(resources.shipped_text(resources.SPECS, name), file=f"{name}.yaml")
    if isinstance(where, str) and name in GENERATORS and not Path(name).is_file():
        return _of_circuit(name, built(name, {}).program)
    if (listed := load_list(where)) is not None:
        if (note := repeated(listed)) is not None:
            warnings.warn(f"{resources.display(name)}: warning: {note}", SpecWarning, stacklevel=2)
        machines_of = json.dumps([each.text for each in listed])
        return read(f"machines: {machines_of}\ninputs: ['']\n", file=f"{Path(name).stem}.yaml")
    if _is_circuit_file(name):
        return _of_circuit(name, loaded(where).program)
    return read(resources.contents(resources.SPECS, name), file=resources.display(name), folder=Path(name).parent)


def _plain(where: str | Path) -> str | Path:
    """Return a name without its kind, or the name of its file, where that is the kind that stands for a spec."""
    kind, name = names.split(where) or ("", "")
    if kind == names.MACHINE:
        raise DatasetError(f"{where}: a machine does not stand for a spec: write one that has 'machines: [{name}]'")
    if kind == names.CIRCUIT:
        return name
    return names.file_of(kind, name) if kind else where


def _is_circuit_file(name: str) -> bool:
    format = by_ending(name)
    if format is None or not Path(name).is_file():
        return False
    return format.name != "yaml" or recognised(resources.contents(resources.SPECS, name)) is format


def _of_circuit(name: str, circuit: Circuit) -> DatasetSpec:
    """Return the spec that the name of a circuit, or of its file, stands for."""
    inputs = "{all: true}" if len(circuit.inputs) <= MOST_INPUTS else "{random: {count: 1000}}"
    return read(f"circuits: [{json.dumps(name)}]\ninputs: {inputs}\n", file=f"{Path(name).stem}.yaml")


def _of_labeller(name: str, max_length: int | None) -> DatasetSpec:
    """Return the spec that the name of a RASP program, of a formula, or of its file stands for."""
    letters = len(loaded(name).program.alphabet)
    if max_length is None:
        inputs = _inputs([(1_000, 1, 10)], letters) if letters > 1 else "{up to: 10}"
        return read(f"program: {json.dumps(name)}\ninputs: {inputs}\n", file=f"{Path(name).stem}.yaml")
    longer = max_length + 1, 4 * max_length
    inputs = _inputs([(TRAINED, 1, max_length), (TESTED, *longer)], letters)
    splits = f"split by: length\nsplits: {{train: 1 to {max_length}, test: {longer[0]} to {longer[1]}}}"
    return read(f"program: {json.dumps(name)}\ninputs: {inputs}\n{splits}\n", file=f"{Path(name).stem}.yaml")


def _inputs(wanted: Sequence[tuple[int, int, int]], letters: int) -> str:
    """Return the inputs of a spec: numbers of random words, each with the shortest and longest, as far as there are any."""
    random = [
        f"{{count: {min(count, number_of(letters, shortest, longest))}, length: {shortest} to {longest}}}"
        for count, shortest, longest in wanted
    ]
    return f"{{random: [{', '.join(random)}]}}"
