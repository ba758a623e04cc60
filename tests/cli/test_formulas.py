"""Formulas and programs of temporal logic on the command line."""

from __future__ import annotations

import io
import json
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

import tm2tfr
from tests.web.explorer.reading import embedded
from tm2tfr.base.errors import EngineError, InputError, NotFoundError, SpecWarning
from tm2tfr.cli import main
from tm2tfr.transformer.weights import matrices, replaced


def printed(capsys: pytest.CaptureFixture[str], *arguments: str, code: int = 0, warned: str = "") -> str:
    with pytest.raises(SystemExit) as end:
        main(arguments)
    shown = capsys.readouterr()
    assert (end.value.code, shown.err) == (code, warned), shown
    return shown.out


ONCE = ("-f", "once (Q[a] & prev Q[b])", "--alphabet", "abc")
ALL = "all 39 inputs of up to 3 tokens (7 accept, 32 reject): 705 cells compared with the evaluator"
TRACED = """\
i  x    once (Q[a] & prev Q[b])  Q[a]  Q[b]  prev Q[b]  Q[a] & prev Q[b]
────────────────────────────────────────────────────────────────────────
0  BOS  F                        F     F     F          F
1  b    F                        F     T     F          F
2  a    T                        T     F     T          T

accept: once (Q[a] & prev Q[b]) is true at the last position
engine: dense, float64, 3 positions
check: 18 cells compared with the evaluator, all agree
"""
CHECKED = """\
ok    formula(0110110) = FFFTFFT: 48 cells agree
ok    formula(111) = F: 24 cells agree
"""


def test_a_formula_is_given_as_text(capsys: pytest.CaptureFixture[str]) -> None:
    assert printed(capsys, "trace", *ONCE, "--input", "ba") == TRACED


def test_or_on_standard_input(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(b"# alphabet: abc\nonce (Q[a] & prev Q[b])\n")))
    assert printed(capsys, "trace", "-", "--input", "ba") == TRACED


def test_or_as_a_file_of_which_a_definition_is_chosen(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "two.tl"
    path.write_text("# alphabet: ab\nseen := once Q[a]\nlater := seen & Q[b]\n", encoding="utf-8")
    heading = printed(capsys, "compile", str(path), "--define", "seen").splitlines()
    assert heading[:5] == [
        "Formula two over a, b",
        "formula: 4 nodes; attention: 1 since",
        heading[2],
        "words: of any length, from 'a', 'b', with BOS",
        "outputs: 2 nodes: seen, Q[a]",
    ]
    assert heading[2].startswith("here: a decoder, masks future, 1 attention sublayer with 1 head, ")


def test_a_program_shows_its_values(capsys: pytest.CaptureFixture[str]) -> None:
    shown = printed(capsys, "trace", "hop-1", "--input", "abab").splitlines()
    assert shown[0].split()[:3] == ["i", "x", "hop_1"]
    assert shown[-3] == "hop_1 = ??ba"


def test_a_right_looking_operator_makes_an_encoder_and_is_refused_in_a_decoder(capsys: pytest.CaptureFixture[str]) -> None:
    shown = printed(capsys, "compile", "starts-110")
    assert "here: an encoder, masks none" in shown
    assert "words: of any length, from '0', '1', with BOS and EOS" in shown


@pytest.mark.slow
def test_check_goes_through_examples_all_words_longer_ones_and_the_stream(capsys: pytest.CaptureFixture[str]) -> None:
    shown = printed(capsys, "check", "ends-in-110")
    assert shown.startswith(CHECKED)
    every, longer, stream, proved = shown.removeprefix(CHECKED).splitlines()
    assert every == ("ok    all 16,382 inputs of up to 13 tokens: 1,064,960 cells compared with the evaluator, all agree")
    assert longer.startswith("ok    200 random inputs of 40 to 100 tokens, seed 0: ")
    assert stream.startswith("ok    the residual stream after every sublayer, 126 inputs of up to 6 tokens: ")
    assert proved == "proved for all inputs of up to 13 tokens, and not proved beyond"


def test_check_up_to_a_length_shows_the_gap_of_each_head(capsys: pytest.CaptureFixture[str]) -> None:
    lines = printed(capsys, "check", *ONCE, "--all-up-to", "3").splitlines()
    assert lines[0] == f"ok    {ALL}, all agree"
    assert lines[1].startswith("      accepted: ba, aba, ")
    assert lines[3:] == [
        "ok    the best score of 2 heads is ahead of the next by the claimed γ:",
        "      layer 1, head 1 (j = i-1): claimed γ with γ = 1; smallest measured γ = 1",
        "      layer 3, head 1 (decision of once (Q[a] & prev Q[b])): "
        "claimed γ/(i+1) with γ = 0.5; smallest measured γ = 1",
        "proved for all inputs of up to 3 tokens, and not proved beyond",
    ]


def test_check_as_json(capsys: pytest.CaptureFixture[str]) -> None:
    lines = printed(capsys, "check", *ONCE, "--all-up-to", "2", "--format", "json").splitlines()
    words, stream = map(json.loads, lines)
    assert (words["formula"], words["runs"], words["cells"], words["agrees"]) == (ONCE[1], 12, 165, True)
    assert [gap["over"] for gap in stream["stream"]["gaps"]] == ["constant", "position"]
    (trace,) = map(json.loads, printed(capsys, "check", *ONCE, "--input", "ba", "--format", "json").splitlines())
    assert (trace["outcome"], trace["node"], trace["values"]) == ("accept", "once (Q[a] & prev Q[b])", ["F", "T"])


def test_check_under_softmax(capsys: pytest.CaptureFixture[str]) -> None:
    asked = ("check", *ONCE, "--all-up-to", "3", "--attention", "softmax")
    agreed = f"ok    {ALL}, all agree\n"
    assert printed(capsys, *asked).startswith(agreed)
    assert printed(capsys, *asked, "--temperature", "local").startswith(agreed)
    assert printed(capsys, *asked, "--temperature", "10", code=1).startswith("FAIL  all 39 inputs")


@pytest.mark.slow
def test_numbers_are_apart(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "n.tl"
    path.write_text("# example: aba -> [1, 1, 2]\ncount(Q[a])\n", encoding="utf-8")
    assert "count(Q[a]) = 1 1 2" in printed(capsys, "trace", str(path)).splitlines()
    assert "  formula(aba) = 1 1 2" in printed(capsys, "list", str(path)).splitlines()
    assert printed(capsys, "check", str(path)).splitlines()[0] == "ok    formula(aba) = 1 1 2: 11 cells agree"


def test_what_the_author_says_counts_as_well(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "wrong.tl"
    path.write_text("# example: ab -> FT\n# accepts: b\nprev Q[a] | Q[c]\n", encoding="utf-8")
    shown = printed(capsys, "check", str(path), code=1).splitlines()
    assert shown[:2] == [
        "ok    formula(ab) = FT: 15 cells agree",
        "FAIL  formula(b) = T, says the author; the evaluator says F",
    ]


def test_a_wrong_weight_is_named_with_its_layer(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    decoder = tm2tfr.compile("since-b")
    name = next(name for name in matrices(decoder) if name.endswith(".query"))
    right = matrices(decoder)[name]
    row, column, value = next(right.entries())
    path = tmp_path / "wrong.safetensors"
    tm2tfr.save_weights(replaced(decoder, {name: right.with_entry(row, column, -value)}), path)
    shown = printed(capsys, "check", str(path), "--all-up-to", "3", code=1)
    assert shown.startswith("FAIL  all 39 inputs of up to 3 tokens: ")
    assert f"cause: layer {name.split('.')[1]} " in shown


def test_graph_distinguishes_attention(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    shown = printed(capsys, "graph", "hop-1")
    assert '[label="hop_1\\n▶ [j ≤ i, before(j) = in(i)] in(j) : \'?\'" fillcolor="#e5ebfd" peripheries=2]' in shown
    printed(capsys, "graph", *ONCE[:2], "-o", str(tmp_path / "x.mmd"), warned=f"wrote {tmp_path / 'x.mmd'}\n")
    assert (tmp_path / "x.mmd").read_text(encoding="utf-8").startswith("flowchart TB\n")


def test_formulas_are_written_in_other_formats(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert printed(capsys, "convert", "starts-110", "--to", "paper") == "Q_1 ∧ ⊕Q_1 ∧ ⊕⊕Q_0\n"
    assert printed(capsys, "convert", "-f", "x := once Q[a]", "--to", "latex").splitlines()[1] == "\\begin{align*}"
    assert printed(capsys, "convert", "-f", "x := once Q[a]") == "# alphabet: a\n\nx = once Q[a]\n"
    path = tmp_path / "again.tl"
    printed(capsys, "convert", "since-b", "-o", str(path), warned=f"wrote {path}\n")
    assert tm2tfr.load(path).root.right.values == ("b",)


@pytest.mark.slow
def test_formulas_are_listed_and_described(capsys: pytest.CaptureFixture[str]) -> None:
    assert "starts-110                   formula  The 3-gram 110 starts here (φ110, Yang et al. 2025, Section 4.1)" in (
        printed(capsys, "list", "formulas").splitlines()
    )
    assert any(line.startswith("hop-1  ") for line in printed(capsys, "list", "programs").splitlines())
    assert printed(capsys, "list", "since-b").splitlines() == [
        "Formula since-b over a, b, c",
        "(Q_a ∨ Q_b) since Q_b: a b, and no c behind it (Definition 14 of Yang et al. 2025)",
        "",
        "formula: 5 nodes; attention: 1 since",
        "",
        "Examples",
        "  formula(abacb) = FTTFT",
        "",
        "Try",
        "  tm2tfr trace since-b --input abacb",
        "  tm2tfr check since-b",
        "  tm2tfr compile since-b",
    ]
    facts = json.loads(printed(capsys, "list", "hop-1", "--format", "json"))
    assert (facts["kind"], facts["language"], facts["define"]) == ("program", "srasp", "hop_1")


SIGNLESS = "--compare sign changes nothing: there are no two numbers that the sign head compares"
AS_PRINTED = "--variant paper changes nothing: there is no ⊖, ⊕, since, until or count, whose heads it is about"


@pytest.mark.parametrize(
    ("line", "told"),
    [
        ("since-b --compare sign", (SIGNLESS,)),
        ("since-b --variant paper", ()),
        ("ends-in-110 --variant paper", ()),
        ("more-as-than-bs --compare sign", ()),
        ("more-as-than-bs --variant paper", ()),
        ("hop-1 --compare sign --variant paper", (SIGNLESS, AS_PRINTED)),
    ],
)
def test_an_option_that_changes_nothing_is_told_of(
    line: str, told: tuple[str, ...], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    warned = "".join(f"warning: {each}\n" for each in told)
    shown = printed(capsys, "compile", *line.split(), warned=warned).splitlines()
    assert [each for each in shown if each.startswith("note: --")] == [f"note: {each}" for each in told]
    path = tmp_path / "x.safetensors"
    printed(capsys, "compile", *line.split(), "-o", str(path), warned=warned)
    assert main_warned(capsys, "check", *line.split(), "--all-up-to", "1").count("changes nothing") == len(told)
    noted = main_warned(capsys, "check", str(path), "--all-up-to", "1").splitlines()
    assert [each for each in noted if "changes nothing" in each] == [f"note: {each}" for each in told]


def main_warned(capsys: pytest.CaptureFixture[str], *arguments: str) -> str:
    with pytest.raises(SystemExit) as end:
        main(arguments)
    assert end.value.code == 0
    return capsys.readouterr().err


def test_a_formula_is_a_text_and_measured_as_labels() -> None:
    with pytest.raises(InputError, match="a formula must be text, not 3: write for example 'once"):
        tm2tfr.formula(3)  # type: ignore[arg-type]
    with pytest.raises(
        EngineError, match=r"call tm2tfr\.api\.softness\.measure_labels, as the command 'tm2tfr soften' does"
    ):
        tm2tfr.measure_softness("since-b", "ab")


def test_explore_takes_how_counts_are_compared(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "x.html"
    shown = printed(capsys, "explore", "more-as-than-bs", "--compare", "sign", "-o", str(path), warned=f"wrote {path}\n")
    assert shown.splitlines()[0].startswith("reject: ")
    (run,) = embedded(path.read_text(encoding="utf-8"))["runs"]
    assert (run["labels"], run["agrees"]) == (True, True)


def test_the_library_takes_formulas() -> None:
    formula = tm2tfr.formula("seen := once Q[a]\nseen & Q[b]", alphabet="abc", define="seen")
    assert (formula.alphabet, formula.chosen) == (("a", "b", "c"), "seen")
    assert tm2tfr.check(formula, "cab").result.values == ("F", "T", "T")
    assert tm2tfr.default_input("flip-flops") == '["w1", "r1", "w0", "r0", "r1"]'
    assert tm2tfr.run("hop-1", "ab").tokens == 3
    assert tm2tfr.attention_of("since-b", "ab", head=1).weights.shape == (3, 3)
    assert tm2tfr.activations("since-b", "ab", 2)["embedding"]["token"] == "b"
    with pytest.warns(SpecWarning, match="this 'since' is never true"):
        tm2tfr.formula("Q[a] since Q[b]")


def test_weights_know_their_formula(tmp_path: Path) -> None:
    for name in ("since-b", "hop-1"):
        tm2tfr.save_weights(name, tmp_path / "x.safetensors")
        again = tm2tfr.Subject.of(tmp_path / "x.safetensors")
        assert (again.right.name, again.right.text) == (name, tm2tfr.load(name).text)
        assert again.noun == ("formula" if name == "since-b" else "program")
        assert tm2tfr.check(again, "abc").agrees


def test_a_gap_that_is_smaller_than_claimed_is_told(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    decoder = tm2tfr.compile("since-b")
    (place,) = (n for n, layer in enumerate(decoder.layers) if layer.heads)
    (head,) = decoder.layers[place].heads
    assert head.claim is not None
    bold = replace(decoder.layers[place], heads=(replace(head, claim=replace(head.claim, gap=0.75)),))
    layers = (*decoder.layers[:place], bold, *decoder.layers[place + 1 :])
    path = tmp_path / "bold.safetensors"
    tm2tfr.save_weights(replace(decoder, layers=layers), path)
    lines = printed(capsys, "check", str(path), "--all-up-to", "3", code=1).splitlines()
    assert lines[2].endswith("numbers, all agree")
    assert lines[3:] == [
        f"FAIL  layer {place + 1}, head 1 ({head.name}): claimed γ/(i+1) with γ = 0.75; smallest measured γ = 0.5"
    ]


def test_of_a_long_word_the_ends_are_shown(capsys: pytest.CaptureFixture[str]) -> None:
    word = "ab" * 50
    assert printed(capsys, "check", "since-b", "--input", word).splitlines() == [
        f"ok    {word[:29]} … {word[-29:]} (100 characters) → accept: 505 cells agree"
    ]


NAMES = ("since-b", "hop-1")
"""A formula and a program, each over a, b, c."""
WORD = "abcab"
FORMS = ("name", "name with ending", "path", "standard input", "weight file", "program", "decoder", "subject")
TAKEN: dict[str, Callable[[Any, Path], Any]] = {
    "activations": lambda s, _: tm2tfr.activations(s, WORD, 3),
    "attention_of": lambda s, _: tm2tfr.attention_of(s, WORD).text(),
    "check": lambda s, _: tm2tfr.check(s, WORD),
    "compile": lambda s, _: tm2tfr.compile(s),
    "convert": lambda s, _: tm2tfr.convert(s, "paper"),
    "default_input": lambda s, _: tm2tfr.default_input(s),
    "listing": lambda s, _: tm2tfr.listing(s),
    "run": lambda s, _: tm2tfr.run(s, WORD),
    "summary": lambda s, _: tm2tfr.summary(s),
    "to_graph": lambda s, _: sorted(tm2tfr.to_graph(s).edges(keys=True)),
}
COMMANDS = {
    "trace": ["--input", WORD],
    "table": ["--input", WORD, "--format", "latex"],
    "check": ["--all-up-to", "3"],
    "compile": [],
    "graph": [],
    "convert": ["--to", "paper"],
}


def given(name: str, form: str, folder: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    """Return what is given in a form."""
    program = tm2tfr.load(name)
    path = folder / f"{name}.{program.language}"
    path.write_text(program.text, encoding="utf-8")
    weights = folder / "w.safetensors"
    if form == "weight file":
        tm2tfr.save_weights(program, weights)
    if form == "standard input":
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(program.text.encode())))
    forms = {
        "name": name,
        "name with ending": path.name,
        "path": str(path),
        "standard input": "-",
        "weight file": str(weights),
        "program": program,
        "decoder": tm2tfr.compile(program) if form == "decoder" else None,
        "subject": tm2tfr.Subject.of(program),
    }
    return forms[form]


def without_name(result: Any) -> Any:
    """Return a result in which the name of what came from standard input is that of the program."""
    return repr(result).replace("stdin", "NAME").replace(NAMES[0], "NAME").replace(NAMES[1], "NAME")


@pytest.mark.slow
@pytest.mark.parametrize("function", TAKEN)
@pytest.mark.parametrize("name", NAMES)
def test_every_function_takes_every_form(name: str, function: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    due = without_name(TAKEN[function](name, tmp_path))
    for form in FORMS[1:]:
        assert without_name(TAKEN[function](given(name, form, tmp_path, monkeypatch), tmp_path)) == due, form


@pytest.mark.slow
@pytest.mark.parametrize("command", COMMANDS)
@pytest.mark.parametrize("name", NAMES)
def test_every_command_takes_every_form(
    name: str, command: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    shown = set()
    for form in FORMS[:5]:
        with pytest.raises(SystemExit) as end:
            main([command, given(name, form, tmp_path, monkeypatch), *COMMANDS[command]])
        out, err = capsys.readouterr()
        assert (end.value.code, err) == (0, ""), form
        shown.add(out.replace("stdin", name).replace('"', ""))
    assert len(shown) == 1


def test_a_file_comes_before_what_is_shipped(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "since-b.tl").write_text("once Q[z]", encoding="utf-8")
    assert tm2tfr.load("since-b.tl").alphabet == ("z",)
    assert tm2tfr.load("since-b").alphabet == ("a", "b", "c")


def test_a_name_that_nothing_has_is_told_with_what_may_be_meant() -> None:
    with pytest.raises(
        NotFoundError, match=r"no machine, circuit, program, formula or automaton of that name is shipped \(did you"
    ):
        tm2tfr.load("flip-flopz")


def test_an_alphabet_and_a_definition_are_options_of_compiling() -> None:
    wider = tm2tfr.compile("hop-1", alphabet="abcd", define="before")
    assert wider.outputs[0].name == "before"
    assert tm2tfr.check(wider, "dcd").result.values == ("?", "d", "c")
    assert tm2tfr.Subject.of(wider).right.alphabet == ("a", "b", "c", "d")
