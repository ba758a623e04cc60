"""From formulas and S-RASP programs to weights."""

from tm2tfr.sources.logic.compiler.compiler import LogicOptions, compile_program, prepared

__all__ = ["LogicOptions", "compile_program", "prepared"]
