"""Position features of i and n, and temperatures made of them, in PyTorch and in ONNX Runtime: beside the engines."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from fractions import Fraction
from itertools import product
from pathlib import Path
from random import Random
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from tests.targets.matrices.programs import BOTH, loaded, needs_torch
from tests.transformer.test_expressions import WRITTEN, random_text
from tests.transformer.test_positions import telling
from tm2tfr.api.targets import export_to, verify_export
from tm2tfr.base.errors import ExportError
from tm2tfr.contract.options import LogicOptions
from tm2tfr.engines.decode import Observation, run_whole
from tm2tfr.engines.dense import Dense
from tm2tfr.engines.reading import answered
from tm2tfr.lab.softness.temperature import softened_by
from tm2tfr.sources.logic.compiler import compile_program
from tm2tfr.sources.logic.read import formula
from tm2tfr.sources.logic.theta import rule
from tm2tfr.transformer.matrix import Matrix
from tm2tfr.transformer.weights import Decoder, replaced

FORMULAS: dict[str, tuple[str, dict[str, Any], str | None]] = {
    "12a": ("prev Q[a] | next Q[b]", {"variant": "paper", "mask": "none"}, "paper"),
    "12b": ("prev Q[a] | next Q[b]", {"variant": "paper", "mask": "none", "steep": True}, "paper"),
    "15a": ("Q[a] until (Q[b] & next Q[a])", {"variant": "paper"}, "paper"),
    "15b": ("Q[a] until (Q[b] & next Q[a])", {"variant": "paper", "steep": True}, "paper"),
    "17b": ("(prev !Q[b]) S (Q[a] U Q[b])", {"variant": "paper", "mask": "none", "steep": True}, "paper"),
    "20b": ("odd(count_right(Q[a])) | 2*count(Q[b]) <= 3", {"variant": "paper", "mask": "none", "steep": True}, "paper"),
    "22b": ("(prev odd(count(Q[a]))) U Q[b]", {"variant": "paper", "mask": "none", "steep": True}, "paper"),
    "20a": ("count(Q[a]) = count_right(Q[b])", {"variant": "paper"}, "paper"),
    "17b, ours": ("(prev !Q[b]) S (Q[a] U Q[b])", {"mask": "none", "steep": True}, "none"),
    "an encoder, hard": ("prev Q[a] | next Q[b]", {"variant": "paper", "mask": "none"}, None),
    "an encoder, per position": ("Q[a] U odd(count(Q[b]))", {"mask": "none"}, "per-position"),
    "a decoder, per position": ("(Q[a] S Q[b]) & odd(count(Q[b]))", {}, "per-position"),
    "13a": ("prev (Q[a] S Q[b])", {"variant": "paper"}, "paper"),
}
CASES = [pytest.param(name, marks=() if name == "20b" else pytest.mark.slow) for name in FORMULAS]


def compiled(name: str) -> Decoder:
    text, options, temperature = FORMULAS[name]
    hard = compile_program(formula(text, alphabet="ab"), LogicOptions(**options))
    return hard if temperature is None else softened_by(hard, temperature, 1)


def words(decoder: Decoder, longest: int, drawn: int) -> Iterator[list[int]]:
    """Yield all words of up to `longest` letters, and random ones of up to 60, as they are fed."""
    chance, before = Random(4), [decoder.numbers["BOS"]] if "BOS" in decoder.numbers else []
    after = [decoder.numbers["EOS"]] if "EOS" in decoder.numbers else []
    short = [list(word) for n in range(1, longest + 1) for word in product("ab", repeat=n)]
    for word in (*short, *(chance.choices("ab", k=chance.randint(7, 60)) for _ in range(drawn))):
        yield [*before, *(decoder.numbers[letter] for letter in word), *after]


def dense(decoder: Decoder, tokens: list[int]) -> tuple[NDArray[Any], NDArray[Any]]:
    """Return the streams of the dense engine, (layers + 1, positions, width), and its logits, (positions, answers)."""
    seen = [Observation() for _ in tokens]
    passed = run_whole(decoder, tokens, engine=Dense(), watches=dict(enumerate(seen)))
    return np.array([each.streams for each in seen]).swapaxes(0, 1), np.array([each.logits for each in passed])


@pytest.mark.parametrize("to", BOTH)
def test_an_expression_is_computed_exactly(to: str, tmp_path: Path) -> None:
    chance = Random(2)
    texts = dict.fromkeys(
        [*WRITTEN, "i/n*3 = 1", "1/(n-i) - i/n", "1/(0-n) < 1/(i+1)", *(random_text(chance) for _ in range(40))]
    )
    decoder = telling(tuple(texts))
    model = loaded(to, export_to(to, decoder, tmp_path / "x", verify=False, positions=40).folder)
    for n in (1, 2, 5, 9, 40):
        wanted = [[float(Fraction(rule(text).at(i, n))) for text in texts] for i in range(n)]
        assert model.logits([0] * n).tolist() == wanted


@pytest.mark.parametrize("to", BOTH)
@pytest.mark.parametrize("name", CASES)
def test_answers_and_streams_are_those_of_the_dense_engine(to: str, name: str, tmp_path: Path) -> None:
    decoder = compiled(name)
    model = loaded(to, export_to(to, decoder, tmp_path / "x", verify=False, positions=70).folder)
    several = False
    for tokens in words(decoder, 6, 20):
        stream, logits = dense(decoder, tokens)
        right = [answered(decoder, row) for row in logits]
        assert [answered(decoder, row) for row in model.logits(tokens)] == right
        np.testing.assert_allclose(model.streams(tokens), stream, atol=1e-5)
        several |= len(set(right)) > 1
    assert several


@pytest.mark.parametrize("to", BOTH)
@pytest.mark.parametrize("name", CASES)
def test_an_export_compares_itself(to: str, name: str, tmp_path: Path) -> None:
    report = export_to(to, compiled(name), tmp_path / "x", positions=60)
    assert "including all of up to" in str(report)
    verdict = verify_export(tmp_path / "x")
    assert verdict.same, str(verdict)


@pytest.mark.parametrize("to", BOTH)
def test_sabotaged_weights_give_the_same_wrong_answers(to: str, tmp_path: Path) -> None:
    right = compiled("15b")
    place = right.position_embedding
    wrong = replaced(
        right,
        {
            "position_embedding": Matrix(
                place.shape,
                place.rows,
                place.columns,
                place.values * np.where(place.columns == right.features.index("n"), 0.1, 1.0),
            )
        },
    )
    model = loaded(to, export_to(to, wrong, tmp_path / "x", verify=False, positions=70).folder)
    differ = 0
    for tokens in words(right, 6, 5):
        found = [answered(right, row) for row in model.logits(tokens)]
        assert found == [answered(right, row) for row in dense(wrong, tokens)[1]]
        differ += found != [answered(right, row) for row in dense(right, tokens)[1]]
    assert differ > 10


@pytest.mark.parametrize("to", BOTH)
def test_another_expression_is_found(to: str, tmp_path: Path) -> None:
    folder = export_to(to, compiled("12a"), tmp_path / "x", verify=False, positions=20).folder
    names = json.loads((folder / "tm2tfr.json").read_text(encoding="utf-8"))
    assert names["expressions"] == {"i/n": ["i", "n", "/"], "n": ["n"]}
    assert names["layers"][0]["heads"][0]["inverse_temperature"] == "n"
    names["expressions"]["i/n"] = ["i", 2, "/"]
    (folder / "tm2tfr.json").write_text(json.dumps(names), encoding="utf-8")
    verdict = verify_export(folder, word="abab")
    assert not verdict.same
    assert "expressions" in str(verdict)


def test_a_graph_with_another_expression_is_found(tmp_path: Path) -> None:
    onnx = pytest.importorskip("onnx")
    folder = export_to("onnx", compiled("12a"), tmp_path / "x", verify=False, positions=20).folder
    model = onnx.load(folder / "model.onnx")
    node = next(node for node in model.graph.node if node.name == "i/n of i and n")
    node.op_type = "Mul"
    onnx.save(model, folder / "model.onnx")
    verdict = verify_export(folder, word="abab")
    assert not verdict.same
    assert "its graph differs from 'i/n of i and n' on" in str(verdict)


@needs_torch
@pytest.mark.slow
def test_the_script_runs_where_there_is_no_tm2tfr(tmp_path: Path) -> None:
    folder = export_to("torch", compiled("12a"), tmp_path / "x", verify=False, positions=20).folder
    word = json.dumps(["BOS", *"abab", "EOS"])
    alone = (
        f"import runpy, sys; sys.modules['tm2tfr'] = None; sys.path.insert(0, '.'); sys.argv = ['labeller.py', {word!r}]"
    )
    command = [sys.executable, "-B", "-c", f"{alone}; runpy.run_path('labeller.py', run_name='__main__')"]
    shown = subprocess.run(command, cwd=folder, capture_output=True, encoding="utf-8", check=False)
    assert shown.returncode == 0, shown.stderr
    assert shown.stdout.splitlines()[0] == "prev Q[a] | next Q[b]: F T T T T F"


@needs_torch
def test_numbers_that_are_not_exact_are_refused(tmp_path: Path) -> None:
    with pytest.raises(
        ExportError,
        match=r"at 1,024 positions 'i\^6' is computed from numbers of 60 bits, and an export has exact ones of up to",
    ):
        export_to("torch", telling(("i^6",)), tmp_path / "x", verify=False)
    assert export_to("torch", telling(("i^6",)), tmp_path / "x", verify=False, positions=400).recipe.positions == 400
