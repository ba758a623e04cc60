"""What texts mean: the nodes that they make, written out."""

from __future__ import annotations

import pytest

from tm2tfr.sources.logic import nodes as n
from tm2tfr.sources.logic.nodes import Node
from tm2tfr.sources.logic.program import WordExample
from tm2tfr.sources.logic.read import formula, read


def shown(node: Node) -> str:  # noqa: PLR0911
    """Return a node as nested calls, whatever its name is."""
    match node:
        case n.Input():
            return "in"
        case n.Text():
            return repr(node.value)
        case n.Always():
            return "true" if node.value else "false"
        case n.OneOf():
            return f"{shown(node.of)}∈{''.join(node.values)}"
        case n.Comparison():
            return f"({shown(node.left)} {node.relation} {shown(node.right)})"
        case n.Predicate():
            return f"{node.predicate}{node.modulus or ''}{node.remainder or ''}({shown(node.of)})"
        case n.Sum():
            return "+".join([*(f"{c}*{shown(term)}" for c, term in node.terms), str(node.constant)])
        case n.Retrieve():
            where = f"{node.choice} {node.sight} {scored(node.score)}"
            return f"[{where}: {shown(node.values)}; {shown(node.default)}]"
    return f"{type(node).__name__}({', '.join(map(shown, n.parents(node)))})"


def scored(score: n.Score) -> str:
    match score:
        case n.AtKey():
            return f"key {shown(score.bit)}"
        case n.AtQuery():
            return f"query {shown(score.bit)}"
        case n.Equal():
            return f"{shown(score.key)}={shown(score.query)}"
        case n.NotOf():
            return f"not {scored(score.part)}"
    return f"{type(score).__name__}({', '.join(map(scored, score.parts))})"


FORMULAS = {
    "Q[a] & Q[b] & Q_c": "And(in∈a, in∈b, in∈c)",
    "(Q[a] & Q[b]) & Q_c": "And(And(in∈a, in∈b), in∈c)",
    "Q[a] | Q[b] and !Q[c]": "Or(in∈a, And(in∈b, Not(in∈c)))",
    "not Q[a] -> Q[b] -> Q[c]": "Or(Not(Not(in∈a)), Or(Not(in∈b), in∈c))",
    "Q[a] <-> Q[b]": "Or(And(in∈a, in∈b), And(Not(in∈a), Not(in∈b)))",
    "prev next Q[a] since Q[a]": "Since(Previous(Next(in∈a)), in∈a)",
    "Q[a] until Q[a] & ⊤": "And(Until(in∈a, in∈a), true)",
    "Q[a] S Q[b]": "Since(Or(in∈a, in∈b), in∈b)",
    "Q[a] U Q[b]": "Until(Or(in∈a, in∈b), in∈b)",
    "once Q[a]": "Since(true, in∈a)",
    "historically Q[a]": "Not(Since(true, Not(in∈a)))",
    "eventually Q[a]": "Until(true, in∈a)",
    "always Q[a]": "Not(Until(true, Not(in∈a)))",
    "first | last": "Or(Not(Previous(true)), Not(Next(true)))",
    "count(Q[a]) <= 2*count_right(Q[b]) - 3": "(CountLeft(in∈a) <= 2*CountRight(in∈b)+-3)",
    "#←[Q_a] − #→[Q_a] ≥ 1": "(1*CountLeft(in∈a)+-1*CountRight(in∈a)+0 >= 1)",
    "1 - (count(Q[a]) + position) * 2 < -1": "(-2*1*CountLeft(in∈a)+1*Place()+0+1 < -1)",
    "count(Q[a]) + count(Q[a]) = position != true": None,
    "count(Q[a]) + count(Q[a]) ≠ Q[a]": "(2*CountLeft(in∈a)+0 != 1*in∈a+0)",
    "odd(#<-[Q_1])": "mod21(CountLeft(in∈1))",
    "even(position) & mod(count(Q[a]), 3, 2)": "And(mod2(Place()), mod32(CountLeft(in∈a)))",
    "prime(count(Q[a])) | square(position) | power_of_2(#→[Q_a])": (
        "Or(prime(CountLeft(in∈a)), square(Place()), power of 2(CountRight(in∈a)))"
    ),
    "(Q[a] ? 1 : count(Q[b])) > 2": "Or(And(in∈a, (1 > 2)), And(Not(in∈a), (CountLeft(in∈b) > 2)))",
    "Q[a] ? Q[b] : Q[c]": "Or(And(in∈a, in∈b), And(Not(in∈a), in∈c))",
    "Q[a] if Q[b] else Q[c]": "Or(And(in∈b, in∈a), And(Not(in∈b), in∈c))",
    "x := Q[a]\ny := x & x\ny | x": "Or(And(in∈a, in∈a), in∈a)",
    "x = Q[a]; twice(f) = f & f; twice(prev x)": "And(Previous(in∈a), Previous(in∈a))",
    """Q["ab"] | Q[' '] | Q[]] | Q_"x\\"y" | Q["'"] | Q_( """: "Or(in∈ab, in∈ , in∈], in∈x\"y, in∈', in∈()",
    "Q[a] & # not yet\n  Q[b]": "And(in∈a, in∈b)",
    "(Q[a]\n | Q[b])\n since Q[b]": "Since(Or(in∈a, in∈b), in∈b)",
}


@pytest.mark.parametrize(("text", "want"), [(text, want) for text, want in FORMULAS.items() if want])
def test_a_formula(text: str, want: str) -> None:
    assert shown(formula(text).root) == want


PROGRAMS = {
    "Q_a(i) & in(i) = 'b'": "And(in∈a, in∈b)",
    "in(i) in {'a', 'b'} & in(i) ∈ ['c']": "And(in∈ab, in∈c)",
    "'x' if Q[a](i) else in(i)": "Choose(in∈a, 'x', in)",
    "in(i) != 'a' & in(i) = in(i)": "And(Not(in∈a), Same(in, in))",
    "psum_j [j <= i] (Q_a(j) - 2*Q_b(j) + 1)": "1*CountLeft(in∈a)+-2*CountLeft(in∈b)+1*CountLeft(true)+0",
    "#[j < i] Q_a(j) = pos(i)": "(1*CountLeft(in∈a)+-1*in∈a+0 == Place())",
    "#[j > i] Q_a(j) + #[true] Q_a(j) = 0": ("(2*CountRight(in∈a)+-2*in∈a+1*CountLeft(in∈a)+0 == 0)"),
    "latest_j [j < i, Q_a(j) & Q_b(j)] Q_a(j)": "[latest < key And(in∈a, in∈b): in∈a; false]",
    "◀_j [i <= j, true] in(j) : '?'": "[earliest >= AllOf(): in; '?']",
    "▶j [1, in(j) = in(i) & Q_a(j)] ⊤ : Q_b(i)": "[latest any AllOf(in=in, key in∈a): true; in∈b]",
    "latest_j [j <= i, !(in(j) = in(i)) | Q_a(i)] true": "[latest <= AnyOf(not in=in, query in∈a): true; false]",
    "latest_j [j <= i, in(j) != in(i)] true": "[latest <= not in=in: true; false]",
    "latest_j [j <= i, pos(j) + 2 = pos(i)] true": "[latest <= Place()=1*Place()+-2: true; false]",
    "latest_j [j <= i, pos(i) - pos(j) = 2 - Q_a(j)] true": ("[latest <= 1*Place()+-1*in∈a+0=1*Place()+-2: true; false]"),
    "latest_j [j <= i, Q_a(j) = Q_b(i)] true": (
        "[latest <= AnyOf(AllOf(key in∈a, query in∈b), AllOf(key Not(in∈a), query Not(in∈b))): true; false]"
    ),
    "latest_j [j < i, Q_a(j)] (Q_b(j) & Q_c(i))": (
        "And([latest < key in∈a: true; false], And([latest < key in∈a: in∈b; false], in∈c))"
    ),
    "latest_j [j < i, Q_a(j)] (in(j) = in(i)) : true": (
        "Or(And([latest < key in∈a: true; false], Same([latest < key in∈a: in; in], in)), "
        "And(Not([latest < key in∈a: true; false]), true))"
    ),
    "latest_j [j < i, Q_a(j)] ('x' if Q_c(i) else in(j)) : '?'": (
        "Choose([latest < key in∈a: true; false], Choose(in∈c, 'x', [latest < key in∈a: in; in]), '?')"
    ),
    "latest_j [j < i, first(j)] last(i)": ("And([latest < key Not(Previous(true)): true; false], Not(Next(true)))"),
    "prev Q_a(i) & count(Q_b(i)) > 1": "And(Previous(in∈a), (CountLeft(in∈b) > 1))",
    "2 * # [j <= i] Q_a(j) = # ← [Q_b(i)] # [j <= i is a comment": "(2*CountLeft(in∈a)+0 == CountLeft(in∈b))",
    "latest_j [j < i, Q_a(j)] Q_b(j) : 0": "[latest < key in∈a: in∈b; false]",
    "latest_j [j < i, Q_a(j)] Q_b(j) : 1": "[latest < key in∈a: in∈b; true]",
    "!▶_j [j < i, Q_a(j)] Q_b(j) : 1": "Not([latest < key in∈a: in∈b; true])",
    "¬ ! latest_j [j < i, Q_a(j)] Q_b(j)": "Not(Not([latest < key in∈a: in∈b; false]))",
    "psum_j [j <= i] !Q_a(j)": "CountLeft(Not(in∈a))",
    "#[j <= i] !!Q_a(j) = 1": "(CountLeft(Not(Not(in∈a))) == 1)",
}


@pytest.mark.parametrize(("text", "want"), PROGRAMS.items())
def test_an_expression_of_a_program(text: str, want: str) -> None:
    assert shown(read(f"x(i) = {text}", file="x.srasp").program.root) == want


def test_a_comment_may_begin_like_a_sum() -> None:
    text = "# [j <= i] is where a sum looks\nx(i) = Q_a(i) # [j <= i] and a note\n# ←[too]\n"
    assert shown(read(text, file="x.srasp").program.root) == "in∈a"


def test_macros_are_expanded_where_they_are_called() -> None:
    text = "both(s, t) = s = 'a' & t = 'a'\nmatch(p, q) = both(in(p), in(q))\nx(i) = latest_j [j < i, match(j, i)] true"
    found = shown(read(text, file="x.srasp").program.root)
    assert found == "[latest < AllOf(key in∈a, query in∈a): true; false]"


def test_what_headers_say() -> None:
    text = (
        '# title: A title: with a colon\n# alphabet: ["a", "bc"]\n# define: x\n'
        '# example: ["a", "bc"] -> FT\n# example: y(a) -> T\n# accepts: ["bc"] aa\n# rejects: a\n\nx := Q["bc"]\ny := !x\n'
    )
    program = read(text, file="some/name.tl").program
    assert (program.name, program.title, program.alphabet) == ("name", "A title: with a colon", ("a", "bc"))
    assert (program.chosen, list(program.definitions), program.language) == ("x", ["x", "y"], "tl")
    assert program.examples == (
        WordExample(of="", word=("a", "bc"), values=("F", "T")),
        WordExample(of="y", word=("a",), values=("T",)),
        WordExample(of="", word=("bc",), values=("T",)),
        WordExample(of="", word=("a", "a"), values=("T",)),
        WordExample(of="", word=("a",), values=("F",)),
    )


def test_the_language_is_that_of_the_ending_or_of_the_definitions() -> None:
    assert read("x(i) = Q_a(i)", file="<stdin>").program.language == "srasp"
    assert read("x := Q_a\ncount(x) = position", file="<stdin>").program.language == "tl"
    assert read("Q_a", file="x.TL").program.language == "tl"


def test_a_formula_has_its_text_as_name_and_its_letters_as_alphabet() -> None:
    program = formula("Q[b] | Q[a]")
    assert (program.name, program.alphabet) == ("Q[b] | Q[a]", ("a", "b"))
    assert formula("Q[b]", alphabet="abc").alphabet == ("a", "b", "c")
    assert formula("Q[b]", alphabet=["b", "cd"]).alphabet == ("b", "cd")


def test_nodes_have_the_names_and_the_places_of_the_text() -> None:
    program = read("x := Q[a]\nonce x & Q[b]", file="x.tl").program
    once = next(node for node in program.nodes if isinstance(node, n.Since))
    assert once.span is not None
    assert (once.span.line, once.span.column, once.span.length) == (2, 1, 6)
    assert [node.name for node in program.nodes if node.name] == ["x"]


def test_names_with_an_underscore_are_not_shown() -> None:
    program = read("_x := Q[a]\ny := prev _x", file="x.tl").program
    assert list(program.definitions) == ["y"]
    assert not any(node.name == "_x" for node in program.nodes)


def test_deep_and_long_texts_are_read_or_refused() -> None:
    assert shown(formula("prev " * 100 + "Q[a]").root).count("Previous") == 100
    assert shown(formula("(" * 60 + "!" * 30 + "Q[a]" + ")" * 60).root).count("Not") == 30
    long = formula(" & ".join(["Q[a]"] * 1000)).root
    assert isinstance(long, n.And)
    assert len(long.parts) == 1000


def test_the_values_of_a_number_are_apart_or_a_digit_each_or_one_number_of_the_last_position() -> None:
    numbers = ("aaaaaaaaaaa -> 11", "aab -> 122", "aab -> 1 12 3", "aab -> -1", "aa -> -1", '["a", "b"] -> [1, 12]')
    text = "".join(f"# example: {each}\n" for each in numbers) + "n := count(Q[a])\nn"
    given = [example.values for example in read(text, file="x.tl").program.examples]
    assert given == [("11",), ("1", "2", "2"), ("1", "12", "3"), ("-1",), ("-1",), ("1", "12")]
    assert [e.values for e in read("# example: ab -> TF\nQ[a]", file="x.tl").program.examples] == [("T", "F")]
