"""A formula or a program in other formats: as it is typed, in the signs of the paper, in LaTeX, and as a drawing."""

from __future__ import annotations

from pathlib import Path

from tm2tfr.base.errors import ConversionError, OutputError, did_you_mean
from tm2tfr.base.text.shown import WrittenSource, block, escaped
from tm2tfr.base.text.tex import needs
from tm2tfr.sources.logic.drawing import to_dot, to_mermaid
from tm2tfr.sources.logic.printer import STYLES
from tm2tfr.sources.logic.program import LogicProgram
from tm2tfr.sources.logic.write import output_names, text_of, texts_of, write

TARGETS: tuple[str, ...] = ("ascii", "paper", "latex", "dot", "mermaid")
"""Everything that a formula is written in."""
_ENDINGS = {
    ".tl": "ascii",
    ".srasp": "ascii",
    ".tex": "latex",
    ".dot": "dot",
    ".gv": "dot",
    ".mmd": "mermaid",
}


def convert(program: LogicProgram, format: str) -> WrittenSource:
    """Return a formula or a program in a format.

    Raises:
        ConversionError: if there is no such format.
        OutputError: if there is too much to draw.
    """
    if format not in TARGETS:
        what = f"{program.name} is a {program.noun}, which is not written as {format!r}{did_you_mean(format, TARGETS)}"
        raise ConversionError(f"{what}: use one of {', '.join(TARGETS)}")
    if format in ("dot", "mermaid"):
        return WrittenSource((to_dot if format == "dot" else to_mermaid)(program))
    if format == "ascii":
        return WrittenSource(write(program))
    return WrittenSource(_in_latex(program) if format == "latex" else _in_signs(program))


def format_for(output: Path) -> str:
    """Return the format of files with the extension of `output`.

    Raises:
        OutputError: if there is none.
    """
    found = _ENDINGS.get(output.suffix.lower())
    if found is None:
        what = f"{output}: formulas and programs are not written in files with the extension {output.suffix!r}"
        raise OutputError(f"{what}: use --to {', '.join(TARGETS)}")
    return found


def check_ending(program: LogicProgram, output: Path) -> None:
    """Raise OutputError if the ending of `output` is that of the other language, so that it would not be read back."""
    ending, right = output.suffix.lower(), f".{program.language}"
    if ending in (".tl", ".srasp") and ending != right:
        read = "a formula" if ending == ".tl" else "a program"
        what = f"{output}: {program.name} is a {program.noun}, and a file that ends in {ending} is read as {read}"
        raise OutputError(f"{what}: use {output.with_suffix(right)}")


def headings(program: LogicProgram) -> dict[str, str]:
    """Return the name of each output -> its heading in LaTeX."""
    texts = texts_of(program, "latex")
    return {name: f"${texts[node]}$" for node, name in output_names(program).items()}


def _in_signs(program: LogicProgram) -> str:
    """Return the definitions, each on a line, in the signs of the paper."""
    lines, at = [], "(i)" if program.language == "srasp" else ""
    for name, node in program.definitions.items():
        text = text_of(node, "paper", language=program.language)
        lines.append(f"{name}{at} := {text}" if name else text)
    return "\n".join([*lines, ""])


def _in_latex(program: LogicProgram) -> str:
    """Return the definitions as equations that are aligned, behind the packages that they need."""
    word = STYLES["latex"].word
    lines = []
    for name, node in program.definitions.items():
        text = text_of(node, "latex", language=program.language)
        lines.append(f"{word(name)} &= {text}" if name else f"& {text}")
    body = " \\\\\n  ".join(lines)
    equations = f"\\begin{{align*}}\n  {body}\n\\end{{align*}}\n"
    return f"{needs(equations)}\n{equations}"


# ── the model card of an export of a formula or a program ─────────────────────────────────────────────
def card(program: LogicProgram) -> str:
    """Return its title, if it has one, and its text."""
    title = f"{escaped(program.title)}:\n\n" if program.title else ""
    return f"\n{title}{block(program.text)}"
