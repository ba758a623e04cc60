"""Weights for words between BOS and EOS, of any length, by heads that are tieless: B-RASP, S-RASP, temporal logic."""

from tm2tfr.sources.sequence.compiler.framed.compiler import FramedOptions, compile_framed

__all__ = ["FramedOptions", "compile_framed"]
