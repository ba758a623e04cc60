"""Machines of one shape share the parts that follow from it, and each has the weights that it would have alone."""

from __future__ import annotations

import pickle
from dataclasses import replace

import pytest

from tm2tfr.dataset.family import Family
from tm2tfr.errors import ShapeError
from tm2tfr.sources.turing.compiler import compile_machine, shape
from tm2tfr.sources.turing.formats import native
from tm2tfr.sources.turing.library import load, shipped
from tm2tfr.transformer.matrix import Matrix
from tm2tfr.transformer.weights import digest, matrices, replaced


def forgotten() -> None:
    """Forget all shared parts."""
    for kept in (shape._parts, shape._subspaces, shape._answering):
        kept.cache_clear()


def test_machines_of_one_size_share_parts() -> None:
    family = Family(2, 2)
    one, other, third = (compile_machine(family.machine(n)) for n in (7_001, 7_005, 7_000))
    assert [len(each.vocabulary) for each in (one, other, third)] == [11, 11, 10]
    assert [a is b for a, b in zip(one.layers, other.layers, strict=True)] == [False, True, True, True, True, True]
    assert [a is b for a, b in zip(one.layers, third.layers, strict=True)] == [False] * 6
    assert one.unembedding is other.unembedding
    assert one.token_embedding is other.token_embedding
    assert digest(one) != digest(other)


@pytest.mark.slow
@pytest.mark.parametrize("name", ["chapter", "busy-beaver-3", "binary-increment", "left-edge"])
def test_the_weights_are_those_of_a_machine_alone(name: str) -> None:
    for boundary in (None, "repaired", "chapter") if load(name).tape == "one-way" else (None,):
        forgotten()
        alone = compile_machine(load(name), left_boundary=boundary)
        forgotten()
        for other in shipped()[:20]:
            compile_machine(load(other))
        among = compile_machine(load(name), left_boundary=boundary)
        assert digest(among) == digest(alone)
        assert (among, among.provenance) == (alone, alone.provenance)


def test_large_machines_share_nothing() -> None:
    assert compile_machine(load("universal")).layers[1] is not compile_machine(load("universal")).layers[1]


def test_a_changed_weight_changes_no_other_machine() -> None:
    machine = load("busy-beaver-3")
    before = compile_machine(machine)
    query = matrices(before)["layers.4.heads.0.query"]
    broken = replaced(before, {"layers.4.heads.0.query": query.with_entry(0, 0, 5.0)})
    assert digest(broken) != digest(before) == digest(compile_machine(machine))
    assert compile_machine(machine).layers[3] is before.layers[3] is not broken.layers[3]


def test_a_layer_that_fitted_one_stream_is_looked_at_again_in_another() -> None:
    decoder, other = compile_machine(load("busy-beaver-3")), compile_machine(load("busy-beaver-4"))
    with pytest.raises(ShapeError, match=r"layers\.2\.heads\.0\.query has shape .* expected"):
        replace(decoder, layers=(decoder.layers[0], other.layers[1], *decoder.layers[2:]))
    with pytest.raises(ShapeError, match=r"unembedding_bias has shape \(1, 1\), expected"):
        replace(decoder, unembedding_bias=Matrix.from_entries((1, 1), {}))


def test_the_source_of_a_provenance_is_written_when_it_is_read() -> None:
    machine = Family(2, 2).machine(5_000)
    said = compile_machine(machine).provenance
    assert said["source"] == native.write(machine)
    assert dict(said) == pickle.loads(pickle.dumps(said))
    assert list(said) == ["construction", "source", "name", "tm2tfr"]
    assert len(said) == 4
    assert repr(said) == repr(dict(said))
    with pytest.raises(TypeError):
        said["name"] = "another"  # type: ignore[index]
