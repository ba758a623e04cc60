"""A decoder as data: it checks every shape, counts itself, is equal by its weights, and cannot be changed."""

from __future__ import annotations

import ast
import copy
import dataclasses
import pickle
from pathlib import Path

import numpy as np
import pytest

import tm2tfr
from tm2tfr.base.errors import ShapeError
from tm2tfr.transformer import provenance
from tm2tfr.transformer.attention import average_hard
from tm2tfr.transformer.claims import OVER, Claim
from tm2tfr.transformer.matrix import Matrix
from tm2tfr.transformer.positions import POSITION_FEATURES
from tm2tfr.transformer.residual import Residual, Subspace, by_claims
from tm2tfr.transformer.weights import Decoder, FeedForward, Head, Layer, digest, matrices, replaced


def filled(rows: int, columns: int, start: int = 1) -> Matrix:
    return Matrix.from_dense(np.arange(start, start + rows * columns).reshape(rows, columns))


HEAD = Head(name="head", source="here", query=filled(1, 4), key=filled(1, 4), value=filled(2, 4), output=filled(4, 2))
FFN = FeedForward(
    input=filled(5, 4), input_bias=filled(5, 1), output=filled(4, 5), output_bias=filled(4, 1), units=tuple("abcde")
)
DECODER = Decoder(
    layout=Residual((Subspace("e", ("a", "b", "c")), Subspace("1"))),
    vocabulary=("a", "b", "BOS"),
    bos="BOS",
    stop=("b",),
    features=("1", "i"),
    token_embedding=filled(4, 3),
    position_embedding=filled(4, 2),
    layers=(
        Layer(name="first", meaning="heads only", source="", heads=(HEAD, HEAD)),
        Layer(name="second", meaning="feed-forward only", source="", feed_forward=FFN),
        Layer(name="third", meaning="nothing", source=""),
    ),
    unembedding=filled(3, 4),
    unembedding_bias=filled(3, 1, -100),
    provenance={"name": "a test"},
)
SHAPES = {
    "token_embedding": (4, 3),
    "position_embedding": (4, 2),
    "unembedding": (3, 4),
    "unembedding_bias": (3, 1),
    "layers.1.heads.0.query": (1, 4),
    "layers.1.heads.0.key": (1, 4),
    "layers.1.heads.0.value": (2, 4),
    "layers.1.heads.0.output": (4, 2),
    "layers.1.heads.1.query": (1, 4),
    "layers.1.heads.1.key": (1, 4),
    "layers.1.heads.1.value": (2, 4),
    "layers.1.heads.1.output": (4, 2),
    "layers.2.feed_forward.input": (5, 4),
    "layers.2.feed_forward.input_bias": (5, 1),
    "layers.2.feed_forward.output": (4, 5),
    "layers.2.feed_forward.output_bias": (4, 1),
}


# ── what it is made of ──────────────────────────────────────────────────────────────────────────────────────
def test_matrices_are_listed_by_path_in_order() -> None:
    assert [(path, m.shape) for path, m in matrices(DECODER).items()] == list(SHAPES.items())


def test_it_counts_itself() -> None:
    size = sum(rows * columns for rows, columns in SHAPES.values())
    assert (DECODER.parameters, DECODER.nonzero, DECODER.heads, DECODER.hidden) == (size, size, 2, 5)
    assert DECODER.largest == 100.0
    assert repr(DECODER) == ("<Decoder: 3 layers, 2 heads, 5 hidden units, residual width 4, vocabulary 3, 132 non-zero>")
    empty = {path: Matrix.from_entries(shape, {}) for path, shape in SHAPES.items()}
    assert replaced(DECODER, empty).largest == 0.0
    assert replaced(DECODER, empty).nonzero == 0


@pytest.mark.parametrize("path", SHAPES)
def test_replacing_one_matrix_leaves_the_others(path: str) -> None:
    new = matrices(DECODER)[path].with_entry(0, 0, 0.25)
    changed = replaced(DECODER, {path: new})
    assert matrices(changed) == {**matrices(DECODER), path: new}
    assert changed != DECODER
    assert replaced(changed, {path: matrices(DECODER)[path]}) == DECODER
    assert changed.provenance == DECODER.provenance


def test_replacing_all_at_once_and_none() -> None:
    new = {path: m.with_entry(0, 0, 0.25) for path, m in matrices(DECODER).items()}
    assert matrices(replaced(DECODER, new)) == new
    assert replaced(DECODER, {}) == DECODER


# ── checks ──────────────────────────────────────────────────────────────────────────────────────────────────
@pytest.mark.parametrize("path", SHAPES)
def test_a_matrix_with_a_column_too_many_is_refused(path: str) -> None:
    rows, columns = SHAPES[path]
    words = rf"^{path} has shape \({rows}, {columns + 1}\), expected \({rows}, {columns}\)$"
    with pytest.raises(ShapeError, match=words):
        replaced(DECODER, {path: Matrix.from_entries((rows, columns + 1), {})})


@pytest.mark.parametrize("path", SHAPES)
def test_a_matrix_with_a_row_too_many_is_refused(path: str) -> None:
    # the rows of a query and of a value say what d_k and d_v are, so it is their partner that does not fit
    rows, columns = SHAPES[path]
    blamed = path.replace("query", "key").replace("value", "output")
    with pytest.raises(ShapeError, match=rf"^{blamed} has shape .*, expected .*$"):
        replaced(DECODER, {path: Matrix.from_entries((rows + 1, columns), {})})


# ── equality, and nothing changes ───────────────────────────────────────────────────────────────────────────
def test_provenance_takes_no_part_in_equality() -> None:
    other = dataclasses.replace(DECODER, provenance={})
    assert other == DECODER
    assert hash(other) == hash(DECODER)
    assert other.provenance == {}


def test_claims_take_part_in_equality_and_not_in_the_digest() -> None:
    layer, claim = DECODER.layers[0], Claim(attends="all", gap=1)
    head = dataclasses.replace(HEAD, claim=claim)
    spaces = tuple(dataclasses.replace(s, holds="x") for s in DECODER.layout.subspaces)
    for changed in (
        {"layers": (dataclasses.replace(layer, heads=(head, *layer.heads[1:])), *DECODER.layers[1:])},
        {"layers": (dataclasses.replace(layer, equation="y = x"), *DECODER.layers[1:])},
        {"layout": Residual(spaces)},
    ):
        other = dataclasses.replace(DECODER, **changed)
        assert other != DECODER
        assert digest(other) == digest(DECODER)
    assert (claim.gap, type(claim.gap)) == (1.0, float)


def test_a_gap_at_a_position_of_a_run() -> None:
    claims = {over: Claim(attends="h", gap=3, over=over) for over in OVER}
    assert {over: claim.gap_at(1, 6) for over, claim in claims.items()} == {
        "position": 1.5,
        "square": 0.75,
        "length": 0.5,
        "constant": 3,
    }
    assert {over: claim.smallest_gap(6) for over, claim in claims.items()} == {
        "position": 0.5,
        "square": 1 / 12,
        "length": 0.5,
        "constant": 3,
    }
    assert [claim.constant for claim in claims.values()] == [False, False, False, True]
    assert Claim(attends="all", gap=None).gap_at(1, 6) is None


def test_subspaces_called_by_their_claims() -> None:
    first, second = DECODER.layout.subspaces
    claimed = Residual((dataclasses.replace(first, holds="1"), dataclasses.replace(second, holds="e")))
    assert by_claims(claimed).directions == ("1[a]", "1[b]", "1[c]", "e")
    with pytest.raises(ShapeError, match="^nothing says what the subspace 'e' holds: compile the machine again$"):
        by_claims(DECODER.layout)
    same = Residual((dataclasses.replace(first, holds="x"), dataclasses.replace(second, holds="x[b]")))
    with pytest.raises(ShapeError, match=r"^by what its subspaces are claimed to hold, the residual .*'x\[b"):
        by_claims(same)


def test_a_decoder_is_frozen() -> None:
    given = {"name": "a test"}
    decoder = dataclasses.replace(DECODER, provenance=given)
    given["name"] = "changed"
    assert decoder.provenance == {"name": "a test"}
    with pytest.raises(TypeError, match="does not support item assignment"):
        decoder.provenance["name"] = "changed"  # type: ignore[index]
    for owner in (decoder, decoder.layers[0], HEAD, FFN):
        field = dataclasses.fields(owner)[0].name
        with pytest.raises(dataclasses.FrozenInstanceError):
            setattr(owner, field, None)


def test_the_numbers_of_its_tokens_are_not_copied_along() -> None:
    decoder = dataclasses.replace(DECODER)
    size = len(pickle.dumps(decoder))
    assert decoder.numbers == {"a": 0, "b": 1, "BOS": 2}
    assert len(pickle.dumps(decoder)) == size
    renamed = dataclasses.replace(decoder, vocabulary=("b", "c", "BOS"))
    assert renamed.numbers == {"b": 0, "c": 1, "BOS": 2}
    with pytest.raises(TypeError, match="does not support item assignment"):
        decoder.numbers["a"] = 1  # type: ignore[index]


def test_a_head_without_a_component_in_both_query_and_key_is_uniform() -> None:
    query = Matrix.from_dense(np.array([[1, 0], [0, 0], [0, 2]]))
    key = Matrix.from_dense(np.array([[0, 0], [1, 1], [3, 0]]))
    assert dataclasses.replace(HEAD, query=query, key=key).components.tolist() == [2]
    assert not dataclasses.replace(HEAD, query=query, key=key).uniform
    assert dataclasses.replace(HEAD, query=query, key=Matrix.from_dense(np.array([[0, 0], [1, 1], [0, 0]]))).uniform


@pytest.mark.parametrize(
    "copied", [pickle.loads(pickle.dumps(DECODER)), copy.deepcopy(DECODER)], ids=["pickle", "deepcopy"]
)
def test_a_copy_is_the_same_decoder_and_frozen_too(copied: Decoder) -> None:
    assert copied == DECODER
    assert hash(copied) == hash(DECODER)
    assert copied.provenance == {"name": "a test"}
    assert {path: m.values.flags.writeable for path, m in matrices(copied).items()} == dict.fromkeys(SHAPES, False)
    with pytest.raises(TypeError, match="does not support item assignment"):
        copied.provenance["name"] = "changed"  # type: ignore[index]


# ── the two small modules beside it ─────────────────────────────────────────────────────────────────────────
def test_position_features_are_fractions_of_the_position() -> None:
    table = {name: [f(i) for i in range(4)] for name, f in POSITION_FEATURES.items()}
    assert table == {
        "1/(i+1)": [(1, 1), (1, 2), (1, 3), (1, 4)],
        "1": [(1, 1)] * 4,
        "i": [(0, 1), (1, 1), (2, 1), (3, 1)],
        "i^2": [(0, 1), (1, 1), (4, 1), (9, 1)],
    }


@pytest.mark.parametrize(
    ("scores", "positions"),
    [
        ([3.0], [0]),
        ([1.0, 2.0, 2.0, 0.0, 2.0], [1, 2, 4]),
        ([0.0, -0.0], [0, 1]),
        ([-1.0, -2.0], [0]),
        ([1.0, np.nextafter(1.0, 2.0)], [1]),
    ],
)
def test_average_hard_is_exact_about_ties(scores: list[float], positions: list[int]) -> None:
    assert average_hard(np.array(scores)).tolist() == positions


def test_the_digest_is_what_it_was() -> None:
    """People write it down: it is in every certificate, and says which weights a checkpoint is of."""
    found = {name: digest(tm2tfr.compile(name))[:16] for name in ("chapter", "busy-beaver-5")}
    assert found == {"chapter": "197e8f0f8718de54", "busy-beaver-5": "6420c616e3b8ee43"}
    assert digest(tm2tfr.soften("chapter", temperature=0.5))[:16] == "f82648d1c8e0e5af"


def test_sequences_become_tuples_and_words_are_text() -> None:
    decoder = tm2tfr.compile("chapter")
    assert dataclasses.replace(decoder, vocabulary=list(decoder.vocabulary), layers=list(decoder.layers)) == decoder
    with pytest.raises(ShapeError, match="tokens, features and provenance are text, and 1 is not: use '1'"):
        dataclasses.replace(decoder, provenance={"name": 1})  # type: ignore[dict-item]


# ── where weights come from, as far as they say so; and that nobody else spells the keys
SAID = provenance.stated("turing", source="a: b", name="x", options={"left_boundary": "chapter", "sop": "3"})


def test_what_is_stated_can_be_asked_for() -> None:
    assert {
        "construction": "turing",
        "option.left_boundary": "chapter",
        "option.sop": "3",
        "source": "a: b",
        "name": "x",
        "tm2tfr": tm2tfr.__version__,
    } == SAID
    assert provenance.construction(SAID) == "turing"
    assert provenance.source(SAID) == "a: b"
    assert provenance.name(SAID) == "x"
    assert provenance.option(SAID, "left_boundary") == "chapter"
    assert provenance.options(SAID) == {"left_boundary": "chapter", "sop": "3"}
    assert provenance.temperature(SAID) is None
    soft = provenance.softened(SAID, 0.25)
    assert soft == {**SAID, "attention": "softmax", "temperature": "0.25"}
    assert provenance.temperature(soft) == 0.25


def test_what_is_not_stated_is_nothing() -> None:
    for said in ({}, {"source": ""}):
        assert provenance.source(said) is None
        assert provenance.construction(said) is None
        assert provenance.option(said, "left_boundary") is None
        assert provenance.options(said) == {}
    assert provenance.name({}) == "weights"
    assert provenance.name({}, "decoder") == "decoder"
    assert provenance.temperature({"temperature": "warm"}) is None
    assert provenance.covered(provenance.locally_softened({}, 50)) == 50
    for said in ({"length": "50"}, {"temperature": "local", "length": "-5"}, provenance.locally_softened({}, None)):
        assert provenance.covered(said) is None
    assert provenance.words_for_temperature({"temperature": "local"}) == "local"
    assert provenance.words_for_temperature({"temperature": "warm"}) is None


def test_version_1_is_translated() -> None:
    old = {"construction": "turing", "left_boundary": "chapter", "machine": "a: b", "name": "x", "tm2tfr": "0.1"}
    assert provenance.is_version_1(old)
    assert not provenance.is_version_1(SAID)
    assert provenance.from_version_1(old, ("left_boundary",)) == {
        "construction": "turing",
        "option.left_boundary": "chapter",
        "source": "a: b",
        "name": "x",
        "tm2tfr": "0.1",
    }


@pytest.mark.slow
def test_nobody_else_spells_a_key() -> None:
    """No subscript and no `get` with a text on anything that is called provenance."""
    root = Path(tm2tfr.__file__).parent
    for path in sorted(root.rglob("*.py")):
        if path == root / "transformer" / "provenance.py":
            continue
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Subscript):
                asked, owner = [node.slice], node.value
            elif isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr == "get":
                asked, owner = node.args, node.func.value
            else:
                continue
            if ast.unparse(owner).split(".")[-1].strip("'\"[]") == "provenance":
                texts = [a for a in asked if isinstance(a, ast.Constant)]
                assert not texts, f"{path.name}:{node.lineno}: ask tm2tfr.transformer.provenance"
