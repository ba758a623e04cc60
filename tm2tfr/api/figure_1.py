"""Figure 1 of Yang et al., measured on compiled weights."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING

from tm2tfr.base.errors import CompileError
from tm2tfr.runs.options import is_count

if TYPE_CHECKING:
    from tm2tfr.lab.softness.figure_1 import Figure, MeasuredOn


def figure_1(
    *,
    lengths: Sequence[int] | None = None,
    cases: Iterable[MeasuredOn] | None = None,
    progress: Callable[[str], None] | None = None,
) -> Figure:
    """Measure Figure 1 of Yang et al.: how the temperature and the position embedding of each logic grow with the length.

    >>> import tm2tfr
    >>> from tm2tfr.lab.softness.figure_1 import CASES
    >>> found = tm2tfr.figure_1(lengths=(4, 8), cases=CASES[:1])
    >>> round(found.rows[0].needed, 2) == 0, round(found.rows[0].entries, 2)
    (True, 2.0)

    Args:
        lengths: of the words; by default 8, 16, 32 and 64.
        cases: the rows, by default all of `tm2tfr.lab.softness.figure_1.CASES`.
        progress: called before each row with what it is about.

    Raises:
        CompileError: for lengths that are not positive numbers.
    """
    from tm2tfr.contract.options import LogicOptions, read_options
    from tm2tfr.lab.softness.figure_1 import CASES, LENGTHS, Figure, row_of
    from tm2tfr.sources.logic.compiler import compile_program
    from tm2tfr.sources.logic.library import load
    from tm2tfr.sources.logic.read import formula
    from tm2tfr.sources.logic.truth import LogicLabels

    chosen = LENGTHS if lengths is None else tuple(lengths)
    if not chosen or not all(is_count(n, 1) for n in chosen):
        raise CompileError(f"the lengths must be positive numbers, not {chosen!r}: use for example (8, 16, 32)")
    rows = []
    for case in CASES if cases is None else cases:
        if progress is not None:
            progress(f"{case.subject}, {case.weights}")
        given = formula(case.subject, alphabet=tuple(case.alphabet)) if case.alphabet else load(case.subject).program
        decoder = compile_program(given, read_options(LogicOptions, case.options))
        rows.append(row_of(case, decoder, LogicLabels(given, decoder), chosen))
    return Figure(tuple(rows))
