"""Graphviz and Mermaid: labels that show any text as it is, and pictures drawn by Graphviz's program ``dot``."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from subprocess import CalledProcessError
from typing import Literal, get_args

import graphviz

from tm2tfr.base.errors import OutputError, visible
from tm2tfr.base.files import write_bytes

RenderFormat = Literal["svg", "png", "pdf"]
"""What ``dot`` draws; DOT and Mermaid are text, and need no program."""
EXTENSIONS: tuple[str, ...] = (".dot", ".gv", ".mmd", *(f".{f}" for f in get_args(RenderFormat)))
"""Those of the files that a drawing is written to."""
FONT = {"fontname": "Helvetica,Arial,sans-serif"}


def rendered(drawing: graphviz.Digraph, format: RenderFormat, name: str) -> bytes:
    """Return a drawing as the bytes of an SVG, PNG or PDF file.

    Args:
        name: what is drawn, for the complaints.

    Raises:
        OutputError: if `format` is not one of these, or ``dot`` is missing or fails.
    """
    if format not in get_args(RenderFormat):
        raise OutputError(f"drawings cannot be made as {format!r}: use one of {', '.join(get_args(RenderFormat))}")
    other = "or choose .dot or .mmd, which need no program"
    if format == "png":
        drawing.graph_attr["dpi"] = "192"  # resolution enough for a slide
    try:
        return bytes(drawing.pipe(format=format, quiet=True))
    except graphviz.ExecutableNotFound:
        raise OutputError(
            f"drawing {visible(name)}: Graphviz's program 'dot' is not on the PATH: install it with one of "
            "'apt install graphviz', 'brew install graphviz', 'choco install graphviz', "
            f"'conda install -c conda-forge graphviz', {other}"
        ) from None
    except CalledProcessError as error:
        said = (error.stderr or b"").decode(errors="replace").strip() or f"exit status {error.returncode}"
        raise OutputError(
            f"drawing {visible(name)}: Graphviz's 'dot' failed ({said}): fix its installation, {other}"
        ) from error
    except OSError as error:
        raise OutputError(
            f"drawing {visible(name)}: Graphviz's 'dot' does not start ({error.strerror}): fix its installation, {other}"
        ) from error


def write_drawing(path: str | Path, name: str, digraph: Callable[[], graphviz.Digraph], mermaid: Callable[[], str]) -> None:
    """Write a drawing to `path` in the format of its extension; the file appears whole or not at all.

    Args:
        name: what is drawn, for the complaints.
        digraph, mermaid: make it, as a `graphviz.Digraph` or as a flowchart.

    Raises:
        OutputError: if the extension is not one of `EXTENSIONS`, the drawing cannot be made, or the file cannot be written.
    """
    suffix = Path(path).suffix.lower()
    match suffix:
        case ".dot" | ".gv":
            content = str(digraph().source).encode()
        case ".mmd":
            content = mermaid().encode()
        case ".svg" | ".png" | ".pdf":
            content = rendered(digraph(), suffix[1:], name)  # type: ignore[arg-type]
        case _:
            raise OutputError(f"{path}: {suffix!r} is not a drawing format: use one of {', '.join(EXTENSIONS)}")
    write_bytes(path, content)


def shown(name: str) -> str:
    """Return `name`, or its repr if some of it would be invisible."""
    return name if name.isprintable() and name == name.strip() else repr(name)


def dot_label(*lines: str) -> str:
    r"""Return a label that shows `lines` literally: no ``\N``, no ``&lt;`` and no ``<b>`` is interpreted."""
    label: str = graphviz.nohtml(r"\n".join(graphviz.escape(line).replace("&", "&amp;") for line in lines))
    return label


def mermaid_label(text: str) -> str:
    """Return `text` with every character that Mermaid or its Markdown may interpret as an entity, ``#34;``."""
    return re.sub(r"[^\w ,→␣]|_", lambda sign: f"#{ord(sign[0])};", text)
