"""Any automaton as a RASP program for words of limited length: the scan, with log N rounds of composition; or N steps.

Each position begins with the map of states of its own token, an s-op for each state. In a round a position composes its
map with that of the position 1, 2, 4, … before it, so that after the rounds its map is that of the whole prefix. All s-ops
of a round are read by one head. The tables of a scan grow with the number of maps; beyond a few states, steps are smaller:
in each round a position takes the step from the state that the position before it had in the round before.

Source: Hillis and Steele, Data Parallel Algorithms (1986); Weiss, Goldberg and Yahav, Thinking Like Transformers (2021).
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from tm2tfr.base.errors import CompileError, visible
from tm2tfr.sources.automaton.automaton import ACCEPTS, STATE, Automaton
from tm2tfr.sources.automaton.to_logic import headers

MOST_SCANNED = 6
"""The most states of a scan: its tables grow with the number of maps of states, and so does the time that they take."""


def to_scan(automaton: Automaton, length: int) -> str:
    """Return an automaton as a RASP program for words of up to `length` tokens, with the s-ops `STATE` and `ACCEPTS`.

    Raises:
        CompileError: if RASP cannot write two or more of its tokens, in its texts without escapes.
    """
    states, lines = automaton.reachable, [*headers(automaton)[:-1], f"# length: {length}", f"# sop: {ACCEPTS}", ""]
    many = len(states)
    if many > MOST_SCANNED:
        problem = f"a scan of {many:,} states takes too long to compile, and at most {MOST_SCANNED} are scanned"
        raise CompileError(f"{visible(automaton.name)}: {problem}: use --by steps")
    needed = [{0}]  # the states from which a round's map is asked, from the last round to the first
    rounds = max(0, (length - 1).bit_length())
    needed += [set(range(many))] * rounds
    order = _writable(automaton)
    plain = all(re.fullmatch(r"[A-Za-z0-9_]+", automaton.labels[state]) for state in states)
    names = [automaton.labels[state] if plain else str(q) for q, state in enumerate(states)]
    for q in sorted(needed[rounds]):
        lines.append(f"_from_{names[q]}_by_1 = {_chosen(automaton, order, q)};")
    for r in range(rounds):
        distance, asked = 1 << r, sorted(needed[rounds - r - 1])
        lines.append(f"_back_{distance} = select(indices, indices - {distance}, ==);")
        for q in asked:
            own = f"_from_{names[q]}_by_{distance}"
            lines.append(f"_earlier{own} = aggregate(_back_{distance}, {own}, {q});")
        for q in asked:
            text = f"_from_{names[-1]}_by_{distance}"
            for p in range(many - 2, -1, -1):
                text = f"(_from_{names[p]}_by_{distance} if _earlier_from_{names[q]}_by_{distance} == {p} else {text})"
            text = text.removeprefix("(").removesuffix(")") if many > 1 else text
            lines.append(f"_from_{names[q]}_by_{2 * distance} = {text};")
    last = f"_from_{names[0]}_by_{1 << rounds}"
    named = ", ".join(f'{q}: "{automaton.labels[state]}"' for q, state in enumerate(states))
    lines.append(f"{STATE} = {{{named}}}[{last}];")
    good = [q for q, state in enumerate(states) if state in set(automaton.accepting)]
    lines.append(f"{ACCEPTS} = {last} in [{', '.join(map(str, good))}];" if good else f"{ACCEPTS} = {last} == {many};")
    return "\n".join([*lines, ""])


def to_steps(automaton: Automaton, length: int) -> str:
    """Return an automaton as a RASP program that takes one step a round: after round r, r + 1 positions have their state.

    Raises:
        CompileError: if RASP cannot write one of its tokens.
    """
    places = {state: place for place, state in enumerate(automaton.reachable)}
    hard = next((token for token in automaton.alphabet if '"' in token or not token.isprintable()), None)
    if hard is not None:
        problem = f"the texts of RASP have no escapes, so that it cannot write the token {visible(repr(hard))}"
        raise CompileError(f"{visible(automaton.name)}: {problem}: rename it")
    after = ", ".join(
        f'"{places[state]} {token}": "{places[automaton.transitions[state, token]]} "'
        for state in places
        for token in automaton.alphabet
    )
    lines = [*headers(automaton)[:-1], f"# length: {length}", f"# sop: {ACCEPTS}", ""]
    lines += [f"_after = {{{after}}};", "_behind = select(indices, indices - 1, ==);", '_state_1 = _after["0 " + tokens];']
    for r in range(2, length + 1):
        lines.append(f'_before_{r} = aggregate(_behind, _state_{r - 1}, "0 ");')
        lines.append(f"_state_{r} = _after[_before_{r} + tokens];")
    named = ", ".join(f'"{place} ": "{automaton.labels[state]}"' for state, place in places.items())
    good = ", ".join(f'"{places[state]} "' for state in automaton.accepting if state in places)
    last = f"_state_{length}"
    lines.append(f"{STATE} = {{{named}}}[{last}];")
    lines.append(f"{ACCEPTS} = {last} in [{good}];" if good else f'{ACCEPTS} = {last} == "";')
    return "\n".join([*lines, ""])


def _writable(automaton: Automaton) -> Sequence[int]:
    """Return the order in which tokens are asked for: one that RASP cannot write comes last, where none is asked for."""
    hard = [a for a, token in enumerate(automaton.alphabet) if '"' in token or not token.isprintable()]
    if len(hard) > 1:
        some = " and ".join(visible(repr(automaton.alphabet[a])) for a in hard[:2])
        problem = f"the texts of RASP have no escapes, so that it can write only one such token, and these are {some}"
        raise CompileError(f"{visible(automaton.name)}: {problem}: rename one of them")
    return [*(a for a in range(len(automaton.alphabet)) if a not in hard), *hard]


def _chosen(automaton: Automaton, order: Sequence[int], state: int) -> str:
    """Return the state that each token leads to, as RASP."""
    tokens: dict[int, list[str]] = {}
    for a in order:
        tokens.setdefault(automaton.table[a][state], []).append(automaton.alphabet[a])
    last = automaton.table[order[-1]][state]
    text = str(last)
    for after, some in tokens.items():
        if after != last:
            listed = ", ".join(f'"{token}"' for token in some)
            condition = f'tokens == "{some[0]}"' if len(some) == 1 else f"tokens in [{listed}]"
            text = f"{after} if {condition} else ({text})" if " " in text else f"{after} if {condition} else {text}"
    if " " not in text:  # a constant would be no s-op
        text = f'{last} if tokens == "{automaton.alphabet[order[0]]}" else {last}'
    return text
