"""YAML -> the spec of a data set or a sweep, with every complaint at its place in the text."""

from __future__ import annotations

from pathlib import Path

from tm2tfr.base.text.nodes import Map, Reading, Scalar, compose, kind
from tm2tfr.base.text.source import Log, decoded
from tm2tfr.lab.datasets.circuits.reader import names_circuits, read_circuits
from tm2tfr.lab.datasets.labels.reader import names_labeller, read_labeller
from tm2tfr.lab.datasets.machines.reader import read_machines
from tm2tfr.lab.datasets.spec import DatasetSpec
from tm2tfr.sources.turing.formats.draft import stem


def read(text: str | bytes, *, file: str, folder: Path | None = None) -> DatasetSpec:
    """Read a spec from YAML: of machines, or, if it names circuits or a RASP program, of these.

    Args:
        file: the name of the text in error messages.
        folder: where files of machines and circuits are looked for; by default the current one.

    Raises:
        SpecError: with every error of the document, in the order of the text.
    """
    source = decoded(text, file=file)
    reading = Reading(Log(source))
    root = compose(source)
    if not isinstance(root, Map):
        empty = root is None or (isinstance(root, Scalar) and root.null)
        what = "the document is empty" if root is None or empty else f"the document is {kind(root)}, not a mapping"
        reading.error(None if empty else root, what, "a spec has at least the keys 'machines' and 'inputs'")
        raise reading.log.failure()
    given = reading, root, folder, source.text, stem(file)
    if names_circuits(root):
        return read_circuits(*given)
    if names_labeller(root):
        return read_labeller(*given)
    keys = {key.text for key, _ in root.pairs if isinstance(key, Scalar)}
    if {"start state", "table"} <= keys and not {"machines", "inputs"} & keys:
        remedy = f"write a spec that lists it, such as 'machines: [{file}]' with 'inputs: {{up to: 3}}'"
        reading.error(None, "this is a machine, not a spec", remedy)
        raise reading.log.failure()
    return read_machines(*given)
