"""Interventions carried out in an exported model by someone who has its files and a folder of interventions, and no tm2tfr.

``python patched_export.py lens EXPORT INTERVENTIONS …`` prints a line for each three arguments: the number of rows, and
those that come out otherwise.
"""

from __future__ import annotations

import importlib
import json
import sys
from collections import defaultdict
from fractions import Fraction
from pathlib import Path
from typing import Any

import torch

torch.set_num_threads(1)


class Patched:
    """An exported model in which variables are set as ``hooks.json`` says."""

    def __init__(self, target: str, export: Path, data: Path) -> None:
        hooks = json.loads((data / "hooks.json").read_text(encoding="utf-8"))
        self.recipes, self.tie = hooks["patches"]["targets"][target], hooks["patches"]["answers"]["tie"]
        vocabulary = json.loads((data / "vocabulary.json").read_text(encoding="utf-8"))
        self.numbers = {token: number for number, token in enumerate(vocabulary)}
        names = json.loads((export / "tm2tfr.json").read_text(encoding="utf-8"))
        self._refuse_other(hooks["targets"][target], names.get("recipe", {}))
        self.outputs = names.get("outputs")
        if self.outputs is None:
            self.outputs = [{"labels": vocabulary, "logits": [0, len(vocabulary)]}]
        self.patches: dict[Any, Any] = defaultdict(list)
        self.before: dict[str, Any] = {}
        self.seen: dict[Any, int] = defaultdict(int)
        self.model, self.run = getattr(self, f"_{target}")(export)

    def _refuse_other(self, said: Any, made: Any) -> None:
        """Raise ValueError if the recipes are about an export with other positions or numbers."""
        about, has = [(each.get("positions"), each.get("dtype")) for each in (said, made)]
        if made and about != has:
            about_text, has_text = (f"{positions} positions in {dtype}" for positions, dtype in (about, has))
            message = f"hooks.json is about {about_text}, and the export has {has_text.replace(' positions', '')}"
            raise ValueError(f"{message}: make both with the same --positions and --dtype")

    def _lens(self, export: Path) -> Any:
        from safetensors.torch import load_file
        from transformer_lens.model_bridge import TransformerBridge
        from transformers import AutoTokenizer

        config = json.loads((export / "lens.json").read_bytes())
        tensors = load_file(export / "model.safetensors")
        tokenizer = AutoTokenizer.from_pretrained(str(export))
        model = TransformerBridge.boot_native(config, tokenizer, dtype=tensors["embed.weight"].dtype)
        model.load_state_dict(tensors)

        def run(tokens: list[int]) -> Any:
            # a hook's own name is another than the one that it was added by, so each has its own function
            hooks = [(p["before"], self._kept(p["before"])) for p in self._points() if "before" in p]
            hooks += [(place[0], self._changed(place)) for place in self.patches]
            return model.run_with_hooks(torch.tensor([tokens]), return_type="logits", fwd_hooks=hooks)[0]

        return model, run

    def _kept(self, name: str) -> Any:
        return lambda x, hook: self.before.__setitem__(name, x.clone())

    def _changed(self, place: Any) -> Any:
        return lambda x, hook: self._written(place, x.clone())

    def _gpt2(self, export: Path) -> Any:
        import transformers

        config = transformers.AutoConfig.from_pretrained(export)
        kind = getattr(transformers, config.architectures[0])
        model = kind.from_pretrained(export, attn_implementation="eager", dtype=config.dtype).eval()
        return model, lambda tokens: self._hooked(model, lambda: model(torch.tensor([tokens])).logits[0])

    def _torch(self, export: Path) -> Any:
        sys.path.insert(0, str(export))
        code = next(name for name in ("labeller", "circuit", "universal", "model") if (export / f"{name}.py").exists())
        for name in ("labeller", "circuit", "universal", "model"):
            sys.modules.pop(name, None)
        model = importlib.import_module(code).load(export)
        sys.path.remove(str(export))
        return model, lambda tokens: self._hooked(model, lambda: model(torch.tensor(tokens)))

    def _hooked(self, model: Any, call: Any) -> Any:
        """Run a model of PyTorch with hooks at the points that are patched."""
        modules, handles = dict(model.named_modules()), []
        points = self._points()

        def keep(name: str) -> Any:
            return lambda _module, args: self.before.__setitem__(name, args[0])

        def given(place: Any, in_place: bool) -> Any:
            def change(_module: Any, args: Any) -> Any:
                x = self._written(place, args[0] if in_place else args[0].clone())
                return None if in_place else (x, *args[1:])

            return change

        def returned(place: Any) -> Any:
            def change(_module: Any, _args: Any, out: Any) -> Any:
                if isinstance(out, tuple):
                    return (self._written(place, out[0].clone()), *out[1:])
                return self._written(place, out.clone())

            return change

        for point in points:
            if "before" in point:
                handles.append(modules[point["before"]].register_forward_pre_hook(keep(point["before"])))
        for place, point in {_place(point): point for point in points}.items():
            module = modules[point["module"]]
            if point["side"] == "input":
                handles.append(module.register_forward_pre_hook(given(place, point.get("in place", False))))
            else:
                handles.append(module.register_forward_hook(returned(place)))
        try:
            return call()
        finally:
            for handle in handles:
                handle.remove()

    def _points(self) -> list[Any]:
        return [point for own in self.patches.values() for point, *_ in own]

    def _written(self, place: Any, x: Any) -> Any:
        """Write to a tensor, (positions, width) or (1, positions, width), what is set at this side of a module."""
        rows = x[0] if x.dim() == 3 else x
        start = self.seen[place]
        for point, position, places in self.patches[place]:
            if "chunk" in point:
                self.seen[place] = start + len(rows)
                if not start <= position < start + len(rows):
                    continue
            for where, numbers in places:
                new = torch.tensor(numbers, dtype=x.dtype)
                if "before" in point:
                    before = self.before[point["before"]]
                    new = new - (before[0] if before.dim() == 3 else before)[position, slice(*where)]
                rows[position - start, slice(*where)] = new
        return x

    def answers(self, row: Any) -> list[str]:
        """Return what the model answers at each position, fed the expected tokens, with the variables of a row set."""
        self.patches.clear()
        self.seen = defaultdict(int)
        for variable, position, value in zip(row["variables"], row["positions"], row["values"], strict=True):
            if position >= len(row["expected_tokens"]):  # the run ends before: another setting has cut it short
                continue
            recipe = self.recipes[variable]
            places = [written for place in recipe["places"] for written in coordinates(place, value, position)]
            self.patches[_place(recipe["point"])].append((recipe["point"], position, places))
        tokens = [self.numbers[token] for token in row["expected_tokens"]]
        with torch.no_grad():
            logits = self.run(tokens).double()
        return [", ".join(self._answer(output, at) for output in self.outputs) for at in logits]

    def _answer(self, output: Any, logits: Any) -> str:
        own = logits[slice(*output["logits"])].tolist()
        if output["labels"] is None:
            return str(Fraction(own[0]).limit_denominator(10**6))
        return str(output["labels"][next(n for n, logit in enumerate(own) if logit >= max(own) - self.tie)])


def _place(point: Any) -> tuple[str, str | None]:
    """Return what tells points of a model apart: the module, and its input or its output."""
    return point["module"], point.get("side")


def coordinates(place: Any, value: str, position: int) -> list[tuple[list[int], list[float]]]:
    """Return what is written where for a value of a variable at a position: slices and numbers."""
    if "labels" in place:
        numbers = [float(label == value) for label in place["labels"]]
    elif "table" in place:
        entry = int(value) - place["table"]["first"]
        if entry not in range(len(place["table"]["values"])):
            raise ValueError(f"{value} is not in the table of {place['subspace']}")
        numbers = [place["table"]["values"][entry]]
    else:
        numbers = [float(Fraction(value) / (position + 1 if place["divided by"] else 1))]
    scaled = [place["sign"] * number / scale for number, scale in zip(numbers, place["scale"], strict=True)]
    found = [(place["index"], scaled)]
    return [*found, (place["mirror"], [-number for number in scaled])] if "mirror" in place else found


def compared(target: str, export: Path, data: Path) -> dict[str, Any]:
    """Return the number of rows of a folder, and those that come out otherwise in an export."""
    model, rows = Patched(target, export, data), []
    for path in sorted(data.glob("*.jsonl")):
        rows += [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
    wrong = []
    for number, row in enumerate(rows):
        found = model.answers(row)
        if any(known and due != own for due, own, known in zip(row["expected_answers"], found, row["known"], strict=True)):
            wrong.append({"row": number, "found": found})
    said = {"rows": len(rows), "effective": sum(row["first"] is not None for row in rows), "wrong": wrong}
    return {**said, "tm2tfr": any(name.partition(".")[0] == "tm2tfr" for name in sys.modules)}


if __name__ == "__main__":
    for each in zip(sys.argv[1::3], sys.argv[2::3], sys.argv[3::3], strict=True):
        print(json.dumps(compared(each[0], Path(each[1]), Path(each[2]))), flush=True)
