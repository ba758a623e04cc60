"""The chapter's construction (Theorem 8.2), one step per file; `compile_machine` calls them in order."""

from tm2tfr.sources.turing.compiler.compiler import compile_machine
from tm2tfr.sources.turing.compiler.version_1 import completed

__all__ = ["compile_machine", "completed"]
