"""Learned attention beside compiled, in numbers: mass on the operands, on equivalent positions, and the distance.

*Mass* is the part of a row's attention, from 0 to 1, that is on some positions. It has two baselines: uniform attention,
the same on all positions in sight, and the model before training. The *distance* of two rows is their total variation
distance, half the sum of the absolute differences: 0 if they are equal, 1 if they share nothing.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, astuple, dataclass, fields
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import torch
from torch import nn

from tm2tfr.base.errors import TrainingError, visible
from tm2tfr.base.text.shown import aligned
from tm2tfr.lab.training.compiled import trained_model, untrained_model
from tm2tfr.lab.training.examples import Examples, TokenArray
from tm2tfr.lab.training.record import TrainingRun
from tm2tfr.lab.training.targets import (
    AttentionTarget,
    AttentionWeights,
    circuit_of,
    circuit_targets,
    fed_on,
    other_targets,
)
from tm2tfr.tables.scores import AttentionMap, attention_figures, saved

INPUTS = 100
"""Attention is averaged over this many unseen inputs, as in the paper's Figure 2."""


@dataclass(frozen=True, kw_only=True)
class Masses:
    """Averages over some rows.

    Args:
        kind: the gates, or the compiled head, that the rows are of.
        rows: their number.
        operands: the mass on the positions that the compiled head attends to, how far the learned attention resembles
            that of the compiled head; `compiled_operands`: of the compiled head itself, 1 but for what softmax gives to
            other positions; `untrained_operands`: of the model before training, None if it cannot be made again;
            `uniform_operands`: of uniform attention.
        equivalent: the mass on those and on positions from which the same can be computed; None where not defined.
        distance: the total variation distance from the compiled attention; `uniform_distance`: of uniform attention.
        top: the share of rows in which exactly those positions have the largest weights.
    """

    kind: str
    rows: int
    operands: float
    compiled_operands: float
    untrained_operands: float | None
    uniform_operands: float
    equivalent: float | None
    uniform_equivalent: float | None
    distance: float
    uniform_distance: float
    top: float


@dataclass(frozen=True, kw_only=True, eq=False)
class ComparedHead:
    """One head of a model beside the compiled attention.

    Args:
        layer, head: of the model, from 0, as TransformerLens counts them.
        kinds: by kind of gate or compiled head, in the order in which they occur; `overall`: all rows.
    """

    layer: int
    head: int
    kinds: tuple[Masses, ...]
    overall: Masses

    @property
    def name(self) -> str:
        """Its name, as TransformerLens and the columns of labels have it: ``L0H0``."""
        return f"L{self.layer}H{self.head}"


@dataclass(frozen=True, kw_only=True, eq=False)
class AttentionComparison:
    """A model's attention beside that of compiled weights.

    Args:
        name: what it has learned; `exact_match`: how well; `base_rate`: the exact match of one answer to every input.
        variant: the compiled weights; of other sources than circuits ``default``.
        inputs: the number of unseen inputs that the attention is averaged over.
        heads: all heads of the model, the one with the largest mass on the operands first.
        compiled, learned: the attention that is drawn, on the rows that predict: of a circuit the mean over the inputs, of
            the compiled head and of the first of `heads`; of other sources of all heads, on the input `drawn`.
        word: the input that was chosen, on which alone everything is measured; None: the mean over `inputs`.
    """

    name: str
    exact_match: float | None
    variant: str
    inputs: int
    heads: tuple[ComparedHead, ...]
    compiled: tuple[AttentionMap, ...] = ()
    learned: tuple[AttentionMap, ...] = ()
    drawn: str | None = None
    word: str | None = None
    base_rate: float | None = None

    def as_dict(self) -> dict[str, object]:
        """Return all numbers as plain data."""
        return {
            "name": self.name,
            "exact_match": self.exact_match,
            "base_rate": self.base_rate,
            "variant": self.variant,
            "inputs": self.inputs,
            "input": self.word,
            "layers": "layers and heads count from 0, as in TransformerLens",
            "heads": [
                {"layer": h.layer, "head": h.head, "overall": asdict(h.overall), "kinds": [asdict(k) for k in h.kinds]}
                for h in self.heads
            ],
        }

    def json(self) -> str:
        """Return them as JSON, on one line."""
        return json.dumps(self.as_dict(), ensure_ascii=False) + "\n"


def compared_attention(
    run: TrainingRun,
    examples: Examples,
    *,
    inputs: int = INPUTS,
    word: str | None = None,
    model: nn.Module | None = None,
    untrained: nn.Module | None = None,
) -> AttentionComparison:
    """Return the attention of a run's model on unseen inputs beside that of compiled weights.

    Args:
        examples: those of the run.
        inputs: at most this many of its unseen inputs are looked at.
        word: look at this input alone, which need not be one of them.
        model: another model than that of `tm2tfr.train`, with its ``attention``, see `Transformer`.
        untrained: this model before training.

    Raises:
        TrainingError: if the run is unfinished, there is nothing to compare it with, or its data are others now; if the
            model cannot be fed the word.
        InputError: if the word is not an input.
    """
    if examples.digest != run.data["sha256"]:
        what = "what it was trained on is made differently now"
        raise TrainingError(f"{run.data['name']}: {what}: bring back its spec and the files in it, or train it again")
    found, untrained = (trained_model(run), untrained_model(run, examples)) if model is None else (model, untrained)
    if not hasattr(found, "attention"):
        raise TrainingError(f"{run.data['name']}: this model does not tell its attention: give it a method 'attention'")
    if not _attention(found, examples.test.fed[:1]):
        raise TrainingError(f"{run.data['name']}: no layer of this model has attention: compare a run with sublayers s")
    circuit = circuit_of(run)
    if circuit is None:
        return _per_input(run, examples, found, untrained, inputs, word)
    right = circuit_targets(circuit)
    fed = examples.test.fed[:inputs] if word is None else _numbers(examples, fed_on(circuit, word))
    if fed.shape[1] != len(right.rows):
        raise TrainingError(f"{run.data['name']}: its sequences are not those of its circuit: train it again")
    means = [each.mean(axis=0) for each in _attention(found, fed)]  # (heads, L, L) for each layer
    before = None if untrained is None else [each.mean(axis=0) for each in _attention(untrained, fed)]
    heads = _best_first(
        _compared(layer, head, [_Seen(each[head], right.targets, before[layer][head] if before else None)], right.compiled)
        for layer, each in enumerate(means)
        for head in range(len(each))
    )
    best, first = heads[0], min(target.row for target in right.targets)
    names: Any = {"rows": right.rows[first:], "columns": right.columns, "first": first}
    return AttentionComparison(
        name=str(run.data["name"]),
        exact_match=run.exact_match,
        base_rate=run.base_rate,
        variant=right.variant,
        inputs=len(fed),
        heads=heads,
        compiled=(AttentionMap(title=f"compiled ({right.variant})", weights=right.compiled[first:], **names),),
        learned=(AttentionMap(title="learned", weights=means[best.layer][best.head][first:], **names),),
        drawn=word,
        word=word,
    )


def _numbers(examples: Examples, tokens: Sequence[str]) -> TokenArray:
    """Return tokens as a model is fed them: (1, L)."""
    return np.array([[examples.vocabulary.index(token) for token in tokens]])


class _Seen(NamedTuple):
    """The attention of a head on one input, or its mean over several: (L, L); its targets; and the same before training."""

    learned: AttentionWeights
    targets: Sequence[AttentionTarget]
    untrained: AttentionWeights | None


def _per_input(
    run: TrainingRun,
    examples: Examples,
    model: nn.Module,
    untrained: nn.Module | None,
    inputs: int,
    word: str | None,
) -> AttentionComparison:
    """Return the comparison where each input has targets of its own."""
    test, sought = examples.test, dict[tuple[str, ...], int]()
    for row, prompt in zip(test.fed, test.prompt.tolist(), strict=True):
        tokens = tuple(examples.vocabulary[n] for n in row if n != test.pad)
        sought.setdefault(tokens, 0 if examples.labels else prompt - 1)
    measured: dict[tuple[int, int], list[_Seen]] = {}
    runs = list(other_targets(run, sought, inputs, word))
    for one in runs:
        fed = _numbers(examples, one.tokens)
        before = None if untrained is None else _attention(untrained, fed)
        for layer, each in enumerate(_attention(model, fed)):
            for head in range(each.shape[1]):
                seen_here = _Seen(each[0, head], one.targets, before[layer][0, head] if before else None)
                measured.setdefault((layer, head), []).append(seen_here)
    if not any(each.targets for some in measured.values() for each in some):
        what = "all heads of the compiled weights attend to every position"
        raise TrainingError(f"{run.data['name']}: {what}: there is nothing to compare")
    heads = _best_first(_compared(*place, some, None) for place, some in measured.items())
    drawn = runs[0]
    compiled = drawn.compiled()
    as_compiled: Any = {"rows": compiled[0].rows, "columns": compiled[0].columns, "axis": compiled[0].axis}
    as_compiled |= {"first": drawn.first, "mask": "future" if getattr(model, "causal", True) else "none"}
    return AttentionComparison(
        name=str(run.data["name"]),
        exact_match=run.exact_match,
        base_rate=run.base_rate,
        variant="default",
        inputs=len(runs),
        heads=heads,
        compiled=tuple(compiled),
        learned=tuple(
            AttentionMap(title=f"learned: L{layer}H{head}", weights=some[0].learned[drawn.first :], **as_compiled)
            for (layer, head), some in measured.items()
        ),
        drawn=drawn.word,
        word=word,
    )


@torch.no_grad()
def _attention(model: nn.Module, fed: TokenArray) -> list[AttentionWeights]:
    """Return the weights of attention, layer by layer: (N, heads, L, L) each."""
    model.eval()
    device = next(model.parameters()).device
    found = model.attention(torch.tensor(fed, device=device))
    return [each.double().cpu().numpy() for each in found]


def _best_first(heads: Iterable[ComparedHead]) -> tuple[ComparedHead, ...]:
    return tuple(sorted(heads, key=lambda each: -each.overall.operands))


def _compared(layer: int, head: int, some: Sequence[_Seen], compiled: AttentionWeights | None) -> ComparedHead:
    """Return the measurements of a head, counted from 0, on some inputs."""
    rows = [(target.kind, _row(each, target, compiled)) for each in some for target in each.targets]
    kinds = list(dict.fromkeys(kind for kind, _ in rows))
    by_kind = [_mean(kind, [row for own, row in rows if own == kind]) for kind in kinds]
    return ComparedHead(layer=layer, head=head, kinds=tuple(by_kind), overall=_mean("all", [row for _, row in rows]))


def _row(seen: _Seen, target: AttentionTarget, right: AttentionWeights | None) -> Mapping[str, float]:
    """Return the measurements of a row; right: (L, L) the compiled attention, None: equal shares of the targets."""
    learned = seen.learned[target.row]
    attended, sight = list(target.attended), learned > 0
    sight[: target.row + 1] = True
    uniform = sight / sight.sum()
    compiled = np.zeros(len(learned))
    compiled[attended] = 1 / len(attended)
    compiled = compiled if right is None else right[target.row]
    best = set(np.argsort(-learned, kind="stable")[: len(attended)].tolist())
    found = {
        "operands": float(learned[attended].sum()),
        "compiled_operands": float(compiled[attended].sum()),
        "uniform_operands": float(uniform[attended].sum()),
        "distance": float(np.abs(learned - compiled).sum() / 2),
        "uniform_distance": float(np.abs(uniform - compiled).sum() / 2),
        "top": float(best == set(attended)),
    }
    if seen.untrained is not None:
        found["untrained_operands"] = float(seen.untrained[target.row, attended].sum())
    if target.equivalent is not None:
        same = list(target.equivalent)
        found |= {"equivalent": float(learned[same].sum()), "uniform_equivalent": float(uniform[same].sum())}
    return found


def _mean(kind: str, rows: Sequence[Mapping[str, float]]) -> Masses:
    names = [each.name for each in fields(Masses) if each.name not in ("kind", "rows")]
    found = {name: [row[name] for row in rows if name in row] for name in names}
    means = {name: float(np.mean(some)) if len(some) == len(rows) else None for name, some in found.items()}
    return Masses(kind=kind, rows=len(rows), **means)  # type: ignore[arg-type]  # only those that may be None are


# ── A comparison in words, and as a picture: the paper's Figure 2.
_TITLES = ["rows", "number", "operands", "compiled", "untrained", "uniform"]
_TITLES += ["equivalent", "uniform", "distance", "uniform", "top"]


def comparison_report(found: AttentionComparison) -> str:
    """Return the numbers as lines: a table by kind for the head that is nearest, and a line for each other one."""
    best, *others = found.heads
    match = "" if found.exact_match is None else f", exact match {found.exact_match:.4f}"
    match += "" if found.base_rate is None else f" (one answer to every input: {found.base_rate:.4f})"
    lines = [f"{visible(found.name)}{match}", *_about(found, best), ""]
    rows = [_TITLES, *(_cells(masses) for masses in best.kinds), _cells(best.overall)]
    lines += [*aligned(rows, set(range(1, len(_TITLES)))), ""]
    for each in others:
        lines.append(f"{each.name}: {each.overall.operands:.3f} on the operands.")
    lines += [
        "operands: the part of the attention on what the compiled head attends to, and the same for compiled attention,",
        "for the model before training and for uniform attention; equivalent: on the gate's ancestors, up to three steps",
        "back, and on gates computed from those alone; distance: total variation from compiled attention; top: rows whose",
        "largest weights are exactly on the operands.",
        "L0H0 is the first head of the first layer with attention of the learned model.",
    ]
    if best.overall.equivalent is None:
        lines.append("Equivalent positions are not defined here: only a circuit says which values follow from which.")
    return "\n".join(lines)


def _about(found: AttentionComparison, best: ComparedHead) -> list[str]:
    compiled = {"default": "the compiled heads", "lookup": "the operands, as 'lookup' attends to them"}
    beside = compiled.get(found.variant, f"compiled weights ({found.variant})")
    return [f"Learned attention of head {best.name} beside {beside}, {_on(found)}"]


def _on(found: AttentionComparison) -> str:
    return f"mean of {found.inputs} unseen inputs" if found.word is None else f"on {found.word!r}"


def _cells(masses: Masses) -> list[str]:
    def share(value: float | None) -> str:
        return "-" if value is None else f"{value:.3f}"

    _, _, *numbers = astuple(masses)
    return [visible(masses.kind), f"{masses.rows:,}", *map(share, numbers)]


def plot_comparison(found: AttentionComparison, path: str | Path) -> None:
    """Draw the compiled attention beside the learned one, into a .png, .svg or .pdf file (extra ``plot``).

    The compiled heads come first; of one input, each kind has a line of its own where it has several heads.

    Raises:
        OutputError: for another extension, if matplotlib is missing, or if the file cannot be written.
    """
    best = found.heads[0].overall
    same = "" if best.equivalent is None else f", {best.equivalent:.2f} on equivalent positions"
    share = f"{best.operands:.2f} of the learned attention on the operands{same}"
    if best.equivalent is None:
        share = f"{best.operands:.2f} of the attention of {found.heads[0].name} where compiled heads look"
        share = f"{share} (uniform: {best.uniform_operands:.2f}), {_on(found)}"
    drawn = "" if found.drawn is None or found.drawn == found.word else f" on {found.drawn!r}"
    title = f"{found.name}{drawn}: {share}"
    few = len(found.compiled) == len(found.learned) == 1
    lines = [found.compiled + found.learned] if few else [found.compiled, found.learned]
    saved(Path(path), lambda where: attention_figures(lines, where, title), title)
