"""Which heads are searched: each condition of a recognition fires, and with it or without it the numbers are dense's."""

from __future__ import annotations

import dataclasses
import random
from collections.abc import Sequence

import pytest

from tests.engines.test_fast import followed
from tests.engines.test_honest import Looks
from tm2tfr.engines import engine
from tm2tfr.engines.fast import Fast
from tm2tfr.engines.recognise import Recognition, recognise
from tm2tfr.sources.turing.compiler import compile_machine
from tm2tfr.sources.turing.library import load, shipped
from tm2tfr.transformer.gadgets import head, stacked
from tm2tfr.transformer.matrix import Matrix
from tm2tfr.transformer.positions import POSITION_FEATURES
from tm2tfr.transformer.residual import Linear, Residual, Subspace
from tm2tfr.transformer.weights import Decoder, Head, Layer

FEATURES = tuple(POSITION_FEATURES)
LAYOUT = Residual(tuple(map(Subspace, (*FEATURES, "k", "k^2", "l", "l^2", "n", "j", "moving", "seen", "other"))))
KEYS = (2.0, 5.0, -1.0, 3.0, 2.0)
POSITION: tuple[list[Linear], list[Linear]] = ([{"n": 2}, {"1/(i+1)": -1}], [{"i": 1}, {"i^2": 1}])
LATEST: tuple[list[Linear], list[Linear]] = ([{"n": 2}, {"1": -1}, {"1/(i+1)": 0.5}], [{"k": 1}, {"k^2": 1}, {"i": 1}])


def decoder_of(*heads: Head, keys: Sequence[float] = KEYS, other: Sequence[float] | None = None) -> Decoder:
    """Return a decoder whose token t has the number n = t, the key k and its square, and l likewise for `other` keys.

    The directions j and moving hold i/2, and 1 - i.
    """
    size = len(keys)
    tokens = {(LAYOUT.index("n"), t): float(t) for t in range(size)}
    for name, numbers in (("k", keys), ("l", other or keys)):
        for t, number in enumerate(numbers):
            tokens[LAYOUT.index(name), t], tokens[LAYOUT.index(f"{name}^2"), t] = number, number * number
    place = {(n, n): 1.0 for n in range(len(FEATURES))}
    for name, feature, weight in (("j", "i", 0.5), ("moving", "i", -1.0), ("moving", "1", 1.0)):
        place[LAYOUT.index(name), FEATURES.index(feature)] = weight
    return Decoder(
        layout=LAYOUT,
        vocabulary=tuple(map(str, range(size))),
        bos="0",
        stop=(),
        features=FEATURES,
        token_embedding=Matrix.from_entries((LAYOUT.width, size), tokens),
        position_embedding=Matrix.from_entries((LAYOUT.width, len(FEATURES)), place),
        layers=(Layer(name="", meaning="", source="", heads=heads),),
        unembedding=stacked(LAYOUT, [{"seen": 1.0 + t, "other": -t} for t in range(size)]),
        unembedding_bias=Matrix.from_entries((size, 1), {}),
    )


def looking(query: Sequence[Linear], key: Sequence[Linear], name: str = "looking", to: str = "seen") -> Head:
    reads: Linear = {"i": 1.0, "n": 0.1}
    return head(LAYOUT, name, "", query=query, key=key, carries=[(reads, {to: 1.0}), ({"n": 1.0}, {to: 100.0})])


def words(length: int, size: int = len(KEYS), seed: int = 1) -> list[int]:
    chance = random.Random(seed)
    return [chance.randrange(size) for _ in range(length)]


def only(decoder: Decoder) -> Recognition:
    ((found,),) = recognise(decoder)
    return found


# ── what is recognised ──────────────────────────────────────────────────────────────────────────────────────
@pytest.mark.parametrize("name", shipped())
def test_every_head_of_a_compiled_machine_is_recognised(name: str) -> None:
    machine = load(name)
    kinds = [[f.kind for f in layer] for layer in recognise(compile_machine(machine))]
    lookups = 4 if machine.tape == "two-way" else 2
    assert kinds == [[], ["mean"], ["position"] * lookups, ["latest"], [], []]


@pytest.mark.parametrize(
    ("query", "key", "kind", "sign"),
    [
        ([], [], "mean", 0),
        ([{"n": 1}], [{}], "mean", 0),
        ([{"n": 1}, {}], [{}, {"k": 1}], "mean", 0),
        (*POSITION, "position", 0),
        ([{"n": 2}, {"1": -1}], [{"j": 1}, {"i^2": 1}], "position", 0),
        ([{"n": 2, "k": 1}, {"n": -1, "1": -3}], [{"i": 1}, {"i^2": 3}], "position", 0),
        ([{"1/(i+1)": -1}, {"n": 2}], [{"i^2": 1}, {"i": 1}], "position", 0),
        ([{"1/(i+1)": -1}], [{"i^2": 1, "i": -8}], "position", 0),
        (*LATEST, "latest", 1),
        ([*LATEST[0][:2], {"1/(i+1)": -0.5}], LATEST[1], "latest", -1),
        (LATEST[0], [{"k": 1}, {"k^2": 1}, {"i": -1}], "latest", -1),
        ([*LATEST[0][:2], {"1/(i+1)": -0.5}], [{"k": 1}, {"k^2": 1}, {"i": -1}], "latest", 1),
        ([*LATEST[0][:2], {"1": 0.25, "1/(i+1)": 0.5, "i": 1}], LATEST[1], "latest", 1),
        ([{"1/(i+1)": 0.5}, {"n": 2}, {"n": 7}, {"1": -1}], [{"j": 1}, {"k": 1}, {"1": 3}, {"k^2": 1}], "latest", 1),
    ],
)
def test_a_head_that_is_recognised(query: list[Linear], key: list[Linear], kind: str, sign: int) -> None:
    decoder = decoder_of(looking(query, key))
    found = only(decoder)
    assert (found.kind, found.sign) == (kind, sign)
    assert followed(decoder, words(90)).recognised == ((found,),)


# ── the static conditions ───────────────────────────────────────────────────────────────────────────────────
NOT_TWO = r"^\d components of its key depend on more than the position; expected none or two$"
NO_PARABOLA = r"^its score is not the sum of one multiple of j and one of j²$"
NO_TIE = r"^its key does not have exactly one tie-break, a component that is a multiple of the position$"
NO_SIGN = r"^the sign of its tie-break is not the same at all positions$"


@pytest.mark.parametrize(
    ("query", "key", "why"),
    [
        ([{"n": 1}], [{"k": 1, "j": 1}], NOT_TWO),
        ([{"n": 1}, {"1": -1}, {"1": 1}], [{"k": 1}, {"k^2": 1}, {"l": 1, "i": 1}], NOT_TWO),
        ([{"n": 1}, {"1": -1}], [{"i": 1, "n": 1}, {"i^2": 1}], NOT_TWO),
        ([{"n": 1}, {"1": -1}], [{"moving": 1}, {"i^2": 1}], NOT_TWO),  # two features in one direction
        ([{"n": 1}], [{"i": 1}], NO_PARABOLA),
        ([{"n": 1}], [{"i^2": 1}], NO_PARABOLA),
        ([{"1": 1}], [{"1/(i+1)": 1}], NO_PARABOLA),
        ([{"n": 2}, {"1": -1}, {"1": 1}], [{"i": 1}, {"i^2": 1}, {"j": 1}], NO_PARABOLA),
        ([{"n": 2}, {"1": -1}, {"1": 1}], [{"i": 1}, {"i^2": 1}, {"i^2": 1}], NO_PARABOLA),
        ([{"n": 2}, {"1": -1}], [{"i": 1, "j": 1}, {"i^2": 1}], NO_PARABOLA),
        ([{"n": 2}, {"1": -1}], [{"i": 1, "1/(i+1)": 1}, {"i^2": 1}], NO_PARABOLA),
        ([{"n": 2}, {"1": -1}, {"n": 1}], [{"i": 1}, {"i^2": 1}, {"1": 1}], NO_PARABOLA),
        (LATEST[0], [*LATEST[1][:2], {"i^2": 1}], NO_TIE),
        (LATEST[0], [*LATEST[1][:2], {"i": 1, "1": 1}], NO_TIE),
        (LATEST[0], [*LATEST[1][:2], {"1/(i+1)": 1}], NO_TIE),
        ([*LATEST[0], {"1": 1}], [*LATEST[1], {"j": 1}], NO_TIE),
        ([*LATEST[0][:2], {"n": 1}], LATEST[1], NO_SIGN),
        ([*LATEST[0][:2], {"1/(i+1)": 0.5, "n": 1}], LATEST[1], NO_SIGN),
        ([*LATEST[0][:2], {"1/(i+1)": 0.5, "1": -0.25}], LATEST[1], NO_SIGN),
        ([*LATEST[0][:2], {"moving": 1}], LATEST[1], NO_SIGN),
        ([*LATEST[0][:2], {"i": 1}], LATEST[1], NO_SIGN),  # 0 at position 0
    ],
)
def test_a_head_that_has_to_be_scanned_from_the_start(query: list[Linear], key: list[Linear], why: str) -> None:
    decoder = decoder_of(looking(query, key))
    found = only(decoder)
    assert found.kind == "scan"
    with pytest.raises(AssertionError, match=why):
        raise AssertionError(found.why)
    assert followed(decoder, words(90)).recognised == ((found,),)


def test_what_a_head_before_has_written_is_no_feature_any_more() -> None:
    first = head(LAYOUT, "", "", query=[], key=[], carries=[({"n": 1.0}, {"i": 0.001})])
    decoder = decoder_of(looking(*POSITION), looking(*LATEST, to="other"))
    assert [f.kind for f in recognise(decoder)[0]] == ["position", "latest"]
    layer = Layer(name="", meaning="", source="", heads=(first,))
    decoder = dataclasses.replace(decoder, layers=(layer, *decoder.layers))
    assert [f.kind for f in recognise(decoder)[1]] == ["scan", "grouped"]
    followed(decoder, words(60))


# ── what is checked in the run ──────────────────────────────────────────────────────────────────────────────
NOT_SQUARE = "a key is not an integer (below a billion) and its square"
NOT_CONCAVE = "a score is not concave, or its maximum lies beyond all keys"
THIN = "its keys are too sparse"


def guarded(decoder: Decoder, why: str, tokens: Sequence[int], at: int, name: str = "looking") -> None:
    """Check that the head is taken for what it is not until position `at`, whichever way the decoder is run."""
    session = followed(decoder, tokens)
    line = f"layer 1, head '{name}': scan: {why}, at position {at}"
    assert line in session.report()
    for size in (1, 7, len(tokens)):
        other = Fast().start(decoder, numbers=(LAYOUT.index("seen"), LAYOUT.index("other")))
        other.prompt(tokens)
        chunks = [other.extend(min(size, len(tokens) - n)) for n in range(0, len(tokens), size)]
        assert line in other.report()
        got = [
            (t, a, *numbers)
            for chunk in chunks
            for t, a, numbers in zip(chunk.tokens.tolist(), chunk.answers.tolist(), chunk.numbers.tolist(), strict=True)
        ]
        assert got == dense_rows(decoder, tokens)
    assert recognise(decoder)[0][0].kind != "scan"


def dense_rows(decoder: Decoder, tokens: Sequence[int]) -> list[tuple[int, int, float, float]]:
    """Return token, answer, and the directions seen and other of each position."""
    session, rows = engine("dense").start(decoder), []
    for token in tokens:
        answer = session.feed(token)
        rows.append((token, answer, *(float(session.residual[LAYOUT.index(name)]) for name in ("seen", "other"))))
    return rows


@pytest.mark.parametrize("at", [0, 1, 30])
@pytest.mark.parametrize("bad", ["half", "square", "large"])
def test_a_key_that_is_no_integer_with_its_square(bad: str, at: int) -> None:
    keys = [1.0, 2.0, 3.0, {"half": 2.5, "square": 2.0, "large": 2.0**30}[bad]]
    decoder = decoder_of(looking(*LATEST), keys=keys)
    if bad == "square":
        embedding = decoder.token_embedding.with_entry(LAYOUT.index("k^2"), 3, 4.5)
        decoder = dataclasses.replace(decoder, token_embedding=embedding)
    guarded(decoder, NOT_SQUARE, [*words(at, 3), 3, *words(40, 4)], at)


@pytest.mark.parametrize("at", [0, 1, 30])
@pytest.mark.parametrize("kind", ["position", "latest"])
def test_a_score_that_is_not_concave(kind: str, at: int) -> None:
    query, key = POSITION if kind == "position" else LATEST
    # the coefficient of the square is t - 3: negative, and 0 or 1 for the last two tokens
    decoder = decoder_of(looking([query[0], {"n": 1, "1": -3}, *query[2:]], key))
    for last in (3, 4):
        guarded(decoder, NOT_CONCAVE, [*words(at, 3), last, *words(40)], at)


@pytest.mark.parametrize("at", [0, 3, 30])
def test_keys_that_are_spread_too_thinly(at: int) -> None:
    keys = [1.0, 2.0, -3.0, 900_000.0, -70_000.0]
    tokens = [*words(at, 3), *((0, 3) if at == 0 else (3,)), *words(40)]
    guarded(decoder_of(looking(*LATEST), keys=keys), THIN, tokens, at or 1)


@pytest.mark.parametrize("last", [900_000.0, 2.5])
def test_there_is_room_for_a_long_chunk_after_keys_were_too_thin_or_no_integers(last: float) -> None:
    decoder = decoder_of(looking(*LATEST), keys=[1.0, 2.0, -3.0, last])
    tokens = [0, 1, 2, 3, *words(1_200, 4)]  # more than there is room for at first
    session, dense = Fast().start(decoder), engine("dense").start(decoder)
    session.prompt(tokens)
    chunk = session.extend(len(tokens))
    assert chunk.answers.tolist() == [dense.feed(token) for token in tokens]
    assert session.recognised[0][0].kind == "scan"


@pytest.mark.parametrize("far", [3.0, 1_500.0, 20_000.0, 60_000.0, 70_000.0, -2_000.0, -1_000_000.0])
def test_two_heads_of_one_layer_with_keys_far_from_each_other(far: float) -> None:
    second: list[Linear] = [{"l": 1}, {"l^2": 1}, {"i": 1}]
    heads = looking(*LATEST), looking([{"l": 2}, *LATEST[0][1:]], second, "second", "other")
    for first in (heads, heads[::-1]):
        keys = [1.0, 2.0, -3.0, 4.0]
        session = followed(decoder_of(*first, keys=keys, other=[k + far for k in keys]), words(50, 4))
        assert {f.kind for f in session.recognised[0]} <= {"latest", "scan"}
        assert "latest" in {f.kind for f in session.recognised[0]}
        if abs(far) < 60_000:
            assert [f.kind for f in session.recognised[0]] == ["latest", "latest"]


@pytest.mark.slow
def test_keys_may_wander_far_as_long_as_there_are_many() -> None:
    # the keys of both heads grow with the position, in different directions
    first = looking([{"i": 20}, *LATEST[0][1:]], LATEST[1])
    decoder = decoder_of(first, keys=[40.0 * t for t in range(300)], other=[-30.0 * t for t in range(300)])
    second = looking([{"l": 2}, *LATEST[0][1:]], [{"l": 1}, {"l^2": 1}, {"i": 1}], "second", "other")
    layer = dataclasses.replace(decoder.layers[0], heads=(first, second))
    session = followed(dataclasses.replace(decoder, layers=(layer,)), [*range(300), *words(200, 300)])
    assert [f.kind for f in session.recognised[0]] == ["latest", "latest"]


def test_two_conditions_may_fail_at_one_position_and_in_different_heads() -> None:
    keys = [1.0, 2.0, 2.5]
    first = looking([{"n": 2}, {"n": 1, "1": -1.5}], POSITION[1], "first", "other")
    decoder = decoder_of(looking(*LATEST), first, keys=keys)
    session = followed(decoder, [*words(20, 2, seed=5), 2, *words(30, 3)])
    assert session.report() == [
        f"layer 1, head 'looking': scan: {NOT_SQUARE}, at position 20",
        f"layer 1, head 'first': scan: {NOT_CONCAVE}, at position 20",
    ]


# ── ties ────────────────────────────────────────────────────────────────────────────────────────────────────
@pytest.mark.parametrize("weight", [0.5, -0.5])
def test_the_tie_break_decides_which_of_equal_keys_is_read_and_not_the_order_of_insertion(weight: float) -> None:
    reads = head(
        LAYOUT,
        "looking",
        "",
        query=[{"k": 2}, {"1": -1}, {"1/(i+1)": weight}],
        key=LATEST[1],
        carries=[({"i": 1.0}, {"seen": 1.0})],
    )
    tokens, seen = words(60), []
    decoder = decoder_of(reads, keys=(2.0, 5.0, -1.0, 3.0, 7.0))
    session = Fast().start(decoder)
    for token in tokens:
        session.feed(token)
        seen.append(session.residual[LAYOUT.index("seen")])
    latest = [max(j for j in range(i + 1) if tokens[j] == tokens[i]) for i in range(60)]
    earliest = [tokens.index(token) for token in tokens]
    assert seen == (latest if weight > 0 else earliest)
    assert latest != earliest
    assert followed(decoder, tokens).recognised[0][0].kind == "latest"


@pytest.mark.parametrize("weight", [0.5, -0.5])
@pytest.mark.parametrize("name", ["busy-beaver-4", "binary-counter"])
def test_a_compiled_machine_whose_tie_break_has_its_sign_changed(name: str, weight: float) -> None:
    decoder = dataclasses.replace(compile_machine(load(name)), stop=())
    layer = decoder.layers[3]
    query = layer.heads[0].query
    tie = decoder.layout.index("1/(i+1)")
    (row,) = query.rows[query.columns == tie].tolist()
    changed = dataclasses.replace(layer.heads[0], query=query.with_entry(row, tie, weight))
    layers = (*decoder.layers[:3], dataclasses.replace(layer, heads=(changed,)), *decoder.layers[4:])
    broken = dataclasses.replace(decoder, layers=layers)
    session = Fast().start(broken)
    prompt = [decoder.vocabulary.index(t) for t in (*(load(name).input or ""), decoder.bos)]
    session.prompt(prompt)
    tokens = session.extend(120).tokens.tolist()
    found = followed(broken, tokens).recognised[3][0]
    assert (found.kind, found.sign) == ("latest", 1 if weight > 0 else -1)
    right = Fast().start(decoder)
    right.prompt(prompt)
    assert (right.extend(120).tokens.tolist() == tokens) == (weight > 0)


@pytest.mark.parametrize("latest", [True, False])
def test_where_rounding_loses_the_tie_break_the_fast_engine_is_with_the_exact_one(latest: bool) -> None:
    # k² is near 2^58: the last binary digit of a score is 32 or more, and the tie-break at most 1/2
    key = 2.0**29
    query: list[Linear] = [{"k": 2}, {"1": -1}, {"1/(i+1)": 0.5 if latest else -0.5}]
    reads = head(LAYOUT, "looking", "", query=query, key=LATEST[1], carries=[({"i": 1.0}, {"seen": 1.0})])
    decoder = decoder_of(reads, keys=(key, key + 2**10))
    tokens, seen = [0, 1, 1, 0, 0, 1, 0, 1, 1, 1], {}
    for name, session in (
        ("fast", Fast().start(decoder)),
        ("exact", engine("exact").start(decoder)),
        ("dense", engine("dense").start(decoder)),
    ):
        seen[name] = []
        for token in tokens:
            session.feed(token)
            seen[name].append(float(session.residual[LAYOUT.index("seen")]))
        if name == "fast":
            assert session.recognised[0][0].kind == "latest"
    assert seen["fast"] == ([0, 1, 2, 3, 4, 5, 6, 7, 8, 9] if latest else [0, 1, 1, 0, 0, 1, 0, 1, 1, 1])
    assert seen["fast"] == seen["exact"]
    assert seen["dense"] != seen["exact"]


@pytest.mark.parametrize("constant", [1.0, 1e15, 1e17, -1e17])
def test_scores_on_top_of_a_large_constant_tie_as_they_do_in_the_dense_engine(constant: float) -> None:
    query: list[Linear] = [{"1/(i+1)": 8}, {"1/(i+1)": -1}, {"1": constant}]
    decoder = decoder_of(looking(query, [{"i": 1}, {"i^2": 1}, {"1": 1}]))
    followed(decoder, words(60))


@pytest.mark.parametrize("size", [30, 400])
@pytest.mark.parametrize("kind", ["position", "latest"])
def test_two_places_at_the_same_distance_share_the_attention(kind: str, size: int) -> None:
    # The maximum is half-way between two positions, or two keys. The tie-break is too small to count, and as no key
    # comes twice no rounding can hide which of its positions is the latest.
    heads = {
        "position": looking([{"n": 1}, {"1": -1}], POSITION[1]),
        "latest": looking([{"n": 3}, {"1": -1}, {"1/(i+1)": 1e-14}], LATEST[1]),
    }
    decoder = decoder_of(heads[kind], keys=[3.0 * t for t in range(size)])
    tokens = random.Random(2).sample(range(size), size)
    assert followed(decoder, tokens).recognised[0][0].kind == kind
    session, shared = engine("dense").start(decoder), 0
    for token in tokens:
        look = Looks()
        session.feed(token, look)
        shared += len(look.heads[0, 0][1]) == 2
    assert shared > size / 8


def test_positions_that_share_the_attention_are_summed_in_their_order() -> None:
    # the scores of keys near 2^28 are rounded to multiples of 8 or 16: five or so are the largest
    middle = 2.0**28
    query: list[Linear] = [{"1": 2 * middle}, {"1": -1}, {"1/(i+1)": 1e-14}]
    reads = head(LAYOUT, "looking", "", query=query, key=LATEST[1], carries=[({"1/(i+1)": 1.0}, {"seen": 1.0})])
    decoder = decoder_of(reads, keys=[middle + t - 20 for t in range(40)])
    unlike = 0
    for seed in range(8):
        tokens = random.Random(seed).sample(range(40), 40)
        assert followed(decoder, tokens).recognised[0][0].kind == "latest"
        session = engine("dense").start(decoder)
        for token in tokens:
            look = Looks()
            session.feed(token, look)
            attended = look.heads[0, 0][1]
            by_key = [1 / (j + 1) for j in sorted(attended, key=lambda j: tokens[j])]
            total = by_key[0]
            for value in by_key[1:]:
                total += value
            unlike += total / len(attended) != session.residual[LAYOUT.index("seen")]
    assert unlike > 0  # in another order the sum is another
