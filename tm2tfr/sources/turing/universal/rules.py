"""Reading the machine's rules: in layers 1 and 2 each gets a position of its own, in layer 6 the right one is found."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from tm2tfr.sources.turing.tokens import ACC, BOS, HALT, REJ
from tm2tfr.sources.turing.universal.names import GivenVerdict, MachineNames, RuleAnswer, value_token
from tm2tfr.transformer.claims import Claim
from tm2tfr.transformer.gadgets import Unit, conjunction, feed_forward, head, latest, lookup, mean, rectified
from tm2tfr.transformer.residual import Linear, Residual, at, total
from tm2tfr.transformer.weights import Head, Layer


def kinds(keys: Iterable[str], values: Iterable[str], tapes: Iterable[str]) -> list[Unit]:
    """Return the units of layer 1 that write ``[rule]``, ``[key]`` and ``[value]``."""
    of_key, of_value = (total(at("e_x", token) for token in tokens) for tokens in (keys, values))
    of_tape = total(at("e_x", token) for token in tapes)
    return [
        *rectified("[key]", of_key, {"[key]": 1.0, "[rule]": 1.0}),
        *rectified("[value]", of_value, {"[value]": 1.0, "[rule]": 1.0}),
        *(rectified("[tape]", of_tape, {"[rule]": 1.0}) if of_tape else ()),
    ]


def description_heads(layout: Residual, names: MachineNames, tapes: tuple[str, ...]) -> tuple[Head, ...]:
    """Return the heads of layer 2 that read the machine's description.

    ``k/(i+1)`` is the mean of ``[rule]``. The last key is the latest write of the gadget `latest` with the key bits as
    cells: equal ones are told apart by their positions. Position 0 names the tape, where there is a choice.
    """
    counted = mean(layout, "description", "universal, layer 2", [({"[rule]": 1}, {"k/(i+1)": 1})], attends="all")
    carried: list[tuple[Linear, Linear]] = []
    for q, state in enumerate(names.ruled):
        carried.append((total(at("e_x", names.key(q, a)) for a in range(len(names.symbols))), {at("e_q(key)", state): 1.0}))
    for a, symbol in enumerate(names.symbols):
        carried.append((total(at("e_x", names.key(q, a)) for q in range(len(names.ruled))), {at("e_a(key)", symbol): 1.0}))
    last = latest(
        layout, "last key", "universal, layer 2", wanted="1", key=("[key]", "[key]"), carries=carried, attends="last key"
    )
    if not tapes:
        return (counted, last)
    tape = lookup(
        layout,
        "tape",
        "universal, layer 2",
        scaled={"1/(i+1)": -1},
        carries=[({at("e_x", "one-way"): 1.0}, {"[one-way]": 1.0})],
        attends="first",
    )
    return (counted, last, tape)


def rule_units(names: MachineNames) -> list[Unit]:
    """Return the units of layer 2 that write ``r_q`` and ``r_a``: the last key at a value, which is its rule's, else 0."""
    units: list[Unit] = []
    for target, source, labels in (("r_q", "e_q(key)", names.ruled), ("r_a", "e_a(key)", names.symbols)):
        for label in labels:
            bits = [{at(source, label): 1.0}, {"[value]": 1.0}]
            units += conjunction(at(target, label), bits, {at(target, label): 1.0})
    return units


def find_rule(layout: Residual, names: MachineNames) -> Layer:
    """Return the layer that finds the rule for (q, a).

    The score of the position where a rule for (q', a') ends is [q = q'] + [a = a'], everywhere else it is 0. Where there
    is a rule for (q, a), it alone has the score 2. Where there is none, the head carries a mean over rules of which none is
    for both, and the two flags cannot both be 1. That is so for every mean over positions, with whatever weights, since
    each position adds at most its own weight to their sum: softmax may share the weight in any way there.
    """
    states, symbols = names.ruled, names.symbols
    forms: list[tuple[Linear, Linear]] = [({at("e_q", q): 1.0}, {at("r_q", q): 1.0}) for q in states]
    forms += [({at("e_a", a): 1.0}, {at("r_a", a): 1.0}) for a in symbols]
    carries: list[tuple[Linear, Linear]] = [({at("r_q", q): 1.0}, {at("r*_q", q): 1.0}) for q in states]
    carries += [({at("r_a", a): 1.0}, {at("r*_a", a): 1.0}) for a in symbols]
    carries += [({at("e_x", v): 1.0}, {at("out", v): 1.0}) for v in names.values]
    found = head(
        layout,
        "rule for q, a",
        "universal, layer 6",
        query=[query for query, _ in forms],
        key=[key for _, key in forms],
        carries=carries,
        claim=Claim(attends="rule", gap=1.0, over="constant", ties=True),
    )
    units: list[Unit] = []
    for flag, own, its, labels in (("[r*_q=q]", "e_q", "r*_q", states), ("[r*_a=a]", "e_a", "r*_a", symbols)):
        for label in labels:
            bits = [{at(own, label): 1.0}, {at(its, label): 1.0}]
            units += conjunction(f"{flag}, {label}", bits, {flag: 1.0})
    return Layer(
        name="find rule",
        meaning="the rule for the state and the symbol, and whether there is one",
        source="universal, layer 6",
        heads=(found,),
        feed_forward=feed_forward(layout, units),
        equation="r* = argmax_j [q = r_q] + [a = r_a]",
    )


# ── layer 7: what the rule answers, HALT where there is none, the answer to BOS, and the copy of the prompt
FOUND: tuple[Linear, ...] = ({"[r*_q=q]": 1.0}, {"[r*_a=a]": 1.0})
"""The two bits that say that the rule found is the right one."""


def answer(layout: Residual, names: MachineNames, copied: tuple[str, ...], *, walled: bool) -> Layer:
    """Return the layer that writes ``e_y``.

    Args:
        copied: the tokens of the prompt, which are answered by themselves.
        walled: whether a tape may have a left end, where a move left is answered by m = 0 (repair 4).
    """
    units = [*_prompt(copied), *_start(names), *_halted(names), *_rules(names, walled=walled)]
    return Layer(
        name="answer",
        meaning="the next triple, or the verdict: what the rule says",
        source="step 4; universal, layer 7" + ("; repair 4" if walled else ""),
        feed_forward=feed_forward(layout, units),
        equation="y = δ(q, a)",
    )


def _prompt(copied: tuple[str, ...]) -> Iterator[Unit]:
    for token in copied:
        yield from rectified(f"prompt {token}", {at("e_x", token): 1.0}, {at("e_y", token): 1.0})


def _start(names: MachineNames) -> Iterator[Unit]:
    for n, a in enumerate(names.symbols):
        bits = [{at("e_x", BOS): 1.0}, {at("e_a", a): 1.0}]
        yield from conjunction(f"BOS, {a}", bits, {at("e_y", names.triple(RuleAnswer(0, n, 0))): 1.0})


def _halted(names: MachineNames) -> Iterator[Unit]:
    """HALT = [triple] - ([triple] and the rule is found)."""
    triple = total(at("e_q", q) for q in names.states)
    yield from rectified("triple", triple, {at("e_y", HALT): 1.0})
    yield from conjunction("triple with a rule", [triple, *FOUND], {at("e_y", HALT): -1.0})


def _rules(names: MachineNames, *, walled: bool) -> Iterator[Unit]:
    answers: list[RuleAnswer | GivenVerdict] = [*names.answers(), ACC, REJ]  # type: ignore[list-item]
    for answer in answers:
        token = answer if isinstance(answer, str) else names.triple(answer)
        bits = [{at("out", value_token(token)): 1.0}, *FOUND]
        yield from conjunction(f"rule → {token}", bits, {at("e_y", token): 1.0})
        if walled and not isinstance(answer, str) and answer.move < 0:
            change = {at("e_y", token): -1.0, at("e_y", names.triple(answer._replace(move=0))): 1.0}
            yield from conjunction(f"rule → {token} at the left end", [*bits, {"[left end]": 1.0}], change)
