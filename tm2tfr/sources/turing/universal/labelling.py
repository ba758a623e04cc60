"""Labels of a machine in the prompt of a universal decoder: those of the chapter, and what heads find in the prompt.

The prompt is the same in all runs but for the input, so what its positions hold is found once, as
`tm2tfr.sources.turing.universal.truth` has it.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from tm2tfr.contract.labelling import (
    HeadColumn,
    HeadLabels,
    HeldVariable,
    Ragged,
    RunRows,
    Seen,
    VariableColumns,
    VariableKind,
    heads_of,
    recoded,
)
from tm2tfr.sources.turing.labelling import TURING_VARIABLES, TuringVariables

_AS_IT_IS = ("[rule]", "[key]", "[value]", "[one-way]", "[left end]", "r_q", "r_a", "[r*_q=q]", "[r*_a=a]")
_HELD: Mapping[str, HeldVariable] = {
    **{name: HeldVariable(column=name) for name in _AS_IT_IS},
    "k/(i+1)": HeldVariable(column="k", over=True),
    "e_q(key)": HeldVariable(column="q(key)"),
    "e_a(key)": HeldVariable(column="a(key)"),
}
_ATTENDED: Mapping[str, Seen] = {"last key": "one", "first": "one", "h+k": "one", "rule": "several"}
_FROM_THE_RULE = {"r*_q": "r_q", "r*_a": "r_a", "out": "r_out"}
"""What the head that finds the rule carries -> the variable of which it is the mean."""
_VARIABLES: Mapping[str, tuple[VariableKind, str, str]] = {
    "[rule]": ("whole", "", "whether the position is in the machine's description"),
    "[key]": ("whole", "", "whether the token says what a rule is for"),
    "[value]": ("whole", "", "whether the token says what a rule answers"),
    "k": ("whole", "", "the number of positions of the description, up to this one"),
    "[one-way]": ("whole", "", "whether the tape in the prompt is one-way"),
    "[left end]": ("whole", "", "whether the head is at cell 0 of a one-way tape"),
    "q(key)": ("label", "e_q(key)", "the state of the last rule that has begun"),
    "a(key)": ("label", "e_a(key)", "the symbol of the last rule that has begun"),
    "r_q": ("label", "r_q", "the state of the rule that ends here"),
    "r_a": ("label", "r_a", "the symbol of the rule that ends here"),
    "r_out": ("label", "out", "what the rule that ends here answers"),
    "[r*_q=q]": ("number", "", "the share of the rules found that are for the state q"),
    "[r*_a=a]": ("number", "", "the share of the rules found that are for the symbol a"),
}
"""See `tm2tfr.sources.turing.labelling.TURING_VARIABLES`."""


@dataclass(frozen=True)
class UniversalVariables(TuringVariables):
    """Finds the labels of runs of one machine in the prompt; see `TuringVariables`."""

    variables: ClassVar[Mapping[str, tuple[VariableKind, str, str]]] = {**TURING_VARIABLES, **_VARIABLES}

    @property
    def lead(self) -> int:
        """The number of tokens before the input."""
        return len(self.program.description)

    def _held(self, what: str) -> HeldVariable | None:
        if what in _FROM_THE_RULE:
            head = next((head.column for head in self._rule_heads), None)
            return None if head is None else HeldVariable(column=_FROM_THE_RULE[what], mean=head)
        return _HELD.get(what) or super()._held(what)

    def _seen(self, claim: str) -> Seen | None:
        return _ATTENDED.get(claim) or super()._seen(claim)

    @cached_property
    def _rule_heads(self) -> tuple[HeadLabels, ...]:
        return tuple(head for head in heads_of(self.decoder, self._seen) if head.claim == "rule")

    def labels(self, raw: RunRows) -> tuple[VariableColumns, dict[str, HeadColumn]]:
        """Return the column of each variable, and of each head that has one."""
        description, lead, h = self.program.description, self.lead, raw.columns["h"]
        found, wanted = super().labels(raw)
        position = (np.arange(len(raw.tokens)) - raw.starts).astype(np.int32)
        ends, keys = self._ends, [self._keys.get(description[j], (None, None)) for j in self._last_key]

        def at(values: Iterable[Any], behind: Any) -> NDArray[np.int32]:
            """Return the value at each row's position of the description, and what there is behind it."""
            return np.array([*values, behind], dtype=np.int32)[np.minimum(position, lead)]

        def coded(name: str, labels: Sequence[str | None]) -> NDArray[np.int32]:
            return recoded(labels, self.decoder.layout.holder(_VARIABLES[name][1]).labels)

        q_key, a_key = (coded(name, [key[k] for key in keys]) for k, name in enumerate(("q(key)", "a(key)")))
        rules = [(*end, token) if end else (None, None, None) for end, token in zip(ends, description, strict=True)]
        found |= {
            "[rule]": at([1] * lead, 0),
            "[key]": at([token in self._keys for token in description], 0),
            "[value]": at([end is not None for end in ends], 0),
            "k": at(range(1, lead + 1), lead),
            "[one-way]": np.full(len(position), description[0] == "one-way", dtype=np.int32),
            "[left end]": ((h == 0) & (self.program.standing.tape == "one-way")).astype(np.int32),
            "q(key)": at(q_key, q_key[-1]),
            "a(key)": at(a_key, a_key[-1]),
            **{name: at(coded(name, [rule[k] for rule in rules]), -1) for k, name in enumerate(("r_q", "r_a", "r_out"))},
        }
        places = {
            "first": np.zeros_like(position),
            "last key": at(self._last_key, self._last_key[-1]),
            "h+k": np.minimum(np.maximum(h, 0) + np.minimum(lead, position + 1), position).astype(np.int32),
        }
        wanted |= {head.column: places[head.claim] for head in self.scheme.heads if head.claim in places}
        attended, shares = self._rules(raw, position)
        return found | shares, wanted | {head.column: attended for head in self._rule_heads}

    # ── the rules in the prompt ─────────────────────────────────────────────────────────────────────────────
    @cached_property
    def _keys(self) -> Mapping[str, tuple[str, str]]:
        """Token of what a rule is for -> its state and symbol."""
        names = self.program.names
        return {
            names.key(q, a): (state, symbol)
            for q, state in enumerate(names.ruled)
            for a, symbol in enumerate(names.symbols)
        }

    @cached_property
    def _ends(self) -> list[tuple[str, str] | None]:
        """For each position of the description the state and symbol of the rule that ends there, if one does."""
        found, last, values = list[tuple[str, str] | None](), None, frozenset(self.program.names.values)
        for token in self.program.description:
            last = self._keys.get(token, last)
            found.append(last if token in values else None)
        return found

    @cached_property
    def _last_key(self) -> list[int]:
        """For each position of the description that of the last key up to it, itself if there is none."""
        found, last = list[int](), None
        for i, token in enumerate(self.program.description):
            last = i if token in self._keys else last
            found.append(i if last is None else last)
        return found

    def _rules(self, raw: RunRows, position: NDArray[np.int32]) -> tuple[Ragged, VariableColumns]:
        """Return where the head looks that finds the rule, and the shares of those that are for q and for a.

        What it sees depends on how far the description has come, on q and on a: all kinds of rows are gone through once.
        """
        states, symbols = self.decoder.layout.holder("e_q").labels or (), self.decoder.layout.holder("e_a").labels or ()
        lead = len(self._ends)
        come = np.minimum(position + 1, lead).astype(np.int64)
        kinds, which = np.unique(
            (come * (len(states) + 1) + raw.columns["q"] + 1) * (len(symbols) + 1) + raw.columns["a"] + 1,
            return_inverse=True,
        )
        seen, shares = list[list[int] | None](), list[tuple[float, float]]()
        for kind in kinds.tolist():
            rest, a = divmod(kind, len(symbols) + 1)
            upto, q = divmod(rest, len(states) + 1)
            state, symbol = states[q - 1] if q else None, symbols[a - 1] if a else None
            scores = [0 if end is None else (end[0] == state) + (end[1] == symbol) for end in self._ends[:upto]]
            best = max(scores, default=0)
            places = [j for j, score in enumerate(scores) if score == best] if best else None
            seen.append(places)
            found = [end for end in (self._ends[j] for j in places or ()) if end is not None]
            many = max(1, len(found))
            shares.append((sum(q == state for q, _ in found) / many, sum(a == symbol for _, a in found) / many))
        both = np.array(shares)[which]
        return Ragged.of_lists(seen).take(which), {"[r*_q=q]": both[:, 0], "[r*_a=a]": both[:, 1]}
