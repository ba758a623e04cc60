"""tm2tfr: a Turing machine goes in, the weights of a transformer decoder come out, every token is checked.

The names are listed in `__init__.pyi` and loaded when they are first used, so that ``import tm2tfr`` costs nothing.
"""

from tm2tfr import interrupts

if interrupts.starts_command():
    interrupts.prepare()

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
