"""One decoder, every machine: what all engines answer is what an interpreter of the prompt's text says, token for token.

Three answers are compared: that of the weights, that of the interpreter (`reference`), which knows the text of the prompt
and nothing else, and that of `UniversalTruth`, in the machine's own names.
"""

from __future__ import annotations

import dataclasses
import random
from collections import Counter
from collections.abc import Iterator, Sequence
from functools import cache

import pytest

from tests.engines.test_honest import nameless
from tests.sources.turing.universal.cases import (
    EVERY,
    SIZES,
    Running,
    answered,
    answers,
    compiled,
    described,
    due,
    positions,
    random_machine,
    random_programs,
    random_prompt,
    random_word,
)
from tests.strategies import tries
from tm2tfr.engines.decode import Engine
from tm2tfr.engines.dense import Dense
from tm2tfr.engines.exact import Exact
from tm2tfr.engines.fast import Fast, available
from tm2tfr.runs.comparison import Trace, check
from tm2tfr.sources.turing.library import load, shipped
from tm2tfr.sources.turing.simulator import result
from tm2tfr.sources.turing.universal import prompt
from tm2tfr.sources.turing.universal.compiler import renamed
from tm2tfr.sources.turing.universal.names import size_of
from tm2tfr.sources.turing.universal.program import Universal
from tm2tfr.sources.turing.universal.truth import UniversalTruth
from tm2tfr.transformer.weights import Decoder, matrices, replaced

needs_numba = pytest.mark.skipif(not available(), reason="Numba is not installed: pip install 'tm2tfr[fast]'")
FITTING = [name for name in shipped() if size_of(load(name)) <= (8, 99) and size_of(load(name))[1] <= 4]
STEPS = 60
"""Of random machines."""


def expected(program: Universal, text: str, steps: int) -> list[str]:
    """Return all answers to a prompt, for a decoder that is not told the tape if its class has only one."""
    tape = None if program.tapes else program.tape
    return due(text, answers(text, steps + 1, tape))


def of_truth(program: Universal, word: str, steps: int) -> list[str]:
    """Return all answers that `UniversalTruth` expects, with the canonical names."""
    canonical = dict(zip(program.vocabulary, program.canonical.vocabulary(program.tapes), strict=True))
    truth = UniversalTruth(program, word, max_steps=steps)
    rows = list(truth.rows())
    assert [row.i for row in rows] == list(range(len(rows)))
    fed = [canonical[str(row.x)] for row in rows]
    said = [canonical[row.y] for row in rows]
    assert fed == [*(canonical[token] for token in truth.prompt), "BOS", *said[len(truth.prompt) : -1]]
    if program.described is None:  # the machine in the prompt does what the machine does
        assert truth.result() == result(program.right, word, max_steps=steps)
    return said


# ── shipped machines ────────────────────────────────────────────────────────────────────────────────────────
def examples(names: Sequence[str] = FITTING, universal: Universal = EVERY) -> Iterator[tuple[str, Universal, str]]:
    for name in names:
        machine = load(name)
        for word in dict.fromkeys([*(example.input for example in machine.examples), machine.input or ""]):
            yield name, universal.holding(machine), word


def test_shipped_machines_that_fit() -> None:
    assert len(FITTING) == 27


def test_all_machines_have_one_decoder() -> None:
    """The very same matrices; only labels and tokens are renamed."""
    every = matrices(compiled())
    for name in FITTING:
        named = renamed(compiled(), EVERY.holding(load(name)))
        assert all(matrix is every[path] for path, matrix in matrices(named).items())
        assert list(matrices(named)) == list(every)
        assert len(named.vocabulary) == len(compiled().vocabulary)
        assert (named.bos, named.stop, named.features) == (compiled().bos, compiled().stop, compiled().features)


@needs_numba
@pytest.mark.slow
def test_shipped_machines_fast() -> None:
    """All examples of all machines that fit: from one session, hence one set of weights."""
    ends = ends_of(EVERY, FITTING, tries(5_000))
    assert sum(ends.values()) == 120
    assert {"ACC": 34, "REJ": 15}.items() <= ends.items()


def ends_of(universal: Universal, names: Sequence[str], steps: int) -> dict[str, int]:
    """Run all examples of machines in one session, compare every answer, and return how many runs ended how."""
    running, ends = Running(compiled(universal)), Counter[str]()
    for name, program, word in examples(names, universal):
        text = prompt.text(program, word)
        found = running.answered(text, positions(text, steps))
        assert found == expected(program, text, steps) == of_truth(program, word, steps), (name, word)
        ends[found[-1] if found[-1] in ("ACC", "REJ", "HALT") else "limit"] += 1
    return dict(ends)


@needs_numba
@pytest.mark.slow
def test_all_shipped_machines_in_one_larger_decoder() -> None:
    """One of them is a universal machine: in its prompt it has a machine again."""
    ends = ends_of(Universal(states=25, symbols=14), shipped(), tries(1_000))
    assert sum(ends.values()) == 201
    assert ends["limit"] < 30


@pytest.mark.slow
@pytest.mark.parametrize(("engine", "steps"), [(Dense(), 40), (Dense("float32"), 15), (Exact(), 8)])
def test_shipped_machines(engine: Dense | Exact, steps: int) -> None:
    """One example of each."""
    seen = set[str]()
    for name, program, word in examples():
        if name not in seen:
            text, limit = prompt.text(program, word), steps + tries(20)
            found = answered(compiled(), text, engine, positions(text, limit))
            assert found == expected(program, text, limit), (name, word)
            seen.add(name)
    assert seen == set(FITTING)


# ── random machines ─────────────────────────────────────────────────────────────────────────────────────────
@needs_numba
@pytest.mark.slow
def test_random_machines_fast() -> None:
    """Machines of every size up to (8, 4), both tapes, by turns as prompts and as machines: all in one decoder."""
    running, ends, tokens = Running(compiled()), Counter[str](), 0
    for program, word in random_programs(random.Random(15), number := tries(5_000)):
        text = prompt.text(program, word)
        found = running.answered(text, positions(text, STEPS))
        assert found == expected(program, text, STEPS) == of_truth(program, word, STEPS), text
        ends[found[-1] if found[-1] in ("ACC", "REJ", "HALT") else "limit"] += 1
        tokens += len(found)
    assert min(ends[end] for end in ("ACC", "REJ", "HALT", "limit")) > number / 40
    assert tokens > 40 * number


@pytest.mark.slow
@pytest.mark.parametrize(
    ("engine", "number", "steps"), [(Dense(), 500, 40), (Dense("float32"), 150, 20), (Exact(), 150, 20)]
)
def test_random_machines(engine: Dense | Exact, number: int, steps: int) -> None:
    for program, word in random_programs(random.Random(number), tries(number)):
        text = prompt.text(program, word)
        assert answered(compiled(), text, engine, positions(text, steps)) == expected(program, text, steps), text


@pytest.mark.slow
@pytest.mark.parametrize("tape", ["both", "one-way", "two-way"])
def test_decoders_of_every_size(tape: str) -> None:
    """A prompt and a machine of that very size, each in its decoder."""
    chance = random.Random(tape)
    for states, symbols in [*SIZES, (1, 62), (13, 6), (20, 2)]:
        universal = Universal(states=states, symbols=symbols, tape=tape)  # type: ignore[arg-type]
        kind = chance.choice(("one-way", "two-way")) if tape == "both" else tape
        given = described(random_prompt(chance, states, symbols, kind if tape == "both" else None), universal)
        machine = random_machine(chance, states, min(symbols, 4), kind)
        for program, word in (given, (universal.holding(machine, seed=states), random_word(chance, machine))):
            text = prompt.text(program, word)
            found = answered(compiled(universal), text, Dense(), positions(text, 25))
            assert found == expected(program, text, 25) == of_truth(program, word, 25), text


def test_a_prompt_may_have_its_rules_in_any_order() -> None:
    machine = load("chapter")
    texts = [prompt.text(EVERY.holding(machine, seed=seed), "1111") for seed in (None, *range(5))]
    assert len(set(texts)) == 6
    said = [answered(compiled(), text, Dense(), 200)[len(text.split()) - 1 :] for text in texts]
    assert all(each == said[0] == answers(texts[0], 200) for each in said)
    assert said[0][-1] == "ACC"


@pytest.mark.slow
@pytest.mark.parametrize("engine", [Dense(), Exact(), Fast()], ids=lambda engine: engine.name)
def test_without_any_name_the_same_token_numbers_come_out(engine: Engine) -> None:
    """No engine reads the prompt: where every token, label and layer has a meaningless name, they go on as before."""
    if engine.name == "fast" and not available():
        pytest.skip("Numba is not installed: pip install 'tm2tfr[fast]'")
    decoder, chance = compiled(), random.Random(77)
    bare = nameless(decoder)
    for n in range(4):
        text = random_prompt(chance, 1 + 2 * n, 4, ("one-way", "two-way")[n % 2])
        named = dict(zip(decoder.vocabulary, bare.vocabulary, strict=True))
        hidden = " ".join(named[token] for token in text.split())
        said = expected(EVERY, text, 15)
        assert answered(bare, hidden, engine, positions(text, 15)) == [named[token] for token in said]


# ── sabotage: one weight of the decoder is changed. `check` says so and names its layer, or the change changes nothing
# Engines that knew what a Turing machine is, or took the prompt for what it says, would go on giving the right tokens: the
# dense, the exact and the fast one give the same wrong ones.
SABOTAGE_STEPS = 25
SABOTAGE_SIZES = ((3, 2), (8, 4))
NUMBER = 150
"""Of sabotages of each decoder."""


def changed(decoder: Decoder, chance: random.Random) -> tuple[str, str, Decoder]:
    """Return the path of a matrix, what happened to one of its entries, and the decoder with that."""
    sizes = {path: len(matrix.values) for path, matrix in matrices(decoder).items() if len(matrix.values)}
    weights = list(sizes.values()) if chance.random() < 0.5 else None  # any entry, or any matrix
    [path], how = chance.choices(list(sizes), weights), chance.choice(("negated", "zeroed", "doubled", "moved"))
    matrix = matrices(decoder)[path]
    row, column, old = chance.choice(list(matrix.entries()))
    new = matrix.with_entry(row, column, {"negated": -old, "doubled": 2 * old}.get(how, 0.0))
    if how == "moved":
        free = [(row, n) for n in range(matrix.shape[1])] + [(n, column) for n in range(matrix.shape[0])]
        taken = {(r, c) for r, c, _ in matrix.entries()}
        open_places = [place for place in free if place not in taken]
        if open_places:
            new = new.with_entry(*chance.choice(open_places), old)
    return path, f"{path}[{row}, {column}] {how}", replaced(decoder, {path: new})


def layer_of(path: str) -> int:
    """Return the number of the layer that a matrix belongs to, as causes count them."""
    if path.startswith("layers."):
        return int(path.split(".")[1])
    return 8 if "unembedding" in path else 0


@cache
def battery(states: int, symbols: int) -> tuple[tuple[str, Universal, str], ...]:
    """Return prompts of both tapes: whole sets of rules, which use as much of the decoder as there is, and small ones."""
    universal, chance = Universal(states=states, symbols=symbols), random.Random(5)
    whole = [random_prompt(chance, states, symbols, ("one-way", "two-way")[n % 2]) for n in range(4)]
    small = [random_prompt(chance, min(2, states), symbols, tape) for tape in ("one-way", "two-way")]
    return tuple((text, *described(text, universal)) for text in (*small, *whole))


def checked(decoder: Decoder, states: int, symbols: int) -> Iterator[Trace]:
    for _, program, word in battery(states, symbols):
        yield check(
            decoder, UniversalTruth(program, word, max_steps=SABOTAGE_STEPS), engine=Dense(), max_steps=SABOTAGE_STEPS
        )


@pytest.mark.parametrize(("states", "symbols"), SABOTAGE_SIZES)
def test_the_battery_finds_nothing_wrong_with_the_right_weights(states: int, symbols: int) -> None:
    decoder = compiled(Universal(states=states, symbols=symbols))
    assert all(trace.agrees for trace in checked(decoder, states, symbols))


@pytest.mark.slow
@pytest.mark.parametrize(("states", "symbols"), SABOTAGE_SIZES)
def test_each_sabotage_is_caught_where_it_is_or_harmless(states: int, symbols: int) -> None:
    decoder, chance = compiled(Universal(states=states, symbols=symbols)), random.Random(states)
    counts: Counter[str] = Counter()
    for _ in range(tries(NUMBER)):
        path, what, broken = changed(decoder, chance)
        wrong = next((trace.divergence for trace in checked(broken, states, symbols) if not trace.agrees), None)
        counts["harmless" if wrong is None else "caught"] += 1
        if wrong is not None:
            assert wrong.cause is not None, what
            assert wrong.cause.layer == layer_of(path), f"{what}\n{wrong}"
    assert counts["caught"] > counts.total() / 4  # others are of tokens that the battery does not use


@pytest.mark.parametrize(
    ("layer", "unit", "reads", "where"),
    [
        (1, "[value]", "e_x[→(q1,2,+1)]", "layer 1 (unpack), feed-forward at position 2: [rule] should be 1, is 0"),
        (2, "r_q[q1]", "e_q(key)[q1]", "layer 2 (head position), feed-forward at position 4: r_q should be q1, is ⊥ (0)"),
        (2, "r_a[2]", "[value]", "layer 2 (head position), feed-forward at position 6: r_a should be 2, is ⊥ (0)"),
    ],
)
def test_what_is_wrong_at_one_of_many_positions_of_a_head_is_found_there(
    layer: int, unit: str, reads: str, where: str
) -> None:
    """It shows much later, in a mean over all positions, or as one of many rules that the head of layer 6 takes instead."""
    decoder = compiled(Universal(states=8, symbols=4))
    part = decoder.layers[layer - 1].feed_forward
    assert part is not None
    path, place = f"layers.{layer}.feed_forward.input", (part.units.index(unit), decoder.layout.index(reads))
    broken = replaced(decoder, {path: part.input.with_entry(*place, 0.0)})
    rest = " ".join(f"q{n},{a} →(q1,2,-1)" for n in range(2, 8) for a in range(4))
    text = f"two-way q0,1 →(q1,2,+1) q1,0 →(q1,3,-1) q1,2 →ACC {rest} 1 BOS"
    program, word = described(text, Universal(states=8, symbols=4))
    assert check(decoder, UniversalTruth(program, word), engine=Dense()).agrees
    found = check(broken, UniversalTruth(program, word), engine=Dense(), max_steps=9).divergence
    assert found is not None
    assert str(found.cause).splitlines()[0] == where


@pytest.mark.slow
@pytest.mark.parametrize(("states", "symbols"), SABOTAGE_SIZES)
def test_all_engines_give_the_same_wrong_tokens(states: int, symbols: int) -> None:
    """Runs go on past ACC, REJ and HALT."""
    decoder, chance = compiled(Universal(states=states, symbols=symbols)), random.Random(10 + states)
    decoder = dataclasses.replace(decoder, stop=())
    text, different = battery(states, symbols)[-1][0], 0
    right = answered(decoder, text, Dense(), positions(text, 12))
    number = tries(NUMBER if states < 8 else NUMBER // 3)  # a large decoder takes the exact engine long
    for _ in range(number):
        _, what, broken = changed(decoder, chance)
        most = positions(text, 12)
        found = answered(broken, text, Dense(), most)
        different += found != right
        assert answered(broken, text, Exact(), most) == found, what
        if available():
            assert answered(broken, text, Fast(), most) == found, what
    assert different > number / 10
