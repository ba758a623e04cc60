"""How the chapter writes the tokens of a run: BOS, verdicts, and triples (Section 8.2), with moves {-1, 0, +1} (repair 1).

Only the spelling: which tokens a decoder has, and which it must answer, is computed elsewhere, by the compiler and by the
simulator's rows, each on its own.
"""

from __future__ import annotations

from functools import lru_cache
from typing import NamedTuple

BOS, ACC, REJ, HALT = "BOS", "ACC", "REJ", "HALT"

ARROW = "→"
"""How the token of a rule's answer begins, in the prompt of a universal decoder."""
VERDICTS = {"accept": ACC, "reject": REJ, "halt": HALT}
"""Outcome of a machine -> the token for it."""


class Triple(NamedTuple):
    """A token (r, b, m): the machine went to `state`, wrote `symbol` and moved the head by `move`."""

    state: str
    symbol: str
    move: int

    @property
    def token(self) -> str:
        """The triple as the text of a token: ``(q1,_,+1)``."""
        return f"({self.state},{self.symbol},{self.move:+d})" if self.move else f"({self.state},{self.symbol},0)"


@lru_cache(maxsize=4096)
def parsed(token: str) -> Triple | None:
    """Return the triple that a token stands for, or None. Unambiguous, since a symbol is one character."""
    for suffix, move in ((",-1)", -1), (",0)", 0), (",+1)", 1)):
        body = token.removesuffix(suffix)
        if body != token and body.startswith("(") and len(body) >= 3 and body[-2] == ",":
            return Triple(body[1:-2], body[-1], move)
    return None
