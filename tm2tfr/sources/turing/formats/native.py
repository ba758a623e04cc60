"""Our YAML: a superset of turingmachine.io's. A document that loads there loads here and means the same.

It adds the keys ``name``, ``description``, ``source``, ``tape``, ``accept``, ``reject``,
``input alphabet``, ``tape alphabet`` and ``examples``, and the move S. It is stricter in that a rule given twice
is an error, and so is a misspelt key within a rule.
"""

from __future__ import annotations

import re
from functools import lru_cache

from tm2tfr.errors import SpecError
from tm2tfr.sources.turing.formats.advice import advise
from tm2tfr.sources.turing.formats.document import read_document
from tm2tfr.sources.turing.formats.draft import Draft
from tm2tfr.sources.turing.formats.loaded import Loaded, stem
from tm2tfr.sources.turing.formats.writer import write
from tm2tfr.sources.turing.spec import Machine
from tm2tfr.text.nodes import Map, Node, Scalar, compose, kind
from tm2tfr.text.source import MACHINE_BYTES, Log, Source, decoded

__all__ = ["Loaded", "read", "write"]

_LIKE = re.compile(
    r"""^ [^\S\n]* (?:[{,] [^\S\n]*)? ["']? (?:blank | start\ state | table | source\ code) ["']? \s* :""",
    re.MULTILINE | re.VERBOSE,
)
_NOTHING = re.compile(r"(?:---(?=\s|$)|\s|#.*)*")
"""What a document without contents consists of."""
_WRAPPER = ("name", "source code", "positions", "editor contents")


def looks_like(text: str) -> bool:
    """Return whether a text has one of the keys of a document, or is an empty one."""
    return _NOTHING.fullmatch(text) is not None or _LIKE.search(text) is not None


def read(text: str | bytes, *, file: str, most: int = MACHINE_BYTES) -> Loaded:
    """Read a machine from YAML.

    Args:
        file: the name of the text in error messages.
        most: the size of the largest text, in bytes.

    Raises:
        SpecError: with every error of the document, in the order of the text.
    """
    source = decoded(text, file=file, most=most)
    draft = Draft(Log(source), values={"name": stem(file), "yaml": source.text})
    root = _unwrapped(_mapping(compose(source), draft), draft)
    read_document(root, draft)
    machine = draft.machine()
    advise(machine, draft)
    return Loaded(machine=machine, warnings=draft.log.conclude())


def text_of(machine: Machine) -> str:
    """Return the text that `machine` was read from; a new one if there is none, or the machine has been changed since."""
    if machine.yaml is None or _read_before(machine.yaml, machine.name) != machine:
        return write(machine)
    return machine.yaml


@lru_cache(maxsize=64)
def _read_before(text: str, name: str) -> Machine | None:
    try:
        return read(text, file=f"{name}.yaml").machine
    except SpecError:
        return None


def _mapping(root: Node | None, draft: Draft) -> Map:
    """Return the root of a document, which must be a mapping."""
    if isinstance(root, Map):
        return root
    if root is None or (isinstance(root, Scalar) and root.null):
        what, root = "the document is empty", None
    else:
        what = f"the document is {kind(root)}, not a mapping"
    draft.error(root, what, "a machine has at least the keys 'blank', 'start state' and 'table'")
    raise draft.log.failure()


def _unwrapped(root: Map, draft: Draft) -> Map:
    """Return the document within a file downloaded from turingmachine.io, or `root` if this is not one."""
    keys = {key.text for key, _ in root.pairs if isinstance(key, Scalar)}
    if "source code" not in keys or "table" in keys:
        return root
    fields: dict[str, Node] = {}
    for key, value in draft.entries(root, "key"):
        fields.setdefault(key.text, value)
        if key.text not in _WRAPPER:
            draft.warn(key, f"unknown key {key.text!r} around the source code", "it is ignored: move it inside")
    name, code, source = fields.get("name"), fields["source code"], draft.log.source
    if not isinstance(code, Scalar):
        remedy = "write 'source code: |', and the document below it, indented"
        draft.error(code, f"the source code is {kind(code)}, not text", remedy)
        raise draft.log.failure()
    if isinstance(name, Scalar) and not name.empty:
        draft.values["name"] = name.text
    if code.block:
        inner = Source(code.text, source.file, outer=(source, code.start.line + 1))
    else:
        inner = Source(code.text, f"{source.file} (source code)")
    draft.log = draft.log.inside(inner)
    return _mapping(compose(inner), draft)
