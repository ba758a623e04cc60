"""Heads with few distinct keys, grouped by key: the dense engine's numbers, and scans where grouping does not do."""

from __future__ import annotations

import dataclasses
import random
from collections.abc import Sequence

import pytest

from tests.engines.test_fast import code, followed
from tests.engines.test_recognise import LATEST, LAYOUT, decoder_of, dense_rows, looking, only, words
from tests.handmade import decoder as by_hand
from tests.strategies import tries
from tm2tfr.engines.dense import Dense
from tm2tfr.engines.fast import Fast
from tm2tfr.engines.fast.arrays import EARLY
from tm2tfr.engines.fast.session import FastSession
from tm2tfr.transformer.gadgets import Unit, feed_forward, head, stacked
from tm2tfr.transformer.matrix import Matrix
from tm2tfr.transformer.residual import Linear, Residual, Subspace, at
from tm2tfr.transformer.weights import Decoder, FeedForward, Head, Layer

WHY = "its key contains no position: positions are grouped by key, and each key is scored once"
MANY = "its key takes too many values to group positions by it"
SHARED = "several keys share the attention, and their values cannot be added up in any order"
GROUPED: tuple[list[Linear], list[Linear]] = ([{"n": 2.0, "1": -3.0}, {"l": 1.0}], [{"k": 1.0}, {"l": -1.0}])


def summing(query: Sequence[Linear], key: Sequence[Linear], reads: Linear, name: str = "summing", to: str = "seen") -> Head:
    """Return a head that carries `reads`."""
    return head(LAYOUT, name, "", query=query, key=key, carries=[(reads, {to: 1.0})])


def report(found: str, name: str = "summing") -> str:
    return f"layer 1, head '{name}': {found}"


# ── what is grouped ─────────────────────────────────────────────────────────────────────────────────────────
@pytest.mark.parametrize(
    ("query", "key"),
    [
        GROUPED,
        ([{"n": 1}], [{"k": 1}]),
        ([{"n": 1, "i": 1}], [{"k": 1, "1": 2}]),  # the query may be anything
        ([{"n": 1}, {"1": -1}, {"1": 1}], [{"k": 1}, {"k^2": 1}, {"l": 1}]),
        (LATEST[0][:2], LATEST[1][:2]),
        (LATEST[0], [*LATEST[1][:2], {"1": 1}]),
    ],
)
def test_a_head_whose_key_contains_no_position_is_grouped(query: list[Linear], key: list[Linear]) -> None:
    decoder = decoder_of(summing(query, key, {"i": 1.0, "n": 0.25}))
    assert (only(decoder).kind, only(decoder).why) == ("grouped", WHY)
    assert followed(decoder, words(90)).report() == [report(f"grouped: {WHY}")]


def test_keys_of_a_head_before_are_grouped_as_well() -> None:
    before = head(
        LAYOUT, "before", "", query=[{"i": 2}, {"1": -1}], key=[{"i": 1}, {"i^2": 1}], carries=[({"k": 1}, {"l": 7})]
    )
    decoder = with_layers(decoder_of(), (before,), (summing(*GROUPED, {"n": 1.0, "i": 1.0}),))
    session = followed(decoder, words(90))
    assert [[f.kind for f in layer] for layer in session.recognised] == [["position"], ["grouped"]]


def here(name: str, reads: Linear, writes: Linear) -> Head:
    """Return a head that attends to its own position."""
    return head(LAYOUT, name, "", query=[{"i": 2}, {"1": -1}], key=[{"i": 1}, {"i^2": 1}], carries=[(reads, writes)])


def with_layers(decoder: Decoder, *layers: tuple[Head, ...]) -> Decoder:
    return dataclasses.replace(
        decoder, layers=tuple(Layer(name="", meaning="", source="", heads=heads) for heads in layers)
    )


# ── ties ────────────────────────────────────────────────────────────────────────────────────────────────────
@pytest.mark.parametrize("reads", [{"i": 1.0}, {"n": 0.25, "i": -3.0}, {"i^2": 2.0**-10}])
def test_sums_of_exact_values_are_added_up_in_any_order(reads: Linear) -> None:
    # the score is l times the query: 0 for every key at n = 2.5, so take keys that tie without being equal
    head_ = summing([{"1": 1.0}, {"n": 1.0}], [{"l": 1.0}, {"1": 0.0, "k^2": 0.0, "n": 1.0}], reads)
    decoder = decoder_of(head_, other=(0.0, 0.0, 0.0, 0.0, 0.0))
    session = followed(decoder, [0, *words(80)])
    assert session.recognised[0][0].kind == "grouped"
    assert session._pools.info[0, 0] == 5


@pytest.mark.parametrize("reads", [{"n": 0.1}, {"1/(i+1)": 1.0}, {"i": 2.0**-11}, {"i^2": 2.0**50}])
def test_where_groups_tie_and_sums_are_not_exact_the_head_is_scanned(reads: Linear) -> None:
    # token 0 has the query 0: all keys tie
    decoder = decoder_of(summing([{"n": 1.0}], [{"k": 1.0}], reads))
    tokens = [1, 2, 3, 4, 2, 2, 0, *words(40)]
    session = followed(decoder, tokens)
    assert session.report() == [report(f"scan: {SHARED}, at position 6")]
    assert followed(decoder, [t for t in tokens if t]).report() == [report(f"grouped: {WHY}")]


def test_one_group_may_have_any_values() -> None:
    decoder = decoder_of(summing([{"n": 1.0, "1": 1.0}], [{"k": 1.0}], {"1/(i+1)": 1.0, "n": 0.1}))
    session = followed(decoder, words(300))
    assert session.recognised[0][0].kind == "grouped"


# ── keys without end ────────────────────────────────────────────────────────────────────────────────────────
def counting(reads: Linear, every: float) -> Decoder:
    """Return a decoder whose second head has a key that grows by `every` with each position, out of a head's mean."""
    place = head(
        LAYOUT, "place", "", query=[{"i": 2}, {"1": -1}], key=[{"i": 1}, {"i^2": 1}], carries=[({"i": every}, {"other": 1})]
    )
    return with_layers(decoder_of(), (place,), (summing([{"n": 1.0, "1": 1.0}], [{"other": 1.0}], reads),))


def test_a_head_whose_keys_are_all_different_is_scanned() -> None:
    line = f"layer 2, head 'summing': scan: {MANY}, at position 1024"
    decoder, tokens = counting({"n": 0.1}, 1.0), words(1_100)
    session = Fast().start(decoder)
    session.prompt(tokens)
    answers = session.extend(1_024).answers.tolist()
    assert session.recognised[1][0].kind == "grouped"
    answers += session.extend(76).answers.tolist()
    assert session.report()[1] == line
    assert answers == dense_answers(decoder, tokens)
    session.restart()
    assert session.recognised[1][0].kind == "grouped"
    assert [session.feed(token) for token in tokens] == answers
    assert session.report()[1] == line


@pytest.mark.slow
def test_room_for_groups_grows_and_many_keys_are_no_trouble_where_positions_are_more() -> None:
    keys = [float(n * n % 1_009) + n / 512 for n in range(1_300)]
    decoder = decoder_of(summing([{"n": 1.0, "1": -600.0}], [{"k": 1.0}], {"i": 1.0}), keys=keys)
    tokens = [n % 640 for n in range(2_600)] + list(range(1_300))
    session, dense = Fast().start(decoder), dense_answers(decoder, tokens)
    session.prompt(tokens)
    assert session.extend(len(tokens)).answers.tolist() == dense
    assert session.recognised[0][0].kind == "grouped"
    assert session._pools.info[0, 0] == len(set(keys)) > 1_024


def dense_answers(decoder: Decoder, tokens: Sequence[int]) -> list[int]:
    return [answer for _, answer, _, _ in dense_rows(decoder, tokens)]


# ── random decoders ─────────────────────────────────────────────────────────────────────────────────────────
def random_grouped(chance: random.Random) -> Decoder:
    """Return a decoder whose last heads are grouped, whose keys repeat, and some of whose values are no integers."""
    keys, other = ([float(chance.choice((0, 0, 1, 1, 2, -1, 0.5))) for _ in range(6)] for _ in "ab")
    small = (-2.0, -1.0, 0.5, 1.0, 2.0)
    fractions = (*small, 0.1) if chance.random() < 0.7 else small

    def form(names: Sequence[str], most: int, weights: Sequence[float] = small) -> Linear:
        return {name: chance.choice(weights) for name in chance.sample(names, chance.randint(0, most))}

    def grouped(name: str) -> Head:
        size = chance.randint(1, 4)
        key = [form(("k", "l", "n", "1", "moving"), 2) for _ in range(size)]
        query = [form(("k", "l", "n", "1", "moving", "l^2"), 2) for _ in range(size)]
        reads = form(("n", "k", "k^2", "moving", "i"), 3, fractions)
        writes = chance.choice(("seen", "other", "l^2"))
        return head(
            LAYOUT, name, "", query=query, key=key, carries=[(reads, {writes: 1.0}), (form(("n",), 1), {"seen": 2.0})]
        )

    made = decoder_of(keys=keys, other=other)
    made = dataclasses.replace(made, position_embedding=without(made, "moving"))
    first = tuple(chance.choice((before, mean))(chance) for _ in range(chance.randint(0, 2)))
    last = tuple(grouped(f"grouped {n}") for n in range(chance.randint(1, 2)))
    made = with_layers(made, *([first] if first else []), last)
    layers = [dataclasses.replace(layer, feed_forward=gated(chance)) for layer in made.layers]
    return dataclasses.replace(made, layers=(*layers, dataclasses.replace(layers[0], heads=(), feed_forward=gated(chance))))


def without(decoder: Decoder, direction: str) -> Matrix:
    """Return the position embedding without a direction."""
    place = decoder.position_embedding
    return Matrix.from_entries(place.shape, {(r, c): v for r, c, v in place.entries() if r != LAYOUT.index(direction)})


def before(chance: random.Random) -> Head:
    """Return a head that looks at the position before, or at the first one."""
    name = chance.choice(("n", "k", "l"))
    query: list[Linear] = [{"i": 2.0, "1": chance.choice((-2.0, -1000.0))}, {"1": -1.0}]
    return head(LAYOUT, "before", "", query=query, key=[{"i": 1}, {"i^2": 1}], carries=[({name: 1.0}, {"moving": 1.0})])


def mean(chance: random.Random) -> Head:
    """Return a head that carries a mean to where queries may see it."""
    return head(LAYOUT, "mean", "", query=[], key=[], carries=[({chance.choice(("n", "k")): 1.0}, {"l^2": 1.0})])


def gated(chance: random.Random) -> FeedForward | None:
    names = ("n", "k", "l", "moving", "seen", "other")
    units = [
        Unit(str(n), {r: chance.choice((-1.0, 1.0)) for r in chance.sample(names, 2)}, {chance.choice(names): 1.0}, -0.5)
        for n in range(chance.randint(0, 4))
    ]
    return feed_forward(LAYOUT, units) if units else None


def runs(
    chance: random.Random, decoder: Decoder, session: FastSession, tokens: Sequence[int], most: int, saved: float = 0.1
) -> None:
    """Run a random prompt in pieces, with tokens fed in between, now and then saved and restored: as the dense engine."""
    prompt = chance.choices(tokens, k=chance.randrange(1, 60))
    session.restart()
    session.prompt(prompt)
    fed, answers, numbers, codes = [], [], [], []
    while session.position < most:
        if session.position >= len(prompt) and chance.random() < 0.1:
            fed.append(chance.choice(tokens))
            answers.append(session.feed(fed[-1]))
            numbers.append(session.residual.tolist())
            codes.append([code(session.residual[a:b].tolist()) for a, b in session._labels])
            continue
        chunk = session.extend(min(chance.choice((1, 2, 7, 40)), most - session.position))
        fed += chunk.tokens.tolist()
        answers += chunk.answers.tolist()
        numbers += chunk.numbers.tolist()
        codes += chunk.codes.tolist()
        if chance.random() < saved:
            session.restore(session.save())
    dense = Dense().start(decoder)
    for i, token in enumerate(fed):
        assert dense.feed(token) == answers[i], (i, session.report())
        assert dense.residual.tolist() == numbers[i], (i, session.report())
        assert [code(dense.residual[a:b].tolist()) for a, b in session._labels] == codes[i]


def started(decoder: Decoder) -> FastSession:
    """Return a session that reads off every direction as a number, and some of them as labels."""
    width = decoder.layout.width
    return Fast().start(decoder, numbers=range(width), labels=((5, 7), (width - 2, width)))


@pytest.mark.slow
def test_random_decoders_in_pieces_restarted_saved_and_fed() -> None:
    chance, scanned, kept = random.Random(7), 0, 0
    for _ in range(tries(150)):
        decoder = random_grouped(chance)
        session = started(decoder)
        for _ in range(3):
            runs(chance, decoder, session, range(6), 100)
            found = any(found.kind == "scan" for layer in session.recognised for found in layer)
            scanned, kept = scanned + found, kept + (not found)
        followed(decoder, words(40, 6, chance.randrange(99)))
    assert scanned > tries(5)
    assert kept > 2 * scanned


# ── rules in the prompt ─────────────────────────────────────────────────────────────────────────────────────
def automaton(states: int, chance: random.Random, *, wild: bool = False) -> Decoder:
    """Return a decoder that takes a state's successor from its prompt: token ``a→b`` says that b follows a.

    Its last layer with heads has one or two grouped heads; no token after the prompt joins the groups that they look for.
    In a wild one, weights are no integers, and all keys but the right one may win.
    """
    names = tuple(f"q{n}" for n in range(states))
    layout = Residual((Subspace("one"), *(Subspace(name, names) for name in ("now", "from", "to", "then", "also", "out"))))
    rules = [(a, b) for a in range(states) for b in range(states)]
    tokens: list[Linear] = [{at("now", name): 1.0} for name in names]
    for a, b in rules:
        weight = chance.choice((1.0, 0.7)) if wild else 1.0
        tokens.append({at("from", names[a]): weight, at("to", names[b]): chance.choice((1.0, 0.3)) if wild else 1.0})
    heads = [
        head(
            layout,
            f"find {to}",
            "",
            query=[{at("now", name): 1.0} for name in names],
            key=[{at("from", name): sign} for name in names],
            carries=[({at("to", name): 1.0}, {at(to, name): 1.0}) for name in names],
        )
        for to, sign in (("then", 1.0), ("also", -1.0 if wild else 2.0))[: chance.randint(1, 2)]
    ]
    units = [Unit(name, {at("then", name): 1.0, at("now", name): 0.5}, {at("out", name): 1.0}, -0.25) for name in names]
    units += [Unit(f"{name}'", {at("also", name): 1.0}, {at("out", name): 0.5}, -0.5) for name in names]
    layers = (
        Layer(name="", meaning="", source="", heads=tuple(heads), feed_forward=feed_forward(layout, units)),
        Layer(
            name="",
            meaning="",
            source="",
            feed_forward=feed_forward(layout, [Unit("", {at("out", names[0]): 1.0}, {"one": 2.0})]),
        ),
    )
    logits: list[Linear] = [{at("out", name): 1.0, "one": 0.25 * n} for n, name in enumerate(names)]
    return by_hand(
        layout,
        tokens,
        layers,
        [*logits, *({} for _ in rules)],
        vocabulary=(*names, *(f"{names[a]}→{names[b]}" for a, b in rules)),
        bias=(*(0.0 for _ in names), *(-1.0 for _ in rules)),
        places={"1": {"one": 1.0}},
    )


def some_rules(states: int, chance: random.Random) -> list[int]:
    """Return the tokens of a rule for each state, or for most of them."""
    rules = [states + a * states + chance.randrange(states) for a in range(states)]
    return rules[chance.randrange(5) == 0 :]


RISING = looking([{"1": 1.0}], [{"k": 1.0}])
"""Attends to the largest key so far."""
OWN = looking([{"k": 2.0}, {"1": -1.0}], [{"k": 1.0}, {"k^2": 1.0}])
"""Attends to the positions with its own key."""


def falling(found: Head) -> Decoder:
    """Return a decoder with this head, which goes on with token 0, whose key is 0."""
    decoder = decoder_of(found, keys=(0.0, 1.0, 2.0, 3.0))
    return dataclasses.replace(decoder, unembedding=stacked(LAYOUT, [{"seen": -t} for t in range(4)]))


@pytest.mark.parametrize("found", [RISING, OWN], ids=["a new group wins", "the group grows"])
def test_an_answer_that_is_remembered_is_no_longer_given_when(found: Head) -> None:
    fed_between(falling(found))


def fed_between(decoder: Decoder) -> FastSession:
    """Check a run in which other tokens are fed now and then, and return its session."""
    session, dense = started(decoder), Dense().start(decoder)
    session.prompt([1])
    for most, token in ((1, None), (10, 2), (10, 2), (10, 1), (5, 3), (10, None)):
        chunk = session.extend(most)
        for fed, answer, numbers in zip(chunk.tokens.tolist(), chunk.answers.tolist(), chunk.numbers.tolist(), strict=True):
            assert dense.feed(fed) == answer
            assert dense.residual.tolist() == numbers
        if token is not None:
            assert session.feed(token) == dense.feed(token)
            assert session.residual.tolist() == dense.residual.tolist()
    return session


@pytest.mark.slow
def test_rules_in_the_prompt_another_prompt_and_rules_that_come_later() -> None:
    chance, remembered = random.Random(11), 0
    for _ in range(tries(60)):
        states = chance.randint(2, 5)
        decoder = automaton(states, chance, wild=chance.random() < 0.3)
        session = started(decoder)
        for _ in range(4):
            runs(chance, decoder, session, [*some_rules(states, chance), *range(states)], 150)
            remembered += int(session._control[EARLY])
    assert remembered > tries(60)
