"""What the columns of labels are in weights: the subspaces that hold them, or why there are none."""

from __future__ import annotations

from collections.abc import Mapping

from tm2tfr.errors import listing
from tm2tfr.labels.variables import HeldVariable, Scheme

InSubspaces = tuple[str, ...] | str
"""The names of the subspaces that hold a column as it is; or, as text, why none does."""

GIVEN = ("position", "token", "answer")
"""The columns beside variables and heads whose values are in weights; see `tm2tfr.labels.variables.RESERVED`."""
_OUT = "it is what comes out, and no subspace holds it"
_NOWHERE = "no subspace of these weights holds it"


def columns_in_weights(scheme: Scheme) -> Mapping[str, InSubspaces]:
    """Return where each column is in weights, in the order of the columns."""
    found: dict[str, InSubspaces] = {}
    for column in (*GIVEN, *(variable.name for variable in scheme.variables)):
        found[column] = _of_variable(scheme, column)
    for head in scheme.heads:
        what = f"it says where the head {head.name!r} attends, which is in no subspace"
        found[head.column] = f"{what}: set what the head reads"
    numbers = {
        f"{column}_id": f"it is the number of a token: set {column!r} to the token" for column in ("token", "answer")
    }
    return found | numbers


def _of_variable(scheme: Scheme, column: str) -> InSubspaces:
    held = {name: each for name, each in scheme.held.items() if each is not None and each.column == column}
    if itself := tuple(name for name, each in held.items() if _plain(each)):
        return itself
    if held:
        return f"no subspace holds it as it is: {listing(list(held))} {'is' if len(held) == 1 else 'are'} made of it"
    return _OUT if column == "answer" else _NOWHERE


def _plain(held: HeldVariable) -> bool:
    """Return whether it is the value of the column, and no function of it."""
    return held == HeldVariable(column=held.column)
