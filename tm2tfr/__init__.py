"""tm2tfr: a Turing machine goes in, the weights of a transformer decoder come out, every token is checked.

The names below are loaded when they are first used, so that ``import tm2tfr`` costs nothing.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from tm2tfr._version import __version__

if TYPE_CHECKING:
    from tm2tfr.api.datasets import make_dataset, sweep
    from tm2tfr.api.exchange import convert, explore, export_gpt2, export_to, verify_checkpoint
    from tm2tfr.api.runs import (
        certify,
        check,
        compile,
        default_input,
        machine_of,
        measure_softness,
        run,
        simulate,
        soften,
    )
    from tm2tfr.compiler.turing.version_1 import load as load_weights
    from tm2tfr.errors import SpecError, SpecWarning, Tm2tfrError
    from tm2tfr.machine.graph import to_graph
    from tm2tfr.machine.library import load, shipped
    from tm2tfr.machine.spec import Example, Machine, Rule
    from tm2tfr.tables.table import table
    from tm2tfr.trace.activations import activations
    from tm2tfr.trace.check import Trace
    from tm2tfr.transformer.listing import listing, summary
    from tm2tfr.transformer.storage import save as save_weights
    from tm2tfr.transformer.weights import Decoder

_HOMES = {
    "tm2tfr.api.runs": (
        "certify",
        "check",
        "compile",
        "default_input",
        "machine_of",
        "measure_softness",
        "run",
        "simulate",
        "soften",
    ),
    "tm2tfr.api.datasets": ("make_dataset", "sweep"),
    "tm2tfr.errors": ("SpecError", "SpecWarning", "Tm2tfrError"),
    "tm2tfr.api.exchange": ("convert", "explore", "export_gpt2", "export_to", "verify_checkpoint"),
    "tm2tfr.tables.table": ("table",),
    "tm2tfr.compiler.turing.version_1": ("load_weights",),
    "tm2tfr.transformer.storage": ("save_weights",),
    "tm2tfr.machine.graph": ("to_graph",),
    "tm2tfr.machine.library": ("load", "shipped"),
    "tm2tfr.machine.spec": ("Example", "Machine", "Rule"),
    "tm2tfr.trace.activations": ("activations",),
    "tm2tfr.trace.check": ("Trace",),
    "tm2tfr.transformer.listing": ("listing", "summary"),
    "tm2tfr.transformer.weights": ("Decoder",),
}
_WHERE = {name: home for home, names in _HOMES.items() for name in names}

__all__ = [
    "Decoder",
    "Example",
    "Machine",
    "Rule",
    "SpecError",
    "SpecWarning",
    "Tm2tfrError",
    "Trace",
    "__version__",
    "activations",
    "certify",
    "check",
    "compile",
    "convert",
    "default_input",
    "explore",
    "export_gpt2",
    "export_to",
    "listing",
    "load",
    "load_weights",
    "machine_of",
    "make_dataset",
    "measure_softness",
    "run",
    "save_weights",
    "shipped",
    "simulate",
    "soften",
    "summary",
    "sweep",
    "table",
    "to_graph",
    "verify_checkpoint",
]


def __getattr__(name: str) -> Any:
    if name not in _WHERE:
        raise AttributeError(f"module 'tm2tfr' has no attribute {name!r}")
    value = getattr(import_module(_WHERE[name]), name.removesuffix("_weights"))
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted(__all__)
