"""Runs in blocks: the same rows, the same verdict and the same first difference as the plain check."""

from __future__ import annotations

import random
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from benchmarks.machines import large, three_by_three
from tests.runs.checking import check
from tests.runs.test_sabotage import CASES, sabotages
from tests.strategies import machines_with_inputs
from tm2tfr.base.errors import EngineError, InputError
from tm2tfr.engines.dense import Dense
from tm2tfr.engines.fast import Fast
from tm2tfr.engines.fast.arrays import ENTRIES
from tm2tfr.runs import long_run
from tm2tfr.runs.blocks import RowBlock, as_rows
from tm2tfr.runs.comparison import Trace
from tm2tfr.runs.long_run import LongRun
from tm2tfr.sources.turing.blocks import TuringBlocks, TuringRun
from tm2tfr.sources.turing.columns import CHECKED, Row
from tm2tfr.sources.turing.compiler import compile_machine
from tm2tfr.sources.turing.library import load, shipped
from tm2tfr.sources.turing.simulator import Simulation
from tm2tfr.sources.turing.spec import Machine
from tm2tfr.sources.turing.truth import TuringTruth
from tm2tfr.transformer.weights import Decoder, matrices, replaced


def carried_out(run: LongRun) -> tuple[Trace, list[RowBlock]]:
    blocks: list[RowBlock] = []
    while not run.done:
        run.advance(blocks.append)
    return run.trace(Fast()), blocks


def right_rows(run: TuringRun, size: int, decoder: Decoder) -> list[Row]:
    """The reference's rows, so many at a time."""
    found: list[Row] = []
    while len((right := run.take(size)).y):
        block = RowBlock(np.arange(len(found), len(found) + len(right.y)), *(getattr(right, c) for c in CHECKED))
        found += as_rows(block, decoder)
    assert len(run.take(size).y) == 0
    return found


def plain(trace: Trace) -> dict[str, Any]:
    """What two engines have to say alike."""
    return {**trace.as_dict(), "engine": "", "scanned": "", "reach": trace.reach}


# ── the reference ───────────────────────────────────────────────────────────────────────────────────────────
@pytest.mark.slow
@settings(max_examples=150, deadline=None)
@given(machines_with_inputs(), st.integers(0, 40), st.integers(1, 9), st.booleans())
def test_blocks_of_the_reference_are_its_rows(case: tuple[Machine, str], limit: int, size: int, nominal: bool) -> None:
    machine, word = case
    boundary = "chapter" if nominal and machine.tape == "one-way" else None
    nominal = boundary == "chapter"
    decoder = compile_machine(machine, left_boundary=boundary)
    simulation = Simulation(machine, word, max_steps=limit)
    want = list(TuringTruth(machine, word, nominal=nominal).rows_of(simulation))
    run = TuringBlocks(decoder, TuringTruth(machine, word, nominal=nominal), limit).run(word)
    assert right_rows(run, size, decoder) == want


def test_a_token_that_the_decoder_does_not_have_is_not_made_up() -> None:
    machine, other = load("left-edge"), load("chapter")
    block = TuringBlocks(compile_machine(other), TuringTruth(machine, "11"), 5).run("11").take(100)
    assert (block.y == -3).any()


# ── the run ─────────────────────────────────────────────────────────────────────────────────────────────────
@pytest.mark.slow
@pytest.mark.parametrize("name", shipped())
def test_the_same_trace_as_from_the_plain_check(name: str) -> None:
    machine = load(name)
    decoder = compile_machine(machine)
    for example in machine.examples[:3]:
        for limit in (0, 1, 2, 250):
            want = check(decoder, example.input, machine=machine, engine=Dense(), max_steps=limit)
            got, blocks = carried_out(LongRun(decoder, example.input, machine=machine, max_steps=limit))
            assert plain(got) == plain(want)
            assert sum(block.size for block in blocks) == want.tokens


@pytest.mark.slow
@settings(max_examples=60, deadline=None)
@given(machines_with_inputs())
def test_random_machines(case: tuple[Machine, str]) -> None:
    machine, word = case
    decoder = compile_machine(machine)
    want = check(decoder, word, machine=machine, engine=Dense(), max_steps=60, keep_rows=True)
    got, blocks = carried_out(LongRun(decoder, word, machine=machine, max_steps=60))
    assert plain(got) == plain(want)
    rows = [row for block in blocks for row in as_rows(block, decoder)]
    assert rows == list(want.rows)


@pytest.mark.slow
@pytest.mark.parametrize("name", CASES)
def test_a_sabotage_is_caught_at_the_same_cell_with_the_same_cause(name: str) -> None:
    machine = load(name)
    decoder = compile_machine(machine)
    caught = 0
    for path, broken in sabotages(decoder, seed=7)[::2]:
        for word in CASES[name]:
            want = check(broken, word, machine=machine, engine=Dense(), max_steps=100)
            got, _ = carried_out(LongRun(broken, word, machine=machine, max_steps=100))
            assert plain(got) == plain(want), path
            caught += want.divergence is not None
    assert caught > 20


def test_a_head_that_is_not_recognised_is_scanned_and_the_trace_says_so() -> None:
    machine = load("busy-beaver-4")
    decoder = compile_machine(machine)
    path = "layers.4.heads.0.query"
    (_, head_position, _), *_, (row, _, _) = matrices(decoder)[path].entries()  # the last row is that of the tie-break
    untied = replaced(decoder, {path: matrices(decoder)[path].with_entry(row, head_position, -1.0)})
    assert carried_out(LongRun(decoder, "", machine=machine))[0].scanned == ()
    trace, _ = carried_out(LongRun(untied, "", machine=machine))
    assert [line.split(":")[0] for line in trace.scanned] == ["layer 4, head 'latest write'"]
    assert trace.divergence is not None
    assert trace.as_dict()["scanned"] == list(trace.scanned)


@pytest.mark.slow
@settings(max_examples=60, deadline=None)
@given(machines_with_inputs(), st.data())
def test_a_run_that_is_begun_again_is_a_new_run(case: tuple[Machine, str], data: st.DataObject) -> None:
    machine, word = case
    decoder = compile_machine(machine)
    again = LongRun(decoder, word, machine=machine, max_steps=60)
    words = st.text(st.sampled_from(machine.input_alphabet or ("1",)), max_size=6)
    for other in [word, *data.draw(st.lists(words, max_size=4))]:
        again.restart(other)
        new = LongRun(decoder, other, machine=machine, max_steps=60)
        (got, blocks), (want, wanted) = carried_out(again), carried_out(new)
        assert got == want
        assert [list(map(list, b)) for b in blocks] == [list(map(list, b)) for b in wanted]


@pytest.mark.slow
@pytest.mark.parametrize("name", CASES)
def test_a_sabotaged_run_that_is_begun_again_goes_wrong_in_the_same_way(name: str) -> None:
    machine = load(name)
    caught = scanned = 0
    for path, broken in sabotages(compile_machine(machine), seed=8)[::3]:
        again = LongRun(broken, "", machine=machine, max_steps=100)
        for word in (*CASES[name], *CASES[name]):
            again.restart(word)
            got, want = carried_out(again)[0], carried_out(LongRun(broken, word, machine=machine, max_steps=100))[0]
            assert got == want, path
            caught, scanned = caught + (want.divergence is not None), scanned + bool(want.scanned)
    assert caught > 20
    assert scanned > 0


@pytest.mark.parametrize("move", [-1.0, 1.0])
def test_a_run_that_is_begun_again_finds_no_key_of_the_run_before(move: float) -> None:
    """With a head that leaps two cells to one side keys have gaps, where older ones could be left."""
    decoder = compile_machine(load("palindromes"))
    path, row = "layers.1.feed_forward.output", decoder.layout["m"].start
    leaping = matrices(decoder)[path]
    for r, column, value in tuple(leaping.entries()):
        leaping = leaping.with_entry(r, column, 2 * move) if (r, value) == (row, move) else leaping
    broken = replaced(decoder, {path: leaping})
    again = LongRun(broken, "", machine=None, max_steps=60)
    for word in ("abbaab", "abababab", "a", "aabbaa", "aba", "abababab", "abbaab", "b", "abba"):
        again.restart(word)
        (got, blocks), (want, wanted) = carried_out(again), carried_out(LongRun(broken, word, machine=None, max_steps=60))
        assert got == want
        assert [list(map(list, b)) for b in blocks] == [list(map(list, b)) for b in wanted]


def test_a_run_that_is_begun_again_goes_on_filling_the_memo() -> None:
    """Were its entries counted anew, its slots would run out, and a search for a free one would not end."""
    run = LongRun(compile_machine(load("palindromes")), "", machine=None, max_steps=60)
    filled = []
    for word in ("", "ab", "abba", "ab", "babaab"):
        run.restart(word)
        carried_out(run)
        filled.append(int((run._session._state.memo_slot >= 0).sum()))
        assert run._session._control[ENTRIES] == filled[-1]
    assert filled == sorted(filled)
    assert filled[2] == filled[3] < filled[4]


def test_a_run_that_is_begun_again_forgets_that_a_head_had_to_be_scanned() -> None:
    machine = load("binary-increment")
    run = LongRun(compile_machine(machine), "1", machine=machine, max_steps=60)
    run._session._scan_instead(1, "somebody said so")
    assert any("somebody said so" in line for line in carried_out(run)[0].scanned)
    run.restart("10")
    trace, _ = carried_out(run)
    assert (trace.scanned, trace.input, trace.agrees) == ((), "10", True)


@pytest.mark.parametrize("word", ["3", "\u22a5"])
def test_a_foreign_word_is_refused_when_a_run_is_begun_again(word: str) -> None:
    machine = load("binary-increment")
    with pytest.raises(InputError, match="not in the input alphabet"):
        LongRun(compile_machine(machine), "1", machine=machine).restart(word)
    with pytest.raises(EngineError, match="not in the vocabulary"):
        LongRun(compile_machine(machine), "1", machine=None).restart(word)


def test_without_a_machine_nothing_is_compared() -> None:
    decoder = compile_machine(load("chapter"))
    trace, blocks = carried_out(LongRun(decoder, "11", machine=None, max_steps=100))
    assert (trace.answer, trace.T, trace.compared, trace.result, trace.agrees) == ("accept", 6, 0, None, False)
    assert [block.size for block in blocks] == [9]


def test_embeddings_that_do_not_show_the_token_are_looked_at() -> None:
    machine = load("chapter")
    decoder = compile_machine(machine)
    column = decoder.vocabulary.index("1")
    row = decoder.layout["e_x"].start + column
    broken = replaced(decoder, {"token_embedding": decoder.token_embedding.with_entry(row, column, 2.0)})
    trace, _ = carried_out(LongRun(broken, "11", machine=machine))
    assert trace.divergence is not None
    assert (trace.divergence.position, trace.divergence.column, trace.divergence.found) == (0, "x", "⟨2·1⟩")


def test_the_first_word_that_is_wrong_is_named() -> None:
    machine = load("chapter")
    decoder = compile_machine(machine)
    with pytest.raises(InputError, match="2"):
        LongRun(decoder, "12", machine=machine)
    with pytest.raises(EngineError, match="token 1 of the prompt, '2', is not in the vocabulary"):
        LongRun(decoder, "12", machine=None)


def late_fault(decoder: Decoder) -> Decoder:
    """Return weights that go wrong when the head first reaches a far cell: [h = 0] is there once more."""
    path = next(p for p, m in matrices(decoder).items() if p == "layers.4.feed_forward.input_bias")
    return replaced(decoder, {path: matrices(decoder)[path].with_entry(0, 0, 2.0)})


def test_far_divergences_come_with_both_rows_and_near_ones_with_a_cause(monkeypatch: pytest.MonkeyPatch) -> None:
    machine = load("busy-beaver-5")
    broken = late_fault(compile_machine(machine))
    near, _ = carried_out(LongRun(broken, "", machine=machine, max_steps=5000))
    assert near.divergence is not None
    assert near.divergence.cause is not None
    assert near.divergence.cause.layer_name == "read tape"
    monkeypatch.setattr(long_run, "CAUSE_WITHIN", -1)
    far, _ = carried_out(LongRun(broken, "", machine=machine, max_steps=5000))
    assert far.divergence is not None
    assert far.divergence.cause is None
    assert (far.divergence.expected_row, far.divergence.found_row) == (
        near.divergence.expected_row,
        near.divergence.found_row,
    )
    assert far.compared == near.compared


@pytest.mark.slow
@pytest.mark.parametrize(("name", "word"), [("busy-beaver-5", ""), ("palindromes", "abbaabba"), ("chapter", "1" * 16)])
def test_a_run_that_is_saved_and_restored_goes_on_as_if_nothing_had_been(name: str, word: str) -> None:
    machine = load(name)
    decoder = compile_machine(machine)
    want, blocks = carried_out(LongRun(decoder, word, machine=machine, max_steps=9000))
    chance = random.Random(5)
    sizes = iter(lambda: chance.randrange(1, 700), 0)
    got: list[RowBlock] = []
    run = LongRun(decoder, word, machine=machine, max_steps=9000)
    with pytest.MonkeyPatch.context() as patch:
        while not run.done:
            size = next(sizes)
            patch.setattr(long_run, "FIRST_BLOCK", size)
            patch.setattr(long_run, "BLOCK", size)
            run.advance(got.append)
            if run.done:
                break
            saved = {key: array.copy() for key, array in run.save().items()}
            run = LongRun(decoder, word, machine=machine, max_steps=9000, saved=saved)
    assert plain(run.trace(Fast())) == plain(want)
    rows = [[r for b in bs for r in as_rows(b, decoder)] for bs in (got, blocks)]
    assert rows[0] == rows[1]


@pytest.mark.slow
@pytest.mark.parametrize("limit", [70, 84, 200, None])
def test_a_second_thread_changes_nothing(limit: int | None, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(long_run, "FIRST_BLOCK", 5)
    monkeypatch.setattr(long_run, "BLOCK", 11)
    monkeypatch.setattr(long_run, "LARGE_BLOCK", 11)
    machine = load("busy-beaver-4")
    decoder = compile_machine(machine)
    wrong = 0
    for broken in [decoder, *(broken for _, broken in sabotages(decoder, seed=3)[::6])]:
        found = []
        for number in (1, 2):
            monkeypatch.setattr(long_run, "cores", lambda: number)  # noqa: B023
            run, blocks = LongRun(broken, "", machine=machine, max_steps=limit), list[RowBlock]()
            while not run.done:
                run._brisk = True
                run.advance(blocks.append)
            assert [block.i[0] for block in blocks[1:]] == [block.i[-1] + 1 for block in blocks[:-1]]
            rows = [row for block in blocks for row in as_rows(block, decoder)]
            found.append((run.trace(Fast()), rows, run.standing))
        assert found[0] == found[1]
        wrong += not found[0][0].agrees
    assert wrong > 3


@pytest.mark.slow
def test_a_long_run_keeps_one_byte_per_position_and_an_entry_per_cell() -> None:
    machine, steps = three_by_three(), 5_000_000
    run = LongRun(compile_machine(machine), "", machine=machine, max_steps=steps)
    sizes = list[int]()
    while not run.done:
        run.advance()
        state, pools, reference = run._session._state, run._session._pools, run._reference
        assert isinstance(reference, TuringRun)
        sizes.append(sum(a.nbytes for a in (*state, *pools)) - state.tokens.nbytes + reference._tape.nbytes)
    trace = run.trace(Fast())
    assert trace.agrees
    assert (state.tokens.itemsize, len(state.tokens) <= 4 * trace.tokens, state.hist.nbytes) == (1, True, 0)
    assert trace.result is not None
    cells = trace.result.cells_visited
    assert cells < 3_000
    assert max(sizes) < 1_000_000 + 100 * cells  # the tail's answers, and for each cell a position, a token and a value


@pytest.mark.slow
def test_more_than_256_tokens_take_four_bytes_each() -> None:
    kept = {}
    for decoder in (compile_machine(large(40, 2)), compile_machine(large(200, 2))):
        session = Fast().start(decoder)
        session.prompt([decoder.vocabulary.index(decoder.bos)])
        chunk, dense = session.extend(50), Dense().start(decoder)
        assert [dense.feed(token) for token in chunk.tokens.tolist()] == chunk.answers.tolist()
        assert session._state.tokens[: session.position].tolist() == chunk.tokens.tolist()
        kept[len(decoder.vocabulary) > 256] = session._state.tokens.dtype
    assert kept == {False: np.uint8, True: np.int32}
