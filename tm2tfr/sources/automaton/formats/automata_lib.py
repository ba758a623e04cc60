"""Automata of automata-lib (https://github.com/caleb531/automata): the classes `DFA` and `NFA`.

Their attributes are read; automata-lib itself is not needed.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from tm2tfr.base.errors import Diagnostic, SpecError
from tm2tfr.base.text.source import Log, SourceText
from tm2tfr.sources.automaton.formats.draft import AutomatonDraft, Edge, LoadedAutomaton

_FIELDS = ("states", "input_symbols", "transitions", "initial_state", "final_states")


def of_object(given: object, *, name: str = "automaton") -> LoadedAutomaton:
    """Return a `DFA` or an `NFA` as an automaton; states that are not text are named by their ``str``.

    Raises:
        SpecError: if it is neither, or two states have one name.
    """
    missing = [field for field in _FIELDS if not hasattr(given, field)]
    if missing or hasattr(given, "tape_symbols") or hasattr(given, "stack_symbols"):
        problem = f"{type(given).__name__} is not a DFA or an NFA from automata-lib"
        remedy = "pass an automata.fa.dfa.DFA or an automata.fa.nfa.NFA"
        raise SpecError([Diagnostic(what=problem, remedy=remedy, file=name)])
    source: Any = given
    order = [source.initial_state, *(q for q in _ordered(source.states) if q != source.initial_state)]
    names = {q: q if isinstance(q, str) else str(q) for q in order}
    if len(set(names.values())) < len(names):
        twice = next(q for q in names.values() if list(names.values()).count(q) > 1)
        raise SpecError([Diagnostic(what=f"two states are both called {twice!r}", remedy="rename one of them", file=name)])
    draft = AutomatonDraft(Log(SourceText("", name)), name=name, alphabet=tuple(_ordered(source.input_symbols)))
    draft.states, draft.start = dict.fromkeys(names.values()), names[source.initial_state]
    draft.accept = [names[q] for q in order if q in source.final_states]
    for q in order:
        for token, after in source.transitions.get(q, {}).items():
            targets = after if isinstance(after, set | frozenset) else [after]
            draft.edges += [Edge(names[q], token, names[r], None) for r in _ordered(targets)]
    return draft.loaded()


def _ordered(some: Iterable[Any]) -> list[Any]:
    return sorted(some, key=lambda each: (str(each), repr(each)))
