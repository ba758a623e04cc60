"""Weights of a universal decoder that are not right: each kind of entry, and the words of its refusal."""

from __future__ import annotations

import re
from dataclasses import replace
from itertools import islice

import pytest

from tests.sources.turing.proof.test_refusals import Place, mutated, with_head, with_unit
from tests.sources.turing.universal.cases import compiled
from tm2tfr.engines.dense import Dense
from tm2tfr.sources.turing.columns import Row
from tm2tfr.sources.turing.library import load
from tm2tfr.sources.turing.universal import prompt
from tm2tfr.sources.turing.universal.compiler import compile_universal
from tm2tfr.sources.turing.universal.names import RuleAnswer
from tm2tfr.sources.turing.universal.program import Universal
from tm2tfr.sources.turing.universal.proof import domain as witness
from tm2tfr.sources.turing.universal.proof.prove import limit, prove
from tm2tfr.sources.turing.universal.truth import UniversalTruth
from tm2tfr.transformer.matrix import Matrix
from tm2tfr.transformer.residual import Residual
from tm2tfr.transformer.weights import Decoder, Head

BOTH = Universal(states=2, symbols=3)
ONE_WAY = Universal(states=2, symbols=3, tape="one-way")


def refusals(decoder: Decoder, universal: Universal = BOTH) -> list[str]:
    proof = prove(decoder, universal)
    if proof.refusals:
        assert proof.certificate("exact").granted is False
        assert limit(decoder, universal, "exact") == proof.largest("dense") == 0
        assert proof.conditions("dense", "float32") == ()
    return [str(refusal) for refusal in proof.refusals]


FLAG = "layers.6.feed_forward.input"
SILENT = "must be 0 where there is no rule: for token"
ENTRIES: list[tuple[Universal, str, Place, Place, float, str]] = [
    # layer 1
    (
        BOTH,
        "layers.1.feed_forward.input",
        "[key]",
        "e_x[q1,2]",
        0,
        "layer 1 (unpack), feed-forward: [rule] is not what it should be: for token q1,2, 1/(i+1) = 0 the layer adds 0",
    ),
    (BOTH, "layers.1.feed_forward.input", "[tape]", "e_x[BOS]", 1, "for token BOS, 1/(i+1) = 0 the layer adds 1"),
    (BOTH, "layers.1.feed_forward.output", "[value]", "[value]", -1, "[value] is not what it should be: for token →("),
    # layer 2
    (
        BOTH,
        "layers.2.heads.1.value",
        0,
        "[rule]",
        2,
        "layer 2 (head position), attention: head 'description' does not carry what it should: "
        "it adds 2 times [rule] to k/(i+1) but should add 1 times",
    ),
    (BOTH, "layers.2.heads.1.output", "k/(i+1)", 0, 0, "no head writes k/(i+1): it stays 0"),
    (BOTH, "layers.2.heads.0.value", 0, "m", 0, "no head writes h/(i+1): it stays 0"),
    (BOTH, "layers.2.heads.2.value", 0, "e_x[q0,1]", 0, "it adds 0 times e_x[q0,1] to e_q(key)[q0] but should add 1 times"),
    (BOTH, "layers.2.heads.2.value", 0, "e_x[q0,1]", 3, "head 'last key': a row of its value matrix is not a single power"),
    (BOTH, "layers.2.heads.2.value", 0, "[key]", 1, "head 'last key': a row of its value matrix is not a single power"),
    (
        BOTH,
        "layers.2.heads.2.query",
        0,
        "1",
        1,
        "head 'last key' is not the last key, B·[key] + T·v·j with 0 < T ≤ B: "
        "its score is (1·1)·(1·[key]) + (-1·1)·(1·[key]) + (0.5·1/(i+1))·(1·i)",
    ),
    (BOTH, "layers.2.heads.2.query", 2, "1/(i+1)", 2, "head 'last key' is not the last key"),
    (BOTH, "layers.2.heads.2.query", 2, "1/(i+1)", -0.5, "head 'last key' is not the last key"),
    (BOTH, "layers.2.heads.2.key", 2, "i", 0, "head 'last key' is not the last key"),
    (
        BOTH,
        "layers.2.heads.3.query",
        0,
        "1/(i+1)",
        2,
        "head 'tape' does not look at position 0, v·(2tj - j²) with t = -1 up to a factor: its score is (2·1/(i+1))·(1·i)",
    ),
    (BOTH, "layers.2.heads.3.value", 0, "e_x[two-way]", 1, "head 'tape' does not carry what it should"),
    (
        BOTH,
        "layers.2.feed_forward.input",
        "r_q[q0]",
        "[value]",
        0,
        "r_q[q0] is not what it should be: for [value] = 1, last key q0,0 the layer adds 0 but should add 1",
    ),
    (BOTH, "layers.2.feed_forward.input_bias", "r_a[0]", 0, -0.5, "for [value] = 0, last key q0,0 the layer adds 0.5 but"),
    (
        BOTH,
        "layers.2.feed_forward.input",
        "r_q[q0]",
        "e_a(key)[0]",
        -1,
        "r_q[q0] is not what it should be: for [value] = 1, last key q0,0 the layer adds 0 but should add 1",
    ),
    (BOTH, "layers.2.feed_forward.input", "h+/(i+1)", "[value]", -1, "unit 'h+/(i+1)' depends on a direction that"),
    (BOTH, "layers.2.feed_forward.output_bias", "r_q[q0]", 0, 1, "r_q[q0] is not what it should be"),
    (BOTH, "layers.2.feed_forward.input", "h+/(i+1)", "h/(i+1)", -1, "h+/(i+1) is not what it should be: for m = -1, h"),
    # layer 3
    (
        BOTH,
        "layers.3.heads.4.query",
        0,
        "k/(i+1)",
        4,
        "layer 3 (read input), attention: head 'input symbol' is not a lookup of h+k, v·(2tj - j²) up to a factor: its",
    ),
    (BOTH, "layers.3.heads.4.query", 0, "k/(i+1)", 0, "head 'input symbol' does not carry what it should: it adds 1 times"),
    (BOTH, "layers.3.heads.4.query", 0, "k/(i+1)", 1, "head 'input symbol' is not a lookup of h+k"),
    (ONE_WAY, "layers.3.heads.2.query", 0, "h/(i+1)", 0, "head 'input symbol' is not a lookup of h+k"),
    (BOTH, "layers.3.heads.4.output", "e_x(h+)[1]", 0, 0, "head 'input symbol' does not carry what it should: it adds 0"),
    (BOTH, "layers.3.heads.0.value", 0, "i", 0, "head 'cell h+' does not carry what it should: it adds 0 times i to h but"),
    (
        BOTH,
        "layers.3.feed_forward.input",
        "[left end]",
        "h-",
        0,
        "[left end] is not what it should be: for e_x(h+) = ⊥, a two-way tape, h- = 1 the layer adds 1 but should add 0",
    ),
    (
        BOTH,
        "layers.3.feed_forward.input",
        "[left end]",
        "[one-way]",
        0,
        "a one-way tape, h = 0 the layer adds 0 but should",
    ),
    (ONE_WAY, "layers.3.feed_forward.input", "[left end]", "h", -0.5, "for a one-way tape, h = 1 the layer adds 0.5 but"),
    # layers 4 and 5
    (BOTH, "layers.4.heads.0.query", 2, "1/(i+1)", 0, "layer 4 (read tape), attention: head 'latest write' is not the"),
    (BOTH, "layers.4.feed_forward.input", "h_{j*-1} = h: d", "h", 1, "[h_{j*-1}=h] is not what it should be: for h = 1"),
    (BOTH, "layers.5.feed_forward.output", "e_a[1]", "written 1", 2, "for [h_{j*-1}=h] = 1, written 1, input ⊥ the layer"),
    # layer 6
    (
        BOTH,
        "layers.6.heads.0.query",
        0,
        "e_q[q0]",
        2,
        "layer 6 (find rule), attention: head 'rule for q, a' does not find the rule, B·([r_q = q] + [r_a = a]) up to a "
        "factor: its score has 1 times e_a[0] times r_a[0], but 2 times other agreements",
    ),
    (BOTH, "layers.6.heads.0.key", 0, "r_q[q0]", 0, "its score has 0 times e_q[q0] times r_q[q0], but 1 times other"),
    (BOTH, "layers.6.heads.0.query", 0, "e_q[halt]", 1, "its score has the term (1·e_q[q0] + 1·e_q[halt])·(1·r_q[q0])"),
    (BOTH, "layers.6.heads.0.value", 0, "r_q[q0]", 0, "it adds 0 times r_q[q0] to r*_q[q0] but should add 1 times"),
    (BOTH, "layers.6.heads.0.output", "out[→ACC]", 0, 1, "is not a single power of two: out[→ACC] has the weights 1, 1"),
    (
        BOTH,
        FLAG,
        "[r*_q=q], q1",
        "e_q[q1]",
        2,
        "layer 6 (find rule), feed-forward: [r*_q=q] is not what it should be: "
        "for state q1 on symbol 0, r*_q[q0] = 0 the layer adds 1 but should add 0",
    ),
    (
        BOTH,
        FLAG,
        "[r*_q=q], q1",
        "r*_q[q0]",
        -1,
        "unit '[r*_q=q], q1' must not read two numbers that are neither 0 nor 1: it reads 'r*_q[q0]', 'r*_q[q1]'",
    ),
    (BOTH, "layers.6.feed_forward.input_bias", "[r*_a=a], 2", 0, -2, "r*_a[2] = 1 the layer adds 0 but should add 1"),
    (BOTH, FLAG, "[r*_a=a], 2", "out[→ACC]", -1, "unit '[r*_a=a], 2' depends on a direction that this layer must not read"),
    # layer 7
    (
        BOTH,
        "layers.7.feed_forward.input_bias",
        "rule → ACC",
        0,
        -1.5,
        "for token (q0,0,-1) on symbol 0, with the rule →(q0,0,-1) the layer adds 0.5 but should add 0",
    ),
    (
        BOTH,
        "layers.7.feed_forward.input",
        "rule → (q1,2,-1)",
        "[r*_q=q]",
        0,
        "e_y[(q1,2,-1)] is not what it should be: for token (q0,0,-1) on symbol 0, with the rule →(q1,2,-1) the layer",
    ),
    (
        BOTH,
        "layers.7.feed_forward.input_bias",
        "rule → (q1,2,-1) at the left end",
        0,
        -2,
        "for token (q0,0,-1) on symbol 0, with the rule →(q1,2,-1) the layer adds",
    ),
    (
        BOTH,
        "layers.7.feed_forward.input_bias",
        "triple with a rule",
        0,
        -1.5,
        "with the rule →(q0,0,-1) the layer adds -0.5",
    ),
    (
        BOTH,
        "layers.7.feed_forward.input",
        "triple",
        "e_q[halt]",
        0,
        "for token (halt,0,-1) on symbol 0, without a rule the",
    ),
    (
        BOTH,
        "layers.7.feed_forward.input",
        "prompt 1",
        "e_x[1]",
        0,
        "e_y[1] is not what it should be: for token 1 on symbol 0",
    ),
    (BOTH, "layers.7.feed_forward.output", "e_y[q0,1]", "prompt q0,1", 0, "for token q0,1 on symbol 0"),
    (BOTH, "layers.7.feed_forward.input", "BOS, 2", "e_a[2]", 0, "for token BOS on symbol 2 the layer adds 0 but should"),
    (
        BOTH,
        "layers.7.feed_forward.input",
        "prompt 1",
        "out[→ACC]",
        1,
        "with the rule →ACC the layer adds 1 but should add 0",
    ),
    (BOTH, "layers.7.feed_forward.input", "prompt 1", "r*_q[q0]", -1, "unit 'prompt 1' depends on a direction that this"),
    # the ends
    (BOTH, "token_embedding", "e_x[q0,1]", "q0,1", 0, "embedding: token q0,1 is not embedded as e_x[q0,1]: it is 0"),
    (BOTH, "token_embedding", "[key]", "→ACC", 1, "embedding: token →ACC is not embedded as e_x[→ACC]"),
    (BOTH, "unembedding", "HALT", "e_y[HALT]", 0, "unembedding: HALT is not the only token with the largest logit"),
]


@pytest.fixture
def unseen(monkeypatch: pytest.MonkeyPatch) -> None:
    """No runs are tried: refusals show the case that fails alone."""
    monkeypatch.setattr("tm2tfr.sources.turing.universal.proof.prove.failing_run", lambda *_: None)


@pytest.mark.usefixtures("unseen")
@pytest.mark.parametrize(("universal", "path", "row", "column", "value", "said"), ENTRIES)
def test_every_kind_of_entry(universal: Universal, path: str, row: Place, column: Place, value: float, said: str) -> None:
    found = refusals(mutated(compiled(universal), path, row, column, value), universal)
    assert len(found) == 1, found
    assert said in found[0], found[0]


@pytest.mark.usefixtures("unseen")
def test_a_unit_that_could_wake_up_where_there_is_no_rule() -> None:
    """Right wherever there is a rule; without one, ``out`` and one of the flags can both be 1."""
    path, decoder = "layers.7.feed_forward.input", compiled(BOTH)
    first = mutated(decoder, path, "rule → ACC", "out[→ACC]", 2)
    assert refusals(mutated(first, path, "rule → ACC", "[r*_a=a]", 0)) == [
        f"layer 7 (answer), feed-forward: unit 'rule → ACC' {SILENT} 1 on symbol 0 it can be 1"
    ]
    assert refusals(mutated(mutated(decoder, path, "rule → ACC", "[r*_q=q]", 2), path, "rule → ACC", "[r*_a=a]", 0)) == [
        f"layer 7 (answer), feed-forward: unit 'rule → ACC' {SILENT} 1 on symbol 0 it can be 1"
    ]


def structures() -> list[tuple[Decoder, str]]:
    decoder, (_, second, third, _, _, sixth, _) = compiled(BOTH), compiled(BOTH).layers
    moves, count, last, tape = second.heads
    soft = replace(count, weighting="softmax")

    def layer(number: int, *heads: Head) -> Decoder:
        changed = replace(decoder.layers[number - 1], heads=heads)
        return replace(decoder, layers=(*decoder.layers[: number - 1], changed, *decoder.layers[number:]))

    return [
        (layer(2, moves, count, last), "no head writes [one-way]: it stays 0"),
        (layer(2, moves, last, tape), "no head writes k/(i+1): it stays 0"),
        (layer(2, moves, count, tape), "no head writes e_q(key)[q0]: it stays 0"),
        (layer(2, moves, count, last, tape, tape), "[one-way] is written twice: by the heads 'tape' and 'tape'"),
        (layer(2, moves, count, replace(last, query=moves.query, key=moves.key), tape), "is not the last key, B·[key] +"),
        (
            layer(2, moves, replace(count, query=tape.query, key=tape.key), last, tape),
            "'description' does not attend to all",
        ),
        (
            layer(2, moves, soft, last, tape),
            "head 'description' is not future-masked average-hard attention: mask 'future'",
        ),
        (layer(3, *third.heads[:4]), "layer 3 (read input), attention: no head looks up h+k: e_x(h+)[1] stays 0"),
        (layer(3, *third.heads, third.heads[4]), "h+k is looked up twice: by 'input symbol' and 'input symbol'"),
        (layer(6), "layer 6 (find rule), attention: exactly one head must find the rule: 0 heads write something"),
        (layer(6, *sixth.heads, *sixth.heads), "exactly one head must find the rule: 2 heads write something"),
        (layer(6, replace(sixth.heads[0], query=moves.query, key=moves.key)), "does not find the rule, B·([r_q = q] + ["),
        (layer(5, sixth.heads[0]), "layer 5 (symbol), attention: head 'rule for q, a' is not part of the construction"),
        (with_head(decoder, 4, tape), "layer 4 (read tape), attention: exactly one head must find the latest write: 2"),
        (with_unit(decoder, {"m": 1.0}, 0.0, {"e_y[HALT]": 1.0}, layer=7), "e_y[HALT] is not what it should be: for token"),
        (replace(decoder, stop=("ACC", "REJ")), "exactly the verdicts must stop a run: HALT, stop tokens ('ACC', 'REJ')"),
        (replace(decoder, layers=decoder.layers[:6]), "layout: the construction has seven layers: this decoder has 6"),
    ]


@pytest.mark.usefixtures("unseen")
@pytest.mark.parametrize(("decoder", "said"), structures())
def test_every_kind_of_structure(decoder: Decoder, said: str) -> None:
    found = refusals(decoder)
    assert len(found) == 1, found
    assert said in found[0], found[0]


@pytest.mark.usefixtures("unseen")
def test_a_layer_without_units_is_refused() -> None:
    decoder = compiled(BOTH)
    for number in (1, 2, 3, 4, 5, 6, 7):
        changed = replace(decoder.layers[number - 1], feed_forward=None)
        found = refusals(replace(decoder, layers=(*decoder.layers[: number - 1], changed, *decoder.layers[number:])))
        assert found
        assert all(f"layer {number} (" in refusal for refusal in found)


@pytest.mark.usefixtures("unseen")
def test_a_subspace_that_is_claimed_to_hold_something_else() -> None:
    decoder = compiled(BOTH)
    names = {"r_q": "e_q(key)", "e_q(key)": "r_q"}
    swapped = Residual(tuple(replace(s, holds=names.get(s.holds, s.holds)) for s in decoder.layout.subspaces))
    assert {refusal.layer for refusal in prove(replace(decoder, layout=swapped), BOTH).refusals} == {2, 6}
    silent = Residual(tuple(replace(s, holds="") for s in decoder.layout.subspaces))
    assert refusals(replace(decoder, layout=silent))[0].startswith("layout: every subspace must be claimed to hold")


@pytest.mark.usefixtures("unseen")
def test_names_of_subspaces_decide_nothing_and_are_shown() -> None:
    decoder = compiled(BOTH)
    called = Residual(tuple(replace(s, name=f"my {s.name}") for s in decoder.layout.subspaces))
    assert refusals(replace(decoder, layout=called)) == []
    broken = mutated(decoder, "layers.2.heads.1.value", 0, "[rule]", 2)
    assert "it adds 2 times my [rule] to my k/(i+1) but" in refusals(replace(broken, layout=called))[0]


@pytest.mark.usefixtures("unseen")
def test_of_many_refusals_of_one_part_a_few_are_shown() -> None:
    found = refusals(mutated(compiled(BOTH), "unembedding_bias", "HALT", 0, 1))
    assert len(found) == 3
    assert found[0] == (
        "unembedding: 1 is not the only token with the largest logit: for e_y[1] its logit is 1, that of HALT is 1"
    )


# ── a machine and an input ──────────────────────────────────────────────────────────────────────────────────
SHOWN: list[tuple[str, Place, Place, float]] = [
    ("layers.1.feed_forward.output", "[key]", "[key]", 0),
    ("layers.2.heads.1.output", "k/(i+1)", 0, 2),
    ("layers.2.heads.2.query", 2, "1/(i+1)", -0.5),
    ("layers.3.heads.4.query", 0, "k/(i+1)", 1),
    ("layers.3.feed_forward.input", "[left end]", "[one-way]", 0),
    ("layers.4.heads.0.query", 2, "1/(i+1)", -0.5),
    ("layers.5.feed_forward.output", "e_a[1]", "written 1", 2),
    ("layers.6.heads.0.query", 0, "e_q[q0]", 0),
    ("layers.6.feed_forward.input_bias", "[r*_a=a], 2", 0, -2),
    ("layers.7.feed_forward.input", "rule → (q1,2,-1)", "[r*_q=q]", 0),
    ("layers.7.feed_forward.input", "rule → (q1,2,-1) at the left end", "[left end]", 0),
    ("layers.7.feed_forward.input", "triple", "e_q[halt]", 0),
    ("unembedding", "(q1,2,+1)", "e_y[(q1,2,+1)]", 0),
]


@pytest.mark.parametrize(
    ("path", "row", "column", "value"),
    [*SHOWN[::4], *(pytest.param(*shown, marks=pytest.mark.slow) for n, shown in enumerate(SHOWN) if n % 4)],
)
def test_a_refusal_shows_a_machine_and_an_input_on_which_the_weights_go_wrong(
    path: str, row: Place, column: Place, value: float
) -> None:
    """What it says happens: the prompt is run on the weights, and at that position they answer that."""
    broken = mutated(compiled(BOTH), path, row, column, value)
    found = re.search(
        r"; on the prompt (.*) BOS, position (\d+) answers (\S+) but the simulator (\S+)$", refusals(broken)[0]
    )
    assert found is not None
    text, position, answered, right = found.groups()
    held = prompt.read(text, BOTH)
    truth = UniversalTruth(held, held.right.input or "")
    rows = [Row(*row) for row in islice(truth.rows(), int(position) + 1)]
    session = Dense().start(broken)
    answers = [broken.vocabulary[session.feed(broken.numbers[str(row.x)])] for row in rows]
    assert answers[:-1] == [row.y for row in rows[:-1]]
    assert (answers[-1], rows[-1].y) == (answered, right)
    assert answered != right


def test_weights_that_no_run_shows_to_be_wrong_are_refused_with_the_case_alone() -> None:
    harmless = mutated(compiled(BOTH), "layers.4.heads.0.query", 2, "1/(i+1)", 0.3)
    (said,) = refusals(harmless)
    assert "layer 4 (read tape), attention: head 'latest write' is not the latest write" in said
    assert "simulator" not in said


def test_a_prompt_in_a_witness_is_canonical_and_answers_have_the_machines_names() -> None:
    held = Universal(states=5, symbols=3).holding(load("chapter"))
    decoder = compile_universal(held)
    token = held.names.triple(RuleAnswer(1, 2, 1))
    (said,) = [str(r) for r in prove(mutated(decoder, "unembedding", token, f"e_y[{token}]", 0), held).refusals]
    assert token in said
    assert re.search(r"; on the prompt (one|two)-way q0,.* BOS, position \d+ answers ", said)


def test_the_runs_that_are_tried_use_every_token_of_a_small_class() -> None:
    machines = list(witness._machines(BOTH, set()))
    said = {BOTH.canonical.value(entry.answer) for _, _, entries in machines for entry in entries}
    assert said == set(BOTH.canonical.values)
    assert {tape for tape, _, _ in machines} == {"one-way", "two-way"}
    assert {word for _, word, _ in machines} > {"", "1", "12"}
    named = [entries for _, _, entries in witness._machines(BOTH, {"(q1,2,+1)"})]
    walkers = 4 * len(list(witness._walkers(BOTH.canonical)))
    assert [entries[0].answer for entries in named[walkers : walkers + 4]] == 4 * [RuleAnswer(1, 2, 1)]


@pytest.mark.usefixtures("unseen")
@pytest.mark.parametrize(
    ("layer", "direction"),
    [
        *((2, "h+/(i+1)"), (3, "1/(i+1)"), (1, "1/(i+1)"), (3, "k/(i+1)")),
        *((1, "i"), (3, "h^2"), (4, "h_{i-1}^2"), (6, "out[→(q0,0,-1)]"), (6, "r*_q[q0]")),
    ],
)
def test_what_has_many_digits_is_not_written_to_even_if_it_cancels_out(layer: int, direction: str) -> None:
    """(v + 1) - 1 is v in exact arithmetic, and loses the digits of a small v in floats."""
    once = with_unit(compiled(BOTH), {"1": 1.0}, 0.0, {direction: 1.0}, layer=layer)
    (said,) = refusals(with_unit(once, {"1": 1.0}, 0.0, {direction: -1.0}, layer=layer))
    assert f"layer {layer} (" in said
    assert f"{direction} must not be written by this layer: what is added to it cancels out, but only in exact" in said


def test_a_head_with_a_component_too_many_is_refused() -> None:
    decoder = compiled(BOTH)
    index, layer = decoder.layout.index, decoder.layers[1]
    place, head = next((n, head) for n, head in enumerate(layer.heads) if head.name == "last key")

    def longer(matrix: Matrix, *directions: str) -> Matrix:
        known, row = {(r, c): value for r, c, value in matrix.entries()}, matrix.shape[0]
        return Matrix.from_entries((row + 1, matrix.shape[1]), {**known, **{(row, index(d)): 1.0 for d in directions}})

    wide = replace(head, query=longer(head.query, "1"), key=longer(head.key, "1", "i"))
    heads = (*layer.heads[:place], wide, *layer.heads[place + 1 :])
    found = refusals(replace(decoder, layers=(decoder.layers[0], replace(layer, heads=heads), *decoder.layers[2:])))
    assert [said.partition(":")[0] for said in found] == ["layer 2 (head position), attention"]
    assert "head 'last key'" in found[0]
