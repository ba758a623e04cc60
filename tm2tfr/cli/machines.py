"""Commands about programs without a decoder: ``graph``, ``convert``, ``explain``, ``list``."""

from __future__ import annotations

import json
import shlex
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, TypeAlias

import typer

from tm2tfr.base.choices import (
    CIRCUIT_FORMATS,
    DRAWN,
    HALT_VERDICTS,
    HARDWARE,
    IMAGES,
    LOGIC_FORMATS,
    LOGIC_LANGUAGES,
    PICTURES,
    RASP,
    WRITABLE,
    HaltVerdict,
)
from tm2tfr.base.errors import OutputError, UsageError, a_or_an
from tm2tfr.cli.asked import FORMATS, NOT_COMPILED, Asked, FromOption
from tm2tfr.cli.options import (
    MACHINE_HELP,
    REPORTS,
    OutputOption,
    among,
    argument,
    choice,
    listed,
    machines,
    one_of,
    option,
)
from tm2tfr.cli.output import styled, tell, write
from tm2tfr.cli.parameters import But
from tm2tfr.cli.subject import subject
from tm2tfr.contract.options import CIRCUITS, PROGRAMS

if TYPE_CHECKING:
    from tm2tfr.contract.source import Source
    from tm2tfr.sources.turing.formats.lossless import Written
    from tm2tfr.sources.turing.spec import Machine

EXPLAINED = ("text", "markdown", "json")
TO = (*WRITABLE, *CIRCUIT_FORMATS, *HARDWARE, *PICTURES, *LOGIC_FORMATS, *LOGIC_LANGUAGES, RASP)
ConeOption: TypeAlias = Annotated[
    str | None,
    option("Only the part of the circuit that this output depends on.", "--cone", metavar="OUTPUT", panel=CIRCUITS),
]


def graph(
    *,
    output: OutputOption = None,
    cone: ConeOption = None,
    head: Annotated[
        str | None,
        option(
            "Draw where this head looks in a run instead, as text, or as a .svg, .png or .pdf file (extra: plot). By "
            "name, or by number from 1; 'tm2tfr plot' does the same, with more options.",
            metavar="[LAYER.]HEAD",
        ),
    ] = None,
    word: Annotated[
        str | None,
        option(
            "The input of that run. Default: the source's own. Without --head, for a RASP program: draw the run itself, "
            "with every selector as a matrix, as SVG.",
            "--input",
            "-i",
            metavar="WORD",
        ),
    ] = None,
    attention: Annotated[
        bool, option("In the drawing of a run: where the heads of the weights look, too.", panel=PROGRAMS)
    ] = False,
    everything: Annotated[
        bool, option("With --head and a universal decoder: show where the prompt looks as well.", "--all")
    ] = False,
    draws: Annotated[
        bool, option("Instead: the runs that the program's 'draw' statements ask for, as SVG.", panel=PROGRAMS)
    ] = False,
    asked: Asked,
) -> None:
    """Draw a machine's state graph, a circuit, the data flow of a RASP program, or the syntax tree of a formula.

    The file of -o may be .svg, .png, .pdf, .dot or .mmd (Mermaid). Without -o, DOT is printed.
    """
    from tm2tfr.base.files import check_file

    if head is not None:
        if attention or draws:
            raise UsageError(
                f"tm2tfr graph: {'--attention' if attention else '--draws'} is not about one head: omit --head"
            )
        _draw_head(asked, output, head, word, cone, everything=everything)
        return
    if everything:
        raise UsageError("tm2tfr graph: --all is about the rows of a head: name it with --head, or omit --all")
    if word is not None or attention or draws:
        _draw_run(asked, output, word, cone, attention=attention, draws=draws)
        return

    if output is not None and output.suffix.lower() in (".tikz", ".tex"):
        _refuse_tikz(asked, output)
    check_file(output, reading=asked.reading, what="drawings", endings=DRAWN)
    found, construction = _program(asked, cone)
    if output is None:
        write(construction.dot(found), None, asked.argument)
        return
    construction.draw(found, output)
    typer.echo(f"wrote {output}", err=True)


def _refuse_tikz(asked: Asked, output: Path) -> None:
    """Raise for a drawing in LaTeX that another command writes.

    Raises:
        OutputError: if `tm2tfr convert` writes this kind of source as TikZ.
    """
    construction = subject(asked).construction
    if construction is not None and "tikz" in construction.targets:
        remedy = f"use tm2tfr convert {shlex.quote(str(asked))} -o {output.stem}.tikz"
        raise OutputError(f"{output}: TikZ is written by tm2tfr convert: {remedy}")


def _draw_head(
    asked: Asked, output: Path | None, head: str, word: str | None, cone: str | None, *, everything: bool
) -> None:
    """Print where a head looks, or write a picture of it."""
    from tm2tfr.base.files import check_file
    from tm2tfr.tables.scores import ATTENTION_FORMATS, plot_attention

    if cone is not None:
        raise UsageError("tm2tfr graph: --cone is a part of a drawing, and --head draws a run: omit one of them")
    check_file(output, reading=asked.reading, what="pictures of attention", endings=ATTENTION_FORMATS)
    from tm2tfr.api.attention import attention_of

    found = attention_of(subject(asked), word, head=head, prompt=everything)
    if output is None:
        write(found.text(), None, asked.argument)
        return
    plot_attention(found, output)
    typer.echo(f"wrote {output}", err=True)


def _draw_run(
    asked: Asked, output: Path | None, word: str | None, cone: str | None, *, attention: bool, draws: bool
) -> None:
    """Print or write the drawing of a run of a RASP program, or those that it asks for."""
    from tm2tfr.base.files import check_file

    if cone is not None:
        raise UsageError("tm2tfr graph: --cone is a part of a circuit, and a run is drawn of RASP programs: omit it")
    if draws and (word is not None or attention):
        other = "--attention" if word is None else "--input"
        raise UsageError(
            f"tm2tfr graph: --draws draws runs on the inputs that the program names, without weights: omit {other}"
        )
    check_file(output, reading=asked.reading, what="runs", endings=(".svg",))
    from tm2tfr.api.attention import draw_requests, draw_run

    found = subject(asked)
    svg = draw_requests(found) if draws else draw_run(found, word, attention=attention)
    write(svg, output, asked.argument)


def _format(text: str) -> str:
    """Return the format that a text names; an unknown one is refused later, with the formats of the source's kind."""
    return one_of((*TO, text), {"prompt": "tm2tfr prompt"})(text)


def convert(
    *,
    output: OutputOption = None,
    to: Annotated[
        str | None,
        option(
            f"One of {', '.join(TO)}. Default: from the extension of the output file, otherwise yaml, or ascii for a "
            "formula.",
            metavar="FORMAT",
            parser=_format,
            autocompletion=among(TO),
        ),
    ] = None,
    word: Annotated[
        str | None,
        option(
            "Convert this input of the machine too: the result is printed, and is in the file if the format has a place "
            "for it. Default: the machine's own.",
            "--input",
            "-i",
            metavar="WORD",
        ),
    ] = None,
    verdict: Annotated[
        HaltVerdict | None,
        choice(
            "Take every halt to accept or to reject: for machines that halt without verdicts, and formats in which every "
            "run accepts or rejects. Where a rule is missing, accepting takes one more step.",
            of=HALT_VERDICTS,
        ),
    ] = None,
    cone: ConeOption = None,
    asked: Annotated[
        Asked,
        NOT_COMPILED,
        But(
            command="",
            machine=argument("SOURCE", machines, help=f"{MACHINE_HELP}."),
            from_=choice(
                f"The format of the file, one of {', '.join(FORMATS)}. Default: by its extension or content.",
                of=FORMATS,
                metavar="FORMAT",
            ),
        ),
    ],
) -> None:
    """Write a machine, circuit, formula or automaton in another format, or say why that format cannot express it.

    An automaton can also be written as the program it is compiled by: srasp or tl if it is star-free, otherwise rasp.
    """
    from tm2tfr.base.files import check_file
    from tm2tfr.sources.registry import check_target

    if not asked.named:
        raise UsageError("tm2tfr convert: SOURCE is missing: add SOURCE, see 'tm2tfr convert --help'")
    check_file(output, reading=asked.reading)
    if output is not None and to is None:
        if output.suffix.lower() in IMAGES:
            drawn = shlex.join(["tm2tfr", "graph", asked.machine or "SOURCE", "-o", str(output)])
            raise OutputError(f"{output}: no format has the extension {output.suffix!r}; for a picture: {drawn}")
        check_target(output)
    found, construction = _program(asked, cone)
    if output is not None and construction.check_ending is not None:
        construction.check_ending(found, output)
    target = to or (construction.format_for(output) if output else next(iter(construction.targets), "yaml"))
    assumed: tuple[str, ...] = ()
    if word is not None or verdict is not None:
        if construction.adapted is None:
            asked_for = "--verdict" if word is None else "--input"
            what = f"{asked_for} is for machines, and {found.name} is {a_or_an(construction.noun)}"
            raise UsageError(f"tm2tfr convert: {what}: omit it")
        found, assumed = construction.adapted(found, word, verdict)
    written = construction.convert(found, target)
    notes = _input_notes(found, written, asked=word is not None) if construction.adapted is not None else ()
    for note in (*assumed, *written.notes, *notes):
        typer.echo(f"note: {note}", err=True)
    write(written.text, output, asked.argument)


def _input_notes(machine: Machine, written: Written, *, asked: bool) -> Iterator[str]:
    """Yield a note on the input of a machine in another format, if the user asked for it or the input changes."""
    if machine.input is not None and (asked or (machine.input and written.symbols)):
        other = "".join(written.symbols.get(a, a) for a in machine.input)
        yield f"the input {machine.input!r} {f'becomes {other!r}' if other != machine.input else 'stays as it is'}"


def _program(asked: Asked, cone: str | None) -> tuple[Any, Source[Any]]:
    """Return the requested program, or a part of it, with its construction.

    Raises:
        CompileError: if no program is stored with weights; for a part of anything but a circuit.
    """
    from tm2tfr.base.errors import CompileError

    found = subject(asked)
    program, construction = found.right, found.construction
    if construction is None:
        raise CompileError(f"{found.name}: nothing is known of its kind")
    if cone is None:
        return program, construction
    if construction.part is None:
        raise CompileError(f"{found.name} is {a_or_an(found.noun)}, and --cone is a part of a circuit: omit it")
    return construction.part(program, cone), construction


def explain(
    *,
    to: Annotated[str, choice("A table for people, Markdown, or one JSON object. Default: text.", of=EXPLAINED)] = "text",
    output: OutputOption = None,
    asked: Annotated[Asked, But(takes_alone=True)],
) -> None:
    """Print the model of a source: each variable with its equation, the layer that writes it, and what reads it.

    The model says independently of the compiler what the weights must compute. Programs and formulas have equations in
    their own notation. Weights compiled with --unbounded have no model.
    """
    from tm2tfr.api.machines import explain
    from tm2tfr.base.files import check_file

    check_file(output, reading=asked.reading)
    found = explain(subject(asked))
    if to == "json":
        text = json.dumps(found.as_dict(), ensure_ascii=False, indent=2)
    else:
        text = found.markdown() if to == "markdown" else str(found)
    write(f"{text}\n", output, asked.argument)


def list_(
    *,
    what: Annotated[
        str | None,
        argument(
            "WHAT",
            listed,
            help="'machines', 'circuits', 'programs', 'formulas' or 'automata' to list; a name or a file to describe. "
            "Default: everything.",
        ),
    ] = None,
    format: Annotated[str, choice("Lines for people, or one JSON object for each.", of=REPORTS)] = "text",
    from_: FromOption = None,
) -> None:
    """List what is shipped, or describe one entry: what it is made of, its examples, and commands to try.

    If several entries have the same name, all are described.
    """
    from tm2tfr.cli.about import automaton, circuit, logic, rasp, turing
    from tm2tfr.sources import names

    as_json = format == "json"
    if what == "":
        raise UsageError("tm2tfr list: an empty name names nothing: omit it to list everything, or name what to describe")
    if what is None or what in names.PLURALS.values():
        headed = what is None and not as_json
        lines = list(turing.listed(as_json=as_json)) if what in ("machines", None) else []
        lines += circuit.listed(as_json=as_json, heading=headed) if what in ("circuits", None) else []
        if what in ("programs", None):
            lines += rasp.listed(as_json=as_json, heading=headed)
            lines += logic.listed("srasp", as_json=as_json, heading=headed)
        lines += logic.listed("tl", as_json=as_json, heading=headed) if what in ("formulas", None) else []
        lines += automaton.listed(as_json=as_json, heading=headed) if what in ("automata", None) else []
    else:
        several = names.homonyms(what) if from_ is None else ()
        lines = []
        for name in several or (what,):
            lines += ([""] if lines else []) + [styled(name, "bold")] if several and not as_json else []
            lines += _described(name, from_, as_json=as_json)
    for line in lines:
        tell(line, as_json=as_json)


def _described(name: str, format: str | None, *, as_json: bool) -> Iterator[str]:
    """Yield the lines that describe a machine or a circuit; as JSON, one object."""
    from tm2tfr.cli.about import about

    program, construction = _program(Asked(machine=name, from_=format), None)
    return about(construction).described(name, program, as_json=as_json)
