"""What a certificate assumes of the engines: the fast engine's guards, and that no number overflows."""

from __future__ import annotations

import random
from collections import Counter
from dataclasses import replace
from functools import cache

import numpy as np
import pytest

from benchmarks.attack_certificates import attacked, between, components
from benchmarks.machines import rewriter, runner
from tests.mutations import STRUCTURED, cancelling_units, filled, mutated, one_entry, scaled_scores, scaled_unit
from tests.mutations.weights import moved, scaled
from tests.runs.checking import check
from tests.sources.turing.proof.granted import Run, held, run_of
from tests.sources.turing.proof.test_refusals import with_head, with_unit
from tests.strategies import tries
from tm2tfr.engines.dense import Dense
from tm2tfr.engines.exact import Exact
from tm2tfr.engines.fast import Fast
from tm2tfr.engines.recognise import recognise
from tm2tfr.sources.turing.compiler import compile_machine
from tm2tfr.sources.turing.library import load
from tm2tfr.sources.turing.proof import attention as witness
from tm2tfr.sources.turing.proof.prove import prove
from tm2tfr.sources.turing.spec import Machine
from tm2tfr.sources.turing.truth import TuringTruth
from tm2tfr.transformer.matrix import Matrix
from tm2tfr.transformer.weights import Decoder, Head, matrices, replaced

MACHINE = rewriter()
DECODER = compile_machine(MACHINE)
WORD = "1" * 40
QUERY, KEY = "layers.4.heads.0.query", "layers.4.heads.0.key"
GUARDED = 21_221_686
"""What is certified where the fast engine keeps equal keys apart."""


def mended(
    query: dict[int, float] | None = None, key: dict[int, float] | None = None, order: tuple[int, ...] = ()
) -> Decoder:
    """The decoder with rows of the latest write's query and key multiplied, and then put into another order."""
    found = {QUERY: scaled(matrices(DECODER)[QUERY], rows=query), KEY: scaled(matrices(DECODER)[KEY], rows=key)}
    return replaced(DECODER, {path: moved(m, list(order)) if order else m for path, m in found.items()})


VARIANTS = {
    "as compiled": (mended(), True),
    "key of the other sign": (mended({0: -1.0}, {0: -1.0}), True),
    "tie-break scaled": (mended({2: 0.5}, {2: 2.0}), True),
    "key doubled": (mended({0: 0.5}, {0: 2.0}), False),
    "key halved": (mended({0: 2.0}, {0: 0.5}), False),
    "square doubled": (mended({1: 0.5}, {1: 2.0}), False),
    "square of the other sign": (mended({1: -1.0}, {1: -1.0}), False),
    "doubled, with its square": (mended({0: 0.5, 1: 0.25}, {0: 2.0, 1: 4.0}), False),
    "the square first": (mended(order=(1, 0, 2)), False),
}


@pytest.mark.slow
@pytest.mark.parametrize("name", VARIANTS)
def test_equal_keys_need_no_condition_only_where_the_fast_engine_keeps_them_apart_throughout(name: str) -> None:
    decoder, apart = VARIANTS[name]
    proof = prove(decoder, MACHINE)
    assert proof.refusals == ()
    assert recognise(decoder)[3][0].kind == "latest", "taken for one that keeps them, whatever the numbers are"
    assert proof.largest("fast") == (GUARDED if apart else proof.largest("dense") == 131_072 and 131_072)
    session = Fast().start(decoder)
    session.prompt([decoder.vocabulary.index(token) for token in (*WORD, decoder.bos)])
    session.extend(130)
    if apart:
        assert session.recognised[3][0].kind == "latest"


@pytest.mark.slow
def test_a_key_that_is_doubled_goes_wrong_and_beyond_what_is_certified() -> None:
    decoder = mended({0: 0.5, 2: 2.0**-15}, {0: 2.0, 2: 2.0**-16})
    proof = prove(decoder, MACHINE)
    trace = check(decoder, "1" * 90, machine=MACHINE, engine=Fast(), max_steps=1500)
    assert trace.divergence is not None, "the head is scanned, and rounded scores tie"
    granted = proof.largest("fast", max_head=trace.reach)
    assert granted is not None
    assert 92 < granted <= trace.divergence.position < 1500
    assert not proof.certificate("fast", max_head=trace.reach).covers(trace.divergence.position + 1, trace.reach)


@pytest.mark.parametrize(("direction", "layer"), [("i", 3), ("i^2", 1), ("h^2", 3), ("h_{i-1}", 4)])
def test_a_number_that_grows_is_not_written_to_even_if_it_cancels_out(direction: str, layer: int) -> None:
    """(i + c) - c is i in exact arithmetic, but in floats only if i + c is one."""
    plus = with_unit(DECODER, {"1": 1.0}, 0.0, {direction: 1.0}, layer=layer)
    both = with_unit(plus, {"1": 1.0}, 0.0, {direction: -1.0}, layer=layer)
    assert direction != "i" or recognise(both)[3][0].kind == "grouped"
    (refusal,) = prove(both, MACHINE).refusals
    why = "must not be written by this layer: what is added to it cancels out, but only in exact arithmetic"
    assert str(refusal).endswith(f"{direction} {why}")


# ── overflow ────────────────────────────────────────────────────────────────────────────────────────────────
def idle(size: float, **changed: object) -> Head:
    """The latest write, its queries and keys larger, its output left out."""
    head = DECODER.layers[3].heads[0]
    query, key = (scaled(m, size) for m in (head.query, head.key))
    fields = {"query": query, "key": key, "output": Matrix.from_entries(head.output.shape, {}), **changed}
    return replace(head, name="idle", **fields)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("size", "granted"),
    [(1.0, (161, 131_072, GUARDED)), (2.0**45, (111, 131_072, GUARDED)), (1e30, (0, 131_072, GUARDED)), (1e300, (0, 0, 0))],
)
def test_a_head_that_writes_nothing_is_certified_as_far_as_its_numbers_do_not_overflow(
    size: float, granted: tuple[int, int, int]
) -> None:
    decoder = with_head(DECODER, 4, idle(size))
    proof = prove(decoder, MACHINE)
    assert proof.refusals == ()
    found = proof.largest("dense", "float32"), proof.largest("dense"), proof.largest("fast")
    assert found == granted
    assert proof.largest("exact") is None
    with np.errstate(all="raise"):
        for engine, most in zip((Dense("float32"), Dense(), Fast()), granted, strict=True):
            if most:
                steps = min(most - len(WORD) - 2, 60)
                assert check(decoder, WORD, machine=MACHINE, engine=engine, max_steps=steps).agrees


@pytest.mark.parametrize("path", ["layers.2.heads.0", "layers.3.heads.1", "layers.4.heads.0"])
@pytest.mark.parametrize("part", ["query", "key", "value", "output"])
def test_every_matrix_of_a_head_that_writes_nothing_counts(path: str, part: str) -> None:
    _, layer, _, k = path.split(".")
    copied = DECODER.layers[int(layer) - 1].heads[int(k)]
    blank = "value" if part == "output" else "output"
    nothing = Matrix.from_entries(getattr(copied, blank).shape, {})
    entry = {part: getattr(copied, part).with_entry(0, 0, 1e308)} if getattr(copied, part).shape[0] else {}
    counts = bool(entry) and part != "output"  # an output of no values is 0, whatever its weights
    for changed, most in (({}, 131_072), (entry, 0 if counts else 131_072)):
        decoder = with_head(DECODER, int(layer), replace(copied, name="idle", **{blank: nothing, **changed}))
        proof = prove(decoder, MACHINE)
        assert proof.refusals == ()
        assert proof.largest("dense") == most, (path, part)
        if not most:
            assert proof.certificate("dense").bounds[0].claim == "no number is too large for the dtype"


@pytest.mark.parametrize("layer", [1, 2, 3, 4, 5, 6])
def test_every_unit_that_writes_nothing_counts(layer: int) -> None:
    width = DECODER.layout.directions
    for weight, most in ((1.0, 131_072), (1e308, 0), (1e300, 24 if layer == 2 else 0)):
        decoder = with_unit(DECODER, {width[-1]: weight}, 0.0, {}, layer=layer)
        proof = prove(decoder, MACHINE)
        assert proof.refusals == ()
        assert proof.largest("dense") == most, layer


@pytest.mark.parametrize("path", ["token_embedding", "unembedding", "unembedding_bias"])
def test_every_other_matrix_counts(path: str) -> None:
    spare = DECODER.vocabulary.index("HALT" if path == "token_embedding" else "BOS")  # never fed, never answered
    row, column = (DECODER.layout.index("i"), spare) if path == "token_embedding" else (spare, 0)
    column = DECODER.layout["e_y"].start if path == "unembedding" else column
    proof = prove(replaced(DECODER, {path: matrices(DECODER)[path].with_entry(row, column, -1e308)}), MACHINE)
    assert proof.refusals == ()
    assert [proof.largest(engine) for engine in ("dense", "fast", "exact")] == [0, 0, None]
    broken = [bound.claim for bound in proof.certificate("dense").bounds if bound.slack < 0]
    assert "no number is too large for the dtype" in broken


def test_a_soft_head_that_writes_nothing_is_refused_since_not_every_engine_runs_it() -> None:
    proof = prove(with_head(DECODER, 4, idle(1.0, weighting="softmax")), MACHINE)
    assert [refusal.layer for refusal in proof.refusals] == [4]
    assert "head 'idle' is not future-masked average-hard attention" in str(proof.refusals[0])


# ── the attack of the benchmark, some of it ─────────────────────────────────────────────────────────────────
@pytest.mark.slow
@pytest.mark.parametrize("number", [30, pytest.param(tries(300), marks=pytest.mark.slow)])
def test_no_certificate_of_transformed_weights_is_wrong(number: int) -> None:
    kinds = []
    for seed in range(100_000, 100_000 + number):
        names, kind, bad = attacked(seed)
        assert bad is None, (seed, names, bad)
        kinds.append(kind)
    assert kinds.count("certified") > number / 2


@pytest.mark.slow
def test_the_attack_finds_a_certificate_that_trusts_what_was_recognised(monkeypatch: pytest.MonkeyPatch) -> None:
    from benchmarks import attack_certificates
    from tm2tfr.sources.turing.proof.prove import MachineProof

    monkeypatch.setattr(
        MachineProof, "_kept_apart", property(lambda p: recognise(p.decoder)[3][p.retrieval.head].kind == "latest")
    )
    monkeypatch.setattr(attack_certificates, "CHANGES", (between, components) * 2)
    wrong = [bad for _, _, bad in map(attacked, range(25)) if bad is not None]
    assert len(wrong) > 3
    assert all("do not score above those before them" in bad and bad.startswith("fast float64") for bad in wrong)


# ── mutation: weights are changed at random; no decoder that goes wrong is certified where it does
CASES = {
    "chapter": ["11", "1111", "111"],
    "palindromes": ["", "abba", "ab"],
    "busy-beaver-4": [""],
    "left-edge": ["11", "1"],
    "busy-beaver-2x4": [""],
    "binary-increment": ["1011", "0"],
}
PER_MACHINE = tries(60)
KINDS = (*STRUCTURED, *(cancelling_units, scaled_unit, scaled_scores) * 6)
"""Those most often that the proof of the heads does not refuse by their form."""


def sabotages(decoder: Decoder, seed: int) -> list[tuple[str, Decoder]]:
    """Decoders with one weight changed each, in every matrix in turn."""
    chance, paths = random.Random(seed), filled(decoder)
    return [(path, one_entry(decoder, chance, path)) for path in (paths[n % len(paths)] for n in range(PER_MACHINE))]


@pytest.mark.slow
def test_no_decoder_that_goes_wrong_is_certified_and_refusals_name_the_layer() -> None:
    counts: Counter[str] = Counter()
    for name, words in CASES.items():
        machine = load(name)
        decoder = compile_machine(machine)
        for path, broken in sabotages(decoder, seed=len(name)):
            proof = prove(broken, machine)
            runs = [(word, engine, n) for word in words for engine, n in ((Dense(), 50), (Exact(), 5))]
            wrong = any(not check(broken, w, machine=machine, engine=e, max_steps=n).agrees for w, e, n in runs)
            inside = int(path.split(".")[1]) if path.startswith("layers.") else 7 * ("unembedding" in path)
            named = inside in {refusal.layer for refusal in proof.refusals}
            assert not (wrong and not proof.refusals), path
            counts["wrong"] += wrong
            counts["refused"] += bool(proof.refusals)
            counts["named"] += named
    assert counts["wrong"] > 150 / 360 * PER_MACHINE * len(CASES)
    assert counts["named"] == counts["refused"], "a failure names the layer that was changed"


@cache
def cases() -> tuple[tuple[Machine, Decoder, list[Run]], ...]:
    """Return machines whose heads run away, or come back to the same cells for ever, and a small one; with their runs."""
    chosen = [
        *((runner(tape), "") for tape in ("one-way", "two-way")),
        (rewriter(), "1" * 40),
        (load("chapter"), "1111"),
        (load("busy-beaver-4"), ""),
    ]
    return tuple((m, compile_machine(m), [run_of(TuringTruth(m, word, max_steps=160))]) for m, word in chosen)


@pytest.mark.slow
@pytest.mark.similar
def test_mutants_are_right_as_far_as_they_are_certified(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(witness, "WALKS", ())  # a refusal's example is tested elsewhere, and takes a third of the time
    counts = Counter[str]()
    for seed in range(many := tries(1_000)):
        chance = random.Random(seed)
        machine, decoder, runs = chance.choice(cases())
        _, decoder = mutated(decoder, chance, KINDS)
        held(decoder, prove(decoder, machine), runs, counts)
    assert counts["certified"] > many / 4
    assert counts["to the end"] > many / 8
    assert counts["wrong"] > many / 15
