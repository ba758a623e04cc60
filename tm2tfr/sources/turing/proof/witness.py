"""A concrete position at which a wrong head attends elsewhere, found by trying short runs."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from fractions import Fraction
from itertools import accumulate, product

from tm2tfr.engines.overflow import nearest
from tm2tfr.sources.turing.proof.domain import Domain
from tm2tfr.sources.turing.proof.inputs import HV, MV, V
from tm2tfr.transformer.attention import exact_scores
from tm2tfr.transformer.matrix import Rational
from tm2tfr.transformer.residual import at
from tm2tfr.transformer.weights import Decoder, Head

Stream = Mapping[str, Rational]
WALKS = ((1,), (1, -1), (1, 1, -1), (1, 1, 0, -1, -1), (0, 1), (1, 1, 1, -1, -1, -1), (-1,), (-1, -1, 1), (1, -1, -1, 1, 0))
LENGTH = 9
"""The number of positions of each run that is tried."""


def lookup_witness(decoder: Decoder, domain: Domain, head: Head, target: str) -> str | None:
    """Return, in words, a position from which `head` does not attend to `target` alone; None if no run has one."""
    names = _held(decoder, domain, 3)
    for told, run in _runs(domain):
        for i in range(len(run)):
            values = {"h": run[i]["h"], "h_{i-1}": run[i]["h_{i-1}"]}
            value = values[target.rstrip("+-")] if target[-1] in "+-" else values[target]
            right = max(-value if target.endswith("-") else value, 0)
            found = _looked(names, head, run[: i + 1], int(right))
            if found is not None:
                return f"{told}, i = {i}, h = {run[i]['h']}: {found}"
    return None


def latest_witness(decoder: Decoder, domain: Domain, head: Head) -> str | None:
    """Return, in words, a position from which `head` does not attend to the latest write; None if no run has one."""
    names = _held(decoder, domain, 4)
    for told, run in _runs(domain):
        for i in range(len(run)):
            h = run[i]["h"]
            right = min((abs(run[j]["h_{i-1}"] - h), -j) for j in range(i + 1))[1]
            found = _looked(names, head, run[: i + 1], -int(right))
            if found is not None:
                return f"{told}, i = {i}, h = {h}: {found}"
    return None


def _looked(names: Sequence[str], head: Head, run: Sequence[Stream], right: int) -> str | None:
    streams = [[stream.get(name, 0) for name in names] for stream in run]
    scores = exact_scores(head, streams[-1], streams)
    wrong = next((j for j, score in enumerate(scores) if score >= scores[right] and j != right), None)
    if wrong is None:
        return None
    return (
        f"position {wrong} scores {nearest(scores[wrong]):g}, the right position {right} scores {nearest(scores[right]):g}"
    )


def _held(decoder: Decoder, domain: Domain, layer: int) -> list[str]:
    """Return the name of each direction, empty for those that are still 0 before `layer`."""
    held = (domain.holds(s.holds, layer - 2, "feed_forward") for s in decoder.layout.subspaces)
    return [d if h else "" for s, h in zip(decoder.layout.subspaces, held, strict=True) for d in s.directions]


def _runs(domain: Domain) -> Iterator[tuple[str, list[Stream]]]:
    """Yield streams as runs of a machine like this one could have them: moves in a repeated pattern, any tokens."""
    triples = domain.triples
    fed = [*domain.sigma, *(triples[:1] and [triples[0].token]), *(t.token for t in triples[1:4])] or ["BOS"]
    for walk, token, early in product(WALKS, fed, (False, True)):
        steps = [0, *(walk[n % len(walk)] for n in range(LENGTH - 1))]
        places = list(accumulate(steps))
        if not domain.two_way:
            places = [abs(h) for h in places]
        stretch = []
        for i, h in enumerate(places):
            before = places[i - 1] if i else 0
            stretch.append(_stream(domain, i, h, before, token if (i % 2 == 0) == early else fed[0]))
        yield f"repeated moves {', '.join(f'{m:+d}' for m in walk)}, tokens {token}, {fed[0]}", stretch


def _stream(domain: Domain, i: int, h: int, before: int, token: str) -> Stream:
    v, m = Fraction(1, i + 1), h - before
    stream: dict[str, Rational] = {at("e_x", token): 1, V: v, "1": 1, "i": i, "i^2": i * i, "m": m, MV: m * v, HV: h * v}
    for triple in domain.triples:
        if triple.token == token:
            stream |= {at("e_q", triple.state): 1, at("e_b", triple.symbol): 1}
    for name, value in (("h", h), ("h_{i-1}", before)):
        stream |= {f"{name}+/(i+1)": max(value, 0) * v, f"{name}-/(i+1)": max(-value, 0) * v}
        stream |= {name: value, f"{name}^2": value * value}
    return {**stream, "h-": max(-h, 0), "[h=0]": int(h == 0)}
