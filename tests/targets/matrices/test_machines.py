"""Machines in PyTorch and in ONNX Runtime, beside the simulator, and weights that were broken beside the dense engine."""

from __future__ import annotations

import random
import re
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from benchmarks.machines import rewriter, runner
from tests.engines.test_fast_sabotage import compiled, mutated, slow
from tests.targets.matrices.programs import BOTH, LONG, answers_of, loaded, needs_torch, right_of, tokens_of
from tests.targets.matrices.programs import program as program_called
from tm2tfr.api.targets import export_to
from tm2tfr.base.text.shown import json_text
from tm2tfr.engines.dense import Dense, Float
from tm2tfr.sources.turing.compiler import compile_machine
from tm2tfr.sources.turing.library import load, shipped
from tm2tfr.sources.turing.spec import Machine
from tm2tfr.sources.turing.universal.compiler import compile_universal
from tm2tfr.sources.turing.universal.program import Universal
from tm2tfr.targets.common.comparison import compared
from tm2tfr.targets.common.fitting import Recipe
from tm2tfr.targets.common.reference import reference_of
from tm2tfr.targets.matrices.contents import names, tensors
from tm2tfr.transformer.matrix import Matrix
from tm2tfr.transformer.weights import Decoder, matrices, replaced


def exact(
    program: str, machine: Machine, word: str, folder: Path, positions: int, *, made: int | None = None, **options: Any
) -> None:
    """Export, run given the simulator's tokens, and generated to position `made`, and compare every token."""
    done = export_to(program, machine, folder, positions=positions, verify=False, **options)
    model = loaded(program, done.folder)
    model.longest_generated = positions if made is None else made
    run = compared(model, compile_machine(machine).vocabulary, right_of(machine), word, positions)
    assert (run.divergence, len(run.tokens), run.generated) == (None, positions, model.longest_generated)


@pytest.mark.similar
@pytest.mark.slow
@pytest.mark.parametrize("program", BOTH)
@pytest.mark.parametrize("name", LONG)
def test_exact_to_1024_positions_in_float64(program: str, name: str, tmp_path: Path) -> None:
    made = 540 if program == "onnx" and name != "busy-beaver-5" else 1024  # to generate one token is a whole pass there
    exact(program, load(name), LONG[name], tmp_path / "x", 1024, made=made)


@pytest.mark.slow
@pytest.mark.parametrize("program", BOTH)
@pytest.mark.parametrize("name", ["palindromes", "busy-beaver-5"])
def test_exact_to_1024_positions_in_float32_as_far_as_heads_may_go(program: str, name: str, tmp_path: Path) -> None:
    exact(program, load(name), LONG[name], tmp_path / "x", 1024, made=500, dtype="float32", max_head=63)


@pytest.mark.slow
@pytest.mark.parametrize("program", BOTH)
def test_at_the_very_limits_of_float32(program: str, tmp_path: Path) -> None:
    exact(program, runner(), "", tmp_path / "x", 161, dtype="float32")
    exact(program, runner("one-way"), "", tmp_path / "x", 161, dtype="float32")
    exact(program, rewriter(), "1" * 59, tmp_path / "x", 1023, made=400, dtype="float32", max_head=60)


@pytest.mark.similar
@pytest.mark.slow
@pytest.mark.parametrize("program", BOTH)
@pytest.mark.parametrize("name", shipped())
def test_every_shipped_machine_verifies_itself(program: str, name: str, tmp_path: Path) -> None:
    for dtype in ("float64", "float32"):
        said = str(export_to(program, name, tmp_path / "x", positions=100, dtype=dtype)).splitlines()
        assert said[1].startswith("certified: for every input and every run with at most 100 positions, greedy")
        assert " tokens, all agree with the simulator" in said[2]


@pytest.mark.slow
@needs_torch
def test_10_000_positions_in_torch(tmp_path: Path) -> None:
    machine = load("busy-beaver-5")
    done = export_to("torch", machine, tmp_path / "x", positions=10_000, verify=False)
    model = loaded("torch", done.folder)
    model.longest_generated = 0
    run = compared(model, compile_machine(machine).vocabulary, right_of(machine), "", 10_000)
    assert (run.divergence, len(run.tokens)) == (None, 10_000)


@needs_torch
def test_on_a_gpu(tmp_path: Path) -> None:
    import torch

    if not torch.cuda.is_available():
        pytest.skip("torch finds no CUDA device: this test needs an NVIDIA GPU")
    machine = load("busy-beaver-5")
    for dtype, positions, head in (("float64", 10_000, None), ("float32", 1000, 63)):
        done = export_to("torch", machine, tmp_path / "x", positions=positions, max_head=head, dtype=dtype, verify=False)
        model = loaded("torch", done.folder)
        model.model.to("cuda")  # type: ignore[attr-defined]
        model.longest_generated = 1000
        run = compared(model, compile_machine(machine).vocabulary, right_of(machine), "", positions)
        assert (run.divergence, len(run.tokens), run.generated) == (None, positions, 1000)


# ── sabotage ────────────────────────────────────────────────────────────────────────────────────────────────
def one_weight_broken(name: str, path: str) -> Decoder:
    decoder, _ = compiled(name)
    matrix = matrices(decoder)[path]
    row, column, value = next(matrix.entries())
    return replaced(decoder, {path: matrix.with_entry(row, column, -value)})


@pytest.mark.parametrize("program", BOTH)
@pytest.mark.parametrize(
    "path",
    [
        "token_embedding",
        "unembedding",
        "layers.1.feed_forward.input",
        "layers.2.heads.0.output",
        "layers.3.heads.0.query",
        "layers.4.heads.0.key",
        "layers.4.heads.0.value",
        "layers.5.feed_forward.input_bias",
        "layers.6.feed_forward.output",
    ],
)
def test_one_broken_weight_gives_the_dense_engines_wrong_tokens(program: str, path: str) -> None:
    right, given = compiled("chapter")
    broken = one_weight_broken("chapter", path)
    wrong = slow(broken, given)
    assert wrong != slow(right, given)
    fed = [*given, *wrong[len(given) - 1 : -1]]
    assert answers_of(program, broken)(fed) == wrong


@pytest.mark.similar
@pytest.mark.slow
@pytest.mark.parametrize("program", BOTH)
@pytest.mark.parametrize("name", ["chapter", "busy-beaver-4", "palindromes"])
def test_random_sabotage_gives_the_dense_engines_wrong_tokens(program: str, name: str) -> None:
    decoder, given = compiled(name)
    right, chance, wrong = slow(decoder, given), random.Random(f"plain {name}"), 0
    for n in range(40):
        broken, where = mutated(decoder, chance, times=1 + n % 2)
        wanted = slow(broken, given)
        fed = [*given, *wanted[len(given) - 1 : -1]]
        assert answers_of(program, broken)(fed) == wanted, where
        wrong += wanted != right
    assert wrong > 15, "many mutations should matter"


@pytest.mark.parametrize("program", BOTH)
@pytest.mark.parametrize(
    ("path", "row", "column"),
    [
        ("unembedding_bias", 3, 0),
        ("layers.4.feed_forward.output_bias", "h", 0),
        ("layers.3.heads.1.value", 0, "e_x(h)[1]"),  # which the head beside it writes: nobody reads that here
        ("layers.2.heads.0.value", 0, "e_x[1]"),  # of a head without scores: the mean of all positions
        ("layers.4.heads.0.output", "h", 1),
    ],
)
def test_weights_that_the_compiler_leaves_0_count(
    program: str, path: str, row: int | str, column: int | str, tmp_path: Path
) -> None:
    decoder = compile_machine(load("chapter"))
    at = [decoder.layout.index(place) if isinstance(place, str) else place for place in (row, column)]
    matrix = matrices(decoder)[path]
    assert matrix.dense()[at[0], at[1]] == 0
    as_the_dense_engine(program, replaced(decoder, {path: matrix.with_entry(at[0], at[1], 8.0)}), tmp_path)


@pytest.mark.parametrize("program", BOTH)
def test_scores_are_added_up_in_the_order_of_their_components(program: str, tmp_path: Path) -> None:
    """Beside two large terms that cancel, the tie-break is seen only if it is added last: with 0."""
    decoder = compile_machine(load("chapter"))
    one, head = decoder.layout.index("1"), "layers.4.heads.0"
    forms: dict[str, Matrix] = {}
    for part, rows in (("query", (2.0**60, -(2.0**60))), ("key", (1.0, 1.0))):
        matrix = matrices(decoder)[f"{head}.{part}"]
        kept = {(row, column): value for row, column, value in matrix.entries() if row == 2}
        forms[f"{head}.{part}"] = Matrix.from_entries(matrix.shape, {**kept, (0, one): rows[0], (1, one): rows[1]})
    streams = as_the_dense_engine(program, replaced(decoder, forms), tmp_path)
    assert (
        streams[4][:, decoder.layout.index("h_{j*-1}")].tolist() == streams[3][:, decoder.layout.index("h_{i-1}")].tolist()
    )


def as_the_dense_engine(program: str, changed: Decoder, tmp_path: Path) -> Any:
    """Compare a decoder that need not be right with the dense engine, on the chapter's run on 11; return its streams."""
    recipe = Recipe(positions=30, max_head=29)
    files = program_called(program).files(reference_of(load("chapter"), changed), recipe, names(changed, recipe, "any"))
    for name, content in {**files, "tm2tfr.json": json_text(names(changed, recipe, "any"))}.items():
        (tmp_path / name).write_bytes(content.encode() if isinstance(content, str) else content)
    tokens = [changed.vocabulary.index(token) for token in tokens_of("chapter", "11", 30)[0]]
    model, session, answers, streams = loaded(program, tmp_path), Dense().start(changed), [], []
    for token in tokens:
        stages = Stages()
        session.feed(token, stages)
        answers.append(int(session.logits.argmax()))
        streams.append(stages.kept)
    found = model.streams(tokens)
    assert model.answers(tokens) == answers
    assert np.array_equal(found, np.array(streams).transpose(1, 0, 2))
    return found


class Stages:
    """Keeps the stream of the dense engine before the first layer and after each."""

    def __init__(self) -> None:
        self.kept: list[Any] = []

    def stage(self, layer: int, part: str, residual: Any) -> None:
        if part in ("embedding", "feed_forward"):
            self.kept.append(residual)

    def head(self, layer: int, head: int, scores: Any, attended: Any) -> None:
        pass


@pytest.mark.slow
@pytest.mark.parametrize("program", BOTH)
@pytest.mark.parametrize("dtype", ["float64", "float32"])
@pytest.mark.parametrize("name", ["busy-beaver-5", "chapter"])
def test_the_streams_are_the_dense_engines_bit_for_bit(program: str, name: str, dtype: Float, tmp_path: Path) -> None:
    machine, word = load(name), {"chapter": "1" * 60}.get(name, "")
    decoder = compile_machine(machine)
    done = export_to(program, machine, tmp_path / "x", positions=150, dtype=dtype, verify=False)
    tokens = [decoder.vocabulary.index(token) for token in tokens_of(machine, word, 150)[0]]
    found, session = loaded(program, done.folder).streams(tokens), Dense(dtype).start(decoder)
    for i, token in enumerate(tokens):
        stages = Stages()
        session.feed(token, stages)
        assert np.array_equal(found[:, i], np.array(stages.kept, dtype=float)), i


README = "write a machine as README.md says"
RULE = "write rules as a state and a symbol, then what is answered; then the input"
ANSWER = "write after a state and a symbol what its rule answers, such as →(q0,0,+1)"
BEFORE = "write all rules before the input, and no blank in it"
FLIPS = "one-way q0,1 →(q0,2,+1) q0,2 →(q0,1,+1) 1 2 1 BOS"


@cache
def decoder(tape: Any = "both") -> Any:
    """Return the model of a class."""
    import torch

    from tm2tfr.targets.torch.universal import UniversalDecoder

    weights = compile_universal(Universal(states=2, symbols=3, tape=tape))
    named = names(weights, Recipe(positions=64, max_head=63), "tm2tfr-torch")
    return UniversalDecoder(named, {path: torch.tensor(array) for path, array in tensors(weights, "float64").items()})


def read(prompt: str, tape: str = "both") -> str:
    """Return the tokens that a prompt is read as."""
    model = decoder(tape)
    return " ".join(model.vocabulary[n] for n in model.encode(prompt))


@needs_torch
def test_a_prompt_is_read_in_all_ways_in_which_it_is_written() -> None:
    for other in (FLIPS, FLIPS.removesuffix(" BOS"), FLIPS.replace("→", "->"), FLIPS.replace(" →", "->")):
        assert read(other) == read(other.replace("1 2 1", "121")) == FLIPS
    assert read("two-way") == "two-way BOS"
    assert [read(prompt, "one-way") for prompt in ("", "q0,1 →ACC", "12")] == ["BOS", "q0,1 →ACC BOS", "1 2 BOS"]
    assert "".join(decoder().generate(FLIPS)) == "(q0,1,0)(q0,2,+1)(q0,1,+1)(q0,2,+1)HALT"


@needs_torch
@pytest.mark.parametrize(
    ("prompt", "words"),
    [
        (
            "two-way q1,0 ->(halt,1,1) 1",
            f"3: '→(halt,1,1)' is not in the vocabulary (did you mean '→(halt,1,+1)'?): {README}",
        ),
        (
            "two-way q0,1 →(q1,0,\u22121)",
            f"3: '→(q1,0,\u22121)' is not in the vocabulary (did you mean '→(q1,0,-1)'?): {README}",
        ),
        ("two-way q0,1 →ACC 13", f"4: '13' is not in the vocabulary: {README}"),
        ("two-way q0,1 →ACC 1 0", f"5: '0' is not in the vocabulary: {README}"),
        ("", "1: 'BOS' cannot be here: begin with one-way or two-way"),
        ("q0,1 →ACC 1", "1: 'q0,1' cannot be here: begin with one-way or two-way"),
        ("two-way two-way", f"2: 'two-way' cannot be here: {RULE}"),
        ("two-way q0,1", f"3: 'BOS' cannot be here: {ANSWER}"),
        ("two-way q0,1 q1,1 →ACC", f"3: 'q1,1' cannot be here: {ANSWER}"),
        ("two-way →ACC", f"2: '→ACC' cannot be here: {RULE}"),
        ("two-way (q0,1,0)", f"2: '(q0,1,0)' cannot be here: {RULE}"),
        ("two-way HALT", f"2: 'HALT' cannot be here: {RULE}"),
        ("two-way 12 q0,1 →ACC", f"3: 'q0,1' cannot be here: {BEFORE}"),
        ("two-way BOS 1", "3: '1' cannot be here: a prompt ends with its first BOS"),
        (
            "two-way q0,1 →ACC q1,1 →REJ q0,1 →ACC",
            "6: there is already a rule for q0,1, at token 2: remove one of them, since a machine is deterministic",
        ),
    ],
)
def test_what_is_no_prompt_is_refused_with_its_place(prompt: str, words: str) -> None:
    with pytest.raises(ValueError, match=f"^token {re.escape(words)}$"):
        decoder().encode(prompt)
