"""Weights and keys that were made to be believed: the proof refuses what rounds, and what a key moves nowhere."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable

import numpy as np
import pytest

import tm2tfr
from tests.lab.hidden.cases import answers, hidden
from tm2tfr.engines.exact import Exact
from tm2tfr.lab.hidden.dyadic import Turn
from tm2tfr.lab.hidden.key import Key, LayerKey, TurnedBasis, UnitKey, hidden_digest
from tm2tfr.lab.hidden.verify import proof_of, verified
from tm2tfr.lab.hidden.wide import Wide, WideLayer, WideUnit, widened, written
from tm2tfr.transformer import provenance
from tm2tfr.transformer.matrix import Matrix
from tm2tfr.transformer.weights import Decoder, Norm, matrices, replaced

PROMPT = ("1", "1", "BOS")


def forged(change: Callable[[Wide, int], dict[int, int]], *, constants: int = 0, copies: int = 0) -> tuple[Decoder, Key]:
    """Return the chapter's machine, changed in a wider stream, and a key that says which units are whose.

    Args:
        change: changes the weights, given the width of the original; returns what the first layer moves.
    """
    original = tm2tfr.compile("chapter")
    own = original.layout.width
    width = own + constants + copies
    wide = widened(original, width)
    wide.token[own : own + constants] = 1.0
    moved = change(wide, own)
    made = written(wide, original, None, provenance.hidden())
    layers = tuple(
        LayerKey(
            layer.of,
            tuple(head.of for head in layer.heads),
            None if layer.units is None else tuple(UnitKey(unit.of, unit.scale, unit.pair) for unit in layer.units),
            moved=tuple(moved.items()) if layer.of == 0 else (),
            head_groups=(decoys,) if len(decoys := tuple(k for k, h in enumerate(layer.heads) if h.of is None)) > 1 else (),
        )
        for layer in wide.layers
    )
    key = Key(
        name="chapter",
        grade=3,
        seed=0,
        digest=hidden_digest(made),
        original=original,
        basis=TurnedBasis(((tuple(range(width)), Turn(0, ())),), tuple(range(width)), (1.0,) * width),
        constants=tuple(range(own, own + constants)),
        copies=tuple(range(own + constants, width)),
        layers=layers,
        tokens={},
        equal={"different": 0},
    )
    return made, key


def linear(*pairs: tuple[np.ndarray, float, np.ndarray]) -> WideLayer:
    """Return a layer of units in pairs: each adds what it writes, times what it reads and its bias."""
    units = [
        WideUnit(None, sign * reads, sign * bias, sign * writes, pair=pair)
        for pair, (reads, bias, writes) in enumerate(pairs)
        for sign in (1.0, -1.0)
    ]
    return WideLayer(None, [], units, np.zeros(len(pairs[0][0])))


def nothing(wide: Wide, own: int) -> dict[int, int]:
    return {}


def three_constants(wide: Wide, own: int) -> dict[int, int]:
    """Their sum is 1, and 0 for floats that add them in this order."""
    for unit in wide.layers[0].units or ():
        unit.reads[own : own + 3] = 2.0**60, 1.0, -(2.0**60)
    return {}


def three_logits(wide: Wide, own: int) -> dict[int, int]:
    wide.unembedding[0, own : own + 3] = 2.0**60, 1.0, -(2.0**60)
    return {}


def small_scores(wide: Wide, own: int) -> dict[int, int]:
    """A head that attends to all positions alike gets scores that differ by 2⁻¹²⁰⁰."""
    for layer in wide.layers:
        for head in layer.heads:
            if not (head.query.T @ head.key).any():
                head.query = np.full((1, wide.width), 2.0**-600)
                head.key = 2.0**-600 * np.arange(1.0, wide.width + 1)[None, :]
    return {}


def copy_of_a_copy(wide: Wide, own: int) -> dict[int, int]:
    """What belongs to a direction is moved to one copy, from there to the next, and never to the direction."""
    one, other, units = own, own + 1, wide.layers[0].units or []
    direction = int(np.flatnonzero(np.any([unit.writes for unit in units], axis=0))[0])
    for unit in units:
        unit.writes[other], unit.writes[direction] = unit.writes[direction], 0.0
    axes = np.eye(wide.width)
    moves = (axes[other], 0.0, axes[one] - axes[other]), (axes[one], 0.0, axes[direction] - axes[one])
    wide.layers.insert(1, linear(*moves))
    return {one: other, direction: one}


def constant_that_waits(wide: Wide, own: int) -> dict[int, int]:
    """A constant is not 1 while it waits in a copy, and something reads it there."""
    constant, copy, axes = own, own + 1, np.eye(wide.width)
    for unit in wide.layers[0].units or ():
        unit.writes[constant] -= 1.0
        unit.writes[copy] += 1.0
    wide.layers.insert(1, linear((axes[copy], 0.0, axes[constant] - axes[copy]), (axes[constant], -1.0, 5 * axes[0])))
    return {constant: copy}


def direction_below_all(wide: Wide, own: int) -> dict[int, int]:
    wide.layers.insert(1, linear((np.eye(wide.width)[own], 0.0, np.eye(wide.width)[own] * 0)))
    return {-1: own}


def two_decoys(wide: Wide, own: int) -> dict[int, int]:
    """They attend alike, and what they write has the sum 0."""
    one = dataclasses.replace(wide.layers[1].heads[0], of=None)
    wide.layers[1].heads += [one, dataclasses.replace(one, output=-one.output)]
    return {}


def two_decoys_with_two_masks(wide: Wide, own: int) -> dict[int, int]:
    two_decoys(wide, own)
    head = wide.layers[1].heads[-1]
    wide.layers[1].heads[-1] = dataclasses.replace(head, mask="none" if head.mask == "future" else "future")
    return {}


def decoy_with_softmax(wide: Wide, own: int) -> dict[int, int]:
    """It writes nothing, and lets engines round all that the weights answer."""
    head = wide.layers[1].heads[0]
    wide.layers[1].heads.append(dataclasses.replace(head, of=None, soft=True, output=0 * head.output))
    return {}


def decoy_that_looks_ahead(wide: Wide, own: int) -> dict[int, int]:
    """It writes nothing, and lets nothing be generated."""
    head = wide.layers[1].heads[0]
    wide.layers[1].heads.append(dataclasses.replace(head, of=None, mask="none", output=0 * head.output))
    return {}


def layer_with_a_norm(wide: Wide, own: int) -> dict[int, int]:
    """It writes nothing, and divides by 0 where all coordinates of the stream are the same."""
    norm = Norm(gain=Matrix.from_dense(np.ones((own, 1))), bias=Matrix.from_dense(np.zeros((own, 1))))
    wide.layers.insert(1, WideLayer(None, [], [], np.zeros(own), attention_norm=norm))
    return {}


def copy_that_is_written_always(wide: Wide, own: int) -> dict[int, int]:
    wide.layers[0].offset[own] = 1.0
    return {}


def test_what_is_not_changed_is_proved() -> None:
    made, key = forged(nothing, constants=3, copies=2)
    assert verified(made, key).proved
    assert answers(made, PROMPT, Exact(), 30) == answers(key.original, PROMPT, Exact(), 30)


def test_two_decoys_that_cancel_are_proved() -> None:
    made, key = forged(two_decoys)
    assert key.layers[1].head_groups
    assert verified(made, key).proved


@pytest.mark.parametrize(
    ("change", "constants", "copies", "why"),
    [
        (two_decoys_with_two_masks, 0, 0, "their masks or weightings are not the same"),
        (decoy_with_softmax, 0, 0, "whether any head uses softmax: it is True, and should be False"),
        (decoy_that_looks_ahead, 0, 0, "whether any head looks ahead: it is True, and should be False"),
        (layer_with_a_norm, 0, 0, "layers.2.attention_norm: it is not the original's"),
        (copy_that_is_written_always, 0, 1, "output_bias"),
        (three_constants, 3, 0, "reads"),
        (three_logits, 3, 0, "unembedding_bias"),
        (small_scores, 0, 0, "too large or too small for a float64"),
        (copy_of_a_copy, 0, 2, "that the original does not have"),
        (constant_that_waits, 1, 1, "that the original does not have"),
        (direction_below_all, 0, 1, "that the original does not have"),
    ],
)
def test_a_forgery_is_refused(change: Callable[[Wide, int], dict[int, int]], constants: int, copies: int, why: str) -> None:
    made, key = forged(change, constants=constants, copies=copies)
    proof = verified(made, key)
    assert not proof.proved
    assert why in " ".join(proof.refusals)


def test_a_basis_that_is_narrower_than_the_original_is_refused() -> None:
    made = hidden("half-adder", 1, dimensions="least")
    refusals = verified(made.decoder, dataclasses.replace(made.key, kept=())).refusals
    assert refusals == ("basis: it has 10 directions, fewer than the 19 that are hidden",)


def test_what_the_digest_does_not_cover_is_compared() -> None:
    made, key = forged(nothing)
    assert len(made.features) > 1
    for changed, why in (
        (dataclasses.replace(made, features=made.features[::-1]), "position features"),
        (dataclasses.replace(made, stop=made.stop[:1]), "stop tokens"),
    ):
        assert why in " ".join(proof_of(changed, key).refusals)


def test_a_layer_norm_with_another_gain_is_refused() -> None:
    made = hidden("half-adder", 1, variant="paper")
    path = next(path for path in matrices(made.decoder) if path.endswith("attention_norm.gain"))
    gain = matrices(made.decoder)[path]
    row, column, value = next(gain.entries())
    changed = replaced(made.decoder, {path: gain.with_entry(row, column, 2 * value)})
    assert "attention_norm: it is not the original's" in " ".join(proof_of(changed, made.key).refusals)


@pytest.mark.parametrize(("change", "constants", "copies"), [(small_scores, 0, 0), (copy_of_a_copy, 0, 2)])
def test_a_forgery_is_another_function(change: Callable[[Wide, int], dict[int, int]], constants: int, copies: int) -> None:
    made, key = forged(change, constants=constants, copies=copies)
    assert answers(made, PROMPT, Exact(), 30) != answers(key.original, PROMPT, Exact(), 30)
