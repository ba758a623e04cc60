"""Position features of i and n in the engine of the page: the numbers of the dense engine, bit for bit."""

from __future__ import annotations

from random import Random
from typing import Any

import numpy as np
import pytest

from tests.targets.matrices.test_expressions import FORMULAS
from tests.transformer.test_expressions import WRITTEN, random_text
from tests.transformer.test_positions import NAMES, telling
from tests.web.explorer.live_cases import Case
from tests.web.explorer.test_live_engine import SCRIPT, in_python, in_the_browser
from tests.web.explorer.test_record import packed
from tm2tfr.contract.options import LogicOptions
from tm2tfr.sources.logic.compiler import compile_program
from tm2tfr.sources.logic.read import formula
from tm2tfr.transformer.expressions import EXACT, parsed
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
    small = [text for text in texts if (known := parsed(text)) and known.largest_part(MOST_IN_A_PAGE) < EXACT]
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
