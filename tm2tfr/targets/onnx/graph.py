"""From a decoder to an ONNX graph: token numbers in, logits and the residual streams out.

Axes: batch, n (positions, any number up to N), width, d_k, d_v, hidden, vocabulary. Initializers have the names of the
decoder's matrices, ``layers.4.heads.0.query``, and their shapes; they act on columns, and a node transposes them.
Position features are a table of N rows, so that a longer sequence is an error in the program that runs it; those that are
expressions in i and n are computed, n being the length of the sequence, and stand beside the table's.

Scores are added up component by component, and a mean is a sum divided by a number: see `tm2tfr.targets.matrices`.
Nothing in the graph depends on the contents of the matrices. A loop over layers is a node ``Loop``; its outputs are the
streams after each of its layers in the last pass. One that states no number of passes makes `MOST_PASSES` at most.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from types import ModuleType
from typing import TYPE_CHECKING

import numpy as np

from tm2tfr._version import __version__
from tm2tfr.base import errors
from tm2tfr.contract.shown import PlainData
from tm2tfr.targets.common.directory import KEY, Array
from tm2tfr.targets.common.fitting import Recipe
from tm2tfr.targets.matrices.contents import features, tensors
from tm2tfr.targets.onnx.features import Computing
from tm2tfr.transformer.layers import LayerLoop
from tm2tfr.transformer.weights import Decoder, Head, Layer, Mask, Norm

if TYPE_CHECKING:
    import onnx

OPSET, IR_VERSION = 18, 9
"""Old enough for ONNX Runtime since 1.16."""
IDS, LOGITS = "input_ids", "logits"
FEATURES = "position_features"
SEEN: dict[Mask, str] = {"future": "past", "past": "ahead", "none": "everywhere"}
"""The mask of a head -> the node that says what it sees."""
CONSTANTS = (FEATURES, "axis -1", "hidden", "0", "1")
"""The initializers that are not matrices of the decoder."""


def required() -> ModuleType:
    """Return the module onnx.

    Raises:
        ExportError: if it is not installed.
    """
    return errors.required("an ONNX graph is written and read by the package onnx", ["onnx"], "onnx")[0]


def stream(layer: int) -> str:
    """Return the name of the output that is the residual stream after a layer; 0: before the first."""
    return f"residual.{layer}"


class Graph:
    """A graph that is being built: `nodes` in the order in which they are run, each with one or more outputs."""

    def __init__(self, initializers: Mapping[str, Array]) -> None:
        self._onnx = required()
        self.initializers = dict(initializers)
        self.nodes: list[onnx.NodeProto] = []

    def add(self, kind: str, *inputs: str, name: str, **attributes: object) -> str:
        """Add a node with one output called `name`, and return `name`."""
        self.nodes.append(self._onnx.helper.make_node(kind, list(inputs), [name], name=name, **attributes))
        return name

    def split(self, x: str, parts: int, name: str) -> list[str]:
        """Add a node that splits the last axis of `x` into single numbers, and return their names."""
        names = [f"{name}.{n}" for n in range(parts)]
        self.nodes.append(self._onnx.helper.make_node("Split", [x], names, name=name, axis=-1, num_outputs=parts))
        return names

    def constant(self, value: Array, name: str) -> str:
        """Add a constant, and return `name`."""
        return self.add("Constant", name=name, value=self._onnx.numpy_helper.from_array(value, name))

    def cast(self, x: str, dtype: str, name: str) -> str:
        """Add a conversion of `x` to a dtype of numpy, and return `name`."""
        return self.add("Cast", x, name=name, to=self._onnx.helper.np_dtype_to_tensor_dtype(np.dtype(dtype)))

    def applied(self, matrix: str, x: str, name: str) -> str:
        """Apply a matrix, (rows, columns), to `x`, (…, columns), and return the name of the result, (…, rows)."""
        return self.add("MatMul", x, self.add("Transpose", matrix, name=f"{matrix}.T"), name=name)


def built(decoder: Decoder, recipe: Recipe, names: PlainData) -> onnx.ModelProto:
    """Return `decoder` as an ``onnx.ModelProto`` with `names` as metadata.

    Raises:
        ExportError: if the package onnx is missing.
    """
    module = required()
    dtype = np.dtype(recipe.dtype)
    table, hidden = features(decoder, recipe.positions, recipe.dtype), np.array(-np.inf, dtype)
    constants = zip(CONSTANTS, (table, np.array([-1]), hidden, np.array(0), np.array(1)), strict=True)
    graph = Graph(tensors(decoder, recipe.dtype) | dict(constants))
    _nodes(graph, decoder, dtype)
    number = module.helper.np_dtype_to_tensor_dtype(dtype)
    value, width = module.helper.make_tensor_value_info, decoder.layout.width
    made = module.helper.make_graph(
        graph.nodes,
        "decoder",
        [value(IDS, module.TensorProto.INT64, ["batch", "n"])],
        [
            value(LOGITS, number, ["batch", "n", decoder.answers]),
            *(value(stream(n), number, ["batch", "n", width]) for n in range(len(decoder.layers) + 1)),
        ],
        [module.numpy_helper.from_array(array, name) for name, array in graph.initializers.items()],
    )
    opsets = [module.helper.make_opsetid("", OPSET)]
    told = {"producer_name": "tm2tfr", "producer_version": __version__, "ir_version": IR_VERSION}
    model = module.helper.make_model(made, opset_imports=opsets, **told)
    module.helper.set_model_props(model, {KEY: json.dumps(names, ensure_ascii=False)})
    module.checker.check_model(model, full_check=True)
    return model


def _nodes(graph: Graph, decoder: Decoder, dtype: np.dtype[np.floating]) -> None:
    """Add the whole forward pass."""
    length = graph.add("Squeeze", graph.add("Shape", IDS, name="length", start=1, end=2), name="n")
    i = graph.add("Range", "0", length, "1", name="i")  # (n,)
    rows = graph.add("Unsqueeze", i, "axis -1", name="i as rows")  # (n, 1)
    _seen(graph, decoder, i, rows)
    _inverses(graph, decoder, dtype)
    tokens = graph.add("Gather", graph.add("Transpose", "token_embedding", name="token_embedding.T"), IDS, name="tokens")
    places = graph.applied("position_embedding", _features(graph, decoder, i, dtype), "places")
    if decoder.position_table is None:
        x = graph.add("Add", tokens, places, name=stream(0))
    else:
        table = graph.add("Transpose", "position_table", name="position_table.T")
        rows = graph.add("Add", places, graph.add("Gather", table, i, name="rows"), name="places and rows")
        x = graph.add("Add", tokens, rows, name=stream(0))
    done = 0
    for number, loop in enumerate(decoder.loops, start=1):
        for n in range(done + 1, loop.first):
            x = _layer(graph, decoder.layers[n - 1], n, x, dtype, name=stream(n))
        x = _loop(graph, decoder, loop, number, x, dtype)
        done = loop.last
    for n in range(done + 1, len(decoder.layers) + 1):
        x = _layer(graph, decoder.layers[n - 1], n, x, dtype, name=stream(n))
    logits = graph.applied("unembedding", _read(graph, decoder.norm, "norm", x, dtype), "logits without bias")
    graph.add("Add", logits, graph.add("Transpose", "unembedding_bias", name="unembedding_bias.T"), name=LOGITS)


def _features(graph: Graph, decoder: Decoder, i: str, dtype: np.dtype[np.floating]) -> str:
    """Add the position features, and return the name of the node: (n, features)."""
    tabled = graph.add("Gather", FEATURES, i, name="features")  # (n, features with a name of their own)
    written = {name: each for name, each in decoder.expressions.items() if name in decoder.features}
    if not written:
        return tabled
    built_in = [name for name in decoder.features if name not in written]
    columns = dict(zip(built_in, graph.split(tabled, len(built_in), "feature") if built_in else [], strict=True))
    for name, each in written.items():
        numbers = graph.cast(
            Computing(graph, name).result(each.steps, f"{name} of i and n"), dtype.name, f"{name} as numbers"
        )
        whole = graph.add("Expand", numbers, "length", name=f"{name} at i")  # an expression in n alone is one number
        columns[name] = graph.add("Unsqueeze", whole, "axis -1", name=f"{name} as column")
    return graph.add("Concat", *(columns[name] for name in decoder.features), name="all features", axis=-1)


def _inverses(graph: Graph, decoder: Decoder, dtype: np.dtype[np.floating]) -> None:
    """Add 1/τ at each position as a column, (n, 1), for each temperature that is not 1."""
    temperatures = {head.inverse_temperature for layer in decoder.layers for head in layer.heads}
    for name, each in decoder.expressions.items():
        if name in temperatures:
            found = Computing(graph, f"1/τ = {name}").result(each.steps, f"1/τ = {name} of i and n")
            whole = graph.add(
                "Expand", graph.cast(found, dtype.name, f"1/τ = {name} as numbers"), "length", name=f"1/τ = {name} at i"
            )
            graph.add("Unsqueeze", whole, "axis -1", name=_inverse(name))


def _inverse(name: str) -> str:
    """Return the name of the node that is 1/τ at each position: (n, 1)."""
    return f"1/τ = {name}"


def _layer(graph: Graph, layer: Layer, n: int, x: str, dtype: np.dtype[np.floating], *, name: str) -> str:
    """Add layer n, from 1, and return the name of the stream after it, which is `name`."""
    path = f"layers.{n}"
    read = _read(graph, layer.attention_norm, f"{path}.attention_norm", x, dtype)
    added = [_head(graph, head, f"{path}.heads.{k}", read, dtype) for k, head in enumerate(layer.heads)]
    if layer.feed_forward is None and not added:
        x = graph.add("Identity", x, name=name)
    for k, each in enumerate(added):
        last = layer.feed_forward is None and k == len(added) - 1
        x = graph.add("Add", x, each, name=name if last else f"{path}.heads.{k}.stream")
    if layer.feed_forward is not None:
        read = _read(graph, layer.feed_forward_norm, f"{path}.feed_forward_norm", x, dtype)
        x = graph.add("Add", x, _feed_forward(graph, f"{path}.feed_forward", read), name=name)
    return x


def _loop(graph: Graph, decoder: Decoder, loop: LayerLoop, number: int, x: str, dtype: np.dtype[np.floating]) -> str:
    """Add a loop as a node ``Loop``, whose body is one pass, and return the name of the stream after it.

    Each sequence of a batch continues until its own last pass: `going`, (batch, 1, 1), marks those that do; the streams of
    the others do not change.
    """
    module, path, kind = required(), f"loops.{number}", required().helper.np_dtype_to_tensor_dtype(dtype)
    value, truth, numbers = module.helper.make_tensor_value_info, module.TensorProto.BOOL, range(loop.first, loop.last + 1)
    body = Graph({})
    for n in numbers:
        before = f"{path}.before" if n == loop.first else f"{path}.layer.{n - 1}"
        if n == loop.first:
            body.add("Identity", f"{path}.in.{loop.last}", name=before)
        _layer(body, decoder.layers[n - 1], n, before, dtype, name=f"{path}.layer.{n}")
    for n in numbers:
        body.add("Where", f"{path}.going", f"{path}.layer.{n}", f"{path}.in.{n}", name=f"{path}.out.{n}")
    going, more = f"{path}.going", f"{path}.more"
    if loop.until is not None:
        said = body.applied(f"{path}.until", f"{path}.out.{loop.last}", f"{path}.said")  # (batch, n, 1)
        across = body.add("Transpose", said, name=f"{path}.said.T", perm=[0, 2, 1])
        least = body.add("ReduceMin", across, "axis -1", name=f"{path}.least", keepdims=1)  # (batch, 1, 1)
        half = module.numpy_helper.from_array(np.array(0.5, dtype), f"{path}.half")
        going = body.add("Less", least, body.add("Constant", name=f"{path}.half", value=half), name=f"{path}.not yet")
        going = body.add("And", going, f"{path}.going", name=f"{path}.going on")
        left = body.add("Cast", going, name=f"{path}.left", to=kind)
        body.add("Cast", body.add("ReduceMax", left, name=f"{path}.any", keepdims=0), name=more, to=truth)
    else:
        going = body.add("Identity", going, name=f"{path}.going on")
        body.add("Identity", f"{path}.more before", name=more)
    shape = ["batch", "n", decoder.layout.width]
    made = module.helper.make_graph(
        body.nodes,
        f"{path}.pass",
        [
            value(f"{path}.pass number", module.TensorProto.INT64, []),
            value(f"{path}.more before", truth, []),
            value(f"{path}.going", truth, ["batch", 1, 1]),
            *(value(f"{path}.in.{n}", kind, shape) for n in numbers),
        ],
        [
            value(more, truth, []),
            value(going, truth, ["batch", 1, 1]),
            *(value(f"{path}.out.{n}", kind, shape) for n in numbers),
        ],
    )
    times = module.numpy_helper.from_array(np.array(loop.most), f"{path}.times")
    ids = graph.add("ReduceMax", IDS, "axis -1", name=f"{path}.ids", keepdims=1)
    first = graph.add("Unsqueeze", ids, "axis -1", name=f"{path}.each")
    every = graph.add("GreaterOrEqual", first, "0", name=f"{path}.every")  # (batch, 1, 1), true
    most = graph.add("Constant", name=f"{path}.most", value=times)
    true = module.numpy_helper.from_array(np.array([True]).reshape(()), f"{path}.true")
    begin = graph.add("Constant", name=f"{path}.begin", value=true)
    ends = [f"{path}.end", *(stream(n) for n in numbers)]
    graph.nodes.append(
        module.helper.make_node("Loop", [most, begin, every, *([x] * len(numbers))], ends, name=path, body=made)
    )
    return stream(loop.last)


def _seen(graph: Graph, decoder: Decoder, i: str, rows: str) -> None:
    """Add which position j is seen from which i, (n, n), for each mask that the heads have."""
    masks = {head.mask for layer in decoder.layers for head in layer.heads}
    past = graph.add("LessOrEqual", i, rows, name=SEEN["future"])
    if masks - {"future"}:
        ahead = graph.add("GreaterOrEqual", i, rows, name=SEEN["past"])
        graph.add("Or", past, ahead, name=SEEN["none"])


def _read(graph: Graph, norm: Norm | None, path: str, x: str, dtype: np.dtype[np.floating]) -> str:
    """Add a layer norm, if there is one, and return the name of what is read of `x`: (batch, n, width)."""
    if norm is None:
        return x
    epsilon = required().numpy_helper.from_array(np.array(norm.epsilon, dtype), f"{path}.epsilon")
    gain, bias = (graph.add("Transpose", f"{path}.{part}", name=f"{path}.{part}.T") for part in ("gain", "bias"))
    mean = graph.add("ReduceMean", x, "axis -1", name=f"{path}.mean", keepdims=1)
    centred = graph.add("Sub", x, mean, name=f"{path}.centred")
    squares = graph.add("Mul", centred, centred, name=f"{path}.squares")
    variance = graph.add("ReduceMean", squares, "axis -1", name=f"{path}.variance", keepdims=1)
    more = graph.add("Constant", name=f"{path}.epsilon", value=epsilon)
    root = graph.add("Sqrt", graph.add("Add", variance, more, name=f"{path}.shifted"), name=f"{path}.root")
    scaled = graph.add("Mul", graph.add("Div", centred, root, name=f"{path}.divided"), gain, name=f"{path}.scaled")
    return graph.add("Add", scaled, bias, name=f"{path}.read")


def _head(graph: Graph, head: Head, path: str, x: str, dtype: np.dtype[np.floating]) -> str:
    """Add a head and return the name of its output: (batch, n, width)."""
    queries, keys, values = (
        graph.applied(f"{path}.{part}", x, f"{path}.{plural}")
        for part, plural in (("query", "queries"), ("key", "keys"), ("value", "values"))
    )
    past, named = SEEN[head.mask], {"name": f"{path}.shares"}
    if parts := head.query.shape[0]:
        scores = _scores(graph, path, queries, keys, parts)  # (batch, n, n)
        if head.inverse_temperature != "1":
            scores = graph.add("Mul", scores, _inverse(head.inverse_temperature), name=f"{path}.scores at τ")
        scores = graph.add("Where", past, scores, "hidden", name=f"{path}.scores")
        best = graph.add("ReduceMax", scores, "axis -1", name=f"{path}.best", keepdims=1)
        if head.weighting == "softmax":  # a hidden score is -∞, whose power is 0
            return _carried(
                graph, path, graph.add("Exp", graph.add("Sub", scores, best, name=f"{path}.behind"), **named), values
            )
        past = graph.add("Equal", scores, best, name=f"{path}.attended")
    kind = required().helper.np_dtype_to_tensor_dtype(dtype)
    return _carried(graph, path, graph.add("Cast", past, **named, to=kind), values)


def _carried(graph: Graph, path: str, shares: str, values: str) -> str:
    """Add a head's mean of the values by their shares, and return the name of its output."""
    sums = graph.add("MatMul", shares, values, name=f"{path}.sum")  # (batch, n, d_v)
    number = graph.add("ReduceSum", shares, "axis -1", name=f"{path}.number", keepdims=1)
    return graph.applied(f"{path}.output", graph.add("Div", sums, number, name=f"{path}.mean"), f"{path}.added")


def _scores(graph: Graph, path: str, queries: str, keys: str, parts: int) -> str:
    """Add the scores, component by component, in order: the tie-break last, when the large terms have cancelled."""
    q = graph.split(queries, parts, f"{path}.query of component")  # (batch, n, 1) each
    flat = graph.split(keys, parts, f"{path}.key of component")
    k = [graph.add("Transpose", each, name=f"{each}.T", perm=[0, 2, 1]) for each in flat]  # (batch, 1, n) each
    products = [graph.add("Mul", q[c], k[c], name=f"{path}.product.{c}") for c in range(parts)]
    total = products[0]
    for c in range(1, parts):
        total = graph.add("Add", total, products[c], name=f"{path}.score.{c}")
    return total


def _feed_forward(graph: Graph, path: str, x: str) -> str:
    """Add a feed-forward layer and return the name of its output: (batch, n, width)."""
    biases = [graph.add("Transpose", f"{path}.{part}", name=f"{path}.{part}.T") for part in ("input_bias", "output_bias")]
    inner = graph.add("Add", graph.applied(f"{path}.input", x, f"{path}.read"), biases[0], name=f"{path}.inner")
    active = graph.add("Relu", inner, name=f"{path}.active")  # (batch, n, hidden)
    return graph.add("Add", graph.applied(f"{path}.output", active, f"{path}.written"), biases[1], name=f"{path}.added")
