"""Runs of RASP programs as pictures: every selector as a matrix, with the attention of the compiled weights beside it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tm2tfr.api.subject import Subject
from tm2tfr.base.errors import CompileError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tm2tfr.api.subject import Given


def draw_run(subject: Given, word: str | None = None, *, attention: bool = False) -> str:
    """Return a run of a RASP program as SVG, layer by layer.

    Each head is a matrix with a row for every query position and a column for every key position; what is selected is
    filled. Keys are above it, queries to its left, values below, and its results to its right. The s-ops that are computed
    position by position are below the heads of their layer.

    >>> import tm2tfr
    >>> tm2tfr.draw_run("reverse", "abc").splitlines()[1]
    '<title>reverse(&quot;abc&quot;) = cba</title>'

    Args:
        subject: see `Subject.of`.
        word: the input; by default the program's own. Without `attention`, its tokens may be any.
        attention: whether to compile the program, and to draw where the heads of the weights look in the dense engine.

    Raises:
        CompileError: if it is no RASP program, or cannot be compiled.
        InputError: if it is no input of the program.
        tm2tfr.sources.rasp.evaluate.Undefined: if the program is undefined on it.
        OutputError: if it is too long.
    """
    from tm2tfr.engines import engine as engine_named
    from tm2tfr.tables.scores import attention_map

    found = Subject.of(subject)
    program = found.right
    if found.kind.draw_run is None:
        raise _refusal(found)
    if not attention:
        return found.kind.draw_run(program, found.word(None) if word is None else word, None)
    decoder, given, engine = found.decoder, found.word(word), engine_named("dense", None)
    tokens = found.prompt(given)

    def look(layer: int, head: int) -> Sequence[Sequence[float]]:
        matrix: Sequence[Sequence[float]] = attention_map(
            decoder, tokens, engine=engine, layer=layer, head=head
        ).weights.tolist()
        return matrix

    return found.kind.draw_run(program, given, (decoder, look))


def draw_requests(subject: Given) -> str:
    """Return what the ``draw`` statements of a RASP program ask for as SVG, one run below the other.

    Raises:
        CompileError: if it is no RASP program, or has no such statement.
        tm2tfr.sources.rasp.evaluate.Undefined: if an s-op is undefined on the input it is to be drawn on.
        OutputError: if an input is too long.
    """
    found = Subject.of(subject)
    program = found.right
    if found.kind.draw_requests is None:
        raise _refusal(found)
    drawn = found.kind.draw_requests(program, found.name)
    if drawn is None:
        what = f"{found.name}: the program has no 'draw' statement"
        raise CompileError(f'{what}: add one, such as draw({program.chosen}, "abc"); or give the input of a run')
    return drawn


def _refusal(found: Subject) -> CompileError:
    what = f"{found.name} is a {found.noun}, and runs are drawn of RASP programs"
    return CompileError(f"{what}: draw where a head looks in the run, with --head, or watch the run in the explorer")
