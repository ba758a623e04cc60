"""The certificate of a star-free automaton's weights: that of the B-RASP program between, and the automaton's own run.

What is proved for words of any length is what `tm2tfr.sources.logic.proof.certificate` proves of the program: heads are
tieless, and rounding changes nothing. On the words on which its stream is verified, the state and the verdict are
compared with the automaton's run as well.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from itertools import product

from tm2tfr.base.errors import CompileError, visible
from tm2tfr.base.text.words import written
from tm2tfr.certificates.kit import Refused
from tm2tfr.sources.automaton.automaton import Automaton
from tm2tfr.sources.automaton.model import inner, inner_truth, starred
from tm2tfr.sources.automaton.truth import AutomatonTruth
from tm2tfr.sources.logic.proof.certificate import LogicProof
from tm2tfr.transformer.weights import Decoder


@dataclass(frozen=True)
class AutomatonProof(LogicProof):
    """The proof of the program in between, whose answers on short words are also compared with the automaton's run."""

    automaton: Automaton

    @cached_property
    def _verified(self) -> tuple[int, int]:
        words, longest = super()._verified
        for length in range(1, longest + 1):
            for word in product(self.automaton.alphabet, repeat=length):
                text = written(word)
                own = AutomatonTruth(self.automaton, text, self.decoder).values
                if own != inner_truth(self.automaton, text, self.decoder).values:
                    raise Refused("words", f"an answer is wrong on the word {' '.join(word)}", "the automaton's run")
        return words, longest


def prove(decoder: Decoder, automaton: Automaton) -> AutomatonProof:
    """Return the proof about the weights of an automaton.

    Raises:
        CompileError: if they are those of a scan.
    """
    if not starred(decoder):
        what = (
            f"{visible(automaton.name)}: there are no certificates of RASP programs, which no theorem covers for all words"
        )
        raise CompileError(f"{what}: run every word up to a length with 'tm2tfr check --all-up-to N'")
    return AutomatonProof(decoder, inner(automaton, decoder), automaton)
