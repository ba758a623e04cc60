"""The model of a universal decoder's run: the chapter's equations around those that find a rule in the prompt.

The machine stands in the prompt, as k tokens before the input: which tape it has, then for each rule a key, (q, a), and a
value, what is answered. So the equations know the names of states and symbols alone, and δ is looked up.

Nothing here is taken from the compiler.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import partial

import numpy as np
from numpy.typing import NDArray

from tm2tfr.contract.labelling import HeldVariable, Ragged
from tm2tfr.contract.model import (
    NOTHING,
    Equation,
    Getter,
    LabelColumn,
    ModelColumns,
    ModelStage,
    ModelVariable,
    Pattern,
    SourceModel,
    VariableValues,
    place_table,
    settled,
    votes_of,
)
from tm2tfr.contract.specification import VariableValue
from tm2tfr.sources.turing.columns import OUTCOMES
from tm2tfr.sources.turing.model import Alphabets, chapter
from tm2tfr.sources.turing.patterns import ALIASES, LABELS, given, most_votes, patterns
from tm2tfr.sources.turing.tokens import BOS, HALT
from tm2tfr.sources.turing.universal.names import MachineNames, RuleAnswer, value_token

DESCRIBED: ModelStage = (0, "feed_forward")
KEY_READ: ModelStage = (1, "attention")
RULE_READ: ModelStage = (1, "feed_forward")
AT_LEFT_END: ModelStage = (2, "feed_forward")
RULE_FOUND: ModelStage = (5, "attention")
RULE_COMPARED: ModelStage = (5, "feed_forward")
RULE_ANSWERED: ModelStage = (6, "feed_forward")
"""The stages beside those of the chapter, each named for what there is after it."""

RULE_LABELS = (
    *("[rule]", "[key]", "[value]", "k", "[one-way]", "[left end]"),
    *("q(key)", "a(key)", "r_q", "r_a", "r_out", "[r*_q=q]", "[r*_a=a]"),
)
"""The label columns beside those of the chapter, in the order in which they are published."""


def universal_model(
    names: MachineNames,
    tapes: Sequence[str],
    vocabulary: Sequence[str] = (),
    *,
    two_way: bool,
    walled: bool,
    stop: Sequence[str] = (),
) -> SourceModel:
    """Return the model of the runs of any machine with these names.

    Args:
        tapes: the tokens that name a tape, if a machine can have either.
        vocabulary: the tokens, of several with as many votes the first is answered; none: those of these names.
        two_way: whether any of the machines may move left of cell 0; walled: whether all of them have a left end.
        stop: the tokens that end a run.
    """
    tokens = tuple(vocabulary) or names.vocabulary(tapes)
    alphabets = Alphabets(tokens, names.states, names.symbols, names.symbols[1:], names.blank, two_way)
    return SourceModel(
        variables=(
            *(variable for variable in chapter(alphabets, input_at="h+k") if variable.name != "[h=0]"),
            *_described(names, tapes, tokens),
            *_of_rules(names, tokens),
            *_left_end(tokens, two_way=bool(tapes), walled=walled),
            *_found(names, tokens),
            ModelVariable(
                name="e_y",
                meaning="the answer",
                kind="label",
                labels=tokens,
                mixed=True,
                equation=partial(votes, names=names, tapes=tapes),
                formula="y = x in the prompt, (q_start, a, 0) if x = BOS, else out, or HALT if no rule is for q and a",
                source="step 4",
                since=RULE_ANSWERED,
                read_by="the token answered",
                held=HeldVariable(column="answer"),
            ),
        ),
        patterns=(*patterns(), *_rule_patterns(names, two_way=two_way)),
        vocabulary=tokens,
        answer=most_votes(tokens),
        columns=(*LABELS, *RULE_LABELS),
        aliases=ALIASES,
        outcomes=OUTCOMES,
        stop=frozenset(stop),
        given=given,
    )


# ── the machine's description
def _keys(names: MachineNames) -> Mapping[str, tuple[str, str]]:
    """Return the state and the symbol of each token that begins a rule."""
    states, symbols = enumerate(names.ruled), names.symbols
    return {names.key(q, a): (state, symbol) for q, state in states for a, symbol in enumerate(symbols)}


def _described(names: MachineNames, tapes: Sequence[str], tokens: Sequence[str]) -> Iterator[ModelVariable]:
    keys, values = frozenset(names.keys), frozenset(names.values)
    key_heads = "the heads that look for the last key, here and later"
    for name, parts, meaning, formula, read_by, published in (
        (
            "[rule]",
            {*keys, *values, *tapes},
            "the token describes the machine",
            "x = (q, a), x = →(r, b, m), or x names a tape",
            "k, here and later",
            _IN_DESCRIPTION,
        ),
        ("[key]", keys, "a rule begins here", "x = (q, a)", key_heads, "token says what a rule is for"),
        ("[value]", values, "a rule ends here", "x = →(r, b, m)", "r_q and r_a, here", "token says what a rule answers"),
    ):
        yield ModelVariable(
            name=name,
            meaning=f"whether {meaning}",
            equation=_bit([token in parts for token in tokens]),
            formula=formula,
            since=DESCRIBED,
            read_by=read_by,
            least=0,
            largest=1,
            column=LabelColumn(name=name, meaning=f"whether the {published}"),
        )
    yield ModelVariable(
        name="k/(i+1)",
        meaning="how many tokens describe the machine, as a share",
        equation=lambda c: c.total("[rule]"),
        formula="k = Σ_{j≤i} [rule]_j",
        since=KEY_READ,
        read_by="the head that looks up the input symbol, here",
        least=0,
        share=True,
        column=LabelColumn(name="k", meaning="the number of positions of the description, up to this one"),
    )


_IN_DESCRIPTION = "position is in the machine's description"


def _bit(of_tokens: Sequence[bool]) -> Equation:
    bits = np.array([*of_tokens, False])
    return lambda c: bits[c["e_x"]]


def _of_rules(names: MachineNames, tokens: Sequence[str]) -> Iterator[ModelVariable]:
    """Yield state and symbol of the rule that begins, ends and is found."""
    keys = _keys(names)
    for n, (name, part, labels) in enumerate((("q", "state", names.ruled), ("a", "symbol", names.symbols))):
        of_key = place_table([keys[token][n] if token in keys else None for token in tokens], labels)
        yield ModelVariable(
            name=f"e_{name}(key)",
            meaning=f"the {part} of the last key",
            kind="label",
            labels=labels,
            equation=partial(_key_read, of_key=of_key),
            formula=f"the {name} of x_j = (q, a) at the last key j",
            since=KEY_READ,
            read_by=f"r_{name}, here",
            column=LabelColumn(name=f"{name}(key)", meaning=f"the {part} of the last rule that has begun", kind="label"),
        )
        yield ModelVariable(
            name=f"r_{name}",
            meaning=f"the {part} of the rule that ends here",
            kind="label",
            labels=labels,
            equation=partial(_where_value, name=f"e_{name}(key)"),
            formula=f"r_{name} = e_{name}(key) if [value], else ⊥",
            since=RULE_READ,
            read_by="the heads that look for a rule, here and later",
            column=LabelColumn(name=f"r_{name}", meaning=f"the {part} of the rule that ends here", kind="label"),
        )
        yield ModelVariable(
            name=f"r*_{name}",
            meaning=f"the {part} of the rule that is found",
            kind="label",
            labels=labels,
            mixed=True,
            equation=partial(ModelColumns.mean, claim="rule", name=f"r_{name}"),
            formula=f"the mean of r_{name} at the rules found",
            since=RULE_FOUND,
            read_by=f"[r*_{name}={name}], here",
            held=HeldVariable(column=f"r_{name}", mean="rule"),
        )
        yield ModelVariable(
            name=f"[r*_{name}={name}]",
            meaning=f"whether that is the {part}",
            rational=True,
            equation=partial(_share, names=names, name=name),
            shortcut=partial(_share_of_places, names=names, name=name),
            formula=f"the share of {name} in r*_{name}",
            since=RULE_COMPARED,
            read_by="the answer here",
            least=0,
            largest=1,
            column=LabelColumn(
                name=f"[r*_{name}={name}]",
                meaning=f"the share of the rules found that are for the {part} {name}",
                kind="number",
            ),
        )


def _key_read(c: ModelColumns, of_key: NDArray[np.int64]) -> VariableValues:
    return np.asarray(of_key[c.at("last key", "e_x")])


def _where_value(c: ModelColumns, name: str) -> VariableValues:
    return np.where(c["[value]"] != 0, c[name], NOTHING)


def _share(c: ModelColumns, names: MachineNames, name: str) -> VariableValues:
    """Return the share of the state, of those that can have rules, or of the symbol, in what was found."""

    def share(label: str | None, found: VariableValue) -> VariableValue:
        return 0 if label is None or (name == "q" and label not in names.ruled) else votes_of(found).get(label, 0)

    return c.each(share, f"e_{name}", f"r*_{name}")


def _left_end(tokens: Sequence[str], *, two_way: bool, walled: bool) -> Iterator[ModelVariable]:
    def left_end(c: ModelColumns) -> VariableValues:
        if two_way:
            return np.asarray(np.maximum(c["[one-way]"] - c["h"] - 2 * c["h-"], 0))
        return np.asarray(np.maximum(1 - c["h"], 0) if walled else np.zeros_like(c.i))

    yield ModelVariable(
        name="[one-way]",
        meaning="whether the tape is one-way",
        equation=partial(_first_is, one_way=np.array([*(token == "one-way" for token in tokens), False])),
        formula="x_0 = one-way",
        since=KEY_READ,
        read_by="[left end], here",
        least=0,
        largest=1,
        column=LabelColumn(name="[one-way]", meaning="whether the tape in the prompt is one-way"),
    )
    yield ModelVariable(
        name="[left end]",
        meaning="whether the head is at the left end",
        equation=left_end,
        formula="max([one-way] - h - 2h-, 0)" if two_way else "max(1 - h, 0)",
        since=AT_LEFT_END,
        read_by="the answer here",
        least=0,
        largest=1,
        column=LabelColumn(name="[left end]", meaning="whether the head is at cell 0 of a one-way tape"),
    )


def _first_is(c: ModelColumns, one_way: NDArray[np.bool_]) -> VariableValues:
    return np.asarray(one_way[c.at("first", "e_x")])


def _found(names: MachineNames, tokens: Sequence[str]) -> Iterator[ModelVariable]:
    values = frozenset(names.values)
    answers = place_table([token if token in values else None for token in tokens], names.values)
    meaning = "what the rule that ends here answers"
    yield ModelVariable(
        name="r_out",
        meaning=meaning,
        kind="label",
        labels=names.values,
        equation=lambda c: answers[c["e_x"]],
        formula="(r, b, m) if x = →(r, b, m), else ⊥",
        stored=False,
        column=LabelColumn(name="r_out", meaning=meaning, kind="label", labels_of="out"),
    )
    yield ModelVariable(
        name="out",
        meaning="what the rule that is found answers",
        kind="label",
        labels=names.values,
        mixed=True,
        equation=lambda c: c.mean("rule", "r_out"),
        formula="the mean of the answers of the rules found",
        since=RULE_FOUND,
        read_by="the answer here",
        held=HeldVariable(column="r_out", mean="rule"),
    )


# ── the answer
def votes(c: ModelColumns, names: MachineNames, tapes: Sequence[str]) -> VariableValues:
    """Step 4: an answer that was found has as many votes as it and both comparisons are more than 2, none if they are less.

    At the left end, a move left passes them on to the same triple without a move.
    """
    copied = frozenset((*names.symbols[1:], *names.keys, *names.values, *tapes))
    still = {names.value(a): names.triple(a._replace(move=0)) for a in names.answers() if a.move < 0}

    def said(
        token: str | None, state: str | None, symbol: str | None, out: VariableValue, q: int, a: int, left_end: int
    ) -> VariableValue:
        found: dict[str, VariableValue] = {}

        def vote(answer: str, number: VariableValue) -> None:
            if number := found.get(answer, 0) + number:
                found[answer] = number
            else:
                found.pop(answer, None)

        if token in copied:
            vote(token or "", 1)
        if token == BOS and symbol is not None:
            vote(names.triple(RuleAnswer(0, names.symbols.index(symbol), 0)), 1)
        if state is not None:
            vote(HALT, 1 - max(0, q + a - 1))
        for value, share in votes_of(out).items():
            vote(value.removeprefix(value_token("")), max(0, share + q + a - 2))
        for value in still if left_end else ():
            moved = max(0, votes_of(out).get(value, 0) + q + a + left_end - 3)
            vote(value.removeprefix(value_token("")), -moved)
            vote(still[value], moved)
        return settled(found)

    return c.each(said, "e_x", "e_q", "e_a", "out", "[r*_q=q]", "[r*_a=a]", "[left end]")


# ── where heads look
def _rule_patterns(names: MachineNames, *, two_way: bool) -> Iterator[Pattern]:
    half = "h+/(i+1)" if two_way else "h/(i+1)"
    yield Pattern(
        claim="last key",
        meaning="the last token that says what a rule is for",
        formula="the latest j ≤ i with [key]_j = 1",
        places=lambda c: c.latest_where("[key]"),
    )
    yield Pattern(claim="first", meaning="the first token", formula="0", places=lambda c: np.zeros_like(c.i))
    yield Pattern(
        claim="h+k",
        meaning="the input symbol of the cell under the head",
        formula="argmax_{j≤i} (2(h+k)·j - j²)/(i+1)",
        places=lambda c: c.nearest(c[half] + c["k/(i+1)"]),
    )
    yield Pattern(
        claim="rule",
        meaning="the rules that agree best with the state and the symbol",
        formula="argmax_{j≤i} [r_q = q] + [r_a = a]",
        seen="several",
        places=partial(best_rules, names=names),
        shortcut=partial(best_rules_of_prompt, names=names),
    )


def _asked(names: MachineNames) -> NDArray[np.int64]:
    """Return the place of each state among those that can have rules."""
    return place_table([state if state in names.ruled else None for state in names.states], names.ruled)


def best_rules(c: ModelColumns, names: MachineNames) -> Ragged:
    """Return the positions up to here at which the most of r_q = q and r_a = a is true."""
    asked = _asked(names)

    def score(query: Getter, key: Getter) -> VariableValues:
        same_state = (asked[query("e_q")] == key("r_q")) & (key("r_q") != NOTHING)
        same_symbol = (query("e_a") == key("r_a")) & (key("r_a") != NOTHING)
        return np.asarray(same_state.astype(np.int64) + same_symbol)

    return c.best(score)


def best_rules_of_prompt(c: ModelColumns, names: MachineNames) -> Ragged:
    """Return the same, for runs of one prompt: what is seen depends on how far it has come, on q and on a."""
    q, a, come = _asked(names)[c["e_q"]], c["e_a"].astype(np.int64), c["k/(i+1)"].astype(np.int64)
    lead = int(come.max(initial=0))
    r_q, r_a = c["r_q"][:lead], c["r_a"][:lead]  # of the first run, as of any other
    kinds = (come * (len(names.states) + 1) + q + 1) * (len(names.symbols) + 1) + a + 1
    _, first, which = np.unique(kinds, return_index=True, return_inverse=True)
    seen: list[list[int] | None] = []
    for row in first.tolist():
        here = slice(0, int(come[row]))
        score = ((r_q[here] == q[row]) & (q[row] >= 0)).astype(np.int64) + ((r_a[here] == a[row]) & (a[row] >= 0))
        best = score.max(initial=0)
        seen.append(np.flatnonzero(score == best).tolist() if best else None)
    return Ragged.of_lists(seen).take(which)


def _share_of_places(c: ModelColumns, names: MachineNames, name: str) -> VariableValues:
    """Return the share of the rules found that are for the state or the symbol, as floats."""
    places, wanted = c.places("rule"), c["e_a"] if name == "a" else _asked(names)[c["e_q"]]
    if not isinstance(places, Ragged):
        raise TypeError("the head that finds a rule can find several")
    sizes = np.diff(places.offsets)
    found = c.there(f"r_{name}", np.repeat(c.run, sizes), places.places)
    sums = np.concatenate([[0], np.cumsum((found == np.repeat(wanted, sizes)) & (found != NOTHING))])
    return np.asarray(np.diff(sums[places.offsets]) / np.maximum(1, sizes))
