"""RASP programs to weights."""

from tm2tfr.sources.rasp.compiler.compiler import compile_program, prepared

__all__ = ["compile_program", "prepared"]
