"""tm2tfr: compiles Turing machines, circuits, RASP programs and formulas to transformer weights, and checks every token.

The names are listed in `__init__.pyi` and loaded when they are first used, so that ``import tm2tfr`` costs nothing.
"""

import gc
import os

from tm2tfr.base import interrupts

if interrupts.starts_command():
    interrupts.prepare()
    gc.set_threshold(100_000, 10, 10)  # what modules define stays: it need not be looked through after every 700 objects
    os.environ.setdefault("OPENBLAS_THREAD_TIMEOUT", "16")  # numpy's threads wait without keeping processors busy for 50 ms

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
