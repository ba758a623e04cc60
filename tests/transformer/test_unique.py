"""Leftmost-hard and rightmost-hard attention as a part of weights: engines, files, digests, listings, and refusals."""

from __future__ import annotations

import dataclasses
import itertools
from pathlib import Path

import numpy as np
import pytest

from tests.engines.labellers import causal, with_heads
from tests.handmade import majority
from tests.transformer.uhats import by_definition_2, uhat
from tm2tfr import export_to, load_weights, save_weights
from tm2tfr.base.errors import DisguiseError, EngineError, ExportError, ShapeError
from tm2tfr.engines import engine
from tm2tfr.engines.decode import observe_all, run_whole
from tm2tfr.engines.dense import DenseDecoder
from tm2tfr.lab.hidden.disguise import disguised
from tm2tfr.runs.choose import for_cases
from tm2tfr.sources.circuit.compiler import compile_circuit
from tm2tfr.sources.circuit.library import load as load_circuit
from tm2tfr.sources.circuit.proof.certificate import CircuitProof
from tm2tfr.sources.turing.compiler import compile_machine
from tm2tfr.sources.turing.library import load as load_machine
from tm2tfr.sources.turing.proof.prove import prove
from tm2tfr.transformer.attention import attended
from tm2tfr.transformer.listing import listing, summary
from tm2tfr.transformer.matrix import Matrix
from tm2tfr.transformer.parts import UNIQUE, parts
from tm2tfr.transformer.storage import dumps, loads
from tm2tfr.transformer.weights import Decoder, digest, matrices, replaced
from tm2tfr.web.explorer.record import record
from tm2tfr.web.explorer.weights_data import unrunnable

SEEDS = range(12)


def words_of(length: int) -> list[tuple[int, ...]]:
    return list(itertools.product((0, 1), repeat=length))


def leftmost(decoder: Decoder) -> Decoder:
    return with_heads(decoder, lambda head: dataclasses.replace(head, weighting="leftmost"))


def test_the_positions_attended_to() -> None:
    scores = np.array([1.0, 3.0, 2.0, 3.0])
    ways = ("average-hard", "softmax", "leftmost", "rightmost")
    assert [attended(way, scores).tolist() for way in ways] == [[1, 3], [1, 3], [1], [3]]


@pytest.mark.parametrize("seed", SEEDS)
def test_engines_compute_definition_2(seed: int) -> None:
    decoder = uhat(seed)
    for length in (1, 2, 5):
        words = words_of(length)
        want = by_definition_2(decoder, words)
        found = DenseDecoder(decoder).run(words)
        assert found.logits.transpose(1, 2, 0).tolist() == want.tolist()
        word = words[len(words) // 3]
        for name in ("dense", "exact"):
            there = run_whole(decoder, word, engine=engine(name))
            assert [list(map(float, each.logits)) for each in there] == want[len(words) // 3].tolist()


@pytest.mark.parametrize("seed", SEEDS)
def test_engines_are_wrong_alike_on_sabotaged_weights(seed: int) -> None:
    decoder, (*word,) = uhat(seed), (0, 1, 1, 0, 1)
    paths = [path for path, matrix in matrices(decoder).items() if "heads" in path and matrix.nonzero]
    for path in paths[seed % 3 :: 3]:
        matrix = matrices(decoder)[path]
        broken = replaced(decoder, {path: Matrix(matrix.shape, matrix.rows, matrix.columns, 3 - matrix.values)})
        dense, exact = (run_whole(broken, word, engine=engine(name)) for name in ("dense", "exact"))
        assert [list(x.logits) for x in dense] == [list(map(float, x.logits)) for x in exact]
        assert [list(x.logits) for x in dense] == by_definition_2(broken, [word])[0].tolist()


def test_it_matters_which_of_equal_scores_is_attended_to() -> None:
    """The tests above would fail if an engine took another position."""
    ways = [
        with_heads(uhat(seed), lambda head, way=way: dataclasses.replace(head, weighting=way))
        for way in ("leftmost", "rightmost")
        for seed in SEEDS
    ]
    found = [by_definition_2(each, words_of(5)).tolist() for each in ways]
    assert sum(a != b for a, b in zip(found[: len(SEEDS)], found[len(SEEDS) :], strict=True)) >= len(SEEDS) // 3


def test_a_watch_is_shown_the_position_attended_to() -> None:
    decoder = with_heads(uhat(1), lambda head: dataclasses.replace(head, query=Matrix.from_entries(head.query.shape, {})))
    for name in ("dense", "exact"):
        for i, seen in enumerate(observe_all(decoder, "abba", engine=engine(name))):
            for (layer, k), (_, positions) in seen.heads.items():
                head = decoder.layers[layer].heads[k]
                first, last = (0 if head.mask != "past" else i), (3 if head.mask != "future" else i)
                assert list(positions) == [first if head.weighting == "leftmost" else last]


def test_it_is_in_files_digests_and_listings(tmp_path: Path) -> None:
    hard, unique = uhat(2), with_heads(uhat(2), lambda head: dataclasses.replace(head, weighting="average-hard"))
    assert digest(hard) != digest(unique)
    assert loads(dumps(hard)) == hard
    save_weights(hard, tmp_path / "uhat.safetensors")
    assert digest(load_weights(tmp_path / "uhat.safetensors")) == digest(hard)
    assert f"attention: {hard.heads} leftmost" in summary(leftmost(hard))
    assert ", leftmost\n" in listing(leftmost(hard))
    assert f"attention {hard.heads} leftmost" in leftmost(hard)._repr_html_()
    assert (UNIQUE in parts(hard), UNIQUE in parts(unique)) == (True, False)


def test_a_unique_hard_head_is_not_uniform_and_has_no_temperature() -> None:
    head = leftmost(majority()).layers[0].heads[0]
    assert (head.uniform, majority().layers[0].heads[0].uniform) == (False, True)
    with pytest.raises(ShapeError, match="has a temperature, and leftmost attention: use softmax, or no temperature"):
        dataclasses.replace(head, inverse_temperature="i+1")


def test_whatever_does_not_know_it_refuses_it_by_name(tmp_path: Path) -> None:
    decoder, told = leftmost(majority()), "these weights have leftmost or rightmost attention, which "
    with pytest.raises(EngineError, match=f"^{told}the fast engine cannot run: use the dense engine$"):
        engine("fast").start(decoder)
    assert for_cases(decoder, "auto", None).name == "dense"
    with pytest.raises(EngineError, match=f"^{told}the explorer cannot run"):
        record(decoder, "01", truth=None, engine=engine("dense"), max_steps=3)
    assert unrunnable(leftmost(causal())) == "they have leftmost or rightmost attention, which a page does not compute"
    with pytest.raises(DisguiseError, match="weights with leftmost or rightmost attention are not disguised"):
        disguised(decoder, None, grade=1, seed=0)  # type: ignore[arg-type]
    compiled = leftmost(compile_machine(load_machine("parity")))
    for target, title in {
        "torch": "PyTorch or ONNX",
        "onnx": "PyTorch or ONNX",
        "lens": "TransformerLens",
        "gpt2": "GPT-2",
    }.items():
        for made in (leftmost(causal()), compiled):
            with pytest.raises(ExportError, match=f"^{told}an export to {title} does not have: run them with tm2tfr"):
                export_to(target, made, tmp_path / "export", verify=False)
    machine, circuit = load_machine("parity"), load_circuit("half-adder")
    why = ("the construction has no such part", f"these weights have {UNIQUE}")
    assert why in [(r.what, r.witness) for r in prove(leftmost(compile_machine(machine)), machine).refusals]
    refused = CircuitProof(leftmost(compile_circuit(circuit)), circuit).certificate().refusals[0]
    assert (refused.what, refused.witness) == why
