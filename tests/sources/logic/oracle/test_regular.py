"""Formulas of star-free languages beside regular expressions, which automata-lib reads."""

from __future__ import annotations

import pytest
from automata.fa.nfa import NFA

from tests.sources.logic.random_formulas import words_of
from tm2tfr.base.text.words import all_words
from tm2tfr.sources.logic.evaluate_many import ManyWords
from tm2tfr.sources.logic.library import load
from tm2tfr.sources.logic.program import LogicProgram
from tm2tfr.sources.logic.read import formula

PAST = {
    "once Q[a]": "(a|b)*a(a|b)*",
    "historically Q[a]": "aa*",
    "Q[b] & prev Q[a]": "(a|b)*ab",
    "once (Q[b] & prev (Q[b] & prev Q[a]))": "(a|b)*abb(a|b)*",
    "once (Q[a] & !prev true)": "a(a|b)*",
    "historically !(Q[a] & prev Q[a])": "(b|ab)*(a|b|ab)",
    "historically !(Q[a] & prev Q[b])": "aa*b*|bb*",
    "Q[b] & historically ((Q[a] & (!prev true | prev Q[b])) | (Q[b] & prev Q[a]))": "ab(ab)*",
    "!Q[a] S Q[a]": "(a|b)*ab*",
    "Q[a] S (Q[b] & prev Q[b])": "(a|b)*bba*",
    "Q[a] S !prev true": "(a|b)a*",
    "prev (Q[b] S (Q[a] & prev Q[a]))": "(a|b)*aab*(a|b)",
    "once (Q[b] & prev once Q[a]) & !(once (Q[a] & prev once (Q[b] & prev once Q[a])))": "b*aa*bb*",
}
"""What is true at the end of the words of a language."""

FUTURE = {
    "eventually Q[a]": "(a|b)*a(a|b)*",
    "Q[a] & next (Q[b] & next Q[b])": "abb(a|b)*",
    "always (Q[a] -> next Q[b])": "(b|ab)(b|ab)*",
    "Q[a] U Q[b]": "a*b(a|b)*",
    "!next true": "a|b",
    "Q[a] U (Q[b] & !next true)": "a*b",
    "eventually (Q[a] & prev prev true & !prev prev prev true)": "(a|b)(a|b)a(a|b)*",
}
"""What is true at the beginning of the words of a language."""


SHIPPED = {
    "ab-star": "ab(ab)*",
    "a-star-b-star": "a*b*",
    "contains-abb": "(a|b)*abb(a|b)*",
    "first-is-a": "a(a|b)*",
    "no-aa": "(b|ab)*(b|a|ab)",
}
"""The shipped star-free formulas over a and b."""

CASES = [(*pair, -1) for pair in PAST.items()] + [(*pair, 0) for pair in FUTURE.items()]


@pytest.mark.parametrize(("text", "regex", "at"), CASES)
def test_a_formula_is_true_of_the_words_of_a_regular_expression(text: str, regex: str, at: int) -> None:
    assert_same(formula(text, alphabet="ab"), regex, at)


@pytest.mark.parametrize("name", SHIPPED)
def test_a_shipped_formula_is_true_of_the_words_of_a_regular_expression(name: str) -> None:
    assert_same(load(name).program, SHIPPED[name], -1)


def assert_same(program: LogicProgram, regex: str, at: int) -> None:
    language = NFA.from_regex(regex, input_symbols={"a", "b"})
    for n in range(1, 9):
        truth = ManyWords([program.root], "ab").run(words_of(2, n)).rows[program.root][:, at]
        assert truth.tolist() == [language.accepts_input("".join(word)) for word in all_words("ab", n)]
