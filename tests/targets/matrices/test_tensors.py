"""What an export with a decoder's own matrices says of itself, what fits, and in what order its kernels add."""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from benchmarks.machines import rewriter, runner
from tests.targets.gpt2.kernels import ORDERS, Ordered
from tests.targets.matrices.programs import needs_onnx, right_of, tokens_of
from tm2tfr.api.targets import export_to
from tm2tfr.base.errors import ExportError
from tm2tfr.sources.turing.compiler import compile_machine
from tm2tfr.sources.turing.library import load
from tm2tfr.sources.turing.spec import Machine
from tm2tfr.targets.common.fitting import Recipe
from tm2tfr.targets.matrices import contents
from tm2tfr.targets.matrices.contents import described, features, fitted, names, tensors

MACHINE = load("chapter")
DECODER = compile_machine(MACHINE)
H, X = DECODER.layout.index("h"), DECODER.layout.index("e_a[x]")


@pytest.mark.parametrize(
    ("path", "at", "words"),
    [
        ("token_embedding", (X, 1), "embedding of BOS: e_a[x]"),
        ("position_embedding", (H, 3), "embedding of the position's i^2: h"),
        ("unembedding", (2, X), "logit of ACC, reads e_a[x]"),
        ("unembedding_bias", (2, 0), "logit of ACC, bias"),
        ("layers.4.heads.0.query", (2, H), "layer 4 (read tape), head 'latest write', query 2, reads h"),
        ("layers.4.heads.0.key", (1, X), "layer 4 (read tape), head 'latest write', key 1, reads e_a[x]"),
        ("layers.3.heads.1.value", (1, H), "layer 3 (read input), head 'cell h_{i-1}', value 1, reads h"),
        ("layers.3.heads.1.output", (H, 1), "layer 3 (read input), head 'cell h_{i-1}', value 1, writes h"),
        ("layers.4.feed_forward.input", (1, H), "layer 4 (read tape), unit 'h_{j*-1} = h: d', reads h"),
        ("layers.4.feed_forward.input_bias", (2, 0), "layer 4 (read tape), unit 'h_{j*-1} = h: d-1', bias"),
        ("layers.4.feed_forward.output", (H, 1), "layer 4 (read tape), unit 'h_{j*-1} = h: d', writes h"),
        ("layers.4.feed_forward.output_bias", (H, 0), "layer 4 (read tape), adds to h"),
    ],
)
def test_what_an_entry_does(path: str, at: tuple[int, int], words: str) -> None:
    assert described(DECODER, path, at) == words


def test_position_features_are_rounded_once() -> None:
    assert DECODER.features == ("1/(i+1)", "1", "i", "i^2")
    found = features(DECODER, 6000, "float32")
    assert found[[0, 1, 9]].tolist() == [[1, 1, 0, 0], [0.5, 1, 1, 1], [float(np.float32(0.1)), 1, 9, 81]]
    third = [float(np.float32(Fraction(1, i + 1))) for i in range(6000)]
    assert (found[:, 0].tolist(), found[5999, 3]) == (third, np.float32(5999**2))


def test_the_temperature_is_the_largest_power_of_two_that_theorem_26_allows() -> None:
    """For 64 positions, where the smallest gap is the tie-break's, 1/128, it allows 4.44e-05."""
    assert names(DECODER, Recipe(positions=64, max_head=63), "x")["temperature"] == 2.0**-15


def test_float32_takes_half_as_many_bytes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(contents, "LARGEST", DECODER.parameters * 4)
    assert fitted(right_of(MACHINE), positions=9, dtype="float32").positions == 9
    with pytest.raises(
        ExportError, match="chapter: its matrices would have 0.0 GiB with their zeros, but at most 0 GiB are allow"
    ):
        fitted(right_of(MACHINE), positions=9)
    monkeypatch.setattr(contents, "LARGEST", DECODER.parameters * 4 - 1)
    with pytest.raises(ExportError, match="export a smaller machine"):
        fitted(right_of(MACHINE), positions=9, dtype="float32")


Array = NDArray[Any]
EACH = [(order, fused) for order in ORDERS for fused in (False, True) if not (fused and order == "pairwise")]


def answers(machine: Machine, tokens: list[str], dtype: str, kernel: Ordered) -> list[str]:
    """Return the token of maximal logit behind each of `tokens`."""
    decoder, n = compile_machine(machine), len(tokens)
    t = tensors(decoder, dtype)

    def applied(name: str, x: Array, bias: str = "") -> Array:
        rows = t[name].shape[0]
        return kernel.product(x, t[name].T, t[bias][:, 0] if bias else np.zeros(rows, dtype=x.dtype))

    def added(path: str, x: Array) -> Array:
        q, k, v = (applied(f"{path}.{part}", x) for part in ("query", "key", "value"))
        scores = np.zeros((n, n), dtype=x.dtype)
        for c in range(q.shape[1]):
            products = np.multiply.outer(q[:, c], k[:, c])
            if kernel.fused:  # in float64 products of float32s are exact
                scores = (np.multiply.outer(q[:, c].astype(float), k[:, c].astype(float)) + scores).astype(x.dtype)
            else:
                scores = scores + products
        scores = np.where(np.tril(np.ones((n, n), dtype=bool)), scores, -np.inf)
        shares = (scores == scores.max(axis=1, keepdims=True)).astype(x.dtype)
        mean = kernel.mixed(shares[None], v[None])[0] / shares.sum(axis=1, keepdims=True)
        return applied(f"{path}.output", mean)

    columns = [decoder.vocabulary.index(token) for token in tokens]
    x = t["token_embedding"].T[columns] + applied("position_embedding", features(decoder, n, dtype))
    for number, layer in enumerate(decoder.layers, start=1):
        heads = [added(f"layers.{number}.heads.{k}", x) for k in range(len(layer.heads))]
        for each in heads:
            x = x + each
        if layer.feed_forward is not None:
            path = f"layers.{number}.feed_forward"
            inner = np.maximum(applied(f"{path}.input", x, f"{path}.input_bias"), 0)
            x = x + applied(f"{path}.output", inner, f"{path}.output_bias")
    return [decoder.vocabulary[best] for best in applied("unembedding", x, "unembedding_bias").argmax(axis=1)]


@pytest.mark.slow
@pytest.mark.parametrize(("order", "fused"), EACH)
def test_at_the_limits_of_float32(order: str, fused: bool) -> None:
    for machine, word, positions, head in (
        (runner(), "", 161, 160),
        (runner("one-way"), "", 161, 160),
        (load("binary-increment"), "1" * 60, 161, 160),
        (rewriter(), "1" * 62, 1000, 63),
    ):
        assert fitted(right_of(machine), positions=positions, max_head=head, dtype="float32")
        tokens, wanted = tokens_of(machine, word, positions)
        assert answers(machine, tokens, "float32", Ordered(order, fused)) == wanted, machine.name


@needs_onnx
@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.parametrize("optimized", [False, True])
def test_onnx_runtime_with_and_without_its_optimizations(threads: int, optimized: bool, tmp_path: Path) -> None:
    import onnxruntime

    machine = rewriter()
    done = export_to("onnx", machine, tmp_path / "x", positions=1000, max_head=60, dtype="float32", verify=False)
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = threads
    levels = onnxruntime.GraphOptimizationLevel
    options.graph_optimization_level = levels.ORT_ENABLE_ALL if optimized else levels.ORT_DISABLE_ALL
    session = onnxruntime.InferenceSession(str(done.folder / "model.onnx"), options, providers=["CPUExecutionProvider"])
    tokens, wanted = tokens_of(machine, "1" * 59, 700)
    vocabulary = compile_machine(machine).vocabulary
    (logits,) = session.run(["logits"], {"input_ids": np.array([[vocabulary.index(token) for token in tokens]])})
    assert [vocabulary[best] for best in logits[0].argmax(axis=-1)] == wanted
