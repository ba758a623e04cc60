"""A generated string step by step, as in Figure 8.1a of the chapter: the token fed, the probabilities, and the answer."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tm2tfr.base.errors import EngineError, OutputError, counted, required, visible
from tm2tfr.base.text.shown import aligned, probability
from tm2tfr.engines.decode import Engine, Step, generate, prompted
from tm2tfr.engines.sampling import log_probabilities, sampler
from tm2tfr.runs.sampling import Sampling
from tm2tfr.tables.scores import FEW, LOOKED_AT, MOST_INCHES, OTHERS, named, plain, saved
from tm2tfr.transformer.weights import Decoder

MOST_STEPS = 60
"""The most steps that are shown: those from the first generated token on."""
MOST_TOKENS = 24
"""The most tokens that have a line of their own."""
HEIGHTS = " ▁▂▃▄▅▆▇█"
"""How text shows a probability: below 1/16 nothing, then in eighths."""
_ANSWERED = "*"


@dataclass(frozen=True, kw_only=True)
class NextTokens:
    """The distribution over the next token at each step of a run.

    Args:
        title: for people.
        fed: (steps,) the token at each position, from the one that answers the first generated token on.
        tokens: (rows,) the tokens that have a line; the last one stands for all others if there are more.
        probabilities: (rows, steps).
        answered: (steps,) the row of the token that is answered at each step.
        first: the position of the first step.
    """

    title: str
    fed: tuple[str, ...]
    tokens: tuple[str, ...]
    probabilities: NDArray[np.float64]
    answered: tuple[int, ...]
    first: int

    def text(self) -> str:
        """Return a line for each token with a bar for each step, and a star at the one that is answered."""
        levels = np.rint(self.probabilities * (len(HEIGHTS) - 1)).astype(int)
        rows = [
            "".join(HEIGHTS[n] + (_ANSWERED if self.answered[s] == row else " ") for s, n in enumerate(heights))
            for row, heights in enumerate(levels)
        ]
        lines = aligned([(visible(name), row) for name, row in zip(self.tokens, rows, strict=True)], set())
        last = self.first + len(self.fed) - 1
        about = f"positions {self.first} to {last}; bars: ▁ 1/8 to █ 1, rounded; {_ANSWERED} the token answered"
        return "\n".join([visible(self.title), *(line.rstrip() for line in lines), about]) + "\n"


def next_tokens(
    decoder: Decoder, prompt: Sequence[str], *, title: str, engine: Engine, sampling: Sampling, most: int = MOST_STEPS
) -> NextTokens:
    """Run a decoder, and return the distribution at each of the first `most` steps.

    Raises:
        EngineError: for a labeller, which generates nothing.
    """
    if decoder.labeller:
        what = "these weights label a whole sequence, and generate no next token"
        raise EngineError(f"{what}: use tm2tfr trace --probabilities")
    first = len(prompted(decoder, prompt)) - 1
    draw = None if sampling.seed is None else sampler(sampling.seed, sampling.temperature)
    run = generate(decoder, prompt, engine=engine, max_positions=first + most, draw=draw)
    steps: list[Step] = list(islice(run, first, None))
    shares = np.exp([log_probabilities(step.logits, sampling.temperature) for step in steps]).T  # (vocabulary, steps)
    answers = [decoder.numbers[step.output] for step in steps]
    own = _rows(shares, answers)
    tokens, rows = [decoder.vocabulary[n] for n in own], shares[own]
    if len(own) < len(shares):
        tokens.append(f"{counted(len(shares) - len(own), 'other')} together")
        rows = np.vstack([rows, np.delete(shares, own, axis=0).sum(axis=0)])
    return NextTokens(
        title=title,
        fed=tuple(step.token for step in steps),
        tokens=tuple(tokens),
        probabilities=rows,
        answered=tuple(own.index(n) if n in own else len(own) for n in answers),
        first=first,
    )


def _rows(shares: NDArray[np.float64], answers: Sequence[int]) -> list[int]:
    """Return the tokens that have a line of their own, in vocabulary order: those answered, and the most probable."""
    order = [*dict.fromkeys(answers), *np.argsort(-shares.max(axis=1), kind="stable").tolist()]
    kept = list(dict.fromkeys(order))[: MOST_TOKENS if len(shares) > MOST_TOKENS + 1 else len(shares)]
    return sorted(kept)


def next_tokens_figure(found: NextTokens, path: Path) -> Any:
    """Return a matplotlib figure: a column for each step with a bar for each token, the answered ones in colour.

    Below a column stands the token that is fed, above it the one that comes out, which is fed at the next step.

    Raises:
        OutputError: if matplotlib is missing.
    """
    figures = required(f"{path}: a plot needs matplotlib", ["matplotlib.figure"], "plot", error=OutputError)[0]
    rows, steps = found.probabilities.shape
    names = [found.tokens[row] for row in found.answered]
    wide = min(MOST_INCHES, max(0.12 * max(map(len, (*names, *found.fed))), 0.5) * steps)
    field, size = wide / steps, 11 if steps <= FEW else 7
    figure = figures.Figure(figsize=(wide + 2.5, 0.28 * rows + 2.0), layout="constrained")
    axes = figure.subplots()
    for step in range(steps):
        for row in range(rows):
            p, drawn = found.probabilities[row, step], found.answered[step] == row
            axes.barh(row, 0.9 * p, left=step - 0.45, height=0.7, color=LOOKED_AT if drawn else OTHERS)
            if drawn and steps <= FEW and 72 * field > 4 * size:
                inside = p > 0.6
                place = {"ha": "right", "color": "white"} if inside else {"ha": "left", "color": LOOKED_AT}
                where = step - 0.45 + 0.9 * p + (-0.03 if inside else 0.03)
                axes.text(where, row, probability(float(p)), va="center", fontsize=size - 3, **place)
        axes.axvline(step - 0.45, color="0.85", linewidth=0.8, zorder=0)
    axes.set_xlim(-0.5, steps - 0.5)
    axes.set_ylim(rows - 0.5, -0.5)
    named(axes.yaxis, found.tokens, size=size)
    named(axes.xaxis, found.fed, size=size, field=field)
    above = axes.secondary_xaxis("top")
    named(above.xaxis, names, size=size, field=field)
    axes.set_xlabel(f"fed, from position {found.first} on", fontsize=size)
    above.set_xlabel("answered, and fed next", fontsize=size)
    for each in (axes, above):
        each.tick_params(length=0)
    axes.set_title(plain(found.title), fontsize=size + 1, pad=12)
    for side in ("top", "right", "left", "bottom"):
        axes.spines[side].set_visible(False)
        above.spines[side].set_visible(False)
    return figure


def plot_next_tokens(found: NextTokens, path: str | Path) -> None:
    """Draw the distributions into a .png, .svg or .pdf file.

    Raises:
        OutputError: for another extension, if matplotlib is missing, or if the file cannot be written.
    """
    saved(Path(path), lambda where: next_tokens_figure(found, where), found.title)
