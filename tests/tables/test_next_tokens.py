"""The distribution over the next token at each step, as data, as text and as a picture."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import tm2tfr
from tm2tfr.base.errors import EngineError
from tm2tfr.tables.next_tokens import MOST_TOKENS, plot_next_tokens

SHARP = tm2tfr.Sampling(temperature=0.3)
SAMPLE = """\
full-adder on '101': softmax at temperature 0.5, seed 1
0  ▇*▁
1  ▁ ▇*
positions 2 to 3; bars: ▁ 1/8 to █ 1, rounded; * the token answered
"""


@pytest.mark.parametrize("sampling", [SHARP, tm2tfr.Sampling(seed=9, temperature=0.4)])
def test_it_is_what_the_table_of_the_run_says(sampling: tm2tfr.Sampling) -> None:
    found = tm2tfr.next_tokens("chapter", "11", sampling=sampling)
    rows = tm2tfr.run("chapter", "11", max_steps=60, sampling=sampling).rows[found.first :]
    assert found.first == 2
    assert found.fed == tuple(row.x for row in rows)
    assert [found.tokens[n] for n in found.answered] == [row.y for row in rows]
    assert [found.probabilities[n, s] for s, n in enumerate(found.answered)] == pytest.approx([row.p_y for row in rows])
    assert found.probabilities.sum(axis=0) == pytest.approx(np.ones(len(rows)))


def test_tokens_without_a_line_stand_together() -> None:
    found = tm2tfr.next_tokens("a-b-c", "abc")
    assert (len(found.tokens), found.tokens[-1]) == (MOST_TOKENS + 1, "3 others together")
    assert found.probabilities.sum(axis=0) == pytest.approx(np.ones(len(found.fed)))
    assert max(found.answered) < MOST_TOKENS


def test_text_has_a_bar_for_each_step() -> None:
    assert tm2tfr.next_tokens("full-adder", "101", sampling=tm2tfr.Sampling(seed=1, temperature=0.5)).text() == SAMPLE


@pytest.mark.slow
@pytest.mark.parametrize("ending", [".svg", ".png", ".pdf"])
def test_a_picture_is_written_and_the_same_run_is_the_same_picture(ending: str, tmp_path: Path) -> None:
    pytest.importorskip("matplotlib")
    for name in ("one", "other"):
        plot_next_tokens(tm2tfr.next_tokens("full-adder", "101", sampling=SHARP), tmp_path / f"{name}{ending}")
    assert (tmp_path / f"one{ending}").read_bytes() == (tmp_path / f"other{ending}").read_bytes()


def test_what_labels_has_none() -> None:
    with pytest.raises(EngineError, match="label a whole sequence, and generate no next token"):
        tm2tfr.next_tokens("reverse", "abc")
