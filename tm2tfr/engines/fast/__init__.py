"""The fast engine: the dense engine's numbers without its scanning, compiled with Numba (extra ``fast``)."""

from __future__ import annotations

from dataclasses import dataclass
from importlib.util import find_spec
from typing import TYPE_CHECKING

from tm2tfr.base.errors import EngineError
from tm2tfr.engines.dense import Dense
from tm2tfr.transformer.weights import Decoder

if TYPE_CHECKING:
    from tm2tfr.engines.fast.session import FastSession

OTHERWISE = ", or use the dense engine"
MISSING = f"the fast engine needs Numba: install it with: pip install 'tm2tfr[fast]'{OTHERWISE}"


@dataclass(frozen=True)
class Fast:
    """The engine. It computes in float64; heads that `recognise` knows are searched or grouped, others scanned."""

    dtype: str = "float64"
    name: str = "fast"

    def __post_init__(self) -> None:
        if self.dtype != "float64":
            raise EngineError(f"the fast engine computes in float64, not in {self.dtype!r}: use the dense engine")

    @property
    def stand_in(self) -> Dense:
        """The engine with the same arithmetic that can be watched from the inside."""
        return Dense()

    def start(
        self, decoder: Decoder, *, labels: tuple[tuple[int, int], ...] = (), numbers: tuple[int, ...] = ()
    ) -> FastSession:
        """Return a fresh session at position 0; labels, numbers: what its `extend` reads, see `FastSession`.

        Raises:
            EngineError: if Numba is not installed, or cannot be imported.
        """
        if not available():
            raise EngineError(MISSING)
        try:
            from tm2tfr.engines.fast.session import FastSession  # noqa: PLC0415  (Numba takes its time to load)
        except ImportError as error:
            raise EngineError(MISSING) from error
        return FastSession(decoder, labels=labels, numbers=numbers)


def available() -> bool:
    """Return whether Numba is installed; it is not imported."""
    return find_spec("numba") is not None
