"""Exports run for real, and read with hooks: what `hooks.json` says is all that is known of them here."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

import tm2tfr

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
