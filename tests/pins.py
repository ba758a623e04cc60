"""What a change that is not about the construction must leave as it is: digests of everything that shipped machines become.

``python -m tests.pins`` writes `pins.json` anew, for a change that is meant to alter the construction or a table.
"""

from __future__ import annotations

import hashlib
import json
import tempfile
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import numpy as np

import tm2tfr
from tm2tfr.transformer.weights import matrices

PINS = Path(__file__).parent / "pins.json"
TABLES = ("text", "markdown", "latex", "csv", "json", "jsonl", "html")
TARGETS = ("gpt2", "lens", "torch", "onnx")
MAX_STEPS = 120


def sha(parts: Iterable[bytes]) -> str:
    total = hashlib.sha256()
    for part in parts:
        total.update(part)
    return total.hexdigest()[:32]


def arrays(named: Mapping[str, Any]) -> str:
    """A digest of arrays by name: their types, shapes and bytes."""
    found = {name: np.ascontiguousarray(array) for name, array in named.items()}
    return sha(f"{n} {a.dtype} {a.shape}".encode() + a.tobytes() for n, a in sorted(found.items()))


def decoders(name: str) -> dict[str, tm2tfr.Decoder]:
    """The decoders of a shipped machine, by their left boundary."""
    machine = tm2tfr.load(name)
    kinds = ("repaired", "chapter") if machine.tape == "one-way" else (None,)
    return {str(kind): tm2tfr.compile(machine, left_boundary=kind) for kind in kinds}


def weights(decoder: tm2tfr.Decoder) -> str:
    parts = [repr((decoder.vocabulary, decoder.layout.directions, decoder.bos, decoder.stop, decoder.features)).encode()]
    for path, m in matrices(decoder).items():
        parts += [f"{path} {m.shape}".encode(), m.rows.tobytes(), m.columns.tobytes(), m.values.tobytes()]
    return sha(parts)


def tables(decoder: tm2tfr.Decoder) -> dict[str, str]:
    trace = tm2tfr.check(decoder, engine="dense", max_steps=MAX_STEPS)
    found = {form: sha([tm2tfr.table(trace, form).encode()]) for form in TABLES}
    return {**found, "trace": sha([json.dumps(trace.as_dict(), ensure_ascii=False).encode()])}


def texts(decoder: tm2tfr.Decoder) -> dict[str, str]:
    return {"listing": sha([tm2tfr.listing(decoder).encode()]), "summary": sha([tm2tfr.summary(decoder).encode()])}


def tensors(decoder: tm2tfr.Decoder, target: str) -> str:
    """The digest of an export's tensors."""
    with tempfile.TemporaryDirectory() as folder:
        made = Path(folder) / "made"
        tm2tfr.export_to(target, decoder, made, positions=64, verify=False)
        if target == "onnx":
            import onnx

            graph = onnx.load(str(made / "model.onnx")).graph
            return arrays({each.name: onnx.numpy_helper.to_array(each) for each in graph.initializer})
        from safetensors.numpy import load_file

        (file,) = made.glob("*.safetensors")
        return arrays(load_file(str(file)))


def pinned(name: str) -> dict[str, Any]:
    """Everything but the exports of a shipped machine."""
    return {kind: {"weights": weights(d), **texts(d), **tables(d)} for kind, d in decoders(name).items()}


def exported(name: str) -> dict[str, str]:
    """The exports of a shipped machine."""
    decoder = next(iter(decoders(name).values()))
    return {target: tensors(decoder, target) for target in TARGETS}


if __name__ == "__main__":
    every = {name: {"plain": pinned(name), "exports": exported(name)} for name in sorted(tm2tfr.shipped())}
    PINS.write_text(json.dumps(every, indent=1, sort_keys=True) + "\n", encoding="utf-8")
