r"""How far floats carry an exported GPT-2: one condition on N (positions) and H (largest |h|) for each place that rounds.

u is the unit roundoff, v = 1/(i+1), S the span, c the centre, G = H - c the largest |h - c|. Products and sums are
rounded once each, in any order but where said otherwise. The machine's proof (`tm2tfr.certificate.prove`) stands for
everything that is not rounding.

**Layer norm.** By default it is the identity but for a shift: ε = 2^100 dwarfs a variance of a few ones, so that the
division is by 2^50, and the two copies of the stream cancel in the mean. What a kernel leaves of that mean, of the order
of u, shifts both copies, and goes with their difference, also where x - μ and -x - μ are rounded: a single direction is
read exactly. A unit that reads R directions adds up 2R such terms, and is off by 2R·u times its value. With GPT-2's ε a
value x is read as x + a, |a| ≤ η|x| + α: η = 4u + B/(2C²) for the norm's roundings and the B values of at most 1 beside
the sink C, and α = 32u²C for a mean off by up to 8uC.

**Sum of moves.** Softmax of zeros is fl(1/n) for all, and n products of it with -1, 0, +1 are added up in some order:
with p steps up and q down, p + q ≤ n, p - q = h, partial sums are in the worst order 1, …, p, p - 1, …, h, times 1/n.
So h/n is off by at most u((n + h)²/4 - h²/2)/n, and h itself, the vertex of the parabola below, by n times that.

**Lookup.** Scores S_j = q(j - c) - v̂(j - c)², rounded; q is ĉ = h/(i+1) less c·v̂, twice. Were q and v̂ taken as they are
and nothing else rounded, it would be a parabola with vertex h + e; |e| is the sum's error and some roundings of q:

    e ≤ u((N + H)²/4 - H²/2) + (η + 2Ru)N + 8(u + η)(H + c + 1) + 4αN(1 + c).

Position j = h + d loses v(d² - 2de) ≥ vd²(1 - 2e). Rounding the two products and their sum costs S_h at most 4G²uv and
S_j at most (2G(G + |d|) + (G + |d|)² + max(G², 1)d²)uv; divided by d² it is largest for |d| = 1. Keys that are off by η
and α count the same. (j - c)² is exact up to 2^p; beyond, d is large, and it adds at most 4u if G ≤ 2^(p/2 - 1), else
(G + 1)²u. What is left of the gap has to be a 16th, so that times the temperature, S·2^14, it is 1,024 at least: softmax
then gives the rivals exactly 0 (e^-746 is 0 in float64, e^-104 in float32), and values arrive as they are.

**Latest write.** 2hk - k² - h² = -(h - k)² is a sum of integers up to 2H² where it is near 0: exact if 3H² ≤ 2^p. The
tie-break ρvj, ρ ≤ 1/2 or so, is added last (`tensors` says how), to 0 or, where the cell was never written, to -1:
rounding costs 4u(1 + ρ) at most, against a gap of ρ/N, of which an eighth has to be left. With GPT-2's ε the integers
are off, by 16ηH² + 8αS(H + S) + 12uH² at most.

**Feed-forward.** Sums of integers, halved, are exact up to 2^(p - 2) (`Sums` of the proof). With GELU, x ≥ 1/N times K is
past the bend, where GELU is x or 0. A flag that compares positions is off by a few times u(H + 1): noise in the bits,
which layers 5 and 6 add up. Half a bit is never reached if 2^10·u(H + 1) < 1, and with GELU, where each of F hidden
units leaves something, 2^7·F((u + η)(H + 1) + αS) < 1.
"""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction

from tm2tfr.certificate import Proof, prove
from tm2tfr.certificate.feed_forward import Sums
from tm2tfr.certificate.rounding import DIGITS, Condition
from tm2tfr.errors import ExportError
from tm2tfr.export.checkpoints.fitting import fitting, proved
from tm2tfr.export.gpt2.recipe import DTYPES, SINK, Recipe, centre, span
from tm2tfr.machine.spec import Machine
from tm2tfr.transformer.weights import Decoder


class Errors:
    """The numbers u, η and α for a dtype; F, R and B from the decoder.

    Raises:
        ExportError: for an unknown dtype.
    """

    def __init__(self, decoder: Decoder, dtype: str, *, stock: bool) -> None:
        if dtype not in DTYPES:
            raise ExportError(f"a GPT-2 is exported in {' or '.join(DTYPES)}, not in {dtype!r}: use one of them")
        self.digits = DIGITS[dtype]
        self.u = Fraction(1, 2**self.digits)
        self.eta = self.alpha = Fraction(0)
        self.units = decoder.hidden if stock else 8
        layer = decoder.layers[0].feed_forward
        self.reads = max((len(row) for row in layer.input.by_row()), default=0) if layer is not None else 0
        if stock:
            sink, beside = Fraction(SINK[dtype]), len(decoder.layout.subspaces) + 2
            self.eta = 4 * self.u + Fraction(beside) / (2 * sink * sink)
            self.alpha = 32 * self.u * self.u * sink

    def vertex(self, n: int, h: int) -> Fraction:
        """Return the bound on e, the error of h as a lookup gets it."""
        sums = self.u * (Fraction((n + h) ** 2, 4) - Fraction(h * h, 2)) + (self.eta + 2 * self.reads * self.u) * n
        c = centre(h)
        return sums + 8 * (self.u + self.eta) * (h + c + 1) + 4 * self.alpha * n * (1 + c)

    def lookup(self, n: int, h: int) -> Fraction:
        """Return the share of 15/16 of a lookup's gap that rounding takes."""
        g, s = h - centre(h), span(n)
        size = 4 * g * g + 2 * g * (g + 1) + (g + 1) ** 2 + max(g * g, 1)
        far = 4 if 4 * g * g <= 2**self.digits else (g + 1) ** 2
        rounding = (self.u + self.eta) * (size + far) + 4 * self.alpha * (2 * g * s + s * s)
        return (2 * self.vertex(n, h) + Fraction(101, 100) * rounding) * Fraction(16, 15)

    def tie(self, n: int, h: int, ratio: Fraction) -> Fraction:
        """Return the share of 7/8 of the tie-break's gap that rounding takes."""
        integers = Fraction(0)
        if self.eta:
            integers = (16 * self.eta + 12 * self.u) * h * h + 8 * self.alpha * span(n) * (h + span(n))
        return n * (2 * integers + 4 * self.u * (1 + ratio)) / ratio * Fraction(8, 7)

    def noise(self, n: int, h: int) -> Fraction:
        """Return twice the noise in a bit."""
        return 2 * 64 * self.units * ((self.u + self.eta) * (h + 1) + self.alpha * span(n))


def conditions(proof: Proof, dtype: str, *, stock: bool = False) -> tuple[Condition, ...]:
    """Return the conditions for a GPT-2 of `dtype`, in the order of the layers.

    Raises:
        ExportError: for an unknown dtype, or weights that are not proved right.
    """
    lookups, retrieval = proved(proof)
    errors, top = Errors(proof.decoder, dtype, stock=stock), 2 ** DIGITS[dtype]
    found: list[Condition] = []

    def demand(layer: int, where: str, claim: str, formula: str, use: Callable[[int, int], Fraction]) -> None:
        found.append(Condition(layer, "attention", where, claim, formula, use, strict=True))

    name, ratio = retrieval.name, retrieval.ratio
    demand(2, "sum of moves", "positions are exact", f"N < {top:,}", lambda n, _: Fraction(n, top))
    text = "2·e(N, H) + about 2·H²·u < 15/16"
    demand(3, lookups.here, "rivals of position h get no weight at all", text, errors.lookup)
    demand(4, name, "squares of head positions are exact", f"3·H² < {top:,}", lambda _, h: Fraction(3 * h * h, top))
    text = "about 12·u·N < 7/8" if not stock else "about 150·η·N·H² < 7/8"
    demand(4, name, "earlier writes to the cell get no weight at all", text, lambda n, h: errors.tie(n, h, ratio))
    for s in proof.sums:
        demand(s.layer, s.where, "every sum of this layer is exact", *_sum(s, top))
    text = "128·F·η·(H + 1) < 1" if stock else "1,024·u·(H + 1) < 1"
    found.append(
        Condition(6, "feed_forward", "bits", "bits are nearer to 0 or 1 than to 1/2", text, errors.noise, strict=True)
    )
    return tuple(sorted(found, key=lambda c: c.layer))


def _sum(sums: Sums, top: int) -> tuple[str, Callable[[int, int], Fraction]]:
    """Return the formula and the use of what is available for a layer's sums of integers."""
    a, b = sums.constant, sums.slope
    return f"4·({a:,} + {b:,}·H) < {top:,}", lambda _, h: Fraction(4 * (a + b * h), top)


def fitted(
    decoder: Decoder,
    machine: Machine,
    *,
    positions: int | None = None,
    max_head: int | None = None,
    dtype: str = "float64",
    stock: bool = False,
) -> Recipe:
    """Return the recipe for what is asked for; the usual number of positions, or as many as fit, where it is not said.

    Raises:
        ExportError: if it does not fit, with what would; or if `decoder` could not be shown to be `machine`.
    """
    found = conditions(prove(decoder, machine), dtype, stock=stock)
    kind, ways = (" with GPT-2's own epsilon and GELU", ["leave --stock out"]) if stock else ("", [])
    wanted, head = fitting(found, machine.name, positions, max_head, dtype, kind=kind, ways=ways)
    return Recipe(positions=wanted, max_head=head, dtype=dtype, stock=stock)
