"""Ways to run weights. An engine sees matrices and token numbers and nothing else.

They are chosen by name: `Dense` (numpy, float64 or float32), `Exact` (rationals) and `Fast` (compiled,
float64, searching where the others scan).
"""

from __future__ import annotations

from tm2tfr.base.choices import ENGINES
from tm2tfr.base.errors import EngineError, did_you_mean
from tm2tfr.engines.decode import Engine, Session, Step, Watch, generate

__all__ = ["ENGINES", "Engine", "Session", "Step", "Watch", "engine", "generate"]


def engine(name: str = "dense", dtype: str | None = None) -> Engine:
    """Return the engine called `name`, computing in `dtype` (by default float64, or rationals for ``exact``).

    Raises:
        EngineError: for an unknown engine, or a dtype that it does not compute in.
    """
    if name == "dense":
        from tm2tfr.engines.dense import Dense  # noqa: PLC0415  (each engine is imported when it is used)

        return Dense(dtype or "float64")  # type: ignore[arg-type]  # Dense checks it
    if name == "fast":
        from tm2tfr.engines.fast import Fast  # noqa: PLC0415

        return Fast(dtype or "float64")
    if name == "exact":
        from tm2tfr.engines.exact import Exact  # noqa: PLC0415

        if dtype not in (None, "rational"):
            raise EngineError(f"the exact engine computes with rationals, not in {dtype!r}: omit the dtype")
        return Exact()
    raise EngineError(f"unknown engine {name!r}{did_you_mean(name, ENGINES)}: use one of {', '.join(ENGINES)}")
