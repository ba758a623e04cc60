"""The options that put a machine in the prompt of a universal decoder, and their values for the library."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from tm2tfr.base.choices import UNIVERSAL_TAPES
from tm2tfr.base.errors import NotFoundError, UsageError, visible
from tm2tfr.cli.options import UNIVERSAL, choice, count, option, seed_number

if TYPE_CHECKING:
    from tm2tfr.contract.shown import PlainData
    from tm2tfr.sources.turing.universal.program import Universal


SIZES = ""
"""The value of ``--universal`` when it is given without one: its sizes are options of their own."""
_LONGEST_NAME = 256
SEED = option("Shuffle the rules. Default: they are in the machine's own order.", "--seed", metavar="N", panel=UNIVERSAL)


@dataclass(frozen=True, kw_only=True)
class UniversalGroup:
    """A universal decoder, and the machine in its prompt, as the command line asks for them."""

    universal: Annotated[
        str | None,
        option(
            "Put the machine in the prompt of one decoder for all machines with at most S states and K symbols, such "
            "as 8,4, or of the weights in this .safetensors file.",
            metavar="[S,K|FILE]",
            panel=UNIVERSAL,
        ),
    ] = None
    states: Annotated[
        int | None,
        count(
            "In place of S in --universal S,K: the states with rules, and halting states beyond the first.",
            least=1,
            metavar="S",
            panel=UNIVERSAL,
        ),
    ] = None
    symbols: Annotated[
        int | None,
        count(
            "In place of K in --universal S,K: the symbols, the blank among them.", least=1, metavar="K", panel=UNIVERSAL
        ),
    ] = None
    tape: Annotated[
        str | None,
        choice(
            "The tape of its machines. Default: both, and the first token of the prompt says which.",
            of=UNIVERSAL_TAPES,
            panel=UNIVERSAL,
        ),
    ] = None
    prompt: Annotated[
        str | None,
        option(
            "In place of a machine: a prompt such as 'one-way q0,1 →(q0,1,+1) 1 BOS', @FILE, or '-' for standard input.",
            metavar="TEXT",
            panel=UNIVERSAL,
        ),
    ] = None
    seed: Annotated[str | None, SEED] = None

    def options(self, seed: str | None = None) -> PlainData:
        """Return the options as `tm2tfr.compile` takes them.

        Args:
            seed: that of the command, if it has its own.

        Raises:
            UsageError: if it cannot be combined, or the seed is not a number.
        """
        seed = self.seed if seed is None else seed
        sizes = {"--states": self.states, "--symbols": self.symbols}
        given = [name for name, value in sizes.items() if value is not None]
        if self.universal is None:
            if given or self.tape is not None or seed is not None:
                what = f"{[*given, '--tape' if self.tape is not None else '--seed'][0]} is for universal decoders"
                raise UsageError(f"tm2tfr: {what}: omit it, or add --universal")
            return {}
        if self.universal != SIZES and given:
            what = f"--universal {self.universal} says the size itself"
            raise UsageError(f"tm2tfr: {what}: omit {' and '.join(given)}")
        if self.universal == SIZES and len(given) < len(sizes):
            lacking = " and ".join(name for name in sizes if name not in given)
            what = f"tm2tfr: --universal needs its size, and {lacking} {'is' if given else 'are'} missing"
            raise UsageError(f"{what}: use for example --universal 8,4")
        size = (self.states, self.symbols) if self.universal == SIZES else self.universal
        return {"universal": size, "tape": self.tape, "seed": None if seed is None else seed_number(seed, "tm2tfr")}


def prompted(prompt: str, options: Mapping[str, object]) -> tuple[Universal, PlainData]:
    """Return the program that ``--prompt`` describes, with the options that are still about it: weights, if they are given.

    Raises:
        UsageError: without ``--universal``, whose size the tokens depend on, or with a seed, since the rules have an order.
        ReadError, NotFoundError: if it cannot be read.
        SpecError: with every error of the prompt and its place.
        CompileError, WeightFileError: if ``--universal`` is not a decoder.
    """
    from tm2tfr.base.resources import MACHINES, contents, display
    from tm2tfr.sources.circuit.formats.registry import standard_input
    from tm2tfr.sources.turing.universal.compiler import class_asked, weights_given
    from tm2tfr.sources.turing.universal.prompt import read

    given = options.get("universal")
    if given is None:
        what = "--prompt is for a universal decoder, and its tokens depend on its size"
        raise UsageError(f"tm2tfr: {what}: add for example --universal 8,4")
    if options.get("seed") is not None:
        raise UsageError("tm2tfr: --seed shuffles the rules of a machine, and --prompt has them in order: omit one of them")
    text: str | bytes = prompt
    file = "<prompt>"
    if prompt == "-":
        text, file = standard_input(), "<stdin>"
    elif prompt.startswith("@"):
        file = display(prompt[1:])
        if not Path(prompt[1:]).exists() or Path(prompt[1:]).is_dir():
            raise NotFoundError(f"{file}: there is no such file with a prompt: check the name after --prompt @")
        text = contents(MACHINES, prompt[1:])
    elif len(prompt) < _LONGEST_NAME and Path(prompt).is_file():
        what = f"tm2tfr: --prompt: {visible(prompt)!r} is the name of a file, not a prompt"
        raise UsageError(f"{what}: use --prompt @{visible(prompt)}")
    found = read(text, class_asked(options), file=file)
    return found, {} if weights_given(given) is None else {"universal": given}


def class_alone(options: Mapping[str, object]) -> Universal | str:
    """Return the class of machines that is asked for without a machine; of weights in a file, its name.

    Raises:
        UsageError: for a seed.
        CompileError, WeightFileError: if ``--universal`` is not a decoder.
    """
    from tm2tfr.sources.turing.universal.compiler import class_asked, weights_given

    given = options["universal"]
    if options.get("seed") is not None:
        raise UsageError("tm2tfr: --seed is for the order of a machine's rules, and none is given: omit it, or name one")
    found = class_asked(options)
    return found if weights_given(given) is None else str(given)
