"""The common parts of proofs about weights: engines with their dtypes, refusals, certificates, and reports.

A source subclasses `Proof`, `Certificate` and `Report`, and raises `Refused` where a step of its proof fails. The source
decides what is proved and for how many positions; engines, questions, and the form of refusals and JSON are here.
"""

from __future__ import annotations

import json
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, replace
from fractions import Fraction
from html import escape
from typing import ClassVar, Generic, TypeVar

import numpy as np

from tm2tfr.base.errors import EngineError, UsageError, counted, did_you_mean, visible
from tm2tfr.transformer.weights import Decoder, matrices

# ── Engines and dtypes ──────────────────────────────────────────────────────────────────────────────────────
Engines = Mapping[str, tuple[str, ...]]
"""Engine -> the dtypes for which there are certificates, the default last."""
ENGINES: Engines = {"dense": ("float32", "float64"), "fast": ("float64",), "exact": ("rational",)}
DIGITS: Mapping[str, int] = {"float32": 24, "float64": 53}
"""dtype -> p, the number of binary digits of its significand; rationals are not rounded."""


def checked(engine: str, dtype: str | None, engines: Engines = ENGINES) -> str:
    """Return the dtype of a question about an engine: by default its widest.

    Raises:
        EngineError: for an unknown engine, or a dtype that it does not compute in.
    """
    if engine not in engines:
        known = f"use one of {', '.join(engines)}"
        if engine in ENGINES:
            raise EngineError(f"the {engine} engine does not run these weights: {known}")
        raise EngineError(f"unknown engine {engine!r}{did_you_mean(engine, engines)}: {known}")
    dtypes = engines[engine]
    if dtype is not None and dtype not in dtypes:
        remedy = "omit the dtype" if len(dtypes) == 1 else f"use {' or '.join(dtypes)}, or omit it"
        raise EngineError(f"the {engine} engine does not compute in {dtype!r}: {remedy}")
    return dtype or dtypes[-1]


@dataclass(frozen=True)
class Questions:
    """The questions for a proof.

    Args:
        engine, dtype: ask only about these; None: about all.
        steps, symbols: ask about all runs of at most this many steps, on inputs of this many symbols.
        positions: ask about all runs of at most this many positions.
        max_head: ask only about runs with |h| up to this.

    Raises:
        ValueError: if both `steps` and `positions` are given.
    """

    engine: str | None = None
    dtype: str | None = None
    steps: int | None = None
    symbols: int = 0
    positions: int | None = None
    max_head: int | None = None

    def __post_init__(self) -> None:
        if self.steps is not None and self.positions is not None:
            raise ValueError("steps and positions cannot be combined: omit one of them")

    @property
    def narrowed(self) -> bool:
        """Whether an engine or a dtype is named."""
        return self.engine is not None or self.dtype is not None

    def pairs(self, engines: Engines) -> list[tuple[str, str]]:
        """Return the engines and dtypes of the questions.

        Raises:
            EngineError: for an unknown engine or dtype, or a dtype that the engine does not compute in.
        """
        if self.engine is not None:
            checked(self.engine, self.dtype, engines)
        every = [(name, dtype) for name, dtypes in engines.items() for dtype in dtypes]
        pairs = [pair for pair in every if self.engine in (None, pair[0]) and self.dtype in (None, pair[1])]
        if not pairs:
            known = ", ".join(dict.fromkeys(dtype for _, dtype in every))
            raise EngineError(f"no engine computes in {self.dtype!r}: use one of {known}")
        return pairs


def check_no_tape(name: str, questions: Questions) -> None:
    """Raise UsageError if a proof about a source called `name`, which has no tape, is asked about a head on a tape."""
    if questions.max_head is not None:
        what = f"{name} takes no steps on a tape"
        raise UsageError(f"tm2tfr certify: {what}: omit --max-head, or use --max-positions")


# ── Refusals ────────────────────────────────────────────────────────────────────────────────────────────────
@dataclass(frozen=True, kw_only=True)
class Refusal:
    """A claim about the weights that is wrong, or that the proof does not cover.

    Args:
        part: the part of the decoder or proof: ``layout``, ``embedding``, ``attention``, ``feed_forward``, ``rounding``, ….
        what: the claim that fails, with the head, unit or direction.
        witness: the values at which the claim fails, or the entry that the proof does not cover.
        layer: the layer, from 1; 0: no layer, or the embedding.
        layer_name: its name in the decoder, if the proof names layers.
        net: for a circuit, the net of the gate.

    Raises:
        ValueError: for a negative layer, or without a witness.
    """

    part: str
    what: str
    witness: str
    layer: int = 0
    layer_name: str = ""
    net: str = ""

    def __post_init__(self) -> None:
        if self.layer < 0:
            raise ValueError(f"layer {self.layer} is negative: layers count from 1, 0 is the embedding")
        if not self.witness:
            raise ValueError(f"{self.what}: a refusal needs a witness: add the values at which the claim fails")

    @property
    def where(self) -> str:
        """The place as text: ``attention, gate s1``, ``layer 4 (read tape), attention``, ``attention, layer 2``."""
        if self.net:
            return f"{self.part}, gate {self.net}"
        if not self.layer_name:
            return f"{self.part}, layer {self.layer}" if self.layer else self.part
        inside = f"layer {self.layer} ({self.layer_name}), {self.part.replace('_', '-')}"
        return inside if self.part in ("attention", "feed_forward") else self.part

    def __str__(self) -> str:
        """Return ``layer 4 (read tape), attention: what: witness``."""
        return visible(f"{self.where}: {self.what}: {self.witness}")


class Refused(Exception):  # noqa: N818  (`Proof.certificate` catches it)
    """Raised by a step of a proof that fails; `refusal` has the reason. It takes the arguments of `Refusal`."""

    def __init__(self, part: str, what: str, witness: str, *, layer: int = 0, net: str = "") -> None:
        super().__init__(what)
        self.refusal = Refusal(part=part, what=what, witness=witness, layer=layer, net=net)


# ── Certificates ────────────────────────────────────────────────────────────────────────────────────────────
@dataclass(frozen=True, kw_only=True)
class Certificate(ABC):
    """The proved statement about weights on one engine in one dtype.

    Args:
        weights: the digest of the weights.
        refusals: the reasons why nothing is certified; empty if the claim is proved.
    """

    subject: ClassVar[str]
    """The field with the name of the program: ``circuit``."""
    place: ClassVar[tuple[str, ...]]
    """The fields for the place of a refusal, in the order of the JSON."""

    weights: str
    engine: str
    dtype: str
    refusals: tuple[Refusal, ...] = ()

    @property
    def name(self) -> str:
        """The name of the program."""
        return str(getattr(self, self.subject))

    @property
    def granted(self) -> bool:
        """Whether the claim is proved."""
        return not self.refusals

    @property
    @abstractmethod
    def statement(self) -> str:
        """The proved statement, as text."""

    def __str__(self) -> str:
        """Return the statement, or the refusals, one per line."""
        where = f"{visible(self.name)} on {self.engine} in {self.dtype}"
        if not self.granted:
            return "\n".join([f"{where}: NOT certified", *(f"  {refusal}" for refusal in self.refusals)])
        return f"{where}: certified: {self.statement}"

    def as_dict(self) -> dict[str, object]:
        """Return the certificate as plain data."""
        keys = (*self.place, "what", "witness")
        refusals = [{key: getattr(refusal, key) for key in keys} for refusal in self.refusals]
        return {**asdict(self), "refusals": refusals, "granted": self.granted}


C = TypeVar("C", bound=Certificate)


_MOST_REFUSALS = 5
"""The most refusals of one certificate that a report shows."""


def attempted(plain: C, prove: Callable[[C], C]) -> C:
    """Return the certificate completed by `prove`, or with the refusal that it raises."""
    try:
        return prove(plain)
    except Refused as refused:
        return replace(plain, refusals=(refused.refusal,))


def not_certified(certificate: Certificate) -> list[str]:
    """Return the lines of a report about a certificate that is not granted."""
    shown = certificate.refusals[:_MOST_REFUSALS]
    more = len(certificate.refusals) - len(shown)
    lines = ["", f"{certificate.engine} in {certificate.dtype}: NOT certified", *(f"  {refusal}" for refusal in shown)]
    return [*lines, f"  and {counted(more, 'more refusal')}"] if more > 0 else lines


@dataclass(frozen=True, kw_only=True)
class Report(ABC, Generic[C]):
    """The report of ``certify``: one certificate for each engine and dtype of the questions.

    Args:
        questions: the questions.

    Raises:
        ValueError: without any certificate.
    """

    certificates: tuple[C, ...]
    questions: Questions = Questions()

    def __post_init__(self) -> None:
        if not self.certificates:
            raise ValueError("a report needs at least one certificate: name an engine that exists")

    @property
    def granted(self) -> bool:
        """Whether the questions are proved; by default, for the dense engine in float64."""
        usual = [
            certificate
            for certificate in self.certificates
            if (certificate.engine, certificate.dtype) == ("dense", "float64")
        ]
        return all(map(self.reaches, self.certificates if self.questions.narrowed or not usual else usual))

    def reaches(self, certificate: C) -> bool:
        """Return whether a certificate proves the question."""
        return certificate.granted

    @abstractmethod
    def lines(self) -> list[str]:
        """Return the report for people, without its heading."""

    @abstractmethod
    def shared(self) -> dict[str, object]:
        """Return the common fields of the certificates as plain data, in the order of the JSON, with ``granted``."""

    def text(self) -> str:
        """Return the report for people."""
        first = self.certificates[0]
        return "\n".join([f"{visible(first.name)}, weights {first.weights[:16]}", *self.lines()]) + "\n"

    def json(self) -> str:
        """Return the report as JSON: the common fields of the certificates, then each certificate."""
        shared = self.shared()
        told = shared.keys() - {"granted"}
        rows = [{k: v for k, v in certificate.as_dict().items() if k not in told} for certificate in self.certificates]
        return json.dumps({**shared, "certificates": rows}, ensure_ascii=False, indent=2) + "\n"


@dataclass(frozen=True)
class Proof(ABC, Generic[C]):
    """The proofs about one decoder."""

    engines: ClassVar[Engines] = ENGINES

    decoder: Decoder

    @abstractmethod
    def certificate(self, engine: str = "dense", dtype: str | None = None) -> C:
        """Return the certificate for an engine and a dtype, by default its widest.

        Raises:
            EngineError: for an unknown engine, or a dtype that it does not compute in.
        """

    @abstractmethod
    def report(self, questions: Questions) -> Report[C]:
        """Return the report on some questions.

        Raises:
            EngineError: for an unknown engine or dtype.
        """

    def certificates(self, questions: Questions = Questions()) -> tuple[C, ...]:
        """Return the certificates for the engines and dtypes of the questions, by default all."""
        return tuple(self.certificate(engine, dtype) for engine, dtype in questions.pairs(self.engines))

    def _repr_html_(self) -> str:
        """Return the text that ``certify`` prints, for notebooks."""
        return f"<pre>{escape(self.report(Questions()).text())}</pre>"


# ── What proofs need of numbers ─────────────────────────────────────────────────────────────────────────────
def largest(holds: Callable[[int], bool], most: int) -> int:
    """Return the largest n from 0 to `most` with `holds(n)`; 0 if there is none.

    By bisection, so `holds` must be monotone: if true for n, then for all smaller numbers.
    """
    low, high = 0, most + 1
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if holds(middle) else (low, middle)
    return low


def unrepresentable(decoder: Decoder, dtype: str) -> str | None:
    """Return the path of the first matrix with a weight that `dtype` rounds, None if it rounds none."""
    for path, matrix in matrices(decoder).items():
        with np.errstate(over="ignore", under="ignore"):
            rounded = matrix.values.astype(dtype)
        if not np.array_equal(rounded, matrix.values):
            return path
    return None


def roundoff(dtype: str) -> Fraction:
    """Return the unit roundoff u = 2^-p of `dtype`: the largest relative error of an operation."""
    return Fraction(1, 2 ** DIGITS[dtype])
