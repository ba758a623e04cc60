"""The model of a source, as text, Markdown and JSON: ``tm2tfr explain``."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import tm2tfr
from tests.cli.test_commands import tm2tfr_here
from tm2tfr.api.subject import Subject
from tm2tfr.base.errors import CompileError
from tm2tfr.sources.names import of_kind


def names(decoder: tm2tfr.Decoder) -> list[str]:
    """Return what variables are called: of programs and formulas the names of subspaces, otherwise what these hold."""
    by_name = decoder.provenance["construction"] in ("rasp", "logic")
    return [subspace.name if by_name else subspace.holds for subspace in decoder.layout.subspaces]


@pytest.mark.slow
@pytest.mark.parametrize("name", ["chapter", "palindromes", "full-adder", "histogram", "most-frequent", "since-b", "hop-1"])
def test_every_variable_that_weights_hold_is_explained_in_the_order_of_the_layers(name: str) -> None:
    found, decoder = tm2tfr.explain(name), tm2tfr.compile(name)
    stored = [each for each in found.variables if each.stored]
    assert {each.name for each in stored} <= set(names(decoder))
    assert [each.since[0] for each in stored] == sorted(each.since[0] for each in stored)
    assert all(each.meaning and each.formula for each in (*found.variables, *found.patterns))


@pytest.mark.parametrize("options", [{"variant": "paper"}, {"variant": "paper-hard"}, {"universal": (3, 3)}])
def test_other_constructions_are_explained_as_completely(options: dict[str, object]) -> None:
    name = "parity" if "universal" in options else "full-adder"
    found = tm2tfr.explain(Subject.of(name, options=options))
    assert all(each.meaning and each.formula for each in (*found.variables, *found.patterns))


@pytest.mark.parametrize("arguments", [("--universal", "3,2"), ("w.safetensors",)])
def test_a_universal_decoder_is_explained_without_a_machine(
    arguments: tuple[str, ...], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    tm2tfr.save_weights(tm2tfr.Universal(3, 2), "w.safetensors")
    code, lines = tm2tfr_here(capsys, "explain", *arguments)
    assert code == 0
    assert any(line.startswith("[rule]") for line in lines)


@pytest.mark.parametrize("name", ["chapter", "palindromes", "full-adder"])
def test_every_label_column_of_a_model_is_published(name: str) -> None:
    found = Subject.of(name)
    model = found.kind.model(found.right, found.decoder)
    named = {each.column.name for each in (*model.variables, *model.patterns) if each.column is not None}
    assert named == set(model.columns)


def test_a_variable_has_its_equation_its_layer_and_its_readers(capsys: pytest.CaptureFixture[str]) -> None:
    code, lines = tm2tfr_here(capsys, "explain", "full-adder")
    (line,) = [line for line in lines if line.startswith("y ")]
    assert code == 0
    assert lines[0] == "full-adder (circuit): 21 variables, 3 head patterns"
    assert " ".join(line.split()) == "y the answer y = t[x_a x_b x_c] layer 1 (gate), feed-forward the token answered"


def test_the_same_as_markdown_and_as_json(capsys: pytest.CaptureFixture[str]) -> None:
    _, lines = tm2tfr_here(capsys, "explain", "chapter", "--to", "markdown")
    assert lines[:3] == ["# chapter", "", "| variable | what it is | equation | source | written by | read by |"]
    _, lines = tm2tfr_here(capsys, "explain", "chapter", "--to", "json")
    found = json.loads("\n".join(lines))
    assert found == tm2tfr.explain("chapter").as_dict()
    (head,) = [each for each in found["variables"] if each["name"] == "h/(i+1)"]
    assert (head["formula"], head["since"]) == ("h = Σ_{j≤i} m_{j-1}", {"layer": 2, "part": "attention"})


@pytest.mark.parametrize(
    ("name", "formulas", "heads"),
    [
        (
            "sort",
            {
                "selector_width(precedes).share": "selector_width(precedes).share = "
                "aggregate(width of precedes, indicator(indices == 0))",
                "target": "target = selector_width(precedes) = "
                "selector_width(precedes).with_first - 1 + selector_width(precedes).has_first",
                "picked sorted": "mean of tokens over select(target, indices, ==)",
            },
            {"c344 none c344": "select(target, indices, ==)"},
        ),
        (
            "since-b",
            {
                "(Q[a] | Q[b]) since Q[b]": "(Q[a] | Q[b]) since Q[b]",
                "Q[a] | Q[b], seen by (… Q[b]) since Q[b]": "(Q[a] | Q[b]) at the j of (Q[a] | Q[b]) since Q[b]",
            },
            {"since s5": "latest j ≤ i: not (Q[a] | Q[b]), or Q[b]; or an end"},
        ),
        (
            "hop-1",
            {"before": "before = latest_j [j < i, true] in(j) : '?'", "found by hop_1": "some j: before(j) = in(i)"},
            {"back": "j = max(i-1, 0)", "latest future s3 0": "latest j ≤ i: before(j) = in(i)"},
        ),
    ],
)
def test_programs_and_formulas_have_equations_in_their_notation(
    name: str, formulas: dict[str, str], heads: dict[str, str]
) -> None:
    found = tm2tfr.explain(name)
    assert {each: found.by_name[each].formula for each in formulas} == formulas
    assert {each.claim: each.formula for each in found.patterns}.items() >= heads.items()


@pytest.mark.similar
@pytest.mark.slow
@pytest.mark.parametrize("name", [f"{kind}:{name}" for kind in ("program", "formula") for name in of_kind(kind)])
def test_every_shipped_program_has_an_equation_for_all_that_its_weights_hold(name: str) -> None:
    found = tm2tfr.explain(name)
    decoder = tm2tfr.compile(name)
    assert set(names(decoder)) <= found.by_name.keys()
    assert {head.claim.attends for layer in decoder.layers for head in layer.heads if head.claim} == {
        each.claim for each in found.patterns
    }
    assert all(each.meaning and each.formula for each in (*found.variables, *found.patterns))


def test_weights_for_inputs_of_any_length_are_refused() -> None:
    decoder = tm2tfr.compile("length", unbounded=True)
    with pytest.raises(CompileError, match="as in weights for any length: compile it without unbounded=True"):
        tm2tfr.explain(decoder)
