"""All machines of a size as one GPT-2, which runs the one that is written into its prompt."""

from __future__ import annotations

import json
import random
import re
from dataclasses import replace
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.cli.test_commands import tm2tfr
from tests.sources.turing.universal.cases import answers, due, random_prompt
from tests.targets.matrices.programs import first, sabotaged
from tm2tfr.api.machines import prompt_of, read_prompt
from tm2tfr.api.targets import export_gpt2, export_to, verify_export
from tm2tfr.base.errors import ExportError, InputError, SpecError
from tm2tfr.certificates.kit import DIGITS
from tm2tfr.contract.exported import ExportReference
from tm2tfr.sources.turing.library import load
from tm2tfr.sources.turing.proof.rounding import largest
from tm2tfr.sources.turing.spec import Example, Machine
from tm2tfr.sources.turing.universal.compiler import compile_universal
from tm2tfr.sources.turing.universal.program import Universal
from tm2tfr.sources.turing.universal.prompt import text
from tm2tfr.sources.turing.universal.proof.prove import prove
from tm2tfr.targets.common.reference import canonical, reference_of
from tm2tfr.targets.gpt2 import tensors
from tm2tfr.targets.gpt2.documents import tokenizer
from tm2tfr.targets.gpt2.running import Gpt2Running
from tm2tfr.targets.gpt2.target import chosen
from tm2tfr.targets.gpt2.tensors import Gpt2
from tm2tfr.targets.gpt2.translated import PromptedGpt2Recipe, prompted_conditions, translated
from tm2tfr.transformer.weights import matrices, replaced

SMALL = Universal(states=2, symbols=2)
CHAPTER = Universal(states=8, symbols=4).holding(load("chapter"))
BEAVER = "two-way q0,0 →(q1,1,+1) q0,1 →(q1,1,-1) q1,0 →(q0,1,-1) q1,1 →(halt,1,+1)"

runs = pytest.mark.skipif(
    find_spec("torch") is None or find_spec("transformers") is None,
    reason="torch and transformers are not installed: pip install 'tm2tfr[hf]'",
)


# ── how far it is right ─────────────────────────────────────────────────────────────────────────────────────
def most(states: int, symbols: int, dtype: str, *, stock: bool = False, tape: Any = "both") -> int:
    every = Universal(states=states, symbols=symbols, tape=tape)
    decoder = compile_universal(every)
    return largest(prompted_conditions(prove(decoder, every), dtype, stock=stock), 2 ** DIGITS[dtype], None)


@pytest.mark.slow
def test_the_numbers_that_fit() -> None:
    """As of single machines: nothing that a class has beside them is tighter."""
    assert [most(*size, "float64") for size in ((1, 1), (8, 4))] == [44745800, 44745800]
    assert [most(*size, "float32") for size in ((1, 1), (8, 4))] == [2048, 2048]
    assert most(8, 4, "float64", stock=True) == 4194304
    assert most(8, 4, "float32", stock=True) == 128
    assert [most(8, 4, "float32", tape=tape) for tape in ("one-way", "two-way")] == [2048, 2048]


@pytest.mark.parametrize("stock", [False, True])
def test_every_use_grows_with_positions_and_head(stock: bool) -> None:
    for condition in prompted_conditions(prove(compile_universal(SMALL), SMALL), "float32", stock=stock):
        for n in (16, 17, 100, 1000, 3000):
            uses = [condition.use(n, h) for h in (0, 1, 2, 10, 15)]
            assert uses == sorted(uses), condition
            assert condition.use(n, 10) <= condition.use(n + 1, 10)


def test_what_is_promised_and_refused() -> None:
    decoder = compile_universal(SMALL)
    found = chosen(decoder, reference_of(SMALL, decoder), positions=64, max_head=20)
    assert found.statement == (
        "for every machine with at most 2 states and 2 symbols, every input and every run with at most 64 positions and "
        "|h| ≤ 20, the prompt included, greedy generation in float64 gives exactly the machine's run"
    )
    with pytest.raises(
        ExportError, match=r"universal-2-2: 5,000 positions with .* do not fit into float32 .*positions=2048"
    ):
        chosen(decoder, reference_of(SMALL, decoder), positions=5_000, dtype="float32")


@pytest.mark.parametrize(
    ("path", "words"),
    [
        ("token_embedding", "universal-2-2: these weights could not be proved right"),
        ("layers.6.heads.0.key", r"layer 6 \(find rule\) scores positions by other weights than the compiler's"),
        ("layers.7.feed_forward.output", "universal-2-2: these weights could not be proved right"),
    ],
)
def test_other_weights_than_those_of_the_class_are_refused(path: str, words: str) -> None:
    decoder = compile_universal(SMALL)
    matrix = matrices(decoder)[path]
    other = replaced(decoder, {path: type(matrix)(matrix.shape, matrix.rows, matrix.columns, matrix.values * 2)})
    with pytest.raises(ExportError, match=words):
        chosen(other, reference_of(SMALL, other), positions=64)


# ── prompts ─────────────────────────────────────────────────────────────────────────────────────────────────
def of_class(every: Universal) -> ExportReference:
    return reference_of(every, compile_universal(every))


def test_prompts_that_an_export_is_tried_on() -> None:
    right = of_class(SMALL)
    found = right.inputs(200)
    assert found[0] == right.example == BEAVER
    assert found[-1] == "two-way q0,0 →(q0,0,+1)"
    assert len(found) == len(set(found)) == 8
    assert found == right.inputs(200)
    assert of_class(Universal(states=1, symbols=1, tape="one-way")).inputs(20)[0] == ""


def test_the_machine_that_is_shown_has_an_input_that_is_not_empty() -> None:
    for words, shown in (([""], ""), (["", "1"], "1"), (["", "11", "1"], "1 1")):
        examples = [Example(input=word, outcome="halt") for word in words]
        machine = replace(load("busy-beaver-2"), input=None, input_alphabet="1", examples=examples)
        assert of_class(SMALL.holding(machine)).parted[1] == shown


def test_a_prompt_is_the_machines_input_or_the_whole_text() -> None:
    assert of_class(SMALL).word(None) == of_class(SMALL).word(BEAVER) == BEAVER
    assert of_class(CHAPTER).word("11") == f"{' '.join(CHAPTER.described_in(CHAPTER.canonical))} 1 1"
    with pytest.raises(SpecError, match="q7,0 is not a state and a symbol"):
        of_class(SMALL).word("two-way q7,0 →ACC")
    with pytest.raises(InputError, match="'2'"):
        of_class(CHAPTER).word("2")


def test_a_card_shows_a_blank_that_is_a_space() -> None:
    machine = Machine(transitions={("a", "0"): ("a", " ", "R")}, start="a", blank=" ")
    card = of_class(SMALL.holding(machine)).introduction("", "x")
    assert card.endswith("In its prompt `q0` is `a`, `0` is `␣`, `1` is `0`.")
    assert "Two rules for the same state and symbol are an error that the model does not report." in card


def test_an_export_has_the_names_of_the_class() -> None:
    decoder = canonical(compile_universal(CHAPTER), CHAPTER)
    assert decoder == compile_universal(CHAPTER.empty)
    assert decoder.vocabulary == CHAPTER.empty.vocabulary != CHAPTER.vocabulary


# ── in transformers ─────────────────────────────────────────────────────────────────────────────────────────
@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An export of the class, not run."""
    path = tmp_path_factory.mktemp("gpt2") / "universal"
    export_gpt2(SMALL, path, positions=64, verify=False)
    return path


@pytest.fixture(scope="module")
def model(folder: Path) -> Gpt2Running:
    return Gpt2Running(folder)


@runs
def test_the_tokenizer_reads_prompts_as_they_are_written(model: Gpt2Running) -> None:
    """Its ids are places in the vocabulary of the class: those that ``tm2tfr prompt`` prints."""
    number = {token: n for n, token in enumerate(SMALL.vocabulary)}
    for machine, word in (("busy-beaver-2", ""), ("never-halts", "")):
        held = SMALL.holding(load(machine), seed=1)
        given = text(held, word)
        ids = [number[token] for token in given.split()]
        assert given.endswith(" BOS")
        for form in (given, given.removesuffix(" BOS"), given.replace("→", "->"), f" {given}\n"):
            assert model.tokenizer(form)["input_ids"] == ids
    assert model.tokenizer("two-way q0,1 →ACC 111")["input_ids"][-4:] == [0, 0, 0, 1]
    for end in ("1 BOS", "1BOS", "1BOS \n"):
        assert model.tokenizer(f"two-way q0,1 →ACC 11{end}")["input_ids"][-4:] == [0, 0, 0, 1]
    assert model.tokenizer("q9,9")["input_ids"][0] == model.tokenizer.unk_token_id


@runs
def test_random_prompts_are_generated_as_an_interpreter_of_their_text_says(model: Gpt2Running) -> None:
    """Text in, text out, by transformers alone: beside an interpreter that shares nothing with tm2tfr."""
    chance = random.Random(5)
    for _ in range(6):
        given = random_prompt(chance, 2, 2, chance.choice(("one-way", "two-way")))
        run = model.model.generate(**model.tokenizer(given, return_tensors="pt"))[0]
        said = answers(given, 65 - len(given.split()))
        assert model.tokenizer.decode(run).split() == [*given.split(), *said]


@pytest.mark.skipif(find_spec("tokenizers") is None, reason="tokenizers is not installed: pip install 'tm2tfr[hf]'")
@pytest.mark.parametrize("size", [(1, 1), (12, 12), (1, 62)])
def test_no_token_is_taken_for_another(size: tuple[int, int], monkeypatch: pytest.MonkeyPatch) -> None:
    """Where q1,1 and q11,1 are tokens, or B, O and S are symbols; of one symbol there is no input."""
    from tokenizers import Tokenizer

    monkeypatch.setattr(tensors, "LARGEST", 2**40)  # the largest of these is never made
    every = Universal(states=size[0], symbols=size[1])
    gpt2 = Gpt2(compile_universal(every), PromptedGpt2Recipe(positions=8, max_head=7))
    made = Tokenizer.from_str(json.dumps(tokenizer(gpt2)))
    number = {token: n for n, token in enumerate(every.vocabulary)}
    for given in (every.vocabulary, (*every.vocabulary[::-1], "ACC")):  # a BOS at the end would be the prompt's own
        text = " ".join(given)
        for form in (text, text.replace("→", "->")):
            assert made.encode(form, add_special_tokens=False).ids == [number[token] for token in given]


@pytest.mark.skipif(find_spec("tokenizers") is None, reason="tokenizers is not installed: pip install 'tm2tfr[hf]'")
@pytest.mark.parametrize("symbols", [3, 62])
def test_what_is_read_as_a_prompt_is_what_the_tokenizer_reads(symbols: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of mutilated prompts too: the same ids, or an error, also wherever the tokenizer says [UNK]."""
    from tokenizers import Tokenizer

    monkeypatch.setattr(tensors, "LARGEST", 2**40)  # it is never made
    every = Universal(states=2, symbols=symbols)
    gpt2 = Gpt2(compile_universal(every), PromptedGpt2Recipe(positions=8, max_head=7))
    made, chance, read = Tokenizer.from_str(json.dumps(tokenizer(gpt2))), random.Random(symbols), 0
    for n in range(200):
        given = random_prompt(chance, 1 + n % 2, 1 + n % 3, chance.choice(("one-way", "two-way")))
        given = mutilated(chance, given.replace("→", "->", chance.randrange(4)))
        found = made.encode(given)
        try:
            program = read_prompt(given, every)
        except SpecError:
            continue
        assert found.ids == list(prompt_of(program).ids), given
        assert "[UNK]" not in found.tokens
        read += 1
    assert 20 < read < 180
    assert made.encode(" BOS").tokens == ["BOS"]  # a text of which nothing is left


MARKS = ("\ufeff", "\u200b", "\u2212", "q0,1", "→ACC", "->", "→", "two-way", "BOS", *"103é(,", "12", "HALT", "REJ", "[UNK]")
"""What is inserted into prompts, beside white space."""


def mutilated(chance: random.Random, text: str) -> str:
    for _ in range(chance.choice((1, 1, 2))):
        at, piece = chance.randrange(len(text) + 1), chance.choice((*MARKS, *" \t\n\r\x0b\x85\xa0\u2003\u2028\u3000"))
        changed = (
            text[:at] + piece + text[at:],
            text[:at] + text[at + chance.randrange(1, 6) :],
            piece + text,
            text + piece,
        )
        text = chance.choice(changed)
    return text


@runs
def test_the_ids_that_are_printed_are_the_checkpoints(model: Gpt2Running, tmp_path: Path) -> None:
    for form in ("ids", "text"):
        done = tm2tfr("prompt", "busy-beaver-2", "--universal", "2,2", "--format", form, cwd=tmp_path)
        assert done.returncode == 0
        ids = (
            [int(n) for n in re.findall(r"\d+", done.stdout)]
            if form == "ids"
            else model.tokenizer(done.stdout)["input_ids"]
        )
        assert ids == model.prompt(BEAVER)


@runs
def test_without_a_rule_halt_wins_by_a_wide_margin(model: Gpt2Running) -> None:
    """All weight is spread over rules for the state or for the symbol alone: their mean leaves no trace but rounding."""
    prompt = "two-way q0,0 →(q1,0,0) q0,1 →(q1,1,0) q1,1 →(q0,1,+1)"
    ids = [*model.prompt(prompt), model_vocabulary(model).index("(q0,0,0)"), model_vocabulary(model).index("(q1,0,0)")]
    with model._torch.inference_mode():
        logits = model.model(model._torch.tensor([ids])).logits[0, -1].numpy()
    halt = model_vocabulary(model).index("HALT")
    assert abs(logits[halt] - 1) < 1e-9
    assert abs(np.delete(logits, halt)).max() < 1e-9


@runs
def test_five_lines_of_the_card_run_as_they_are_printed(
    folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    card = (folder / "README.md").read_text(encoding="utf-8")
    lines, piped = re.findall(r"```python\n(.*?)```", card, re.DOTALL)
    assert len([line for line in lines.splitlines() if line]) == 5
    monkeypatch.chdir(folder)
    exec(lines, {})
    beaver = f"{BEAVER} BOS (q0,0,0) (q1,1,+1) (q0,1,-1) (q1,1,-1) (q0,1,-1) (q1,1,+1) (halt,1,+1) HALT\n"
    assert capsys.readouterr().out == beaver
    exec(piped, {})
    assert capsys.readouterr().out == beaver.replace("BOS ", "")
    own = "one-way q0,1 ->(q0,1,+1) q0,0 ->(q1,1,-1) q1,1 ->(q1,1,-1)"
    exec(re.sub(r"machine, word = .*", f"machine, word = {own!r}, '11'", lines), {})
    printed = capsys.readouterr().out
    assert printed.startswith("one-way q0,1 →(q0,1,+1)")
    assert not printed.endswith("HALT\n")  # on a one-way tape it goes on at cell 0 for ever
    assert printed.endswith(" (q1,1,0) (q1,1,0)\n")


@runs
@pytest.mark.slow
def test_verify_export_runs_prompts_and_machines(folder: Path) -> None:
    verdict = verify_export(folder)
    assert verdict.same
    assert str(verdict).splitlines() == [
        f"weights: all {7 * 12 + 5} tensors are those of universal-2-2",
        f"run: '{BEAVER}', 17 positions, teacher-forced and generated: the simulator's tokens",
        *str(verdict).splitlines()[2:3],
        "yes: this export is universal-2-2",
    ]
    held = verify_export(folder, machine="never-halts", word="")
    assert held.same
    assert held.run is not None
    assert held.run.cut
    assert verify_export(folder, machine=SMALL, word="one-way q0,0 →REJ").same


@pytest.mark.parametrize(
    ("machine", "words"),
    [
        ("binary-adder", "binary-adder: it is a circuit, and this export runs Turing machines"),
        (
            Universal(states=3, symbols=2),
            "universal-3-2: it is the universal decoder of 3 states, 2 symbols and the tape 'both', "
            "and this export that of 2 states, 2 symbols and the tape 'both'",
        ),
        (
            compile_universal(Universal(states=2, symbols=2, tape="two-way")),
            "universal-2-2: it is the universal decoder of 2 states, 2 symbols and the tape 'two-way', "
            "and this export that of 2 states, 2 symbols and the tape 'both'",
        ),
    ],
)
def test_an_export_is_not_compared_with_other_programs_or_sizes(machine: Any, words: str, folder: Path) -> None:
    with pytest.raises(ExportError) as refused:
        verify_export(folder, machine=machine)
    assert str(refused.value) == f"{words}: name a machine, which is put into its prompt, or omit machine"


@runs
@pytest.mark.slow
def test_verify_export_says_which_weight_is_wrong(folder: Path, tmp_path: Path) -> None:
    name = "transformer.h.5.attn.c_attn.weight"
    verdict = verify_export(sabotaged(folder, tmp_path / "x", "gpt2", name, lambda weights: first(weights, 0.0)))
    assert not verdict.same
    assert "layer 6 (find rule), head 'rule for q, a', value 4, reads e_x[→(q0,0,-1)]" in verdict.weights[0]
    assert str(verdict).splitlines()[-1] == "NO: this export is not universal-2-2"


@runs
@pytest.mark.slow
@pytest.mark.parametrize(("dtype", "stock"), [("float64", False), ("float32", False), ("float64", True)])
def test_random_machines_in_the_prompt_run_to_the_last_position(dtype: str, stock: bool, tmp_path: Path) -> None:
    every = Universal(states=3, symbols=2)
    found = export_gpt2(every, tmp_path / "x", positions=1024, dtype=dtype, stock=stock, verify=False)
    model, chance, tried = Gpt2Running(tmp_path / "x"), random.Random(7), 0
    number = {token: n for n, token in enumerate(found.gpt2.vocabulary)}
    while tried < 4:
        given = random_prompt(chance, 3, 2, chance.choice(("one-way", "two-way")))
        said = answers(given, 1025 - len(given.split()))
        if said[-1] in found.gpt2.decoder.stop:
            continue
        tried += 1
        tokens = [*given.split(), *said[:-1]]
        assert len(tokens) == 1024
        assert model.answers([number[t] for t in tokens]) == [number[t] for t in due(given, said)]


@runs
@pytest.mark.slow
def test_a_machine_is_an_example_of_its_class(tmp_path: Path) -> None:
    every = Universal(states=3, symbols=3).holding(load("binary-increment"))
    found = export_gpt2(every, tmp_path / "x", positions=200)
    assert found.runs[0].word == of_class(every).word(None)
    assert all(run.divergence is None for run in found.runs)
    card = (tmp_path / "x" / "README.md").read_text(encoding="utf-8")
    assert "# universal-3-3 as a GPT-2" in card
    assert "In its prompt " in card
    assert verify_export(tmp_path / "x", machine="binary-increment", word="1011").same
    assert found.gpt2.vocabulary[:-2] == every.empty.vocabulary


def model_vocabulary(model: Gpt2Running) -> list[str]:
    """Return the tokens by number, as the tokenizer has them."""
    found = model.tokenizer.get_vocab()
    return sorted(found, key=found.__getitem__)


def test_the_largest_classes_are_refused_with_their_size(monkeypatch: pytest.MonkeyPatch) -> None:
    decoder = compile_universal(SMALL)
    found = chosen(decoder, reference_of(SMALL, decoder), positions=64)
    many = Gpt2(decoder, found).bytes
    monkeypatch.setattr(tensors, "LARGEST", 2**20)
    with pytest.raises(
        ExportError, match="this GPT-2 would have 384 dimensions .* export a class with fewer states or symbols"
    ):
        translated(decoder, found)
    monkeypatch.setattr(tensors, "LARGEST", many - 1)
    with pytest.raises(ExportError, match="export fewer positions, or a class with fewer states or symbols"):
        translated(decoder, found)


@pytest.mark.parametrize("to", ["gpt2", "torch"])
def test_a_class_that_is_too_large_is_refused_before_it_is_proved(
    to: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def proving(*_: Any) -> None:
        raise AssertionError("proved")

    monkeypatch.setattr("tm2tfr.sources.turing.universal.exported.prove", proving)
    with pytest.raises(
        ExportError, match="GiB.* but at most 2 GiB are allowed: export a class with fewer states or symbols"
    ):
        export_to(to, Universal(states=40, symbols=20), tmp_path / "x", verify=False)


def test_the_size_of_a_large_export_is_told_before_it_is_made(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    line = ("export", "--universal", "2,2", "--no-verify", "--positions", "64", "-o")
    assert tm2tfr(*line, "small", cwd=tmp_path).stderr == ""
    monkeypatch.setattr("tm2tfr.cli.output.LARGE", 2**20)
    told = "universal-2-2 becomes a GPT-2 of 0.03 GiB: this takes a while\n"
    assert tm2tfr(*line, "large", cwd=tmp_path).stderr == told
