"""The universal decoder, one step per file; `compile_universal` calls them in order. The chapter's steps are today's."""

from tm2tfr.sources.turing.universal.compiler.compiler import compile_universal

__all__ = ["compile_universal"]
