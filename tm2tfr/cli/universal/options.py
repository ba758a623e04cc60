"""The options that put a machine in the prompt of a universal decoder, and what they stand for."""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tm2tfr.choices import UNIVERSAL_TAPES
from tm2tfr.cli.arguments import Named, seed_number
from tm2tfr.cli.options import UNIVERSAL, Declared, choice, count, option
from tm2tfr.errors import NotFoundError, OutputError, UsageError, visible

if TYPE_CHECKING:
    from tm2tfr.sources.turing.universal.program import Universal

SIZES = ""
"""The value of ``--universal`` when it is given without one: its sizes are options of their own."""
_LONGEST_NAME = 256
A_FILE = Named(tuple)
"""A text that may be the name of a file, which the shell completes."""
OF_THE_CLASS: Mapping[str, Declared] = {
    "universal": option(
        "--universal",
        is_flag=False,
        flag_value=SIZES,
        type=A_FILE,
        metavar="[S,K|FILE]",
        panel=UNIVERSAL,
        help="Put the machine in the prompt of one decoder for all machines with at most S states and K symbols, such as "
        "8,4, or of the weights in this .safetensors file.",
    ),
    "states": count(
        "--states",
        least=1,
        metavar="S",
        panel=UNIVERSAL,
        help="In place of S in --universal S,K: the states with rules, and halting states beyond the first.",
    ),
    "symbols": count(
        "--symbols",
        least=1,
        metavar="K",
        panel=UNIVERSAL,
        help="In place of K in --universal S,K: the symbols, the blank among them.",
    ),
    "tape": choice(
        "--tape",
        of=UNIVERSAL_TAPES,
        panel=UNIVERSAL,
        help="The tape of its machines. Default: both, and the first token of the prompt says which.",
    ),
}
"""The options that say which decoder it is."""
SEED = option(
    "--seed", metavar="N", panel=UNIVERSAL, help="Shuffle the rules. Default: they are in the machine's own order."
)
PROMPT = option(
    "--prompt",
    metavar="TEXT",
    panel=UNIVERSAL,
    help="In place of a machine: a prompt such as 'one-way q0,1 →(q0,1,+1) 1 BOS', @FILE, or '-' for standard input.",
)
DECLARED: tuple[Declared, ...] = (*OF_THE_CLASS.values(), PROMPT)


def of_the_class(command: Callable[..., Any]) -> Callable[..., Any]:
    """Declare the options that say which decoder it is; the command gets them as `asked_options`, called ``universal``."""

    @functools.wraps(command)
    def gathered(
        *,
        universal: str | None,
        states: int | None,
        symbols: int | None,
        tape: str | None,
        seed: str | None,
        **others: Any,
    ) -> Any:
        found = asked_options(universal=universal, states=states, symbols=symbols, tape=tape, seed=seed)
        return command(universal=found, **others)

    for each in reversed([*OF_THE_CLASS.values(), SEED]):
        gathered = each(gathered)
    return gathered


def asked_options(
    *, universal: str | None, states: int | None, symbols: int | None, tape: str | None, seed: str | None
) -> dict[str, Any]:
    """Return these options as `tm2tfr.compile` takes them.

    Raises:
        UsageError: if they cannot be combined, or `seed` is not a number.
    """
    sizes = {"--states": states, "--symbols": symbols}
    given = [name for name, value in sizes.items() if value is not None]
    if universal is None:
        if given or tape is not None or seed is not None:
            what = f"{[*given, '--tape' if tape is not None else '--seed'][0]} is of a universal decoder"
            raise UsageError(f"tm2tfr: {what}: omit it, or add --universal")
        return {}
    if universal == SIZES:
        if len(given) < len(sizes):
            lacking = " and ".join(name for name in sizes if name not in given)
            what = f"tm2tfr: --universal needs its size, and {lacking} {'is' if given else 'are'} missing"
            raise UsageError(f"{what}: use for example --universal 8,4")
        return {"universal": (states, symbols), "tape": tape, "seed": _seed(seed)}
    if given:
        what = f"--universal {universal} says the size itself"
        raise UsageError(f"tm2tfr: {what}: omit {' and '.join(given)}")
    return {"universal": universal, "tape": tape, "seed": _seed(seed)}


def _seed(seed: str | None) -> int | None:
    return None if seed is None else seed_number(seed, "tm2tfr")


def keep_weights(universal: object, output: object) -> None:
    """Raise OutputError if the output is the file of the weights that ``--universal`` names."""
    files = isinstance(universal, str) and isinstance(output, Path) and output.is_file() and Path(universal).is_file()
    if files and Path(str(output)).samefile(str(universal)):
        raise OutputError(f"{output}: these are the weights themselves: choose another name for the output")


def prompted(prompt: str, options: Mapping[str, Any]) -> tuple[Universal, dict[str, Any]]:
    """Return the program that ``--prompt`` describes, with the options that are still about it: weights, if they are given.

    Raises:
        UsageError: if there is no decoder for which the prompt is to be read, or a seed, since its rules have an order.
        ReadError, NotFoundError: if it cannot be read.
        SpecError: with every error of the prompt and its place.
        CompileError, WeightFileError: if ``--universal`` is no decoder.
    """
    from tm2tfr.shelf import MACHINES, contents, display
    from tm2tfr.sources.circuit.formats.registry import standard_input
    from tm2tfr.sources.turing.universal.compiler.compiler import class_asked, weights_given
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


def class_alone(options: Mapping[str, Any]) -> Universal | str:
    """Return the class of machines that is asked for without a machine; of weights in a file, its name.

    Raises:
        UsageError: for a seed.
        CompileError, WeightFileError: if ``--universal`` is no decoder.
    """
    from tm2tfr.sources.turing.universal.compiler.compiler import class_asked, weights_given

    given = options["universal"]
    if options.get("seed") is not None:
        raise UsageError("tm2tfr: --seed is for the order of a machine's rules, and none is given: omit it, or name one")
    found = class_asked(options)
    return found if weights_given(given) is None else str(given)
