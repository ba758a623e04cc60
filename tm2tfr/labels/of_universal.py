"""Labels of a machine in the prompt of a universal decoder: those of the chapter, and what heads find in the prompt.

The prompt is the same in all runs but for the input, so what its positions hold is found once, as
`tm2tfr.sources.turing.universal.truth` has it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tm2tfr.labels.of_circuit import ragged_of
from tm2tfr.labels.of_turing import RawRows, TuringVariables, VariableColumns, recoded
from tm2tfr.labels.variables import HeadColumn, HeldVariable, LabelVariable, Ragged, Seen
from tm2tfr.sources.turing.universal.program import Universal
from tm2tfr.transformer.residual import Residual

_HELD: Mapping[str, HeldVariable] = {
    "[rule]": HeldVariable(column="[rule]"),
    "[key]": HeldVariable(column="[key]"),
    "[value]": HeldVariable(column="[value]"),
    "k/(i+1)": HeldVariable(column="k", over=True),
    "e_q(key)": HeldVariable(column="q(key)"),
    "e_a(key)": HeldVariable(column="a(key)"),
    "[one-way]": HeldVariable(column="[one-way]"),
    "[left end]": HeldVariable(column="[left end]"),
    "r_q": HeldVariable(column="r_q"),
    "r_a": HeldVariable(column="r_a"),
    "[r*_q=q]": HeldVariable(column="[r*_q=q]"),
    "[r*_a=a]": HeldVariable(column="[r*_a=a]"),
}
_ATTENDED: Mapping[str, Seen] = {"last key": "one", "first": "one", "h+k": "one", "rule": "several"}
_FROM_THE_RULE = {"r*_q": "r_q", "r*_a": "r_a", "out": "r_out"}
"""What the head that finds the rule carries -> the variable of which it is the mean."""
_WHOLE = {
    "[rule]": "whether the position is in the machine's description",
    "[key]": "whether the token says what a rule is for",
    "[value]": "whether the token says what a rule answers",
    "k": "the number of positions of the description, up to this one",
    "[one-way]": "whether the tape in the prompt is one-way",
    "[left end]": "whether the head is at cell 0 of a one-way tape",
}
_NUMBERS = {
    "[r*_q=q]": "the share of the rules found that are for the state q",
    "[r*_a=a]": "the share of the rules found that are for the symbol a",
}
_LABELS = {
    "q(key)": ("e_q(key)", "the state of the last rule that has begun"),
    "a(key)": ("e_a(key)", "the symbol of the last rule that has begun"),
    "r_q": ("r_q", "the state of the rule that ends here"),
    "r_a": ("r_a", "the symbol of the rule that ends here"),
    "r_out": ("out", "what the rule that ends here answers"),
}


@dataclass(frozen=True)
class UniversalVariables(TuringVariables):
    """Finds the labels of runs of one machine in the prompt."""

    universal: Universal

    def _held(self, what: str) -> HeldVariable | None:
        if what in _FROM_THE_RULE:
            head = next((head.column for head in self._rule_heads), None)
            return None if head is None else HeldVariable(column=_FROM_THE_RULE[what], mean=head)
        return _HELD.get(what) or super()._held(what)

    def _seen(self, claim: str) -> Seen | None:
        return _ATTENDED.get(claim) or super()._seen(claim)

    @cached_property
    def _rule_heads(self) -> tuple[Any, ...]:
        from tm2tfr.labels.of_turing import heads_of  # noqa: PLC0415

        return tuple(head for head in heads_of(self.decoder, self._seen) if head.claim == "rule")

    def _variables(self, layout: Residual) -> list[LabelVariable]:
        found = [LabelVariable(name=name, kind="whole", meaning=meaning) for name, meaning in _WHOLE.items()]
        for name, (what, meaning) in _LABELS.items():
            found.append(LabelVariable(name=name, kind="label", meaning=meaning, labels=layout.holder(what).labels))
        found += [LabelVariable(name=name, kind="number", meaning=meaning) for name, meaning in _NUMBERS.items()]
        return [*super()._variables(layout), *found]

    def labels(self, raw: RawRows, lead: int = 0) -> tuple[VariableColumns, dict[str, HeadColumn]]:
        """Return every column, and the column of each head that has one; see `TuringVariables.labels`."""
        description = self.universal.description
        lead = len(description)
        found, wanted = super().labels(raw, lead)
        position = (np.arange(len(raw.tokens)) - raw.starts).astype(np.int32)
        inside = position < lead
        at = np.minimum(position, lead - 1)
        walled = self.universal.standing.tape == "one-way"
        one_way = description[0] == "one-way" if description else False
        ends, last_key = self._ends, self._last_key
        labels = {name: self.decoder.layout.holder(what).labels for name, (what, _) in _LABELS.items()}
        r_q = recoded(tuple(end[0] if end else "" for end in ends), labels["r_q"])
        r_a = recoded(tuple(end[1] if end else "" for end in ends), labels["r_a"])
        r_out = recoded(tuple(t if end else "" for t, end in zip(description, ends, strict=True)), labels["r_out"])
        keys = [self._keys.get(description[j]) for j in last_key]
        found |= {
            "[rule]": inside.astype(np.int32),
            "[key]": np.where(inside, np.array([t in self._keys for t in description])[at], False).astype(np.int32),
            "[value]": np.where(inside, np.array([end is not None for end in ends])[at], False).astype(np.int32),
            "k": np.minimum(position + 1, lead).astype(np.int32),
            "[one-way]": np.full(len(position), int(one_way), dtype=np.int32),
            "[left end]": ((raw.h == 0) & walled).astype(np.int32),
            "q(key)": recoded(tuple(k[0] if k else "" for k in keys), labels["q(key)"])[at],
            "a(key)": recoded(tuple(k[1] if k else "" for k in keys), labels["a(key)"])[at],
            **{
                n: np.where(inside, of[at], -1).astype(np.int32) for n, of in (("r_q", r_q), ("r_a", r_a), ("r_out", r_out))
            },
        }
        places = {
            "first": np.zeros_like(position),
            "last key": np.where(inside, np.array(last_key, dtype=np.int32)[at], last_key[-1]).astype(np.int32),
            "h+k": np.minimum(np.maximum(raw.h, 0) + np.minimum(lead, position + 1), position).astype(np.int32),
        }
        for head in self.scheme.heads:
            if head.claim in places:
                wanted[head.column] = places[head.claim]
        attended, shares = self._rules(raw, position)
        for head in self._rule_heads:
            wanted[head.column] = attended
        return found | shares, wanted

    # ── the rules in the prompt ─────────────────────────────────────────────────────────────────────────────
    @cached_property
    def _keys(self) -> Mapping[str, tuple[str, str]]:
        """Token of what a rule is for -> its state and symbol."""
        names = self.universal.names
        return {
            names.key(q, a): (state, symbol)
            for q, state in enumerate(names.ruled)
            for a, symbol in enumerate(names.symbols)
        }

    @cached_property
    def _ends(self) -> list[tuple[str, str] | None]:
        """For each position of the description the state and symbol of the rule that ends there, if one does."""
        found, last, values = list[tuple[str, str] | None](), None, frozenset(self.universal.names.values)
        for token in self.universal.description:
            last = self._keys.get(token, last)
            found.append(last if token in values else None)
        return found

    @cached_property
    def _last_key(self) -> list[int]:
        """For each position of the description that of the last key up to it, itself if there is none."""
        found, last = list[int](), None
        for i, token in enumerate(self.universal.description):
            last = i if token in self._keys else last
            found.append(i if last is None else last)
        return found

    def _rules(self, raw: RawRows, position: NDArray[np.int32]) -> tuple[Ragged, VariableColumns]:
        """Return where the head looks that finds the rule, and the shares of those that are for q and for a.

        What it sees depends on how far the description has come, on q and on a: all kinds of rows are gone through once.
        """
        states, symbols = self.decoder.layout.holder("e_q").labels or (), self.decoder.layout.holder("e_a").labels or ()
        lead = len(self._ends)
        come = np.minimum(position + 1, lead).astype(np.int64)
        kinds, which = np.unique(
            (come * (len(states) + 1) + raw.q + 1) * (len(symbols) + 1) + raw.a + 1, return_inverse=True
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
            found = [self._ends[j] for j in places or ()]
            many = max(1, len(found))
            shares.append(
                (
                    sum(end is not None and end[0] == state for end in found) / many,
                    sum(end is not None and end[1] == symbol for end in found) / many,
                )
            )
        both = np.array(shares)[which]
        return ragged_of(seen).take(which), {"[r*_q=q]": both[:, 0], "[r*_a=a]": both[:, 1]}
