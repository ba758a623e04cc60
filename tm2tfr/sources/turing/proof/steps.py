"""The cases of the steps that all constructions of the chapter's kind share (Section 8.2)."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from tm2tfr.sources.turing.proof.inputs import HV, MV, Coordinates, Ray, V
from tm2tfr.sources.turing.tokens import Triple
from tm2tfr.transformer.residual import at


def unpacked(token: str, holds: Coordinates | None = None) -> Ray:
    """Step 1, Eq. 8.5: a token that is no triple, v = 1/(i+1) anywhere in [0, 1]; nothing but `holds` is written."""
    return Ray(f"token {token}", {at("e_x", token): 1, "1": 1}, holds or {}, {V: 1}, {}, 0, 1, False, "1/(i+1)")


def unpacked_triple(triple: Triple) -> Ray:
    """Step 1, Eq. 8.5: a triple."""
    fed = {at("e_x", triple.token): 1, "1": 1}
    wanted = {at("e_q", triple.state): 1, at("e_b", triple.symbol): 1, "m": triple.move}
    return Ray(f"token {triple.token}", fed, wanted, {V: 1}, {MV: triple.move}, 0, 1, False, "1/(i+1)")


def parts(*, two_way: bool) -> Iterator[Ray]:
    """Step 2 of a two-way tape, repair 5: h and h - m by sign. No biases: it suffices to take 1/(i+1) as 1."""
    if not two_way:
        for m in (-1, 0, 1):
            yield Ray(f"m = {m:+d}", {V: 1, MV: m}, {}, {HV: 1}, {}, 0, None, True, "h")
        return
    for m in (-1, 0, 1):
        for low, high in ((None, -2), (-1, -1), (0, 0), (1, 1), (2, None)):
            sign, before = (low if low is not None else -1), (low if low is not None else -2) - m
            wanted = {"h_{i-1}+/(i+1)": -m} if before > 0 else {"h_{i-1}-/(i+1)": m} if before < 0 else {}
            along = {"h+/(i+1)": 1} if sign > 0 else {"h-/(i+1)": -1} if sign < 0 else {}
            along |= {"h_{i-1}+/(i+1)": 1} if before > 0 else {"h_{i-1}-/(i+1)": -1} if before < 0 else {}
            yield Ray(f"m = {m:+d}", {V: 1, MV: m}, wanted, {HV: 1}, along, low, high, True, "h")


def match() -> Iterator[Ray]:
    """Step 3: ``[h_{j*-1}=h]``, for some h, and every h_{j*-1}; h = 0 stands for all, see `feed_forward`."""
    for h in (0, 1, 2):
        start = {"h": h, "1": 1}
        for low, high, bit in ((None, h - 1, 0), (h, h, 1), (h + 1, None, 0)):
            wanted = {"[h_{j*-1}=h]": 1} if bit else {}
            yield Ray(f"h = {h}", start, wanted, {"h_{j*-1}": 1}, {}, low, high, True, "h_{j*-1}")


def symbol(gamma: Sequence[str], sigma: Sequence[str], blank: str) -> Iterator[Ray]:
    """Step 3, Eq. 8.18: flag × latest write × input symbol, each of them possibly missing."""
    for f in (0, 1):
        for b in (None, *gamma):
            for u in (None, *sigma):
                stream = {"1": 1, "[h_{j*-1}=h]": f}
                stream |= {at("e_b(j*-1)", b): 1} if b is not None else {}
                stream |= {at("e_x(h)", u): 1} if u is not None else {}
                a = b if f and b is not None else u if u is not None else blank
                told = f"[h_{{j*-1}}=h] = {f}, written {b or '⊥'}, input {u or '⊥'}"
                yield Ray(told, stream, {at("e_a", a): 1}, {}, {})
