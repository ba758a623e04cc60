"""Edits of an export by which somebody could make a program run something else, or make the verification fail.

An edit is a name and a function that changes a directory. None of them leaves a checkpoint that is as it was exported.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterator
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
from safetensors import numpy as safetensors

Edit = tuple[str, Callable[[Path], object]]
JSON = {
    "gpt2": ("config.json", "generation_config.json", "tokenizer_config.json", "tokenizer.json", "tm2tfr.json"),
    "lens": ("lens.json", "tokenizer_config.json", "tokenizer.json", "tm2tfr.json"),
    "torch": ("tm2tfr.json",),
    "onnx": ("tm2tfr.json",),
}
"""Target -> the JSON files of its exports."""
TENSORS = {"gpt2": "model.safetensors", "lens": "model.safetensors", "torch": "weights.safetensors"}
REMOVABLE = {("gpt2", "config.json", "torch_dtype")}
"""What may be missing: `transformers` does not write it when it saves the model again."""

BESIDE = (
    *("torch.py", "numpy.py", "json.py", "safetensors.py", "argparse.py", "onnxruntime.so", "transformers.pyc"),
    *("pytorch_model.bin", "model.safetensors.index.json", "model-00001-of-00002.safetensors", "other.safetensors"),
    *("adapter_config.json", "adapter_model.safetensors", "chat_template.jinja", "added_tokens.json"),
    *("special_tokens_map.json", "vocab.json", "merges.txt", "tokenizer.model", "preprocessor_config.json"),
    *("modeling.py", "custom.py", "config.4.0.0.json", "tokenizer.4.0.0.json", "model.onnx.data", "weights.bin"),
    *("tm2tfr.JSON", "sitecustomize.py", "notes.txt", "\n.json", "a\u001b[2Jb"),
)
FOLDERS = ("torch", "custom_generate", "__pycache__", "notes.md", "additional_chat_templates")


def beside() -> Iterator[Edit]:
    """Yield further files and folders."""
    for name in BESIDE:
        yield f"beside {name!r}", lambda folder, name=name: (folder / name).write_text("{}", encoding="utf-8")
    for name in FOLDERS:
        yield f"folder {name!r}", lambda folder, name=name: ((folder / name).mkdir(), (folder / name / "x.py").touch())


def instead(file: str) -> Iterator[Edit]:
    """Yield what can stand in the place of a file."""

    def replaced(content: Callable[[bytes], bytes]) -> Callable[[Path], object]:
        return lambda folder: (folder / file).write_bytes(content((folder / file).read_bytes()))

    def removed(then: Callable[[Path], object]) -> Callable[[Path], object]:
        return lambda folder: ((folder / file).unlink(), then(folder / file))

    yield f"{file}: empty", replaced(lambda _: b"")
    yield f"{file}: half", replaced(lambda data: data[: len(data) // 2])
    yield f"{file}: more", replaced(lambda data: data + b"}")
    yield f"{file}: BOM", replaced(lambda data: b"\xef\xbb\xbf" + data)
    yield f"{file}: zeros", replaced(lambda data: bytes(len(data)))
    yield f"{file}: a folder", removed(lambda path: path.mkdir())
    yield f"{file}: a link to nothing", removed(lambda path: path.symlink_to("nothing"))
    yield f"{file}: a link to itself", removed(lambda path: path.symlink_to(path.name))
    yield f"{file}: a link to a device", removed(lambda path: path.symlink_to("/dev/zero"))
    yield f"{file}: a pipe", removed(os.mkfifo)
    yield f"{file}: vast", removed(lambda path: (path.touch(), os.truncate(path, 2**40)))


def texts(file: str) -> Iterator[Edit]:
    """Yield what can be done to a JSON file as a text."""

    def rewritten(change: Callable[[str], str], encoding: str = "utf-8") -> Callable[[Path], object]:
        def edit(folder: Path) -> None:
            text = change((folder / file).read_text(encoding="utf-8"))
            (folder / file).write_bytes(text.encode(encoding, errors="replace"))

        return edit

    def twice(text: str) -> str:
        name, value = next(iter(json.loads(text).items()))
        return f"{text.rstrip()[:-1]}, {json.dumps(name)}: {json.dumps(value)}}}"

    yield f"{file}: UTF-16", rewritten(lambda text: text, "utf-16")
    yield f"{file}: Latin-1", rewritten(lambda text: text.replace("{", '{"é": 1, ', 1), "latin-1")
    yield f"{file}: a key twice", rewritten(twice)
    yield (
        f"{file}: another value first",
        rewritten(lambda text: text.replace("{", '{"vocab_size": 1, "vocab_size": 2, ', 1)),
    )
    yield f"{file}: deep", rewritten(lambda _: "[" * 100_000)
    yield f"{file}: deep within", rewritten(lambda text: text.replace("{", '{"x": ' + "[" * 900 + "]" * 900 + ",", 1))
    yield f"{file}: NaN", rewritten(lambda text: text.replace("{", '{"x": NaN,', 1))
    yield f"{file}: a long number", rewritten(lambda text: text.replace("{", '{"x": ' + "9" * 5000 + ",", 1))
    yield f"{file}: half a character", rewritten(lambda text: text.replace("{", '{"\\ud800": "\\udfff",', 1))
    for value in ("null", "[]", "1", '"x"', "{}"):
        yield f"{file}: only {value}", rewritten(lambda _, value=value: value)


def changes(value: Any) -> Iterator[Any]:
    """Yield values that are another one, of the same kind and of others."""
    if isinstance(value, bool):
        yield from (not value, int(value), str(value), None)
    elif isinstance(value, int):
        yield from (value + 1, -value - 1, float(value), str(value), [value], None, 2**70)
    elif isinstance(value, float):
        yield from (value * 2 + 1, str(value), None, 1e999)
        if value == int(value) and abs(value) < 2**50:
            yield int(value)
        if value == 0:
            yield -0.0
    elif isinstance(value, str):
        yield from (f"{value}x", [value], None, True, 3, {"x": value}, "")
    elif isinstance(value, list):
        yield from ([*value, *value[:1], 0], value[1:] if value else [[]], [value], dict(enumerate(value)), None, "x")
    elif isinstance(value, dict):
        yield from ({**value, "further": 1}, {} if value else [], [value], None, "x")
    else:
        yield from (0, False, "", [], {}, {"x": 1})


def places(value: Any, most: int, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """Yield the places in a value of JSON, of each list and each object the first ones."""
    if path:
        yield path
    inner = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for n, (name, each) in enumerate(inner):
        if n < most or not path:
            yield from places(each, most, (*path, name))


def settings(target: str, file: str, folder: Path) -> Iterator[Edit]:
    """Yield another value, at each place of a JSON file, in the value's own kind and in others; none; and further ones."""
    right = json.loads((folder / file).read_text(encoding="utf-8"))

    def at(path: tuple[Any, ...], change: Callable[[Any, Any], object]) -> Callable[[Path], object]:
        def edit(folder: Path) -> None:
            value = json.loads((folder / file).read_text(encoding="utf-8"))
            inner = value
            for name in path[:-1]:
                inner = inner[name]
            change(inner, path[-1])
            (folder / file).write_text(json.dumps(value), encoding="utf-8")

        return edit

    for path in places(right, 1):
        value = right
        for name in path:
            value = value[name]
        if "provenance" in path and len(path) > path.index("provenance") + 1 and path[-1] != "construction":
            continue  # names may be others; the machine has a test of its own
        for new in islice(changes(value), 9 if len(path) == 1 else 4):
            if path[-1] == "tm2tfr" and isinstance(value, str) and isinstance(new, str) and target == "torch":
                continue  # the version that has written it may be another, and is said nowhere else
            yield f"{file}: {path} = {new!r:.40}", at(path, lambda inner, name, new=new: inner.__setitem__(name, new))
        if (target, file, *path) not in REMOVABLE and "provenance" not in path:
            yield f"{file}: no {path}", at(path, lambda inner, name: inner.pop(name))


def tensors(file: str) -> Iterator[Edit]:
    """Yield what can be done to a file of tensors."""

    def rewritten(change: Callable[[dict[str, Any]], object], metadata: Any = None) -> Callable[[Path], object]:
        def edit(folder: Path) -> None:
            found = safetensors.load_file(folder / file)
            change(found)
            safetensors.save_file(found, folder / file, {"format": "pt"} if metadata is None else metadata)

        return edit

    def value(number: float) -> Callable[[Path], object]:
        def change(found: dict[str, Any]) -> None:
            name = sorted(found)[len(found) // 2]
            found[name].flat[-1] = number

        return rewritten(change)

    def each(change: Callable[[Any], Any]) -> Callable[[Path], object]:
        return rewritten(lambda found: found.update({name: change(array) for name, array in found.items()}))

    def header(change: Callable[[dict[str, Any]], object] | None, text: str = "") -> Callable[[Path], object]:
        def edit(folder: Path) -> None:
            data = (folder / file).read_bytes()
            end = 8 + int.from_bytes(data[:8], "little")
            said = json.loads(data[8:end])
            if change is not None:
                change(said)
            head = (text + json.dumps(said)[1:] if text else json.dumps(said)).encode()
            (folder / file).write_bytes(len(head).to_bytes(8, "little") + head + data[end:])

        return edit

    def kinds(name: str) -> Callable[[dict[str, Any]], object]:
        return lambda said: [each.update(dtype=name) for key, each in said.items() if key != "__metadata__"]

    for number in (np.nan, np.inf, -np.inf, 5e-324, 1e308, 12345.0):
        yield f"{file}: {number}", value(number)
    for dtype in (np.float16, np.float32, np.int64, np.int8, np.bool_, np.uint8):
        yield f"{file}: {np.dtype(dtype)}", each(lambda array, dtype=dtype: np.nan_to_num(array).astype(dtype))
    for name in ("BF16", "F8_E4M3", "F8_E5M2", "U64", "C64", "F32", "XX"):
        yield f"{file}: called {name}", header(kinds(name))
    yield f"{file}: none", rewritten(lambda found: found.clear())
    yield f"{file}: one less", rewritten(lambda found: found.pop(max(found)))
    yield f"{file}: one more", rewritten(lambda found: found.update(further=np.zeros(2)))
    yield f"{file}: odd names", rewritten(lambda found: found.update({"a\n\u001b[2J": np.zeros(2), "": np.zeros(1)}))
    yield f"{file}: empty ones", rewritten(lambda found: found.update(further=np.zeros((0, 3)), other=np.array(3.0)))
    yield f"{file}: renamed", rewritten(lambda found: found.update(renamed=found.pop(max(found))))
    yield (
        f"{file}: without prefix",
        rewritten(lambda found: found.update({min(found).split(".", 1)[-1] + "x": np.zeros(3)})),
    )
    yield f"{file}: flat", each(lambda array: array.reshape(-1))
    yield f"{file}: all others", each(lambda array: array + 1)
    yield f"{file}: all doubled", each(lambda array: array * 2)
    yield f"{file}: backwards", each(lambda array: np.ascontiguousarray(array[::-1]) - (array.ndim < 2))
    yield f"{file}: transposed", each(lambda array: np.ascontiguousarray(array.T) + (array.ndim < 2))
    for metadata in ({}, {"format": "tf"}, {"format": "pt", "further": "1"}, {"format": "mlx"}, {"Format": "pt"}):
        yield f"{file}: metadata {metadata}", rewritten(lambda _: None, metadata)
    yield f"{file}: a metadata of numbers", header(lambda said: said["__metadata__"].update(format=1))
    yield f"{file}: a place twice", header(None, '{"further": {"dtype": "F64", "shape": [1], "data_offsets": [0, 8]},')
    yield f"{file}: a name twice", header(None, '{"__metadata__": {"format": "tf"},')
    yield f"{file}: vast shapes", header(lambda said: said[max(said)].update(shape=[2**62, 2**62]))


def onnx() -> Iterator[Edit]:
    """Yield what can be done to a graph."""
    import onnx
    from onnx import TensorProto, helper, numpy_helper

    def rewritten(change: Callable[[Any], object]) -> Callable[[Path], object]:
        def edit(folder: Path) -> None:
            model = onnx.load(folder / "model.onnx")
            change(model)
            (folder / "model.onnx").write_bytes(model.SerializeToString())

        return edit

    def node(model: Any, kind: str) -> Any:
        return next(each for each in model.graph.node if each.op_type == kind)

    def initializer(model: Any) -> Any:
        return next(each for each in model.graph.initializer if each.name == "unembedding")

    def doubled(model: Any) -> None:
        again = numpy_helper.from_array(numpy_helper.to_array(initializer(model)) * -1, "unembedding")
        model.graph.initializer.insert(0, again)

    def external(model: Any) -> None:
        each = initializer(model)
        each.data_location = TensorProto.EXTERNAL
        each.external_data.add(key="location", value="README.md")

    def function(model: Any) -> None:
        inner = [helper.make_node("Neg", ["x"], ["y"])]
        model.functions.append(helper.make_function("", "Relu", ["x"], ["y"], inner, [helper.make_opsetid("", 18)]))

    def typed(model: Any) -> None:
        each = initializer(model)
        each.double_data.extend(numpy_helper.to_array(each).ravel().tolist())

    def sparse(model: Any) -> None:
        values, indices = helper.make_tensor("s", 11, [1], [1.0]), helper.make_tensor("i", 7, [1], [0])
        model.graph.sparse_initializer.append(helper.make_sparse_tensor(values, indices, [4]))

    def unknown(folder: Path) -> None:
        path = folder / "model.onnx"
        path.write_bytes(path.read_bytes() + b"\xba\x3e\x02hi")  # field 1,007

    yield "doubled initializer", rewritten(doubled)
    yield "doubled at the end", rewritten(lambda m: m.graph.initializer.append(initializer(m)))
    yield "external data", rewritten(external)
    yield "data in two fields", rewritten(typed)
    yield "sparse initializer", rewritten(sparse)
    yield "local function", rewritten(function)
    yield "unknown field", unknown
    yield (
        "initializer as input",
        rewritten(lambda m: m.graph.input.append(helper.make_tensor_value_info("unembedding", 11, [1, 2]))),
    )
    yield "one input less", rewritten(lambda m: m.graph.input.pop())
    yield "one output less", rewritten(lambda m: m.graph.output.pop())
    yield "other outputs", rewritten(lambda m: m.graph.output.reverse())
    yield "other types", rewritten(lambda m: setattr(m.graph.output[0].type.tensor_type, "elem_type", 1))
    yield "value info", rewritten(lambda m: m.graph.value_info.append(helper.make_tensor_value_info("n", 7, [3])))
    yield "no nodes", rewritten(lambda m: m.graph.ClearField("node"))
    yield "no initializers", rewritten(lambda m: m.graph.ClearField("initializer"))
    yield "no graph", rewritten(lambda m: m.ClearField("graph"))
    yield "another order of initializers", rewritten(lambda m: m.graph.initializer.reverse())
    yield "another name", rewritten(lambda m: setattr(m.graph, "name", "other"))
    yield "a text in the graph", rewritten(lambda m: setattr(m.graph, "doc_string", "x"))
    yield "a text in an initializer", rewritten(lambda m: setattr(initializer(m), "doc_string", "x"))
    yield "metadata of the graph", rewritten(lambda m: m.graph.metadata_props.add(key="x", value="y"))
    yield "quantization", rewritten(lambda m: m.graph.quantization_annotation.add(tensor_name="unembedding"))
    yield "training", rewritten(lambda m: m.training_info.add())
    yield "further metadata", rewritten(lambda m: m.metadata_props.add(key="x", value="y"))
    yield "metadata twice", rewritten(lambda m: m.metadata_props.add(key="tm2tfr", value="{}"))
    yield "no metadata", rewritten(lambda m: m.ClearField("metadata_props"))
    yield "metadata that are no JSON", rewritten(lambda m: setattr(m.metadata_props[0], "value", "{"))
    yield "deep metadata", rewritten(lambda m: setattr(m.metadata_props[0], "value", "[" * 100_000))
    yield "another opset", rewritten(lambda m: setattr(m.opset_import[0], "version", 17))
    yield "another domain", rewritten(lambda m: m.opset_import.add(domain="com.microsoft", version=1))
    yield "no opset", rewritten(lambda m: m.ClearField("opset_import"))
    yield "another IR version", rewritten(lambda m: setattr(m, "ir_version", 10))
    yield "another producer", rewritten(lambda m: setattr(m, "producer_name", "x"))
    yield "a model version", rewritten(lambda m: setattr(m, "model_version", 3))
    yield "a domain", rewritten(lambda m: setattr(m, "domain", "x"))
    yield "a text", rewritten(lambda m: setattr(m, "doc_string", "x"))
    yield "a node's domain", rewritten(lambda m: setattr(node(m, "Relu"), "domain", "com.microsoft"))
    yield "a node's overload", rewritten(lambda m: setattr(node(m, "Relu"), "overload", "x"))
    yield "a node's text", rewritten(lambda m: setattr(node(m, "Relu"), "doc_string", "x"))
    yield "a node's operator", rewritten(lambda m: setattr(node(m, "Relu"), "op_type", "Identity"))
    yield "a node's attribute", rewritten(lambda m: setattr(node(m, "ReduceMax").attribute[0], "i", 0))
    yield "a further attribute", rewritten(lambda m: node(m, "Relu").attribute.append(helper.make_attribute("x", 1)))
    yield "a node less", rewritten(lambda m: m.graph.node.pop())
    yield "a node twice", rewritten(lambda m: m.graph.node.append(m.graph.node[-1]))
    yield "other nodes first", rewritten(lambda m: m.graph.node.insert(0, helper.make_node("Identity", ["0"], ["z"])))
    for dtype in (np.float16, np.float32, np.int64):
        yield (
            f"weights as {np.dtype(dtype)}",
            rewritten(
                lambda m, dtype=dtype: initializer(m).CopyFrom(
                    numpy_helper.from_array(numpy_helper.to_array(initializer(m)).astype(dtype), "unembedding")
                )
            ),
        )
    for number in (np.nan, np.inf, 7.0):
        yield (
            f"a weight of {number}",
            rewritten(
                lambda m, number=number: initializer(m).CopyFrom(
                    numpy_helper.from_array(numpy_helper.to_array(initializer(m)) + number, "unembedding")
                )
            ),
        )
    yield "a shape that does not fit", rewritten(lambda m: initializer(m).dims.append(5))
    yield "a vast shape", rewritten(lambda m: initializer(m).dims.extend([2**40, 2**40]))
    yield "a kind that does not exist", rewritten(lambda m: setattr(initializer(m), "data_type", 99))
    yield "texts for numbers", rewritten(lambda m: setattr(initializer(m), "data_type", TensorProto.STRING))
