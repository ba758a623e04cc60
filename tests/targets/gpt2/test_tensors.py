"""A decoder as GPT-2's tensors, run by a forward pass of our own and compared with the simulator."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from benchmarks.machines import large, rewriter, runner
from tests.strategies import machines_with_inputs
from tests.targets.gpt2.reference import expected, logits, wrong
from tm2tfr.base.errors import ExportError
from tm2tfr.sources.turing.compiler import compile_machine
from tm2tfr.sources.turing.library import load, shipped
from tm2tfr.sources.turing.spec import Machine
from tm2tfr.targets.common.reference import reference_of
from tm2tfr.targets.gpt2.export import described
from tm2tfr.targets.gpt2.limits import fitted
from tm2tfr.targets.gpt2.recipe import Gpt2Recipe
from tm2tfr.targets.gpt2.tensors import PAD, UNK, Gpt2
from tm2tfr.targets.gpt2.translated import translated
from tm2tfr.transformer.matrix import Matrix
from tm2tfr.transformer.weights import matrices, replaced


def gpt2_of(machine: Machine, positions: int, dtype: str = "float64", *, stock: bool = False) -> Gpt2:
    decoder = compile_machine(machine)
    return translated(
        decoder, fitted(decoder, reference_of(machine, decoder), positions=positions, dtype=dtype, stock=stock)
    )


@pytest.mark.parametrize("name", shipped())
def test_every_shipped_machine_runs_as_a_gpt2(name: str) -> None:
    machine = load(name)
    gpt2 = gpt2_of(machine, 128)
    tensors = gpt2.tensors()
    words = [example.input for example in machine.examples if len(example.input) < 128] or [""]
    assert {word: wrong(gpt2, machine, word, tensors) for word in words} == {word: [] for word in words}


@pytest.mark.parametrize("name", ["chapter", "busy-beaver-4", "palindromes", "turing-1936", "left-edge"])
@pytest.mark.parametrize(("dtype", "stock"), [("float32", False), ("float64", True)])
def test_in_float32_and_with_gpt2s_own_epsilon_and_gelu(name: str, dtype: str, stock: bool) -> None:
    machine = load(name)
    gpt2 = gpt2_of(machine, 200, dtype, stock=stock)
    assert gpt2.tensors()["transformer.wpe.weight"].dtype == np.dtype(dtype)
    for word in [example.input for example in machine.examples][:4] or [""]:
        assert wrong(gpt2, machine, word) == []


@pytest.mark.slow
@settings(max_examples=60)
@given(machines_with_inputs(), st.sampled_from([("float64", False), ("float32", False), ("float64", True)]))
def test_random_machines(case: tuple[Machine, str], recipe: tuple[str, bool]) -> None:
    machine, word = case
    dtype, stock = recipe
    assert wrong(gpt2_of(machine, 60, dtype, stock=stock), machine, word) == []


def test_far_cells_that_are_written_again_and_again() -> None:
    machine = rewriter()
    decoder = compile_machine(machine)
    recipe = fitted(decoder, reference_of(machine, decoder), positions=1200, max_head=400, dtype="float32")
    assert wrong(translated(decoder, recipe), machine, "1" * 399) == []


def test_a_head_that_runs_to_the_last_position() -> None:
    for machine in (runner(), runner("one-way")):
        assert wrong(gpt2_of(machine, 600, "float32"), machine, "") == []


def test_logits_are_one_and_zero() -> None:
    machine = load("chapter")
    gpt2 = gpt2_of(machine, 64)
    rows = expected(machine, "11", 64)
    found = logits(gpt2.tensors(), gpt2, [gpt2.numbers[str(row.x)] for row in rows])
    assert found.tolist() == [[float(token == row.y) for token in gpt2.vocabulary] for row in rows]


def test_shapes_and_names_are_those_of_gpt2() -> None:
    gpt2 = gpt2_of(load("chapter"), 50)
    d, v, f = gpt2.width, len(gpt2.vocabulary), gpt2.inner
    tensors = gpt2.tensors()
    assert (d, v, gpt2.heads, gpt2.head_size) == (192, 18, 3, 64)
    assert gpt2.vocabulary[-2:] == (PAD, UNK)
    assert len(tensors) == 6 * 12 + 5
    assert tensors["transformer.wte.weight"].shape == tensors["lm_head.weight"].shape == (v, d)
    assert tensors["transformer.wpe.weight"].shape == (50, d)
    assert tensors["transformer.h.5.attn.c_attn.weight"].shape == (d, 3 * d)
    assert tensors["transformer.h.0.mlp.c_fc.weight"].shape == (d, f)
    assert sum(tensor.nbytes for tensor in tensors.values()) == gpt2.bytes


def test_both_copies_of_the_stream_are_written_alike_and_read_against_each_other() -> None:
    gpt2 = gpt2_of(load("busy-beaver-2"), 40, stock=True)
    half = gpt2.mirror
    for name, tensor in gpt2.tensors().items():
        if name.endswith(("wte.weight", "wpe.weight", "c_proj.weight", "lm_head.weight")):
            assert (tensor[:, :half] == -tensor[:, half:]).all(), name
        elif name.endswith(("c_attn.weight", "c_fc.weight")):
            assert (tensor[:half] == -tensor[half:]).all(), name


def test_what_the_stream_holds_stays_small() -> None:
    gpt2 = gpt2_of(load("binary-counter"), 1000)
    assert abs(gpt2.tensors()["transformer.wpe.weight"]).max() == 1.0
    span = 1024.0
    assert {name: gpt2.scales[name] for name in ("1", "1/(i+1)", "h/(i+1)", "m")} == dict.fromkeys(
        ("1", "1/(i+1)", "h/(i+1)", "m"), 1.0
    )
    assert [gpt2.scales[name] for name in ("i", "h", "h-", "h_{i-1}", "h_{j*-1}", "i-c")] == [span] * 6
    assert [gpt2.scales[name] for name in ("i^2", "h^2", "h_{i-1}^2", "(i-c)^2")] == [span**2] * 4


def test_one_changed_weight_is_seen() -> None:
    machine = load("chapter")
    gpt2 = gpt2_of(machine, 64)
    tensors = gpt2.tensors()
    changed = tensors["transformer.h.3.attn.c_attn.weight"]
    row = int(np.flatnonzero(changed[:, 1])[0])  # v(h): so near to cell 0, u is 0
    changed[row, 1] *= -4
    assert wrong(gpt2, machine, "1111", tensors) != []


def test_weights_that_gpt2_has_no_place_for_are_refused() -> None:
    decoder = compile_machine(load("chapter"))
    bias = Matrix.from_entries(decoder.unembedding_bias.shape, {(0, 0): 1.0})
    with pytest.raises(ExportError, match="unembedding bias, which GPT-2 does not have: remove it"):
        translated(replaced(decoder, {"unembedding_bias": bias}), Gpt2Recipe(positions=9, max_head=8))
    assert "unembedding_bias" in matrices(decoder)


@pytest.mark.parametrize("token", [PAD, UNK])
def test_a_token_that_the_export_adds_may_not_be_there(token: str) -> None:
    decoder = compile_machine(load("chapter"))
    clash = replace(decoder, vocabulary=(*decoder.vocabulary[:-1], token))
    with pytest.raises(ExportError, match=r"has a token '\[.*\]', which the export adds: rename the state or symbol"):
        translated(clash, Gpt2Recipe(positions=9, max_head=8))


def test_biases_that_the_compiler_leaves_0_are_written_to_both_copies() -> None:
    decoder, path = compile_machine(load("chapter")), "layers.4.feed_forward.output_bias"
    h = decoder.layout.index("h")
    changed = replaced(decoder, {path: matrices(decoder)[path].with_entry(h, 0, 8.0)})
    gpt2 = translated(changed, Gpt2Recipe(positions=32, max_head=31))
    bias = gpt2.tensors()["transformer.h.3.mlp.c_proj.bias"]
    assert {int(n): bias[n] for n in np.flatnonzero(bias)} == {h: 8 / 32, h + gpt2.mirror: -8 / 32}


def test_the_root_of_a_head_is_a_power_of_two() -> None:
    rules = {("s", chr(0x4E00 + n)): ("s", "x", 1) for n in range(70)}
    machine = Machine(transitions=rules, start="s", blank="_", name="many symbols")
    gpt2 = translated(compile_machine(machine), Gpt2Recipe(positions=9, max_head=8))
    assert gpt2.head_size == 256
    assert wrong(gpt2, machine, "\u4e00\u4e01\u4e02") == []


def test_the_constants_of_a_recipe() -> None:
    recipes = [Gpt2Recipe(positions=n, max_head=n - 1, stock=True) for n in (1, 2, 1024, 1025, 5000)]
    assert [recipe.span for recipe in recipes] == [1, 2, 1024, 2048, 8192]
    assert [recipe.gain for recipe in recipes] == [2.0**16, 2.0**16, 2.0**16, 2.0**17, 2.0**19]
    assert [recipe.temperature for recipe in recipes] == [2.0**14 * recipe.span for recipe in recipes]
    assert [recipe.centre for recipe in recipes] == [0, 0, 511, 512, 2499]


def test_a_machine_that_is_too_large_is_refused() -> None:
    with pytest.raises(
        ExportError, match=r"dimensions and [\d,.]+ GiB of weights, but at most 2 GiB are allowed: export a smaller machine"
    ):
        translated(compile_machine(large(200)), Gpt2Recipe(positions=9, max_head=8))
    with pytest.raises(ExportError, match="export fewer positions, or a smaller machine"):
        translated(compile_machine(load("chapter")), Gpt2Recipe(positions=10**7, max_head=8))


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"positions": 0, "max_head": 0}, "0 positions with |h| ≤ 0: use at least 1 position"),
        ({"positions": 5, "max_head": 5}, "a bound on |h| from 0 to one less"),
        ({"positions": 5, "max_head": 4, "dtype": "float16"}, "in float64 or float32, not in 'float16'"),
    ],
)
def test_a_recipe_checks_itself(options: dict[str, object], words: str) -> None:
    with pytest.raises(ExportError) as caught:
        Gpt2Recipe(**options)  # type: ignore[arg-type]
    assert words in str(caught.value)


GPT2 = translated(compile_machine(load("chapter")), Gpt2Recipe(positions=32, max_head=31))
H = GPT2.directions.index("h")
D, HALF, SIZE = 192, 96, 64
LAST = len(GPT2.directions) - 1
SQUARE = GPT2.directions.index("(i-c)^2")


@pytest.mark.parametrize(
    ("name", "at", "words"),
    [
        ("transformer.wte.weight", (1, H), "embedding of BOS: h"),
        ("transformer.wte.weight", (16, HALF), "embedding of [PAD]: -e_x[1]"),
        ("transformer.wpe.weight", (31, HALF + H), "embedding of position 31: -h"),
        ("transformer.wpe.weight", (3, SQUARE), "embedding of position 3: (i-c)^2"),
        ("transformer.wpe.weight", (3, HALF + LAST), "embedding of position 3: -u(h_{i-1})^2+v(h_{i-1})^2"),
        ("transformer.wpe.weight", (3, LAST + 1), f"embedding of position 3: dimension {LAST + 1}, which is unused"),
        ("transformer.wpe.weight", (3, D - 1), "embedding of position 3: dimension 191, which is unused"),
        ("lm_head.weight", (2, HALF + H), "logit of ACC, reads -h"),
        ("transformer.ln_f.bias", (H,), "last layer norm, at h"),
        ("transformer.h.3.ln_2.bias", (HALF + H,), "layer 4 (read tape), ln_2.bias, at -h"),
        ("transformer.h.3.attn.c_attn.weight", (H, 0), "layer 4 (read tape), head 'latest write', query 0, reads h"),
        ("transformer.h.3.attn.c_attn.weight", (H, 3), "layer 4 (read tape), head 'latest write', query 3, reads h"),
        ("transformer.h.3.attn.c_attn.weight", (H, D + 1), "layer 4 (read tape), head 'latest write', key 1, reads h"),
        (
            "transformer.h.3.attn.c_attn.weight",
            (H, 2 * D + 2),
            "layer 4 (read tape), head 'latest write', value 2, reads h",
        ),
        ("transformer.h.3.attn.c_attn.bias", (D + 2,), "layer 4 (read tape), head 'latest write', key 2, bias"),
        ("transformer.h.2.attn.c_attn.weight", (H, SIZE), "layer 3 (read input), head 'cell h_{i-1}', query 0, reads h"),
        (
            "transformer.h.3.attn.c_attn.weight",
            (H, SIZE + 2),
            "layer 4 (read tape), head 2, which has no task, query 2, reads h",
        ),
        ("transformer.h.3.attn.c_proj.weight", (1, H), "layer 4 (read tape), head 'latest write', value 1, writes h"),
        ("transformer.h.3.attn.c_proj.bias", (H,), "layer 4 (read tape), attn.c_proj.bias, at h"),
        ("transformer.h.3.mlp.c_fc.weight", (H, 2), "layer 4 (read tape), unit 'h_{j*-1} = h: d-1', reads h"),
        ("transformer.h.3.mlp.c_fc.bias", (3,), "layer 4 (read tape), unit 3, which has no task, bias"),
        ("transformer.h.1.mlp.c_fc.bias", (0,), "layer 2 (head position), unit 0, which has no task, bias"),
        ("transformer.h.3.mlp.c_proj.weight", (1, HALF + H), "layer 4 (read tape), unit 'h_{j*-1} = h: d', writes -h"),
        ("transformer.h.3.mlp.c_proj.bias", (H,), "layer 4 (read tape), mlp.c_proj.bias, at h"),
    ],
)
def test_what_an_entry_does(name: str, at: tuple[int, ...], words: str) -> None:
    assert (GPT2.width, GPT2.mirror, GPT2.head_size) == (D, HALF, SIZE)
    assert described(GPT2, name, at) == words
