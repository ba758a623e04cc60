"""Subjects of all sources with short inputs, their specifications by position, and their exports, read with hooks."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

import tm2tfr
from tm2tfr.contract.labelling import HeadLabels, Ragged
from tm2tfr.contract.specification import vector
from tm2tfr.lab.labels.runs import LabelledRuns, LabelRows
from tm2tfr.runs.choose import truth_of

# ── subjects of all sources with short inputs, and what references say of their runs, position by position
Case = tuple[str, dict[str, Any], tuple[str, ...]]
CASES: tuple[Case, ...] = (
    ("chapter", {}, ("11", "", "1")),
    ("palindromes", {}, ("aba", "", "ab")),
    ("busy-beaver-3", {}, ("",)),
    ("left-edge", {"left_boundary": "chapter"}, ("",)),
    ("busy-beaver-2", {"universal": (3, 2)}, ("",)),
    ("parity", {"universal": (3, 3), "seed": 5}, ("101", "")),
    ("full-adder", {}, ("101", "000")),
    ("full-adder", {"variant": "paper-hard"}, ("011",)),
    ("full-adder", {"variant": "paper"}, ("110",)),
    ("reverse", {}, ("abc", "a")),
    ("sort", {}, ("cab",)),
    ("histogram", {}, ("aab",)),
    ("dyck-1", {}, ("(())", ")(")),
    ("most-frequent", {}, ("aab",)),
    ("count", {}, ("aba",)),
    ("since-b", {}, ("abca", "c")),
    ("hop-1", {}, ("abcab",)),
    ("a-n-b-n", {}, ("aabb", "ab")),
    ("ends-as-it-begins", {}, ("aba",)),
    ("prime-count", {}, ("aab",)),
    ("after-a-until-b", {}, ("abaab",)),
)
"""The name of a shipped program, options of its construction, inputs."""
STEPS = 60


def ids(case: Case) -> str:
    name, options, _ = case
    return " ".join([name, *(f"{key}={value}" for key, value in options.items())])


def labelled(case: Case) -> tuple[Any, LabelledRuns, LabelRows]:
    name, options, words = case
    subject = tm2tfr.Subject.of(name, options=options)
    engine = "auto" if subject.decoder.positions is not None else "dense"
    runs = LabelledRuns(subject.decoder, subject.right, engine, STEPS)
    rows, differs, left_out = runs.labelled([subject.word(word) for word in words])
    assert differs is None
    assert len(rows.words) == len(words) - len(left_out) > 0
    return subject, runs, rows


def specified(subject: Any, word: str, positions: int) -> Any:
    """The specification of a run, which says of one position after the other what labels say of all."""
    truth = truth_of(subject.right, word, subject.decoder, STEPS)
    assert truth is not None
    return truth.specification(positions - 1)


def right(specification: Any, subspace: Any, i: int) -> list[float]:
    return [float(value) for value in vector(subspace, specification.values(i)[subspace.holds])]


def looked(rows: LabelRows, head: HeadLabels, run: int, i: int) -> list[int]:
    """The positions that a head attends to from position i of a run, by the labels."""
    start, end = rows.offsets[run : run + 2].tolist()
    column, row = rows.attended.get(head.column), start + i
    if isinstance(column, Ragged) and not column.everything[row]:
        found: list[int] = column.places[column.offsets[row] : column.offsets[row + 1]].tolist()
        return found
    if isinstance(column, np.ndarray):
        return [int(column[row])]
    return list({"future": range(i + 1), "past": range(i, end - start), "none": range(end - start)}[head.mask])


def pattern(rows: LabelRows, head: HeadLabels, run: int) -> NDArray[np.float64]:
    """The attention weights that labels say: (n, n)."""
    n = int(np.diff(rows.offsets)[run])
    found = np.zeros((n, n))
    for i in range(n):
        places = looked(rows, head, run, i)
        found[i, places] = 1 / len(places)
    return found


# ── exports run for real, and read with hooks: what `hooks.json` says is all that is known of them here
Stages = dict[tuple[int, str], NDArray[np.float64]]
Patterns = dict[tuple[int, int], NDArray[np.float64]]


def export(target: str, subject: Any, folder: Path, positions: int | None) -> Path:
    tm2tfr.export_to(target, subject, folder, positions=positions, verify=False)
    return folder


def run(target: str, folder: Path, said: Mapping[str, Any], tokens: Sequence[int]) -> tuple[Stages, Patterns]:
    """The stream at each hook point, (n, width), and each head's weights, (n, n), of one run fed to an export."""
    import torch

    given = torch.tensor([list(tokens)])
    model, call = _model(target, folder, given)
    modules = dict(model.named_modules())
    seen: dict[str, Any] = {}
    hooks = []

    def keep(name: str, side: str) -> None:
        if side == "input":
            hooks.append(modules[name].register_forward_pre_hook(lambda _m, args: seen.__setitem__((name, side), args[0])))
        else:
            hooks.append(modules[name].register_forward_hook(lambda _m, _a, x: seen.__setitem__((name, side), x)))

    names = {(p["layer"], p["part"]): (p["module"], p["side"]) for p in said["points"]}
    weights = {(a["layer"], a["head"]): a["weights"] for a in said["attention"]}
    if target == "lens":
        patterns = {key: text.partition("[")[0] for key, text in weights.items()}
        wanted = [name for name, _ in names.values()] + [*patterns.values()]
        with torch.inference_mode():
            _, cache = model.run_with_cache(given, names_filter=wanted)
        found = {key: _array(cache[name]) for key, (name, _) in names.items()}
        return found, {key: _array(cache[name])[key[1]] for key, name in patterns.items()}
    for name, side in names.values():
        keep(name, side)
    shares = {}
    if target == "torch":
        shares = {key: text.split()[5].rstrip(";") for key, text in weights.items()}
        for name in shares.values():
            keep(name, "output")
    try:
        with torch.inference_mode():
            out = call()
    finally:
        for hook in hooks:
            hook.remove()
    found = {key: _array(seen[at]) for key, at in names.items()}
    if target == "torch":
        rows = {key: _array(seen[name, "output"]) for key, name in shares.items()}
        return found, {key: each / each.sum(axis=1, keepdims=True) for key, each in rows.items()}
    return found, {(layer, head): _array(out.attentions[layer])[head] for layer, head in weights}


def _array(tensor: Any) -> NDArray[np.float64]:
    found: NDArray[np.float64] = tensor.double().numpy()
    return found[0] if found.ndim > 2 else found


def _model(target: str, folder: Path, given: Any) -> tuple[Any, Any]:
    if target == "torch":
        from tm2tfr.targets.torch.target import TorchRunning

        model = TorchRunning(folder).model
        return model, lambda: model(given[0])
    if target == "lens":
        from tm2tfr.targets.lens.target import LensRunning

        return LensRunning(folder).model, None
    import transformers

    config = transformers.AutoConfig.from_pretrained(folder)
    kind = getattr(transformers, config.architectures[0])
    model = kind.from_pretrained(folder, attn_implementation="eager").eval()
    return model, lambda: model(given, output_attentions=True)


def values(said: Mapping[str, Any], subspace: str, stream: NDArray[np.float64]) -> NDArray[np.float64]:
    """The values of a subspace's directions, (n, width), read off a stream as hooks.json says."""
    where = said["directions"][subspace]
    read = stream[:, where["index"]]
    if "mirror" in where:
        read = (read - stream[:, where["mirror"]]) / 2
    return read * np.array(where["scale"])
