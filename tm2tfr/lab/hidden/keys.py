"""Keys of every grade: of disguises, which are proved, and of trained weights, which are measured."""

from __future__ import annotations

from pathlib import Path

from tm2tfr.base.errors import DisguiseError
from tm2tfr.lab.hidden.claim import HiddenTruth, answer
from tm2tfr.lab.hidden.key import FORMAT, VERSION, Key, load_document, of_dict
from tm2tfr.lab.hidden.trained.key import GRADE, TrainedKey, shortened, trained_key
from tm2tfr.runs.plan import is_count

AnyKey = Key | TrainedKey


def load_any_key(path: str | Path) -> AnyKey:
    """Return the key in a file, of any grade.

    Raises:
        DisguiseError: if it cannot be read, is not a key, or is damaged.
    """
    found = load_document(path)
    if isinstance(found, dict) and tuple(map(found.get, ("format", "version"))) == (FORMAT, VERSION):
        trained, grade = "recipe" in found, found.get("grade")
        if trained != (is_count(grade) and grade == GRADE):
            what = f"its grade is {shortened(grade)}, and it has {'the' if trained else 'no'} recipe of trained weights"
            raise DisguiseError(f"{path}: this key is damaged ({what}): make it again with 'tm2tfr disguise'")
        if trained:
            return trained_key(found, str(path))
    return of_dict(found, str(path))


def truth_of(key: AnyKey) -> HiddenTruth:
    """Return the truth that a key holds."""
    return answer(key) if isinstance(key, Key) else key.truth
