"""What the certificate of plain exports assumes of order, taken at its word.

A forward pass by the decoder's own matrices, in which matrix products add up in any order, with and without fused
multiply-add, and only the components of a score are added from the first to the last.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from benchmarks.machines import rewriter, runner
from tests.targets.gpt2.kernels import ORDERS, Ordered
from tests.targets.matrices.programs import needs_onnx, right_of, tokens_of
from tm2tfr.api.targets import export_to
from tm2tfr.sources.turing.compiler import compile_machine
from tm2tfr.sources.turing.library import load
from tm2tfr.sources.turing.spec import Machine
from tm2tfr.targets.matrices.contents import features, fitted, tensors

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
