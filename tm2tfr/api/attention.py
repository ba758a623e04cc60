"""Where a head looks in a run, the scores by which it does, the next tokens' probabilities; RASP programs as pictures."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tm2tfr.api.softness import for_run
from tm2tfr.api.subject import Subject
from tm2tfr.base.errors import CompileError, EngineError, a_or_an, did_you_mean, shortened
from tm2tfr.runs.plan import HARD, Soft, check_engine, is_count, needed_path

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from tm2tfr.api.subject import Given
    from tm2tfr.engines import Engine
    from tm2tfr.runs.sampling import Sampling
    from tm2tfr.tables.next_tokens import NextTokens
    from tm2tfr.tables.scores import AttentionMap, ScoresAt
    from tm2tfr.transformer.weights import Decoder


MOST_MAPPED = 2_000
"""The most positions of a map: its rows are as many, and nobody sees more."""


def attention_of(
    subject: Given,
    word: str | None = None,
    *,
    head: str | int = 1,
    dtype: str | None = None,
    prompt: bool = False,
    soft: Soft = HARD,
) -> AttentionMap:
    """Return the attention weights of a head in a run, computed by the dense engine.

    >>> import tm2tfr
    >>> print(tm2tfr.attention_of("half-adder", "10", head="operand b").text(), end="")
    layer 1 (gate), head 'operand b'
    b      █
    sum    ·█
    carry  ·█·

    Args:
        subject: see `Subject.of`.
        word: the input; by default the program's own.
        head: its number in the first layer with heads, its name, or ``LAYER.HEAD``; layers and heads count from 1, as in
            the explorer.
        dtype: ``float64`` (the default) or ``float32``.
        prompt: for a universal decoder with a machine in its prompt, also show the rows of the prompt; by default the
            first row is that of BOS.
        soft: the attention; by default that of the weights.

    Raises:
        EngineError: for an unknown head, or a run too long for a map.
        CompileError, InputError: see `tm2tfr.check`.
    """
    from tm2tfr.runs.rows import is_turing
    from tm2tfr.sources.turing.columns import described
    from tm2tfr.tables.scores import attention_map

    found, engine, layer, number = _asked(subject, word, head, dtype, soft)
    tokens = found.prompt(word)
    return attention_map(
        found.decoder,
        tokens,
        engine=engine,
        layer=layer,
        head=number,
        symbols=[name for name, _ in found.nets] or None,
        max_positions=MOST_MAPPED,
        first=len(tokens) if is_turing(found.decoder.layout) and described(tokens) and not prompt else 0,
    )


def scores_of(
    subject: Given,
    word: str | None = None,
    *,
    position: int,
    head: str | int = 1,
    dtype: str | None = None,
    soft: Soft = HARD,
) -> ScoresAt:
    """Return the scores of a head at one query position of a run, with the attention weight of each key position.

    >>> import tm2tfr
    >>> print(tm2tfr.scores_of("chapter", "11", head="latest write", position=5).text(), end="")
    layer 4 (read tape), head 'latest write': scores at position 5 (q2,x,+1)
    position         score  weight
    0 1                  0
    1 1          0.0833333
    2 BOS         0.166667
    3 (q0,1,0)        0.25
    4 (q1,_,+1)   0.333333
    5 (q2,x,+1)    3.41667  1

    Args:
        subject, word, head, dtype, soft: see `attention_of`.
        position: the query position, counted from 0, the first token of the prompt.

    Raises:
        EngineError: for a position that the run does not reach; see also `attention_of`.
        CompileError, InputError: see `tm2tfr.check`.
    """
    from tm2tfr.tables.scores import head_scores

    if not is_count(position):
        raise EngineError(f"a position is a whole number from 0 on, not {position!r}: use for example 0")
    found, engine, layer, number = _asked(subject, word, head, dtype, soft)
    return head_scores(
        found.decoder,
        found.prompt(word),
        position,
        engine=engine,
        layer=layer,
        head=number,
        symbols=[name for name, _ in found.nets] or None,
        max_positions=MOST_MAPPED,
    )


def next_tokens(
    subject: Given,
    word: str | None = None,
    *,
    sampling: Sampling | None = None,
    dtype: str | None = None,
    soft: Soft = HARD,
) -> NextTokens:
    """Return the probabilities of the next token at each step of a run, by softmax of the logits (Eq. 8.3 of the chapter).

    >>> import tm2tfr
    >>> found = tm2tfr.next_tokens("full-adder", "101", sampling=tm2tfr.Sampling(temperature=0.5))
    >>> found.tokens, found.fed, found.probabilities.round(3).tolist()
    (('0', '1'), ('1', '0'), [[0.881, 0.119], [0.119, 0.881]])

    Args:
        subject, word, dtype, soft: see `attention_of`.
        sampling: the temperature of the output layer and the seed for drawing tokens; by default temperature 1, without
            drawing: the largest logit decides.

    Raises:
        EngineError: for a sequence model, which generates nothing.
        CompileError, InputError: see `tm2tfr.check`.
    """
    from tm2tfr.engines import engine as engine_named
    from tm2tfr.runs.sampling import Sampling
    from tm2tfr.tables.next_tokens import MOST_STEPS
    from tm2tfr.tables.next_tokens import next_tokens as distributions

    read = Sampling() if sampling is None else sampling
    found = for_run(Subject.of(subject), soft, word, MOST_STEPS)
    check_engine("dense", dtype)
    drawn = "" if read.seed is None else f", seed {read.seed}"
    title = f"{found.name} on {shortened(found.word(word))}: softmax at temperature {read.temperature:g}{drawn}"
    engine = engine_named("dense", dtype)
    return distributions(found.decoder, found.prompt(word), title=title, engine=engine, sampling=read)


def plot_head(
    subject: Given,
    word: str | None = None,
    *,
    path: str | Path,
    head: str | int = 1,
    position: int | None = None,
    dtype: str | None = None,
    prompt: bool = False,
) -> None:
    """Draw the attention of a head in a run, or its scores at one position, as .png, .svg or .pdf (extra ``plot``).

    Args:
        subject, word, head, dtype, prompt: see `attention_of`.
        path: the file.
        position: draw the scores at this position instead, see `scores_of`.

    Raises:
        OutputError: for another extension, if matplotlib is missing, or if the file cannot be written.
        EngineError, CompileError, InputError: see `attention_of`.
    """
    from tm2tfr.tables.scores import plot_attention, plot_scores

    where = needed_path(path, "path")
    if position is None:
        plot_attention(attention_of(subject, word, head=head, dtype=dtype, prompt=prompt), where)
    else:
        plot_scores(scores_of(subject, word, head=head, position=position, dtype=dtype), where)


def _asked(
    subject: Given, word: str | None, head: str | int, dtype: str | None, soft: Soft
) -> tuple[Subject, Engine, int, int]:
    """Return the subject, its engine, and the place of the head: its layer, from 1, and its number in it, from 0.

    Raises:
        EngineError: for an unknown head or dtype, or if a run has more positions than can be drawn.
    """
    from tm2tfr.engines import engine as engine_named

    found = for_run(Subject.of(subject), soft, word, MOST_MAPPED)
    check_engine("dense", dtype)
    decoder = found.decoder
    layer, number = _place(decoder, str(head))
    if decoder.positions is not None and decoder.positions > MOST_MAPPED:
        what = f"a map has a row for each position, and {decoder.positions:,} are too many"
        raise EngineError(f"{found.name}: {what}: use at most {MOST_MAPPED:,}, of a smaller circuit")
    return found, engine_named("dense", dtype), layer, number


def _place(decoder: Decoder, head: str) -> tuple[int, int]:
    """Return the number of a layer, from 1, and of a head in it, from 0.

    Raises:
        EngineError: if no head is called that.
    """
    from tm2tfr.tables.scores import head_of

    with_heads = [n for n, layer in enumerate(decoder.layers, start=1) if layer.heads]
    before, _, after = head.rpartition(".")
    if after.isdecimal() and (before.isdecimal() if "." in head else with_heads):
        layer, number = int(before) if before else with_heads[0], int(after)
        head_of(decoder, layer, number - 1, first=1)  # which refuses others
        return layer, number - 1
    named = {h.name: (n, k) for n, layer in enumerate(decoder.layers, start=1) for k, h in enumerate(layer.heads)}
    if head not in named:
        known = ", ".join(named) or "none: these weights have no heads"
        raise EngineError(f"no head is called {head!r}{did_you_mean(head, named)}: use one of {known}")
    return named[head]


# ── runs of RASP programs: every selector as a matrix, with the attention of the compiled weights beside it ───
def draw_run(subject: Given, word: str | None = None, *, attention: bool = False) -> str:
    """Return a run of a RASP program as SVG, layer by layer.

    Each head is a matrix with a row per query position and a column per key position; selected pairs are filled. Keys are
    above it, queries to its left, values below, and its results to its right. S-ops that are computed position by position
    are below the heads of their layer.

    >>> import tm2tfr
    >>> tm2tfr.draw_run("reverse", "abc").splitlines()[1]
    '<title>reverse(&quot;abc&quot;) = cba</title>'

    Args:
        subject: see `Subject.of`.
        word: the input; by default the program's own. Without `attention`, any tokens are allowed.
        attention: compile the program, and draw the attention of the weights, computed by the dense engine.

    Raises:
        CompileError: if it is not a RASP program, or cannot be compiled.
        InputError: if `word` is not an input of the program.
        tm2tfr.sources.rasp.evaluate.Undefined: if the program is undefined on it.
        OutputError: if the input is too long to draw.
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
    """Return the pictures of a RASP program's ``draw`` statements as SVG, one run below the other.

    Raises:
        CompileError: if it is not a RASP program, or has no ``draw`` statement.
        tm2tfr.sources.rasp.evaluate.Undefined: if an s-op is undefined on the input of its drawing.
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
    what = f"{found.name} is {a_or_an(found.noun)}, and runs are drawn of RASP programs"
    return CompileError(
        f"{what}: draw where a head looks, with --head, or every step: tm2tfr explore {found.name} --frames DIR"
    )
