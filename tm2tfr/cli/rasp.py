"""The command ``rasp``: the prompt of the language, and sessions from a file."""

from __future__ import annotations

import shlex
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from tm2tfr.base import resources
from tm2tfr.base.errors import Tm2tfrError, UsageError, did_you_mean
from tm2tfr.cli.options import argument
from tm2tfr.cli.output import judged, write_data
from tm2tfr.sources.circuit.formats.registry import standard_input
from tm2tfr.sources.rasp.prompt import WELCOME, Ended, RaspPrompt, pieces, pieces_of

if TYPE_CHECKING:
    from tm2tfr.api.subject import Subject

HISTORY = ".tm2tfr_rasp_history"
"""The file in the user's home folder that keeps the typed lines, with the extra ``repl``."""
LENGTH = 10
"""The length of inputs that a session is compiled for, if its example is not longer."""
HELP = """\
Statements end with a semicolon: tokens;  c = indices + 4;  c("abc");  select(indices, indices, <);
  set example "abc"    the input on which values are shown; also: show example, examples off, full seq display on
  draw(s, "abc");      draw a run of an s-op, with every selector as a matrix, to s.svg
  :compile [S-OP]      compile the session's last s-op, or this one, and print its layers
  :explain [S-OP]      say what each direction of its weights holds, and where each head looks
  :check [S-OP]        compare its weights with the interpreter on the example, at every position
  :explore [S-OP]      write the page of that run to S-OP.html
                       these take the options of 'tm2tfr compile', such as --max-length 20
  :save FILE           write the session as a program
  :help, :quit         show this; leave (also exit, Ctrl-D)"""


def rasp(
    *,
    file: Annotated[
        Path | None,
        argument(
            "FILE", parser=Path, help="A session: statements, or a transcript with the prompts >> and .. before them."
        ),
    ] = None,
) -> None:
    """Type RASP line by line, as in the paper's interpreter, and compile and check what you have defined.

    Without a terminal, standard input is read as a session. The extra repl adds history and completion.
    """
    from tm2tfr.base.text.source import decoded

    if file is None and sys.stdin is not None and sys.stdin.isatty():
        _interactive(RaspPrompt())
        return
    shown, content = _content(file)
    text = decoded(content, file=shown, noun="session")
    session = RaspPrompt(folder=Path() if file is None else file.parent, file=shown)
    refused = False
    for piece in pieces_of(text):
        ended, wrong = _answered(session, piece)
        refused = refused or wrong
        if ended:
            break
    raise typer.Exit(2 if refused else 0)


def _content(file: Path | None) -> tuple[str, bytes | str]:
    """Return how a session's file is called, and its content: standard input, a file, or a shipped program."""
    if file is None or str(file) == "-":
        return "<stdin>", standard_input()
    if resources.is_shipped(resources.PROGRAMS, str(file)):
        return f"{file}.rasp", resources.shipped_text(resources.PROGRAMS, str(file))
    return resources.display(str(file)), resources.contents(resources.PROGRAMS, str(file))


def _interactive(session: RaspPrompt) -> None:
    write_data(f"{WELCOME}\nstatements end with ;, and :help lists the commands\n")
    ask = _toolkit(session) if find_spec("prompt_toolkit") is not None else _plain()
    for piece in pieces(ask):
        try:
            if _answered(session, piece)[0]:
                return
        except KeyboardInterrupt:
            print("interrupted", file=sys.stderr)


def _answered(session: RaspPrompt, piece: str) -> tuple[bool, bool]:
    """Carry out a statement or a command, print its answer or its error, and return whether it ends, and was refused."""
    try:
        typed = ":help" if piece.strip(" ;\n") in ("help", "?") and "help" not in session.known else piece.strip()
        for line in _commanded(session, typed) if typed.startswith(":") else session.answers(piece):
            write_data(f"{line}\n")
    except Ended:
        return True, False
    except Tm2tfrError as error:
        sys.stdout.flush()
        print(error, file=sys.stderr)
        return False, True
    return False, False


# ── commands of the prompt itself ───────────────────────────────────────────────────────────────────────────
def _commanded(session: RaspPrompt, line: str) -> Iterator[str]:
    name, _, argument = line[1:].rstrip("; ").partition(" ")
    argument = argument.strip()
    if name in ("quit", "exit", "q"):
        raise Ended
    if name not in COMMANDS:
        raise UsageError(f"there is no command {':' + name!r}{did_you_mean(name, COMMANDS)}: ':help' lists the commands")
    return COMMANDS[name](session, argument.strip())


def _help(session: RaspPrompt, argument: str) -> Iterator[str]:
    yield HELP


def _compile(session: RaspPrompt, argument: str) -> Iterator[str]:
    from tm2tfr.api.runs import summary

    yield summary(_subject(session, argument))


def _explain(session: RaspPrompt, argument: str) -> Iterator[str]:
    from tm2tfr.api.machines import explain

    yield str(explain(_subject(session, argument)))


def _check(session: RaspPrompt, argument: str) -> Iterator[str]:
    from tm2tfr.api.checking import check
    from tm2tfr.cli.about import verdict

    subject = _subject(session, argument)
    yield judged(verdict(check(subject, session.word), subject))


def _explore(session: RaspPrompt, argument: str) -> Iterator[str]:
    from tm2tfr.api.pages import explore

    subject = _subject(session, argument)
    path = Path(f"{subject.program.chosen}.html")
    explore(subject, session.word).save(path)
    yield f"wrote {path}"


def _save(session: RaspPrompt, argument: str) -> Iterator[str]:
    from tm2tfr.base.files import write_text

    path = argument.strip().strip('"')
    if not path:
        raise UsageError(":save needs a file: write for example ':save mine.rasp'")
    write_text(path, session.text())
    yield f"wrote {path}"


COMMANDS: Mapping[str, Callable[[RaspPrompt, str], Iterator[str]]] = {
    "help": _help,
    "compile": _compile,
    "explain": _explain,
    "check": _check,
    "explore": _explore,
    "save": _save,
}
"""The commands of the prompt, behind a colon, but for ``:quit``."""


def _subject(session: RaspPrompt, argument: str) -> Subject:
    """Return the session's program of an s-op, with options; by default for inputs as long as the example, or `LENGTH`."""
    from tm2tfr.api.subject import Subject

    if not session.sops:
        raise UsageError("nothing is defined yet: define an s-op, for example 'a = indices + 1;'")
    sop, options = _asked(argument)
    if sop and sop not in session.sops:
        raise UsageError(f"there is no s-op {sop!r}{did_you_mean(sop, session.sops)}: define it, or name another")
    lengths = {} if options.get("unbounded") else {"max_length": max(len(session.example), LENGTH)}
    return Subject.of(session.program(sop), options={**lengths, **options})


def _asked(argument: str) -> tuple[str, dict[str, str | bool]]:
    """Return the s-op that is named, and the options behind it: ``r --max-length 20``."""
    from tm2tfr.contract.options import RaspOptions, fields_of, option_called

    known = {option_called(name): option for name, option in fields_of(RaspOptions).items() if name != "sop"}
    try:
        words = shlex.split(argument)
    except ValueError as error:
        raise UsageError(f"{argument}: {error}: close the quotation") from None
    sop = words.pop(0) if words and not words[0].startswith("-") else ""
    options: dict[str, str | bool] = {}
    while words:
        name, given, value = words.pop(0).partition("=")
        if (option := known.get(name)) is None:
            raise UsageError(f"there is no option {name!r}{did_you_mean(name, known)}: use one of {', '.join(known)}")
        if option.kind != "flag" and not given and not words:
            raise UsageError(f"{name} needs a value: write it behind the option")
        options[option.name] = True if option.kind == "flag" else value if given else words.pop(0)
    return sop, options


# ── lines from a terminal ───────────────────────────────────────────────────────────────────────────────────
def _plain() -> Callable[[str], str]:
    """Return the function that asks for a line without prompt_toolkit."""
    with suppress(ImportError):
        import readline  # noqa: F401 — where it is there, input() has history and editing

    def ask(prompt: str) -> str:
        try:
            return input(prompt)
        except (EOFError, KeyboardInterrupt):
            write_data("\n")
            raise

    return ask


def _toolkit(session: RaspPrompt) -> Callable[[str], str]:
    """Return the function that asks for a line, with history and completion."""
    from prompt_toolkit import PromptSession
    from prompt_toolkit.completion import WordCompleter
    from prompt_toolkit.history import FileHistory, InMemoryHistory

    path = Path.home() / HISTORY
    try:
        path.touch()
        typed: PromptSession[str] = PromptSession(history=FileHistory(str(path)))
    except OSError:  # no home folder, or one that may not be written to
        typed = PromptSession(history=InMemoryHistory())

    def ask(prompt: str) -> str:
        return typed.prompt(prompt, completer=WordCompleter(words(session), WORD=True), complete_while_typing=False)

    return ask


def words(session: RaspPrompt) -> list[str]:
    """Return the completions of the Tab key: names that can be read, and the commands of the prompt."""
    return [*session.known, *(f":{name}" for name in sorted((*COMMANDS, "quit")))]
