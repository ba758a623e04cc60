"""Monadic predicates of one's own (Definition 19): rules in i and n, in programs, in weights and in errors."""

from __future__ import annotations

from itertools import product
from random import Random

import pytest

import tm2tfr
from tests.sources.logic.printed.test_theorems import wrong
from tests.sources.logic.random_formulas import words_of
from tm2tfr.base.errors import CompileError, SpecError
from tm2tfr.contract.options import LogicOptions
from tm2tfr.lab.softness.temperature import softened_by
from tm2tfr.sources.logic.compiler import compile_program
from tm2tfr.sources.logic.evaluate import evaluate
from tm2tfr.sources.logic.evaluate_many import ManyWords
from tm2tfr.sources.logic.program import LogicProgram
from tm2tfr.sources.logic.proof.certificate import LogicProof
from tm2tfr.sources.logic.read import formula, read
from tm2tfr.sources.logic.write import write

DECODERS = ("i % 3 = 0", "i in {1, 2, 3, 5, 8}", "i^2 % 5 in {1, 4} | i = 0", "!(i > 3) & i != 2")
"""Rules that do not depend on the length."""
ENCODERS = ("2*i = n + 1", "i >= n - 1", "n % i = 0", "2*i <= n & n % 2 = 0")


def program(rule: str, body: str = "x & Q[a] | x(count(Q[b])) & !x(count(Q[a]))") -> LogicProgram:
    return formula(f"theta(x) = {rule}; {body}", alphabet="ab")


def by_python(rule: str, i: int, n: int) -> bool:
    """Return a rule's value by Python itself; the rules here have no `!` but as a word before a bracket."""
    text = rule.replace("!=", "≠").replace("!", " not ").replace("≠", "!=").replace("^", "**")
    text = text.replace("&", " and ").replace("|", " or ").replace("<=", "≤").replace(">=", "≥").replace("!=", "≠")
    text = (
        text.replace("=", "==")
        .replace("≤", "<=")
        .replace("≥", ">=")
        .replace("≠", "!=")
        .replace("n % i", "(n % i if i else n)")
    )
    return bool(eval(text, {}, {"i": i, "n": n}))


# ── what it means
@pytest.mark.parametrize("rule", [*DECODERS, *ENCODERS])
def test_the_evaluators_have_the_printed_definition(rule: str) -> None:
    given = program(rule, "x(count(Q[b]))")
    many = ManyWords(given.nodes, "ab").run(words_of(2, 4)).rows[given.root]
    for row, word in zip(many, product("ab", repeat=4), strict=True):
        wanted = [by_python(rule, word[: i + 1].count("b"), 4) for i in range(4)]
        assert row.tolist() == wanted == list(evaluate(given.root, word)[given.root])


@pytest.mark.parametrize("rule", [*DECODERS, *ENCODERS])
def test_weights_compute_it(rule: str) -> None:
    """Of positions and counts, with hard attention, and under softmax at a temperature per position."""
    given = program(rule)
    hard = compile_program(given, LogicOptions())
    assert hard.sequential == (rule in DECODERS)
    assert wrong(given, hard, range(1, 7))[0] == 0
    assert wrong(given, softened_by(hard, "per-position", 1), range(1, 7))[0] == 0
    if rule in DECODERS:
        printed = compile_program(given, LogicOptions(variant="paper"))
        assert wrong(given, softened_by(printed, "paper", 1), range(1, 5))[0] == 0


def test_the_stream_and_exact_arithmetic_agree() -> None:
    for rule in (DECODERS[0], ENCODERS[0]):
        subject = program(rule)
        for word in ("a", "bb", "abbab", "bababa"):
            assert tm2tfr.check(subject, word, engine="exact").agrees


def test_a_decoder_of_a_rule_is_certified() -> None:
    given = program(DECODERS[0])
    certificate = LogicProof(compile_program(given, LogicOptions()), given).certificate()
    assert certificate.most_tokens == 11_129_301


def test_changed_weights_are_found_out() -> None:
    """Another rule in the weights than in the source: some cell is wrong."""
    given = program("i % 3 = 0")
    other = compile_program(program("i % 3 = 1"), LogicOptions())
    assert wrong(given, other, range(4, 5))[0] > 0


@pytest.mark.slow
def test_random_rules() -> None:
    chance = Random(5)
    for _ in range(100):
        m, r = chance.randrange(2, 9), chance.randrange(9)
        parts = [
            f"i % {m} {chance.choice(('=', '<=', '>'))} {r}",
            f"{chance.randrange(1, 4)}*i {chance.choice('<>')} n - {r}",
        ]
        parts += [f"i^2 + n in {{{', '.join(str(chance.randrange(40)) for _ in range(12))}}}", f"!(i = {r})"]
        rule = f" {chance.choice('&|')} ".join(chance.sample(parts, 2))
        given = program(rule)
        decoder = compile_program(given, LogicOptions(mask="none"))
        assert wrong(given, decoder, range(1, 9))[0] == 0, rule
        assert wrong(given, softened_by(decoder, "per-position", 1), range(1, 9))[0] == 0, rule


# ── how it is written
def test_a_text_and_what_is_written_of_it() -> None:
    text = "# alphabet: ab\n\ntheta(third) = i % 3 = 0\ntheta(mid) = 2*i = n\n"
    text += "x = third(count(Q[a])) & third(position)\nx | mid(position)\n"
    given = read(text, file="t.tl").program
    assert write(given) == text
    again = read(write(given), file="t.tl").program
    assert [str(node) for node in again.nodes] == [str(node) for node in given.nodes]
    bare = read(text.replace("third(position)", "third").replace(" = ", " := ", 1), file="t.tl").program
    assert write(bare) == text


def test_a_program_names_the_number() -> None:
    text = "# alphabet: ab\ntheta(third) = i % 3 = 0\na(i) = third(pos(i)) & Q_a(i)\n"
    assert "a(i) = third(pos(i)) & Q[a](i)" in write(read(text, file="p.srasp").program)
    with pytest.raises(SpecError, match=r"p.srasp:3:8: 'third' has no number here: write third\(pos\(i\)\)"):
        read(text.replace("third(pos(i))", "third"), file="p.srasp")


@pytest.mark.parametrize(
    ("rule", "words"),
    [
        ("i % 3", r":1:12: this rule is a number, and has to say whether something holds: compare it: i % 3 = 0"),
        ("i / 2 = 1", r":1:14: '/' is not part of a rule: multiply the other side: numbers are whole"),
        ("1 < i < 3", r":1:20: two comparisons in one: write a rule such as"),
        ("i % foo = 0", r":1:16: 'foo' is not part of a rule: use i, n, whole numbers"),
        ("i in {n}", r":1:18: a set consists of whole numbers: write"),
        ("(i = 2", r":1:12: this is not an expression: write a rule such as"),
        ("i^n = 2", r":1:14: an exponent is a whole number up to 9"),
        (" + ".join(["i"] * 80) + " = 2", r":1:12: this rule has more than 200 characters, or brackets too deep"),
    ],
)
def test_what_is_no_rule_has_its_place(rule: str, words: str) -> None:
    with pytest.raises(SpecError, match=words):
        formula(f"theta(x) = {rule}")


@pytest.mark.parametrize(
    ("text", "words"),
    [
        (
            "theta(odd) = i = 1; odd(count(Q[a]))",
            "'odd' is a word of the language and cannot be defined",
        ),
        (
            "theta(x) = i = 1; theta(x) = i = 2; x",
            "'x' is defined a second time; the first is in line 1",
        ),
        ("theta(x) =", "nothing is defined behind '=': write a rule such as i % 3 = 0, or i in {1, 2, 5}"),
        ("theta(x) = i = 1; x(Q[a] & Q[b])", "'x' takes a single count or the position, and this is a truth value"),
        ("theta(x) = i = 1; x(count(Q[a]), 3)", "'x' takes 1 argument, not 2: write x\\(t\\)"),
        (
            "y & Q[a]; theta(y) = i = 1",
            "'y' is used before its definition in line 1",
        ),
    ],
)
def test_what_is_said_of_names(text: str, words: str) -> None:
    with pytest.raises(SpecError, match=words):
        formula(text)


def test_the_length_is_no_decoders_business() -> None:
    given = program("2*i = n")
    with pytest.raises(CompileError, match="this operator looks at later positions, which a decoder does not see"):
        compile_program(given, LogicOptions(mask="future"))
    assert compile_program(given, LogicOptions()).features[-1] == "2*i = (n-2)"
    assert "i % 3 = 0" in compile_program(program("i % 3  =  0"), LogicOptions()).features


@pytest.mark.parametrize("rule", ["2*i >= n", "i % 3 = 0"])
def test_interventions_know_rules(rule: str) -> None:
    """What comes of a count or of a predicate that is set is what the weights say, too."""
    subject = program(rule, "x & Q[a] | x(count(Q[b]))")
    for changed in ({"count(Q[b])@2": 4}, {"x(position)@3": 1}, {"x(count(Q[b]))@4": 0}):
        found = tm2tfr.intervene(subject, "abaab", changed)
        assert found.agrees, str(found)
