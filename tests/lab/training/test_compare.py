"""Learned beside compiled: the measures on attention that is known, and the pages of a real run."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pytest

torch = pytest.importorskip("torch", reason="PyTorch is not installed: pip install 'tm2tfr[torch]'")

import tm2tfr  # noqa: E402
from tm2tfr.base.errors import InputError, TrainingError  # noqa: E402
from tm2tfr.lab.training.comparison import (  # noqa: E402
    compared_attention,
    comparison_report,
    plot_comparison,
)
from tm2tfr.lab.training.compiled import build  # noqa: E402
from tm2tfr.lab.training.record import ModelOptions, TrainingOptions  # noqa: E402
from tm2tfr.lab.training.targets import circuit_targets, equivalents  # noqa: E402
from tm2tfr.sources.circuit.arithmetic import binary_adder  # noqa: E402

pytestmark = pytest.mark.slow

SHORT = {"model": ModelOptions(width=16), "options": TrainingOptions(steps=5, batch=4)}


class Looks(torch.nn.Module):
    """A model whose attention is given: (L, L)."""

    def __init__(self, *weights: Any) -> None:
        super().__init__()
        self.weights = torch.nn.Parameter(torch.tensor(np.array(weights)))

    def attention(self, tokens: Any) -> list[Any]:
        return [self.weights[None].expand(len(tokens), -1, -1, -1)]


@pytest.fixture(scope="module")
def run() -> Any:
    return tm2tfr.train("binary-adder", bits=3, **SHORT)


def measured(run: Any, *weights: Any) -> Any:
    found = tm2tfr.training_examples("binary-adder", bits=3)
    return compared_attention(run, found, inputs=7, model=Looks(*weights))


def test_the_compiled_attention_is_all_on_the_operands(run: Any) -> None:
    right = circuit_targets(binary_adder(bits=3, order="paper-2"))
    assert right.variant == "paper"
    found = measured(run, right.compiled)
    all_rows = found.heads[0].overall
    assert (found.inputs, all_rows.rows, all_rows.top) == (7, 16, 1.0)
    assert [round(each, 3) for each in (all_rows.operands, all_rows.equivalent, all_rows.distance)] == [1, 1, 0]
    assert (all_rows.operands, all_rows.untrained_operands) == (all_rows.compiled_operands, None)
    assert [kind.kind for kind in found.heads[0].kinds] == ["d (XOR)", "f (AND)", "c (XOR)", "g (AND)", "e (XOR)"]
    (drawn,) = found.compiled
    assert (drawn.rows[0], drawn.columns[0], drawn.weights.shape) == ("d1", "a1", (16, 21))


def test_a_circuit_on_one_input(run: Any) -> None:
    right = circuit_targets(binary_adder(bits=3, order="paper-2"))
    found = tm2tfr.training_examples("binary-adder", bits=3)
    one = compared_attention(run, found, word="3+5", model=Looks(right.compiled))
    assert (one.inputs, one.word, one.heads[0].overall.top) == (1, "3+5", 1.0)
    assert comparison_report(one).splitlines()[1].endswith("beside compiled weights (paper), on '3+5'")
    with pytest.raises(InputError, match="'9' does not fit a, which has 3 bits: use at most 7"):
        compared_attention(run, found, word="9+1", model=Looks(right.compiled))


def test_uniform_attention_is_the_base_line(run: Any) -> None:
    uniform = np.tril(np.ones((21, 21))) / np.arange(1, 22)[:, None]
    found = measured(run, uniform).heads[0]
    for each in (*found.kinds, found.overall):
        assert each.operands == pytest.approx(each.uniform_operands)
        assert each.equivalent == pytest.approx(each.uniform_equivalent)
        assert each.distance == pytest.approx(each.uniform_distance)
    gates = [(5 + n, 2 - (n == 6)) for n in range(16)]  # position, operands: c1 = XOR(a1, a1), the seventh gate, has one
    assert found.overall.operands == pytest.approx(np.mean([number / (at + 1) for at, number in gates]))
    assert found.kinds[0].operands == pytest.approx(np.mean([2 / 6, 2 / 7, 2 / 8]))


@pytest.mark.parametrize("seed", range(5))
def test_attention_to_other_tokens_resembles_less(run: Any, seed: int) -> None:
    """Of the compiled attention with the tokens in another order little is left on the operands."""
    compiled = circuit_targets(binary_adder(bits=3, order="paper-2")).compiled
    order = np.random.default_rng(seed).permutation(21)
    found = measured(run, compiled[:, order]).heads[0].overall
    assert found.operands < 0.3 < found.compiled_operands
    assert found.distance > 0.7


def test_the_model_before_training_is_a_base_line(tmp_path: Path) -> None:
    tm2tfr.train("binary-adder", tmp_path / "run", bits=3, **SHORT)
    examples = tm2tfr.training_examples("binary-adder", bits=3)
    found = tm2tfr.compare(tmp_path / "run").heads[0]
    before = build(SHORT["model"], examples).attention(torch.tensor(examples.test.fed[:100]))[0]
    run = tm2tfr.lab.training.record.load_run(tmp_path / "run")
    mean = before.mean(dim=0).detach().numpy()
    alone = compared_attention(run, examples, model=Looks(*mean)).heads[0]
    for each, own in zip((*found.kinds, found.overall), (*alone.kinds, alone.overall), strict=True):
        assert each.untrained_operands == pytest.approx(own.operands)
        assert each.untrained_operands != pytest.approx(each.operands, rel=1e-6)


def test_a_pretrained_body_is_a_base_line_as_long_as_it_is_there(tmp_path: Path) -> None:
    transformers = pytest.importorskip("transformers", reason="transformers is not installed: pip install 'tm2tfr[hf]'")
    shape = {"n_layer": 1, "n_head": 1, "n_embd": 16, "n_positions": 40, "vocab_size": 5}
    transformers.GPT2LMHeadModel(transformers.GPT2Config(**shape)).save_pretrained(tmp_path / "tiny")
    model = ModelOptions(kind=str(tmp_path / "tiny"))
    tm2tfr.train("binary-adder", tmp_path / "run", bits=3, model=model, options=SHORT["options"])
    assert 0 < (tm2tfr.compare(tmp_path / "run").heads[0].overall.untrained_operands or 0) < 1
    shutil.rmtree(tmp_path / "tiny")
    found = tm2tfr.compare(tmp_path / "run")
    assert found.heads[0].overall.untrained_operands is None
    assert comparison_report(found).splitlines()[9].split()[3:5] == ["1.000", "-"]


def test_the_head_that_is_nearest_comes_first(run: Any) -> None:
    right = circuit_targets(binary_adder(bits=3, order="paper-2")).compiled
    found = measured(run, np.eye(21), right)
    assert [(each.layer, each.head) for each in found.heads] == [(0, 1), (0, 0)]
    assert np.allclose(found.learned[0].weights, right[found.learned[0].first :])
    lines = comparison_report(found).splitlines()
    assert lines[1].startswith("Learned attention of head L0H1 beside compiled weights (paper)")
    assert [line for line in lines if line.startswith("L0H0: ")] == ["L0H0: 0.375 on the operands."]


def test_equivalent_positions() -> None:
    """e₂ = XOR(c₂, d₂): back are c₂ d₂, f₁ g₁ a₂ b₂, a₁ b₁ c₁ d₁; computed from those alone f₂ and g₂, not c₃ or e₁."""
    circuit = binary_adder(bits=2, order="paper-2")
    number = circuit.numbers
    operands = {number[gate.net]: tuple({number[net] for net in gate.operands}) for gate in circuit.gates}
    names = list(number)
    found = {names[at] for at in equivalents(operands, number["e2"])}
    assert found == {"c2", "d2", "f1", "g1", "a2", "b2", "a1", "b1", "c1", "d1", "f2", "g2", "e1"}
    assert {names[at] for at in equivalents(operands, number["d2"])} == {"a2", "b2"}
    assert {names[at] for at in equivalents(operands, number["f2"])} == {"a2", "b2", "d2"}


def test_a_run_of_a_circuit(tmp_path: Path) -> None:
    pytest.importorskip("matplotlib", reason="Matplotlib is not installed: pip install 'tm2tfr[plot]'")
    tm2tfr.train("comparator", tmp_path / "run", **SHORT)
    found = tm2tfr.compare(tmp_path / "run", inputs=10)
    assert (found.variant, found.inputs) == ("lookup", 10)
    text = comparison_report(found)
    assert text.startswith("comparator, exact match ")
    assert "beside the operands, as 'lookup' attends to them" in text
    numbers = json.loads(found.json())
    assert numbers["heads"][0]["overall"]["rows"] == sum(kind["rows"] for kind in numbers["heads"][0]["kinds"]) == 11
    plot_comparison(found, tmp_path / "figure.svg")
    assert "learned" in (tmp_path / "figure.svg").read_text(encoding="utf-8")


def test_a_run_of_a_machine_and_of_a_program(tmp_path: Path) -> None:
    spec = tmp_path / "m.yaml"
    spec.write_text("machines: [palindromes]\ninputs: {up to: 4}\n", encoding="utf-8")
    tm2tfr.train(spec, tmp_path / "m", **SHORT)
    heads = tm2tfr.compare(tmp_path / "m").heads
    assert [kind.kind for kind in heads[0].kinds][-1] == "read tape: latest write"
    assert heads[0].overall.equivalent is None
    tm2tfr.train("ends-in-110", tmp_path / "p", **SHORT)
    found = tm2tfr.compare(tmp_path / "p", inputs=5)
    assert "attention: j = i-1" in {kind.kind for kind in found.heads[0].kinds}
    assert "Equivalent positions are not defined here" in comparison_report(found)
    assert [each.title for each in found.compiled][:1] == ["compiled: attention, j = i-1"]
    assert [each.title for each in found.learned] == ["learned: L0H0"]
    assert {each.weights.shape for each in (*found.compiled, *found.learned)} == {(len(found.drawn or ""),) * 2}
    plot_comparison(found, tmp_path / "figure.svg")
    assert "compiled: attention, j = i-1" in (tmp_path / "figure.svg").read_text(encoding="utf-8")
    same_as_unseen(tmp_path / "m")
    same_as_unseen(tmp_path / "p")


def same_as_unseen(folder: Path) -> None:
    """An unseen input that is chosen is fed, and looked at, as it is among all unseen inputs."""
    found = tm2tfr.compare(folder, inputs=1)
    chosen = tm2tfr.compare(folder, word=found.drawn)
    assert (chosen.word, chosen.heads[0].kinds) == (found.drawn, found.heads[0].kinds)
    assert [each.rows for each in chosen.learned] == [each.rows for each in found.learned]
    for each in chosen.compiled:
        assert each.weights.shape == chosen.learned[0].weights.shape
        assert {*np.round(each.weights.sum(axis=1), 9)} <= {0, 1}, "0 where it looks at a BOS that the model is not fed"


SELECTED = np.array([[1, 0, 0, 0], [1 / 2, 1 / 2, 0, 0], [1 / 3, 0, 1 / 3, 1 / 3], [1 / 3, 0, 1 / 3, 1 / 3]])
"""The selector of the histogram on ``§abb``: the same token, and position 0."""


def test_the_selector_of_a_program_beside_what_is_learned() -> None:
    run = tm2tfr.train("histogram", **SHORT)
    found = tm2tfr.training_examples("histogram")
    looks = compared_attention(run, found, word="§abb", model=Looks(SELECTED, np.full((4, 4), 1 / 4)))
    best, other = looks.heads
    assert (best.name, best.overall.operands, best.overall.top) == ("L0H0", pytest.approx(1), 1.0)
    assert (other.name, other.overall.operands) == ("L0H1", other.overall.uniform_operands)
    assert other.overall.uniform_operands == pytest.approx((1 + 2 + 3 + 3) / 16)
    (selector,) = looks.compiled
    assert (selector.title, selector.rows, selector.axis) == ("compiled: attention, same_and_0", ROWS, "attending")
    assert np.allclose(selector.weights, SELECTED)
    assert [(each.title, each.rows) for each in looks.learned] == [("learned: L0H0", ROWS), ("learned: L0H1", ROWS)]
    for word, message in [
        ("§abbabcabcabc", "the run has 13 tokens, and the model has 10 positions: use a shorter input"),
        ("§ax", "token 2 of the input, 'x', is not in the alphabet"),
    ]:
        with pytest.raises(tm2tfr.Tm2tfrError, match=message):
            compared_attention(run, found, word=word, model=Looks(SELECTED))


ROWS = ("0 §", "1 a", "2 b", "3 b")


def test_what_cannot_be_compared(tmp_path: Path) -> None:
    tm2tfr.train("binary-adder", tmp_path / "weak", bits=2, regime="weak", **SHORT)
    with pytest.raises(TrainingError, match="the gates are not in the sequences .*: compare a run with the regime"):
        tm2tfr.compare(tmp_path / "weak")
    with pytest.raises(TrainingError, match="the number of inputs must be 1 or more, not 0: use for example 100"):
        tm2tfr.compare(tmp_path / "weak", inputs=0)
    record = json.loads((tmp_path / "weak" / "run.json").read_text(encoding="utf-8"))
    del record["data"]["bits"]
    (tmp_path / "weak" / "run.json").write_text(json.dumps(record), encoding="utf-8")
    with pytest.raises(TrainingError, match="its record does not say how its examples are made again"):
        tm2tfr.compare(tmp_path / "weak")
    with pytest.raises(TrainingError, match="there is no training run here: make one with tm2tfr train"):
        tm2tfr.compare(tmp_path / "nothing")
    tm2tfr.train(
        "binary-adder", tmp_path / "ff", bits=2, model=ModelOptions(width=16, sublayers="ff"), options=SHORT["options"]
    )
    with pytest.raises(TrainingError, match="no layer of this model has attention: compare a run with sublayers s"):
        tm2tfr.compare(tmp_path / "ff")


def test_a_spec_that_names_a_file_beside_it_is_found_from_anywhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The program has the name of a shipped one, which the current folder would give instead."""
    own = tmp_path / "own"
    (own / "specs").mkdir(parents=True)
    program = '# alphabet: ab\nhistogram = selector_width(select(tokens, "{}", ==));\n'
    (own / "specs" / "histogram.rasp").write_text(program.format("a"))
    spec = "program: histogram.rasp\ninputs: {random: {count: 60, length: 1 to 6}}\nsplits: {train: 0.5, test: 0.5}\n"
    (own / "specs" / "words.yaml").write_text(spec)
    monkeypatch.chdir(own)
    run = tm2tfr.train("specs/words.yaml", "one", **SHORT)
    assert run.data["spec_file"] == "specs/words.yaml"
    there = tm2tfr.compare("one").as_dict()
    whole = tm2tfr.train("specs/histogram.rasp", "two", **SHORT)
    assert whole.data["spec_file"] == "specs/histogram.rasp"
    monkeypatch.chdir(tmp_path)
    assert tm2tfr.compare("own/one").as_dict() == there
    assert tm2tfr.compare("own/two").name == "histogram"
    monkeypatch.chdir(own / "specs")
    again = tm2tfr.train("words.yaml", "../one", resume=True, **SHORT)  # the same data, named in another way
    assert again.same() == run.same()
    (own / "specs" / "histogram.rasp").write_text(program.format("b"))
    monkeypatch.chdir(tmp_path)
    with pytest.raises(TrainingError, match="made differently now: bring back its spec and the files in it"):
        tm2tfr.compare("own/one")
