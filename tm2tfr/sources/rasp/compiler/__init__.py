"""RASP programs to weights."""

from tm2tfr.sources.rasp.compiler.compiler import RaspOptions, compile_program, prepared

__all__ = ["RaspOptions", "compile_program", "prepared"]
