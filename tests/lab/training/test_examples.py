"""What is trained on: the paper's sequences, word by word, and data sets of every source."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import numpy as np
import pytest

import tm2tfr
from tm2tfr.base.errors import TrainingError
from tm2tfr.lab.training.examples import Examples, Sequences, TokenExample, adder_examples, examples_of


def shown(found: Examples, row: int, some: str = "train") -> tuple[str, str, str, str]:
    """The prompt, what is wanted after it, and where that is scored and part of the answer."""
    each: Sequences = getattr(found, some)
    given = int(each.prompt[row])
    wanted = each.wanted[row] != each.pad
    names = np.array(found.vocabulary)
    flags = ("".join("01"[int(flag)] for flag in flags[row][wanted]) for flags in (each.scored, each.answer))
    return "".join(names[each.fed[row, :given]]), "".join(names[each.wanted[row][wanted]]), *flags  # type: ignore[return-value]


def paper(a: int, b: int, n: int) -> dict[str, str]:
    """The bits of Section 4, from its formulas alone, by letter."""
    bits = {"a": [a >> i & 1 for i in range(n)], "b": [b >> i & 1 for i in range(n)], "c": [0]}
    bits |= {letter: [] for letter in "defg"}
    for i in range(n):
        c, d = bits["c"][i], bits["a"][i] ^ bits["b"][i]
        bits["d"].append(d)
        bits["e"].append(c ^ d)
        bits["f"].append(bits["a"][i] & bits["b"][i])
        bits["g"].append(c & d)
        bits["c"].append(bits["f"][i] ^ bits["g"][i])
    return {letter: "".join(map(str, some)) for letter, some in bits.items()}


@pytest.mark.parametrize("n", [1, 3, 5])
def test_the_sequences_are_those_of_the_paper(n: int) -> None:
    """a₁a₂a₃b₁b₂b₃ d₁d₂d₃f₁f₂f₃c₁g₁c₂g₂c₃g₃c₄ e₁e₂e₃; the overflow is an intermediate, and no part of the answer."""
    sums = {regime: adder_examples(bits=n, regime=regime) for regime in ("weak", "medium", "strong")}  # type: ignore[arg-type]
    for row in range(len(sums["weak"].train)):
        prompt, *_ = shown(sums["weak"], row)
        a, b = (int(text[::-1], 2) for text in (prompt[:n], prompt[n:]))
        bits = paper(a, b, n)
        assert int(bits["e"][::-1], 2) == (a + b) % 2**n
        between = "".join(g + c for g, c in zip(bits["g"], bits["c"][1:], strict=True))
        steps = bits["d"] + bits["f"] + bits["c"][0] + between
        assert len(steps) == 4 * n + 1
        zeros, ones = "0" * len(steps), "1" * n
        assert shown(sums["weak"], row) == (prompt, bits["e"], ones, ones)
        assert shown(sums["medium"], row) == (prompt, steps + bits["e"], zeros + ones, zeros + ones)
        assert shown(sums["strong"], row) == (prompt, steps + bits["e"], "1" * len(steps) + ones, zeros + ones)


def test_representation_1_and_the_carries() -> None:
    prompt, target, scored, answer = shown(adder_examples(bits=2, order="paper-1"), 0)
    bits = paper(int(prompt[:2][::-1], 2), int(prompt[2:][::-1], 2), 2)
    places = [bits[letter][i] for i in range(2) for letter in "cdefg"]
    assert (target, scored, answer) == ("".join(places) + bits["c"][2], "1" * 11, "00100001000")
    assert shown(adder_examples(bits=2, intermediates="carries"), 0) == (prompt, bits["c"][1:] + bits["e"], "1111", "0011")


def test_the_carries_of_section_6() -> None:
    """For n = 3 the sequence is c2c3c4e1e2e3; all 48 pairs are trained on."""
    found = adder_examples(bits=3, intermediates="carries")
    for row in range(len(found.train)):
        prompt, target, scored, answer = shown(found, row)
        a, b = (int(prompt[n : n + 3][::-1], 2) for n in (0, 3))
        carries = [(a % 2**i + b % 2**i) >> i for i in (1, 2, 3)]
        sums = [(a + b) >> i & 1 for i in range(3)]
        assert (target, scored, answer) == ("".join(map(str, carries + sums)), "111111", "000111")


@pytest.mark.slow
def test_pairs_are_different_unseen_and_the_same_in_all_regimes() -> None:
    for bits, sizes in ((1, (3, 1)), (3, (48, 16)), (8, (10_000, 1_000)), (40, (10_000, 1_000))):
        found = adder_examples(bits=bits, regime="weak")
        assert (len(found.train), len(found.test)) == sizes
        prompts = Counter(row[: 2 * bits].tobytes() for some in (found.test, found.train) for row in some.fed)
        assert set(prompts.values()) == {1}
        if bits == 3:
            assert len(prompts) == 64
            strong = adder_examples(bits=3, regime="strong")
            assert np.array_equal(strong.train.fed[:, :6], found.train.fed[:, :6])
            other = adder_examples(bits=3, regime="weak", data_seed=1)
            assert {other.digest, found.digest, adder_examples(bits=3, regime="weak").digest} == {
                other.digest,
                found.digest,
            }


def test_padding_and_labels() -> None:
    words = [TokenExample("ab", "xy", [True, True], [True, True]), TokenExample("b", "y", [True], [True])]
    found = examples_of("words", words, [TokenExample("bb", "yx", [True] * 2, [True] * 2), words[0]], labels=True)
    assert (found.vocabulary, found.about) == (("a", "b", "x", "y"), {"left_out": 1})
    assert found.train.fed.tolist() == [[0, 1], [1, 4]]
    assert found.train.wanted.tolist() == [[2, 3], [3, 4]]
    assert found.train.scored.tolist() == [[True, True], [True, False]]
    assert found.test.prompt.tolist() == [2]


def test_the_base_rate_is_the_share_of_the_most_frequent_answer_wherever_it_stands() -> None:
    some = [
        TokenExample(word, ["-", answer], [True, True], [False, True])
        for word, answer in zip("abcde", "xyxxz", strict=True)
    ]
    longer = TokenExample("ab", ["-", "-", "x"], [True] * 3, [False, False, True])
    assert examples_of("test", [TokenExample("f", "x", [True], [True])], [*some, longer]).base_rate == 4 / 6


def test_each_check_fires() -> None:
    one = TokenExample("a", "b", [True], [True])
    with pytest.raises(TrainingError, match="there is nothing to test: ask for more inputs"):
        examples_of("few", [one], [one])
    found = adder_examples(bits=1)
    with pytest.raises(TrainingError, match="an input is both trained on and tested: use each for one of the two"):
        Examples("both", found.vocabulary, found.train, found.train)
    with pytest.raises(TrainingError, match="padding must be number 3, not 2"):
        Examples("other", (*found.vocabulary, "x"), found.train, found.test)
    some = found.train
    with pytest.raises(TrainingError, match="have different shapes"):
        Sequences(some.fed, some.wanted[:, 1:], some.scored, some.answer, some.prompt, 2)
    with pytest.raises(TrainingError, match="a position is scored where no token is wanted: score targets only"):
        Sequences(some.fed, some.wanted, ~some.scored, some.answer, some.prompt, 2)
    for given, said in (
        ({"bits": 0}, "the number of bits must be from 1 to 512, not 0: use another one"),
        ({"examples": 0}, "the number of examples must be from 1 to 10,000,000, not 0"),
        ({"order": "paper-3"}, r"unknown order 'paper-3' \(did you mean 'paper-2'\?\): use one of paper-1, paper-2"),
        ({"regime": "string"}, r"unknown regime 'string' \(did you mean 'strong'\?\): use one of weak, medium, strong"),
        ({"intermediates": "none"}, "unknown intermediates 'none': use one of gates, carries"),
    ):
        with pytest.raises(TrainingError, match=said):
            adder_examples(**given)  # type: ignore[arg-type]


MACHINES = "machines: [chapter]\ninputs: {up to: 3}\nsplits: {learn: 0.5, other: 0.5}\n"


@pytest.fixture
def machine_spec(tmp_path: Path) -> Path:
    path = tmp_path / "m.yaml"
    path.write_text(MACHINES, encoding="utf-8")
    return path


@pytest.mark.slow
def test_runs_of_a_machine(machine_spec: Path) -> None:
    found = tm2tfr.training_examples(machine_spec)
    assert found.about["splits"] == ["learn", "other"]
    assert found.about["programs"] == ["chapter"]
    for row in range(len(found.train)):
        each = found.train
        given = int(each.prompt[row])
        word = [found.vocabulary[n] for n in each.fed[row, : given - 1]]
        trace = tm2tfr.check("chapter", "".join(word))
        wanted = [found.vocabulary[n] for n in each.wanted[row] if n != each.pad]
        assert wanted == [each.y for each in trace.rows[given - 1 :]]
        assert each.answer[row].sum() == 1
        assert each.answer[row][given - 1 + len(wanted) - 1]


@pytest.mark.slow
@pytest.mark.parametrize("formats", ["[jsonl]", "[parquet]"])
def test_a_folder_has_the_examples_of_its_spec(tmp_path: Path, formats: str) -> None:
    spec = tmp_path / "s.yaml"
    spec.write_text(
        f"circuits: [comparator]\nparameters: {{bits: 3}}\ninputs: {{all: true}}\nformats: {formats}\n", encoding="utf-8"
    )
    tm2tfr.make_dataset(spec, tmp_path / "data", workers=1)
    for regime in ("weak", "medium", "strong"):
        one, other = (tm2tfr.training_examples(each, regime=regime) for each in (spec, tmp_path / "data"))
        assert one.digest == other.digest
        assert (one.about["kind"], other.about["kind"]) == ("circuit", "circuit")


RULES = """
machines: {random: {states: 2, symbols: 2, count: 8, ends: verdict}}
inputs: {words: ['', '1']}
max steps: 20
universal: {states: 2, symbols: 2, order: shuffled}
splits: {train: 0.5, test: 0.5}
"""


@pytest.mark.slow
def test_machines_in_prompts_are_learned_together(tmp_path: Path) -> None:
    """The prompt says which machine is meant, so all of a spec are examples; tested are other machines."""
    spec = tmp_path / "rules.yaml"
    spec.write_text(RULES, encoding="utf-8")
    found = tm2tfr.training_examples(spec)
    assert (found.about["kind"], found.labels) == ("machine", False)
    assert len(found.about["programs"]) > 2
    prompt, target, scored, answer = shown(found, 0)
    assert prompt.startswith(("one-way", "two-way"))
    assert "→" in prompt
    assert target.endswith(("ACC", "REJ"))
    assert set(scored) == {"1"}
    assert answer == "0" * (len(answer) - 1) + "1"
    pytest.importorskip("torch", reason="PyTorch is not installed: pip install 'tm2tfr[torch]'")
    from tm2tfr.lab.training.record import ModelOptions, TrainingOptions

    short = {"model": ModelOptions(width=8), "options": TrainingOptions(steps=3, batch=4)}
    run = tm2tfr.train(spec, tmp_path / "run", **short)
    assert (run.steps, run.data["sha256"]) == (3, found.digest)
    with pytest.raises(TrainingError, match="machines in prompts are compared with nothing yet: compare a run on one"):
        tm2tfr.compare(tmp_path / "run")


@pytest.mark.slow
def test_labels_are_those_of_the_reference(tmp_path: Path) -> None:
    found = tm2tfr.training_examples("reverse")
    assert found.labels
    for row in range(20):
        word, labels, scored, _ = shown(found, row)
        assert (labels, scored) == (word[::-1], "1" * len(word))
    with pytest.raises(TrainingError, match="all are scored: omit regime"):
        tm2tfr.training_examples("reverse", regime="weak")
    with pytest.raises(TrainingError, match="nothing here is called 'revers'"):
        tm2tfr.training_examples("reverse", label="revers")


def test_options_that_do_not_apply(machine_spec: Path, tmp_path: Path) -> None:
    with pytest.raises(TrainingError, match="bits is an option of binary-adder, the paper's task: omit it"):
        tm2tfr.training_examples("palindromes", bits=3)
    with pytest.raises(TrainingError, match="only programs and formulas have labels: omit label"):
        tm2tfr.training_examples(machine_spec, label="x")
    with pytest.raises(TrainingError, match="there is no finished data set here .*: make one with tm2tfr dataset"):
        tm2tfr.training_examples(tmp_path)
    machine_spec.write_text(MACHINES.replace("[chapter]", "[chapter, binary-increment]"), encoding="utf-8")
    with pytest.raises(TrainingError, match="these are 2 machines, and the prompts do not say which is meant: choose one"):
        tm2tfr.training_examples(machine_spec)
    found = tm2tfr.training_examples(machine_spec, program="binary-increment")
    assert found.about["programs"] == ["binary-increment"]
