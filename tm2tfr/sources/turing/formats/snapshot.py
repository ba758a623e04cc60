"""What Morphett's simulator saves: a JSON object with the program, the tape and state to begin with, and the variant.

The state, the tape and the head's place at the moment of saving are in it too. A machine begins its runs at the beginning,
so they are not used.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from tm2tfr.sources.turing.formats.draft import Draft
from tm2tfr.text.json_nodes import compose_json
from tm2tfr.text.nodes import Map, Scalar, kind
from tm2tfr.text.source import SourceText

KEYS = (
    *("program", "initialtape", "initialstate", "variant"),
    *("state", "tape", "tapeoffset", "headposition", "steps", "fullspeed", "version"),
)
VARIANTS = {"0": "two-way", "1": "one-way", "2": "two-way"}
CHOICE = "2"
_LIKE = re.compile(r'"(?:initialtape|tapeoffset|headposition|initialstate|state|tape)"\s*:')


@dataclass(frozen=True, kw_only=True)
class SavedProgram:
    """A saved program and its settings.

    Args:
        source: the program.
        tape, state: what a run begins with, if it is given.
        one_way: whether the tape is semi-infinite.
        chooses: whether one of several rules is chosen at random.
    """

    source: SourceText
    tape: Scalar | None = None
    state: Scalar | None = None
    one_way: bool = False
    chooses: bool = False


def is_snapshot(text: str) -> bool:
    """Return whether a text is such an object, as far as its beginning shows."""
    return text.lstrip()[:1] == "{" and '"program"' in text and _LIKE.search(text) is not None


def read_snapshot(draft: Draft) -> SavedProgram:
    """Return what was saved; warnings go to the draft.

    Raises:
        SpecError: if it is not such an object.
    """
    source = draft.log.source
    root = compose_json(source)
    if not isinstance(root, Map):
        draft.error(root, "this is not a JSON object", "save the machine again, or give its program as text")
        raise draft.log.failure()
    found: dict[str, Scalar] = {}
    for key, value in draft.entries(root, "key"):
        if key.text not in KEYS:
            draft.warn(
                key,
                f"unknown key {key.text!r}{draft.nearest(key.text, KEYS, {})}",
                "it is ignored: correct it, or remove it",
            )
        elif isinstance(value, Scalar):
            found.setdefault(key.text, value)
        else:
            draft.error(value, f"{key.text} is {kind(value)}, not text or a number", "write it in quotes")
    program = found.get("program")
    given = any(isinstance(key, Scalar) and key.text == "program" for key, _ in root.pairs)
    if not given or (program is not None and program.plain):
        what = "there is no program" if program is None else "the program is not text"
        draft.error(program, what, "give it as text in quotes, with \\n at the end of each line")
    variant = found.get("variant")
    if variant is not None and variant.text not in VARIANTS:
        draft.error(variant, f"there is no variant {variant.text}", "use 0, 1 for a one-way tape, or 2 for choices")
    if any(d.severity == "error" for d in draft.log.found) or program is None:
        raise draft.log.failure()
    steps = found.get("steps")
    if steps is not None and steps.text not in ("0", "null"):
        what = f"this was saved after {steps.text} steps, and a run here begins at the beginning"
        draft.warn(steps, what, "reset the machine before saving it")
    chosen = variant.text if variant is not None else "0"
    state, tape = found.get("initialstate"), found.get("initialtape")
    return SavedProgram(
        source=SourceText(program.text, f"{source.file} (program)"),
        tape=tape if tape is not None and not tape.plain and tape.text else None,
        state=state if state is not None and state.text.split() else None,
        one_way=VARIANTS[chosen] == "one-way",
        chooses=chosen == CHOICE,
    )
