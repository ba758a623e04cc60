"""What can come of a selection, beside all choices of what each position brings."""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction
from itertools import product

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.strategies import tries
from tm2tfr.sources.sequence.functions import whole
from tm2tfr.sources.sequence.graph import Item
from tm2tfr.sources.sequence.offers import Offer, Picked, picked

Offers = list[tuple[Offer, int]]
NUMBERS = [0, 1, 2, -3, 7, Fraction(1, 3), Fraction(-5, 2)]


@st.composite
def offered(draw: st.DrawFn, values: list[Item]) -> Offers:
    """At most five positions; a position with neither values nor leave to be left out is where no run gets."""
    each = st.builds(Offer, st.booleans(), st.frozensets(st.sampled_from(values), max_size=3))
    offers = draw(st.lists(each, min_size=1, max_size=4, unique=True))
    return [(offer, draw(st.integers(1, 2))) for offer in offers]


def choices(offers: Offers) -> Iterator[list[Item]]:
    """Yield what is selected, in all ways."""
    places = [offer for offer, times in offers for _ in range(times)]
    for chosen in product(*([*([None] if place.skip else []), *place.values] for place in places)):
        yield [value for value in chosen if value is not None]


@pytest.mark.slow
@given(offered([*NUMBERS]))
@settings(max_examples=tries(300))
def test_means_of_numbers(offers: Offers) -> None:
    every = list(choices(offers))
    assert picked(tuple(offers), 10_000) == Picked(
        frozenset(whole(Fraction(sum(map(Fraction, some))) / len(some)) for some in every if some),  # type: ignore[arg-type]
        empty=[] in every,
        several=any(len(some) > 1 for some in every),
    )


@pytest.mark.slow
@given(offered(["a", "b", "", 1]))
@settings(max_examples=tries(300))
def test_text_has_no_mean(offers: Offers) -> None:
    """It is one of what is selected alone; that several can be selected is said even where it is undefined."""
    every = list(choices(offers))
    found = picked(tuple(offers), 10_000)
    assert found.values >= {some[0] for some in every if len(some) == 1}
    assert found.values <= {value for offer, _ in offers for value in offer.values} or found.several
    assert found.empty == ([] in every)
    assert found.several >= any(len(some) > 1 for some in every)


def test_too_many() -> None:
    ten = Offer(True, frozenset(range(10)))
    assert len(picked(((ten, 3),), 100).values) == len({Fraction(a, k) for k in (1, 2, 3) for a in range(9 * k + 1)})
