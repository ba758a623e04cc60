"""What Figure 1 is measured on: a formula or a program for each logic, ours and as printed, and what the paper states.

The figure gives each logic two possibilities: a temperature that falls with the length and bounded position embeddings, or
a temperature of 1 and position embeddings that grow. The theorems for future-masked transformers have others.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import NamedTuple


class Printed(NamedTuple):
    """What the paper states: where, τ as a function of the length, and the largest position embedding."""

    source: str
    temperature: str
    embedding: str


@dataclass(frozen=True, kw_only=True)
class MeasuredOn:
    """One row.

    Args:
        section, logic: those of the paper.
        subject: a formula, or the name of a shipped program.
        alphabet: the letters of a formula's words; empty for a program.
        weights: which weights, in a few words; `options`: those that they are compiled with.
        printed: what the paper states of them.
    """

    section: str
    logic: str
    subject: str
    alphabet: str = ""
    weights: str = "ours"
    options: Mapping[str, object] = field(default_factory=dict)
    printed: Printed


SINCE, UNTIL = "(Q[a] | Q[b]) since Q[b]", "(Q[a] | Q[b]) until Q[b]"
PAST = "prev ((prev Q[a]) S (Q[b] & !prev Q[c]))"
COMPARED = "2*count(Q[a]) <= 3*count(Q[b])"
_THEOREM_26 = Printed("Theorem 26", "γ/log(n·x/γ)", "any")
_KINDS: Mapping[str, Mapping[str, object]] = {
    "ours": {},
    "no temperature": {"steep": True},
    "as printed": {"variant": "paper"},
    "sign head": {"compare": "sign"},
}


def _formulas() -> Iterator[MeasuredOn]:
    for section, logic, subject, alphabet, weights, *printed in (
        ("4.1", "TL[⊖, ⊕]", "prev Q[a]", "ab", "ours", "Theorem 12a", "1/n", "1"),
        ("4.1", "TL[⊖, ⊕]", "next Q[a]", "ab", "ours", "Theorem 12a", "1/n", "1"),
        ("4.1", "TL[⊖, ⊕]", "prev Q[a]", "ab", "no temperature", "Theorem 12b", "1", "n"),
        ("4.1", "TL[⊖]", "prev Q[a]", "ab", "as printed", "Theorem 13a", "1/n²", "1"),
        ("4.2", "TL[since, until]", SINCE, "abc", "ours", "Theorem 15a", "1/n", "1"),
        ("4.2", "TL[since, until]", UNTIL, "abc", "ours", "Theorem 15a", "1/n", "1"),
        ("4.2", "TL[since, until]", SINCE, "abc", "no temperature", "Theorem 15b", "1", "n"),
        ("4.2", "TL[since]", SINCE, "abc", "as printed", "Theorem 16a", "1/n²", "1"),
        ("4.3", "past LTL", PAST, "abc", "no temperature", "Corollary 18b", "1", "n²"),
        ("4.4", "TL[#←, #→, +, Mon]", "odd(count(Q[a]))", "ab", "ours", "Theorem 20a", "1/n", "n²"),
        ("4.4", "TL[#←, #→, +, Mon]", COMPARED, "ab", "ours", "Theorem 20a", "1/n", "n²"),
        ("4.4", "TL[#←, +]", COMPARED, "ab", "sign head", "Theorem 21", "1/n", "n²"),
    ):
        options = _KINDS[weights]
        yield MeasuredOn(
            section=section,
            logic=logic,
            subject=subject,
            alphabet=alphabet,
            weights=weights,
            options=options,
            printed=Printed(*printed),
        )


def _programs() -> Iterator[MeasuredOn]:
    for logic, subjects in (
        ("B-RASP", ("hop-1", "hop-2", "hop-3")),
        ("S-RASP", ("dyck-1-by-depth", "dyck-2-by-depth")),
    ):
        yield from (MeasuredOn(section="6", logic=logic, subject=each, printed=_THEOREM_26) for each in subjects)


CASES: tuple[MeasuredOn, ...] = (*_formulas(), *_programs())
