"""The prompt of RASP: statements are carried out one by one, and each answers as the authors' interpreter does.

What it prints is theirs, but for the colours: an s-op with its values on the current example, a selector with its matrix, a
single value, a list, a dictionary, the head of a function; nothing of a loop; of ``load`` every name without an example.
Numbers are rational here and printed as they print floats, to three digits. A definition is not tried out on the example:
an s-op that is undefined on it is defined all the same, and the prompt says where it is undefined.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from decimal import Decimal
from fractions import Fraction
from functools import partial
from pathlib import Path
from typing import cast

from tm2tfr.base.files import write_text
from tm2tfr.base.text.source import Log, SourceText
from tm2tfr.base.text.words import written
from tm2tfr.sources.rasp.drawing.panels import drawn_run, run_svg
from tm2tfr.sources.rasp.evaluate import Undefined, evaluate
from tm2tfr.sources.rasp.language import operators
from tm2tfr.sources.rasp.language import scope as names
from tm2tfr.sources.rasp.language import syntax as s
from tm2tfr.sources.rasp.language.elaborate import Elaborator
from tm2tfr.sources.rasp.language.parse import parse
from tm2tfr.sources.rasp.language.repeating import assigned_in
from tm2tfr.sources.rasp.program import Program, Word
from tm2tfr.sources.rasp.read import elaborated, read
from tm2tfr.sources.rasp.sops import Atom, Node, Selector, SOp

FILE = "<prompt>"
"""What complaints name in the place of a file."""
WELCOME = "RASP\nrunning example is: hello"
PROMPTS = re.compile(r"^(>>|\.\.) ?")
"""The prompts of a session that is pasted or read from a file: of a statement, and of a line that continues one."""
_SETTINGS = re.compile(r"(set|show|examples|full seq display|exit|quit)\b")
_BLOCK = re.compile(r"(def|for)\s|repeat\s+\w")
_TEXT_OR_COMMENT = re.compile(r'"[^"\n]*"|#[^\n]*')
_LARGE = 10**30
"""Numbers from this on are shown with their exponent: Python writes no whole number of over 4,300 digits."""
_KINDS: tuple[tuple[type | tuple[type, ...], str], ...] = ((str, "strings"), (bool, "bools"), (int, "ints"))


class Ended(Exception):  # noqa: N818  (not an error)
    """``exit`` or ``quit``."""


def is_complete(text: str) -> bool:
    """Return whether a text ends a statement: a semicolon is last, or of a block the brace that closes it."""
    bare = _TEXT_OR_COMMENT.sub("", text).strip()
    if not bare or bare.startswith(":") or bare in ("help", "?") or _SETTINGS.match(bare):
        return True
    if _BLOCK.match(bare):
        return bare.count("{") <= bare.count("}") and bare.endswith(("}", ";"))
    return bare.endswith(";")


def pieces(ask: Callable[[str], str]) -> Iterator[str]:
    """Yield the statements that are typed, each as soon as it is complete, without prompts that were pasted with them.

    Args:
        ask: the prompt -> the line behind it. EOFError ends the input; KeyboardInterrupt drops the statement that is typed.
    """
    held = ""
    while True:
        try:
            held += f"{PROMPTS.sub('', ask('.. ' if held else '>> '))}\n"
        except KeyboardInterrupt:
            held = ""
        except EOFError:
            break
        if held and is_complete(held):
            yield held
            held = ""
    if held.strip():
        yield held


def pieces_of(text: SourceText) -> Iterator[str]:
    """Yield the statements of a session in a file, each at its place: behind as many empty lines, and indented as there.

    In a transcript, where some line begins with the prompt ``>>``, only lines with a prompt are input.
    """
    transcript, held, first = any(line.startswith(">>") for line in text.lines), "", 0
    for number, line in enumerate(text.lines):
        prompt = PROMPTS.match(line)
        begins = transcript and line.startswith(">>")
        if held and (begins or is_complete(held)):
            yield "\n" * first + held
            held = ""
        if transcript and prompt is None:
            continue
        first = first if held else number
        held += f"{' ' * prompt.end() + line[prompt.end() :] if transcript and prompt else line}\n"
    if held.strip():
        yield "\n" * first + held


@dataclass
class RaspPrompt:
    """A session.

    Args:
        folder: where ``load`` looks first.
    """

    folder: Path = field(default_factory=Path)
    file: str = FILE
    """What complaints name as the file."""
    selector_example: names.Meta = "hello"
    shows: set[str] = field(default_factory=lambda: {"s-op", "selector"})
    """Which of the two are shown on the example."""
    full: bool = False
    """Whether an s-op is shown below its input."""
    statements: list[str] = field(default_factory=list)
    """The texts of the program so far: what defines something."""

    def __post_init__(self) -> None:
        log = Log(SourceText("", self.file))
        made = elaborated(log, (), library=True, folder=self.folder)
        self._elaborator: Elaborator = made.elaborator
        self._scope = made.top

    @property
    def example(self) -> Word:
        """The input on which s-ops are shown."""
        return tuple(self._elaborator.example)

    @property
    def word(self) -> str:
        """The example as the text of an input."""
        return written(self.example)

    @property
    def known(self) -> tuple[str, ...]:
        """The names that can be read, for completion."""
        return tuple(sorted({name for name in self._scope.known() if not name.startswith("_")}))

    @property
    def sops(self) -> Mapping[str, SOp]:
        """The s-ops that the session has defined, the last one last."""
        return {name: value for name, value in self._scope.names.items() if isinstance(value, SOp) and name != "out"}

    def program(self, sop: str = "") -> Program:
        """Return the session as a program of this s-op, by default the last."""
        return read(self.text(sop), file=FILE, folder=self.folder, name=sop or [*self.sops][-1]).program

    def text(self, sop: str = "") -> str:
        """Return the session as the text of a program of this s-op, by default the last; its alphabet is the example's."""
        alphabet = json.dumps(list(dict.fromkeys(self.example)), ensure_ascii=False, default=float)
        chosen = f"# sop: {sop}\n" if sop else ""
        return f"{chosen}# alphabet: {alphabet}\n\n{''.join(self.statements)}"

    def answers(self, text: str) -> Iterator[str]:
        """Carry out the statements of a text, and yield what is printed, line by line.

        Raises:
            SpecError: with what is wrong with the text; what came before was carried out.
            Ended: for ``exit`` and ``quit``.
        """
        log = Log(SourceText(text, self.file))
        worker = self._elaborator
        worker.log, worker.steps = log, 0
        statements = parse(log)
        for statement in statements:
            if not log.broken:
                yield from self._carried_out(statement, log)
        for warned in operators.precedence(statements):
            log.add(*warned, severity="warning")
        yield from (line for warning in log.conclude() for line in str(warning).splitlines())

    def _carried_out(self, statement: s.Statement, log: Log) -> Iterator[str]:
        worker = self._elaborator
        if isinstance(statement, s.Setting):
            yield from self._set(statement)
            return
        loaded: dict[str, names.Meta] = {}
        worker.requests.clear()
        worker.watch = partial(_noted, loaded)
        if not worker.attempt(statement, self._scope):
            return
        for name in [name for name, value in self._scope.names.items() if value is names.BROKEN]:
            del self._scope.names[name]  # what a loaded file could not define
        if isinstance(statement, s.Assignment | s.Definition | s.Loop | s.Repetition | s.Loading):
            text = statement.source.text[statement.start : statement.end]
            self.statements.append(f'load "{statement.file}";\n' if isinstance(statement, s.Loading) else f"{text}\n")
        match statement:
            case s.Alone():
                read = statement.expression
                name = read.name if isinstance(read, s.Variable) else "" if isinstance(worker.last, Node) else "out"
                yield from self._named(name, worker.last)
            case s.Assignment() | s.Definition() | s.Repetition():
                for name in _defined(statement, self._scope):
                    yield from self._named(name, self._scope.names[name])
            case s.Loading():
                shows, self.shows = self.shows, set()
                for name, value in loaded.items():
                    yield from self._named(name, value)
                self.shows = shows
            case s.Drawing():
                yield self._drawn(statement, worker.requests[-1])

    def _drawn(self, drawing: s.Drawing, request: names.Request) -> str:
        """Draw a run of an s-op to an SVG file of its name, and return the line that says so, or why it is undefined."""
        name = drawing.expression.name if isinstance(drawing.expression, s.Variable) else "out"
        try:
            picture = run_svg(drawn_run(cast("SOp", request.node), request.word, name=name))
        except Undefined as error:
            return f"     {error}"
        write_text(f"{name}.svg", picture)
        return f"     draw: wrote {name}.svg"

    def _set(self, statement: s.Setting) -> Iterator[str]:
        subjects = [statement.subject] if statement.subject else ["s-op", "selector"]
        match statement.kind:
            case "exit":
                raise Ended
            case "example":
                worker, before = self._elaborator, self._elaborator.example
                if worker.attempt(replace(statement, subject=""), self._scope) and "selector" in subjects:
                    self.selector_example = worker.example
                if "s-op" not in subjects:
                    worker.example = before
            case "show":
                for subject in subjects:
                    value = self._elaborator.example if subject == "s-op" else self.selector_example
                    yield f"\t{subject} example: {_quoted(value)}"
            case "examples":
                self.shows = self.shows | {*subjects} if statement.on else self.shows - {*subjects}
            case "display":
                self.full = statement.on

    # ── what is printed ─────────────────────────────────────────────────────────────────────────────────────────
    def _named(self, name: str, value: names.Meta, indent: str = "", key: str = "") -> Iterator[str]:
        """Yield a value with its name; inside a dictionary behind its key."""
        label = f"{name} = " if name else ""
        match value:
            case SOp():
                yield f"{indent}{key}     s-op: {name or value.name or 'out'}"
                if "s-op" in self.shows:
                    yield from self._on_example(name or value.name or "out", value, indent)
            case Selector():
                yield f"{indent}{key}     selector: {name or value.name or 'out'}"
                if "selector" in self.shows:
                    yield f"{indent} \t Example:"
                    yield from (f"{indent}{line}" for line in _evaluated(value, tuple(self.selector_example), self.full))
            case names.Answer():
                yield from self._applied(value.request)
            case names.RaspFunction():
                parameters = ", ".join(parameter.name for parameter in value.definition.parameters)
                yield f"{indent}{key}     function: {value.name}({parameters})"
            case list() | dict():
                yield from self._gathered(label, value, indent, key)
            case _:
                yield f"{indent}{key}     value: {label}{_quoted(value)}"

    def _gathered(
        self, label: str, value: list[names.Meta] | dict[Atom, names.Meta], indent: str, key: str
    ) -> Iterator[str]:
        noun, ends = ("list", "[]") if isinstance(value, list) else ("dict", "{}")
        items = [("", item) for item in value] if isinstance(value, list) else [(_quoted(k), v) for k, v in value.items()]
        if not any(isinstance(item, list | dict | Node) for _, item in items):
            shown = ", ".join(f"{k}: {_quoted(v)}" if k else _quoted(v) for k, v in items)
            yield f"{indent}{key}     {noun}: {label}{ends[0]}{shown}{ends[1]}"
            return
        yield f"{indent}{key}     {noun}: {label}{ends[0]}"
        for k, item in items:
            yield from self._named("", item, f"{indent}\t\t", f"{k} : " if k else "")
        yield f"{indent}     {ends[1]}"

    def _on_example(self, name: str, value: SOp, indent: str) -> Iterator[str]:
        first, *rest = _evaluated(value, self.example, self.full)
        if not rest and first[:1] not in ("", "["):
            yield f"{indent} \t {first}"
            return
        given = _quoted(self._elaborator.example)
        yield f"{indent} \t Example: {name}({given}) = {first}"
        yield from (f"{indent}{line}" for line in rest)

    def _applied(self, request: names.Request) -> Iterator[str]:
        first, *rest = _evaluated(request.node, request.word, self.full)
        if isinstance(request.node, Selector):
            first, rest = "", [first, *rest]
        yield f"\t =  {first}".rstrip() if first[:1] in ("", "[") else f"\t {first}"
        yield from rest


def _noted(loaded: dict[str, names.Meta], statement: s.Statement, scope: names.Scope) -> None:
    """Note what a statement of a loaded file has defined, in the place of what an earlier one did."""
    for name in _defined(statement, scope):
        if not name.startswith("_"):
            loaded.pop(name, None)
            loaded[name] = scope.names[name]


def _defined(statement: s.Statement, scope: names.Scope) -> list[str]:
    """Return the names that a statement has defined, in its order; what stays within a loop is not among them."""
    found: Iterable[s.Variable] = statement.names if isinstance(statement, s.Assignment) else ()
    if isinstance(statement, s.Definition):
        found = (statement.name,)
    if isinstance(statement, s.Repetition):
        found = assigned_in(statement.body)
    return [variable.name for variable in found if variable.name in scope.names]


def _evaluated(node: SOp | Selector, word: Word, full: bool) -> list[str]:
    """Return the values of an s-op on an input, or the matrix of a selector, as lines; or why there are none."""
    try:
        stages = evaluate(node, word)
    except Undefined as error:
        return [str(error)]
    if isinstance(node, Selector):
        shown = [_shown(token) for token in word]
        rows = zip(shown, stages.matrices[node], strict=True)
        lines = [f"\t\t\t {token} | {' '.join('1' if there else ' ' for there in row)}".rstrip() for token, row in rows]
        return [f"\t\t\t     {' '.join(shown)}", *lines]
    values = stages.values[node]
    if full and len(set(values)) > 1:
        return ["", *_below(word, values)]
    return [shown_values(values)]


def _below(word: Word, values: Sequence[Atom]) -> Iterator[str]:
    """Yield an input, and the values below it."""
    width = max(len(_shown(value)) for value in (*word, *values))
    for label, row in (("input: ", word), ("output:", values)):
        yield f"\t\t{label} {' '.join(_shown(value).rjust(width) for value in row)} \t ({_kind(row)})"


def shown_values(values: Sequence[Atom]) -> str:
    """Return the values of an s-op as the authors' interpreter prints them: ``[5]*5 (ints)`` if they are all the same."""
    if len(values) > 1 and len({(type(value), value) for value in values}) == 1:
        return f"[{_shown(values[0])}]*{len(values)} ({_kind(values)})"
    return f"[{', '.join(map(_shown, values))}] ({_kind(values)})"


def _kind(values: Sequence[Atom]) -> str:
    return next((noun for kind, noun in _KINDS if all(isinstance(value, kind) for value in values)), "floats")


def _shown(value: Atom) -> str:
    if isinstance(value, int | Fraction) and not -_LARGE < value < _LARGE:
        return f"{Decimal(value.numerator) / value.denominator:.3e}"
    if isinstance(value, Fraction):
        return str(round(float(value), 3))
    return ("F", "T")[value] if isinstance(value, bool) else str(value)


def _quoted(value: names.Meta) -> str:
    if isinstance(value, list):
        return f"[{', '.join(map(_quoted, value))}]"
    if isinstance(value, bool):
        return str(value)
    return f'"{value}"' if isinstance(value, str) else _shown(value)
