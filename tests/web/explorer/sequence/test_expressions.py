"""Position features of i and n, and softmax of weights that have it, in the page: the numbers of the dense engine."""

from __future__ import annotations

from random import Random
from typing import Any

import numpy as np
import pytest

import tm2tfr
from tests.targets.matrices.test_expressions import FORMULAS, compiled
from tests.transformer.test_expressions import WRITTEN, random_text
from tests.transformer.test_positions import NAMES, telling
from tests.web.explorer import browser
from tests.web.explorer.browser import Open
from tests.web.explorer.live_cases import Case
from tests.web.explorer.reading import recorded, rerun
from tests.web.explorer.test_live_engine import SCRIPT, in_python, in_the_browser
from tests.web.explorer.test_live_labellers import run
from tests.web.explorer.test_record import packed
from tm2tfr.contract.options import LogicOptions
from tm2tfr.sources.logic.compiler import compile_program
from tm2tfr.sources.logic.read import formula
from tm2tfr.transformer.expressions import EXACT_BITS, parsed
from tm2tfr.transformer.matrix import Matrix
from tm2tfr.transformer.weights import Decoder, replaced
from tm2tfr.web.explorer.weights_data import MOST_IN_A_PAGE


def hard(name: str) -> Decoder:
    """The weights of a formula before softmax."""
    text, options, _ = FORMULAS[name]
    return compile_program(formula(text, alphabet="ab"), LogicOptions(**options))


def cases() -> list[Case]:
    """Decoders that tell features, and the printed heads, each with a feature's coefficient changed, too."""
    chance = Random(6)
    texts = [*WRITTEN, "i/n*3 = 1", "1/(0-n) < 1/(i+1)", *(random_text(chance) for _ in range(100))]
    small = [text for text in texts if (known := parsed(text)) and known.bits(MOST_IN_A_PAGE) < EXACT_BITS]
    assert len(small) > 80
    told = telling(tuple(dict.fromkeys((*NAMES, *small))))
    found = [Case(f"{n} positions", told, [0] * n, whole=True) for n in (1, 2, 7, 30, 200)]
    for name in FORMULAS:
        decoder = hard(name)
        letters, ends = [decoder.numbers[token] for token in "ab"], [decoder.numbers.get("EOS")]
        for n in (1, 6, 40):
            word = [decoder.numbers["BOS"], *chance.choices(letters, k=n), *(end for end in ends if end is not None)]
            found.append(Case(f"{name}, {n} letters", decoder, word, whole=True))
        place = decoder.position_embedding
        values = place.values * np.array([chance.choice((0.5, 1.0, 3.0)) for _ in place.values])
        broken = replaced(decoder, {"position_embedding": Matrix(place.shape, place.rows, place.columns, values)})
        found.append(Case(f"{name}, changed", broken, found[-1].given, whole=True))
    return found


@pytest.mark.slow
def test_every_number_is_that_of_the_dense_engine(chromium: Any) -> None:
    chosen = cases()
    for case, found in zip(chosen, in_the_browser(chromium, chosen), strict=True):
        wanted = in_python(case)
        assert found.refused is wanted.refused is None, case.name
        assert np.array_equal(found.numbers, wanted.numbers), case.name


@pytest.mark.slow
def test_a_changed_engine_is_noticed(chromium: Any) -> None:
    case = Case("told", telling(("i - n",)), [0] * 3, whole=True)
    script = SCRIPT.replace("a * d - c * b, b * d", "a * d + c * b, b * d")
    assert script != SCRIPT
    (right,), (wrong,) = in_the_browser(chromium, [case]), in_the_browser(chromium, [case], script)
    assert np.array_equal(right.numbers, in_python(case).numbers)
    assert not np.array_equal(wrong.numbers, right.numbers)


@pytest.mark.slow
@pytest.mark.parametrize("name", ["i/n", "n"])
def test_a_session_that_does_not_know_the_length_refuses_them(chromium: Any, name: str) -> None:
    case = Case(name, telling((name,)), [0, 0])
    (found,) = in_the_browser(chromium, [case])
    assert found.refused == in_python(case).refused
    assert f"the position feature {name!r} depends on the length" in str(found.refused)


def test_numbers_that_floats_do_not_hold_exactly_are_refused() -> None:
    none = "they have the position feature i^8, whose numbers are too large for a page"
    assert packed(telling(("i^8",)))[0] == {"none": none}
    assert "none" not in packed(telling(("i^6",)))[0]


# ── pages
needs_browser = pytest.mark.skipif(browser.missing() is not None, reason=str(browser.missing()))


def close(one: Any, other: Any) -> bool:
    """Whether plain data is the same but for the ninth digit of numbers."""
    if isinstance(one, dict):
        return list(one) == list(other) and all(close(one[key], other[key]) for key in one)
    if isinstance(one, list):
        return len(one) == len(other) and all(map(close, one, other))
    if isinstance(one, bool | str) or isinstance(other, bool | str) or one is None:
        return bool(one == other) or {one, other} == {0, "-0"}
    return bool(abs(one - other) <= 1e-9 * max(1.0, abs(other)))


@pytest.mark.slow
@needs_browser
@pytest.mark.parametrize(
    ("name", "soft"),
    [(name, soft) for name, (_, _, warm) in FORMULAS.items() for soft in (False, True) if warm or not soft],
)
def test_a_page_shows_what_python_records(opened: Open, name: str, soft: bool) -> None:
    decoder = compiled(name) if soft else hard(name)
    due = recorded(tm2tfr.explore(decoder, "babbaab").html)
    page = opened(tm2tfr.explore(decoder, "ab"))
    assert run(page, "babbaab").endswith(", all agree.")
    assert close(rerun(page), due)
    heads = [head for layer in due[0]["layers"] for head in layer["heads"] if head["seen"]]
    assert {"weights" in head for head in heads} == {soft}


@pytest.mark.slow
@needs_browser
def test_it_shows_the_expression_and_the_weights_of_softmax(opened: Open) -> None:
    page = opened(tm2tfr.explore(compiled("15a"), "aabab"), "#i=3&layer=2")
    panel = page.locator(".strip-panel")
    assert "softmax with 1/τ = n: an arc is as strong as its weight" in panel.inner_text()
    assert "i/n = 3/7" in page.locator('[data-layer="0"]').inner_text()
    shown = page.locator(".look .where").all_inner_texts()
    assert any(text.startswith("3 → ") and ": " in text for text in shown)
    assert page.locator(".soft-panel").count() == 0
    page.locator('[data-layer="0"] button', has_text="weights").click()
    assert "position i/n" in page.locator('[data-layer="0"]').inner_text()


@pytest.mark.slow
@needs_browser
def test_a_temperature_that_is_too_warm_is_wrong_in_both(opened: Open) -> None:
    decoder = tm2tfr.soften("since-b", temperature=0.2)
    due = recorded(tm2tfr.explore(decoder, "abacb").html)
    page = opened(tm2tfr.explore(decoder, "b"))
    assert "differs at position 5" in run(page, "abacb")
    assert close(rerun(page), due)
    assert not close(rerun(page), recorded(tm2tfr.explore(decoder, "abaca").html))
