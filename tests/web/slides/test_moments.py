"""A recorded run by position: what is said of a position is what the weights have there."""

from __future__ import annotations

import numpy as np
import pytest

import tm2tfr
from tm2tfr.api.pages import moments
from tm2tfr.base.errors import CompileError, EngineError
from tm2tfr.engines import engine
from tm2tfr.engines.decode import observe_all
from tm2tfr.web.explorer.moments import Change, Looked, Moments
from tm2tfr.web.explorer.record import replayed


def test_each_layer_looks_and_writes_as_the_weights_do() -> None:
    found = moments("chapter", "11").at(5)
    assert found.cells == {"i": "5", "x": "(q2,x,+1)", "q": "q2", "b": "x", "m": "+1", "h": "2", "a": "_", "y": "(q4,_,-1)"}
    assert [(layer.number, layer.name) for layer in found.layers] == [
        (0, "embedding"),
        (1, "unpack"),
        (2, "head position"),
        (3, "read input"),
        (4, "read tape"),
        (5, "symbol"),
        (6, "transition"),
    ]
    assert found.layers[1].written == (
        Change("e_q", "q2"),
        Change("e_b", "x"),
        Change("m", "1"),
        Change("m/(i+1)", "0.166667"),
    )
    assert found.layers[2].looked == (Looked("sum of moves", (), 6, True),)
    assert found.layers[4].looked == (Looked("latest write", (5,), 1, False),)
    assert found.layers[6].written == (Change("e_y", "(q4,_,-1)"),)
    vectors = tm2tfr.activations("chapter", "11", 5, engine="dense")["A(5)"]
    shown = {each.name: each.value for layer in found.layers for each in layer.written}
    assert {name: shown[name] for name in ("e_x", "e_q", "e_b", "e_a")} == {
        name: vectors[name] for name in ("e_x", "e_q", "e_b", "e_a")
    }


def test_the_tape_has_its_cells_numbers_and_what_was_just_written() -> None:
    run = moments("primes", "111", window=3)
    for position in range(run.first + 1, len(run)):
        row, found = run.trace.rows[position], run.at(position)
        assert found.tape is not None
        assert found.tape.head is not None
        assert found.first_cell + found.tape.head == row.h
        assert found.tape.cells[found.tape.head] == row.a
        assert found.fresh == (None if position == run.first + 1 else run.trace.rows[position - 1].h)
    before = run.at(run.first)
    assert before.tape == run.at(run.first + 1).tape
    assert run.at(0).tape is None


def test_a_run_that_was_observed_at_once_is_recorded_like_one_that_was_generated() -> None:
    run = moments("chapter", "11")
    fed = [row.x for row in run.trace.rows]
    seen = observe_all(run.decoder, fed, engine=engine("dense"))
    again = replayed(run.decoder, run.trace, seen)
    assert again.heads == run.recording.heads
    for one, other in zip(again.written, run.recording.written, strict=True):
        assert one.keys() == other.keys()
        assert all(np.array_equal(one[n].values, other[n].values) for n in one)
    assert [Moments(again).at(i) for i in range(len(run))] == [run.at(i) for i in range(len(run))]


def test_the_positions_of_a_labeller_are_all_there_and_heads_may_look_ahead() -> None:
    run = moments("starts-110", "0110")
    assert (run.first, len(run), run.tokens) == (0, 6, ["BOS", "0", "1", "1", "0", "EOS"])
    assert [run.at(i).layers[1].looked[0].places for i in range(6)] == [(1,), (2,), (3,), (4,), (5,), (5,)]
    assert str(moments("reverse", "abc").at(0).layers[2].looked[0]) == "flip → 2"


def test_the_nets_of_a_circuit_are_called_by_their_names() -> None:
    run = moments("full-adder", "110")
    assert (run.first, run.names, run.operands) == (2, ("a", "b", "c", "sum", "carry"), (0, 0, 0, 3, 3))


def test_differences_are_found_one_after_the_other() -> None:
    wrong = moments(tm2tfr.compile("left-edge", left_boundary="chapter"), "11")
    assert [wrong.next_difference(i) for i in range(-1, 7)] == [5, 5, 5, 5, 5, 5, 6, 7]
    assert wrong.next_difference(7) is None
    assert moments("left-edge", "11").next_difference(-1) is None


def test_words_for_where_heads_look() -> None:
    assert [str(Looked("h", places, count, uniform)) for places, count, uniform in [
        ((), 4, True),
        ((3,), 1, False),
        ((1, 4), 2, False),
        ((1, 2, 3, 4), 4, False),
    ]] == ["h → all", "h → 3", "h → 1, 4", "h → 4 positions"]  # fmt: skip


def test_what_is_not_there_is_refused() -> None:
    with pytest.raises(EngineError, match="^there is no position 9: use one from 0 to 8$"):
        moments("chapter", "11").at(9)
    with pytest.raises(
        CompileError, match=r"these weights are soft, and only hard attention .*: draw a head's weights with tm2tfr plot"
    ):
        moments(tm2tfr.soften("chapter"), "11")
    with pytest.raises(EngineError, match=r"^since-b: every pair .* 600 positions are too many: use at most 500$"):
        moments("since-b", "a" * 599)


def test_a_layer_of_a_loop_has_a_moment_in_each_pass() -> None:
    run = moments("looped-parity", "0110")
    layers = run.at(3).layers
    assert [(layer.number, layer.name) for layer in layers] == [
        (0, "embedding"),
        *((number, f"{name}, pass {n}") for n in (1, 2, 3) for number, name in ((1, "feed-forward"), (2, "attention"))),
    ]
    written = [dict(layer.written) for layer in layers]
    assert [each["known in each pass"] for each in written[2::2]] == ["F", "F", "T"]  # the position before knows in pass 2
