"""What an export says of a Turing machine, and the words on which it is tried."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from tm2tfr._version import __version__
from tm2tfr.base.text.shown import escaped
from tm2tfr.contract.exported import ExportReference

TAG = "turing-machine"
"""The tag of model cards."""


@dataclass(frozen=True)
class ExportedMachine(ExportReference):
    """A machine as an export is compared with it."""

    @property
    def tag(self) -> str:
        """The first tag of a model card."""
        return TAG

    def inputs(self, positions: int) -> list[str]:
        """Return its own input and those of its examples, if they fit."""
        own = [] if self.program.input is None else [self.program.input]
        found = dict.fromkeys([*own, *(example.input for example in self.program.examples)])
        return [word for word in found if len(word) < positions] or [""]

    @property
    def letters(self) -> Sequence[str]:
        """The input alphabet."""
        return self.program.input_alphabet or ()

    def introduction(self, given: str, tokenizer: str = "") -> str:
        """Return the paragraph of a model card that says what the model is."""
        more = f" {tokenizer}" if tokenizer else ""
        return f"""{escaped(self.program.description) or "A Turing machine."}

This model was not trained: its weights were compiled from a Turing machine by tm2tfr {__version__}. Given {given}
it generates the machine's run, one token `(state,symbol written,move)` per step, and then the verdict
({", ".join(self.decoder.stop)}).{more}"""

    def checking(self, command: str) -> str:
        """Return the paragraph of a model card that says how to check the model."""
        return f"""**How to check it.** {command} compares the weights with the machine's,
runs them, and compares every token with the simulator's."""
