"""Searches for what grade 3 of ``tm2tfr disguise`` hides: ``python benchmarks/hidden.py [--seed S] [--disguises N]``.

The sources of grade 3 in the suite of a seed are each disguised N times, as the suite does it. Statistics of heads and of
hidden units are taken from the weights alone, and ranked in the model and in the layer. Printed are a ridge regression on
ranks, fitted to the disguises of all other sources, which claims that the half with higher scores matters; the best ranks,
chosen with the key; and heads by the scores of units that read them. Areas are under the curve, 0.5 is chance. Figures are
means over sources ± standard errors.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

sys.path.insert(0, str(Path(__file__).parent.parent))

from tm2tfr.api.hidden import _hide
from tm2tfr.lab.hidden.baselines import written_span
from tm2tfr.lab.hidden.claim import NOTHING, answer
from tm2tfr.lab.hidden.dead_code import followed_back
from tm2tfr.lab.hidden.disguise import Disguised
from tm2tfr.lab.hidden.suite import members
from tm2tfr.transformer.weights import Decoder

Floats = NDArray[np.float64]
Flags = NDArray[np.bool_]
Row = tuple[int, dict[str, float], Floats]  # the layer, the statistics, and what a head writes or a unit reads
Parts = tuple[list[str], Floats, Flags]  # the names of ranks, (parts, ranks), and (parts,) whether each matters
MATRICES = ("query", "key", "value", "output")
GRADE, RIDGE, TINY = 3, 3.0, 1e-30
size: Callable[..., float] = np.linalg.norm


def of_entries(name: str, array: Floats) -> dict[str, float]:
    """Return statistics of the entries of a vector or matrix."""
    every, square = np.abs(array), array**2
    found = {"norm": size(array), "largest entry": every.max(), "sum": every.sum(), "zeros": (every == 0).sum()}
    found["kurtosis"] = (square**2).mean() / max(square.mean() ** 2, TINY)
    return {f"{what} of {name}": float(number) for what, number in found.items()}


def of_matrix(name: str, matrix: Floats) -> dict[str, float]:
    """Return statistics of the entries, rows, columns and singular values of a matrix."""
    values = np.linalg.svd(matrix, compute_uv=False)
    values = values[values > 1e-9 * values[0]]
    found = {"largest value": values[0], "least value": values[-1], "sum of values": values.sum(), "rank": len(values)}
    found |= {f"largest {what}": max(map(size, rows)) for what, rows in (("row", matrix), ("column", matrix.T))}
    found["stable rank"] = (values**2).sum() / values[0] ** 2
    return of_entries(name, matrix) | {f"{what} of {name}": float(number) for what, number in found.items()}


def of_heads(decoder: Decoder) -> Iterator[Row]:
    """Yield each head with statistics of its matrices, of W_QK = W_Qᵀ·W_K, and of W_OV = W_O·W_V.

    T: embeddings of tokens; E: without their mean; U: unembedding without its mean; S: what varies; R: what is read of
    a head behind it; O: what heads before write; A: what heads behind read. Values are singular values.
    """
    s, t, u = written_span(decoder), decoder.token_embedding.dense(), decoder.unembedding.dense()
    e, u, reads = t - t.mean(axis=1, keepdims=True), u - u.mean(axis=0), followed_back(decoder)[1]
    heads = [(n, *(getattr(h, m).dense() for m in MATRICES)) for n, layer in enumerate(decoder.layers) for h in layer.heads]
    none = np.zeros((len(t), 1))
    for number, q, k, v, o in heads:
        qk, ov = q.T @ k, o @ v
        before = np.hstack([none, *(head[4] for head in heads if head[0] < number)])
        later = np.vstack([none.T, *(form for head in heads if head[0] > number for form in head[1:4])])
        found = {"layer": float(number), "trace of W_QK": float(np.trace(qk)), "trace of W_OV": float(np.trace(ov))}
        for name, matrix in {"W_Q": q, "W_K": k, "W_V": v, "W_O": o, "W_QK": qk, "W_OV": ov}.items():
            found |= of_matrix(name, matrix)
        products = {
            **{"W_QK·S": qk @ s.T, "Sᵀ·W_QK·S": s @ qk @ s.T, "W_OV·S": ov @ s.T, "R·W_OV": reads[number] @ ov},
            **{"Tᵀ·W_QK": t.T @ qk, "W_QK·E": qk @ e, "Eᵀ·W_QK·E": e.T @ qk @ e, "W_OV·E": ov @ e, "U·W_OV": u @ ov},
            **{"U·W_OV·E": u @ ov @ e, "U·W_O": u @ o, "W_Q·E": q @ e, "W_K·E": k @ e, "W_V·E": v @ e},
            **{"W_V·W_Qᵀ": v @ q.T, "W_V·W_Kᵀ": v @ k.T, "W_Q·W_Kᵀ": q @ k.T, "W_V·W_O": v @ o, "A·W_O": later @ o},
            **{"W_Q·O": q @ before, "W_K·O": k @ before, "W_V·O": v @ before},
        }
        found |= {name: size(matrix) for name, matrix in products.items()}
        found |= {"|W_Q|·|W_K|": size(q) * size(k), "|W_V|·|W_O|": size(v) * size(o)}
        yield number, found, o


def of_units(decoder: Decoder) -> Iterator[Row]:
    """Yield each hidden unit: reads r, bias b, writes w; others as for heads."""
    span, t, unembedding = written_span(decoder), decoder.token_embedding.dense(), decoder.unembedding.dense()
    e, u, written = t - t.mean(axis=1, keepdims=True), unembedding - unembedding.mean(axis=0), list[Floats]()
    for number, layer in enumerate(decoder.layers):
        written += [head.output.dense() @ head.value.dense() for head in layer.heads]
        forms = [getattr(h, m).dense() for each in decoder.layers[number + 1 :] for h in each.heads for m in MATRICES[:3]]
        before, behind = np.hstack([np.zeros((len(t), 1)), *written]), np.vstack([unembedding, *forms])
        if (part := layer.feed_forward) is None:
            continue
        for r, w, b in zip(part.input.dense(), part.output.dense().T, part.input_bias.dense()[:, 0].tolist(), strict=True):
            found = of_entries("r", r) | of_entries("w", w) | {"layer": float(number), "b": b, "2·b modulo 1": 2 * b % 1}
            found |= {"r·S": size(span @ r), "r·E": size(r @ e), "r·P": size(r @ decoder.position_embedding.dense())}
            found |= {"mean of r·T + b": float((r @ t).mean()) + b, "largest r·T + b": float((r @ t).max()) + b}
            found |= {"b ÷ |r|": b / size(r), "|r|·|w|": size(r) * size(w), "cosine": r @ w / max(size(r) * size(w), TINY)}
            found |= {"|r·S| ÷ |r|": size(span @ r) / size(r), "U·w": size(u @ w), "r·O": size(r @ before)}
            yield number, found | {"A·w": size(behind @ w)}, r


def parts_of(made: Disguised) -> tuple[Parts, Parts, Floats]:
    """Return heads, units without those that round, and the share of each of these in what units read of a head."""
    key = [unit for layer in made.key.layers for unit in layer.units or ()]
    units = [row for row, unit in zip(of_units(made.decoder), key, strict=True) if unit.pair is None]
    heads, matter = [*of_heads(made.decoder)], [unit.of is not None for unit in key if unit.pair is None]
    roles = [role != NOTHING for role in answer(made.key).heads.values()]
    read = np.array([[(at >= n) * (size(r @ o) / size(r)) ** 2 for at, _, r in units] for n, _, o in heads])
    return ranked(heads, roles), ranked(units, matter), read / np.maximum(read.sum(axis=1, keepdims=True), TINY)


def ranked(rows: Sequence[Row], matters: Sequence[bool]) -> Parts:
    """Return the statistics as ranks in the model and in the layer."""
    values, layers = np.array([[*row[1].values()] for row in rows]), np.array([row[0] for row in rows])
    within = np.zeros_like(values)
    for layer in np.unique(layers):
        within[layers == layer] = ranks(values[layers == layer])
    names = [f"{name}{where}" for where in ("", ", in its layer") for name in rows[0][1]]
    return names, np.hstack([ranks(values), within]), np.array(matters)


def ranks(values: Floats) -> Floats:
    """Return ranks in each column, between -0.5 and 0.5; ties are in the middle."""
    rounded = np.round(values, 9)
    higher, equal = rounded[:, None] > rounded[None], rounded[:, None] == rounded[None]
    return np.asarray(higher.mean(axis=1) + equal.mean(axis=1) / 2 - 0.5)


def areas(values: Floats, matters: Flags) -> Floats:
    """Return for each column how often a part that matters has the larger value than one that does not; ties are halves."""
    return np.asarray(0.5 + ranks(values)[matters].mean(axis=0) * len(matters) / (~matters).sum())


def report(kind: str, sources: Sequence[Sequence[Parts]]) -> list[list[Floats]]:
    """Print the figures of heads or units, for each source those of its disguises; return the scores of the regression."""
    names, every = sources[0][0][0], np.hstack([matters for each in sources for _, _, matters in each])
    scores: list[list[Floats]] = []
    for left_out in sources:
        others = [parts for each in sources if each is not left_out for parts in each]
        rows, matters = np.vstack([x for _, x, _ in others]), np.hstack([y for _, _, y in others])
        counts = np.where(matters, 0.5 / matters.mean(), 0.5 / (~matters).mean())[:, None]  # both classes count the same
        square = rows.T @ (rows * counts) + RIDGE * np.eye(rows.shape[1])
        weights = np.linalg.solve(square, (rows * counts).T @ (matters - 0.5))
        scores.append([ranks((x @ weights)[:, None]) for _, x, _ in left_out])
    print(f"{len(every):,} {kind}, of which {every.sum():,} matter; {len(names)} ranks of {len(names) // 2} statistics")
    flags = [[y for _, _, y in each] for each in sources]
    claims = [[np.hstack([z, z > 0]) for z in each] for each in scores]
    show(["regression: area", "regression: balanced accuracy"], claims, flags)
    show([f"area by {name}" for name in names], [[x for _, x, _ in each] for each in sources], flags)
    return scores


def show(names: Sequence[str], values: Sequence[Sequence[Floats]], flags: Sequence[Sequence[Flags]]) -> None:
    """Print the areas that are farthest from 0.5, in this order; that of a claim, 0 or 1, is its balanced accuracy."""
    found = [np.mean([*map(areas, *each)], axis=0) for each in zip(values, flags, strict=True)]
    means, errors = np.mean(found, axis=0), np.std(found, axis=0, ddof=1) / len(found) ** 0.5
    for n in np.argsort(-np.abs(means - 0.5))[:3]:
        print(f"  {names[n]:<56} {means[n]:.2f} ± {errors[n]:.2f}", flush=True)


def main() -> None:
    """Disguise, and print all figures."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--seed", type=int, default=2, help="the seed of the suite")
    parser.add_argument("--disguises", type=int, default=3, help="the number of each source")
    words = parser.parse_args()
    drawn = [(member, seed) for member, grade, seed in members(words.seed) if grade == GRADE]
    found = [[parts_of(_hide(member, GRADE, seed + n)) for n in range(words.disguises)] for member, seed in drawn]
    print(f"{len(drawn)} sources of grade {GRADE} in the suite of seed {words.seed}, {words.disguises} disguises of each")
    report("heads", [[heads for heads, _, _ in each] for each in found])
    scores = report("units", [[units for _, units, _ in each] for each in found])
    by = [[shares @ z for (_, _, shares), z in zip(*pair, strict=True)] for pair in zip(found, scores, strict=True)]
    show(["area of heads by the scores of units"], by, [[heads[2] for heads, _, _ in each] for each in found])


if __name__ == "__main__":
    main()
