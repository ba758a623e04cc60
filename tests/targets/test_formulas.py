"""Shipped formulas and programs of temporal logic in every program that takes them, beside their evaluator."""

from __future__ import annotations

import json
import re
import shlex
import subprocess
import sys
from itertools import product
from pathlib import Path
from typing import Any

import pytest

import tm2tfr
from tests.targets.framed import expected, framed
from tests.targets.matrices.programs import tampered
from tests.targets.test_documents import BLOCK, Reader, there
from tm2tfr.api.targets import export_to, verify_export
from tm2tfr.base.errors import ExportError, InputError
from tm2tfr.engines.decode import prompted, run_whole
from tm2tfr.engines.dense import Dense
from tm2tfr.engines.reading import answered
from tm2tfr.targets.common import reference as labels
from tm2tfr.targets.gpt2 import running
from tm2tfr.transformer.claims import Claim

ROOT = Path(__file__).parents[2]
PAST = ("flip-flops.tl", "since-b.tl", "odd-ones.tl", "more-as-than-bs.tl", "dyck-2-by-depth.srasp", "hop-2.srasp")
AHEAD = ("after-a-until-b.tl", "odd-ones-without-predicates.tl", "successor.srasp")
EVERYWHERE = "starts-110.tl"
"""All heads of its weights see every position."""


def subject(name: str, **options: Any) -> tm2tfr.Subject:
    return tm2tfr.Subject.of(ROOT / ("programs" if name.endswith("srasp") else "formulas") / name, options=options)


FAST = {("gpt2", "flip-flops.tl"), ("gpt2", "odd-ones.tl"), ("bert", EVERYWHERE), ("lens", EVERYWHERE)}
FAST |= {("lens", "since-b.tl"), ("torch", "dyck-2-by-depth.srasp"), *product(("torch", "onnx"), AHEAD)}


def cases() -> list[Any]:
    """Targets and the programs that they take; with few words, since each is compared at every position with every node."""
    found = []
    for to, names in (
        ("gpt2", PAST),
        ("lens", (*PAST, EVERYWHERE)),
        ("bert", (EVERYWHERE,)),
        ("torch", (*PAST[-2:], *AHEAD)),
        ("onnx", (*PAST[-2:], *AHEAD)),
    ):
        for name in names:
            marks = [there("gpt2" if to == "bert" else to), *([] if (to, name) in FAST else [pytest.mark.slow])]
            found.append(pytest.param(to, name, marks=marks, id=f"{to}-{name}"))
    return found


@pytest.mark.similar
@pytest.mark.parametrize(("to", "name"), cases())
def test_every_node_is_the_evaluators(to: str, name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for limit, number in (("EVERY", 40), ("DRAWN", 4), ("LONGEST_DRAWN", 20)):
        monkeypatch.setattr(labels, limit, number)
    given = subject(name)
    letters, ends = len(given.decoder.vocabulary) - 1, "after BOS"
    if "EOS" in given.decoder.vocabulary:
        letters, ends = letters - 1, "between BOS and EOS"
    lines = str(export_to(to, given, tmp_path / "x", dtype="float32", positions=60)).splitlines()
    every = {2: "4 tokens", 3: "3 tokens", 4: "2 tokens"}[letters]
    told = f"tokens, including all of up to {every}, {ends}; every label agrees with the evaluator; "
    told += "words of all 60 positions"
    assert told in lines[2]
    verdict = verify_export(tmp_path / "x")
    assert str(verdict).splitlines()[-1] == f"yes: this export is {name.partition('.')[0]}"
    assert verdict.cause == ""


@pytest.mark.parametrize(
    ("to", "name", "words"),
    [
        (
            "gpt2",
            "after-a-until-b.tl",
            "in a GPT-2 no head sees a later position, and these weights have heads with the mas",
        ),
        (
            "bert",
            "after-a-until-b.tl",
            "in a BERT every head sees every position, and these weights have heads with the mas",
        ),
        (
            "bert",
            "since-b.tl",
            "in a BERT every head sees every position, and these weights have heads with the mask",
        ),
        (
            "lens",
            "successor.srasp",
            "in TransformerLens all heads see every position, or none sees a later one, and these w",
        ),
    ],
)
def test_masks_that_a_program_does_not_have(to: str, name: str, words: str, tmp_path: Path) -> None:
    fits = r"use to='\w+'(, 'lens')?(, 'torch')? or 'onnx'"
    with pytest.raises(ExportError, match=f"^{name.partition('.')[0]}: {words}.*: {fits}$"):
        export_to(to, subject(name), tmp_path / "x", verify=False)
    assert list(tmp_path.iterdir()) == []


def test_what_else_is_refused(tmp_path: Path) -> None:
    given = subject("odd-ones.tl")
    for options, words in (
        ({"stock": True}, "stock is about the bounds for Turing machines, and these weights label a sequence: omit it"),
        ({"max_head": 3}, r"^odd-ones: a bound on \|h\| is about Turing machines, and these weights label a sequence: omi"),
        ({"positions": 5_000}, "^odd-ones: exports have at most 4,096 positions, not 5,000: run these weights with tm2tfr"),
    ):
        with pytest.raises(ExportError, match=words):
            export_to("gpt2", given, tmp_path / "x", verify=False, **options)
    with pytest.raises(
        ExportError, match="these weights have softmax attention: export the weights that they were made fr"
    ):
        export_to("lens", tm2tfr.soften(given), tmp_path / "x", verify=False)


@there("onnx")
def test_a_weight_file_is_exported_as_what_it_was_compiled_from(tmp_path: Path) -> None:
    made = subject("two-to-three.tl", compare="sign").decoder
    tm2tfr.save_weights(made, tmp_path / "w.safetensors")
    folder = export_to("onnx", tmp_path / "w.safetensors", tmp_path / "x", positions=40, verify=False).folder
    for machine in (None, tmp_path / "w.safetensors"):
        verdict = verify_export(folder, machine=machine, word="aabab")
        assert verdict.same, str(verdict)
        assert "run: 'aabab', 6 positions, the whole sequence at once: the evaluator's labels" in str(verdict)
    assert not verify_export(folder, machine=subject("two-to-three.tl"), word="aabab").same
    with pytest.raises(
        ExportError, match="the input has 41 tokens, and this export is for at most 40: use a shorter one, or"
    ):
        verify_export(folder, word="ab" * 20)
    with pytest.raises(InputError, match="two-to-three: token 1 of the word, 'c', is not in the alphabet: use a, b, or"):
        verify_export(folder, word="c")


@there("gpt2")
def test_sabotaged_weights_are_found(tmp_path: Path) -> None:
    given = subject("since-b.tl")
    n = next(n for n, layer in enumerate(given.decoder.layers) if layer.heads)
    folder = export_to("gpt2", given, tmp_path / "x", positions=20, verify=False).folder
    where = f"transformer.h.{n}.attn.c_proj.weight"
    tampered(folder, "gpt2", where, lambda weights: weights.__imul__(-1))
    verdict = verify_export(folder, word="abacb")
    assert not verdict.same
    assert verdict.weights[0].startswith(f"{where}[0, ")
    assert f"layer {n + 1} (attention), head {given.decoder.layers[n].heads[0].name!r}" in verdict.weights[0]
    assert verdict.run is not None
    assert "(Q[a] | Q[b]) since Q[b] should be T, is F" in str(verdict.run.divergence)
    assert verdict.cause.startswith("the stream first goes wrong at position ")


LABELS = "F T T F T T"
"""Of odd-ones on 10110, with BOS in front: the number of ones so far is odd."""


@pytest.mark.filterwarnings("ignore")  # theirs
@pytest.mark.parametrize("to", [pytest.param(name, marks=there(name)) for name in ("gpt2", "lens", "torch", "onnx")])
def test_the_model_card_is_true(
    to: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = export_to(to, subject("odd-ones.tl"), tmp_path / "x", positions=20, verify=False).folder
    card = (folder / "README.md").read_text(encoding="utf-8")
    assert "A formula as a transformer that labels sequences." in card
    assert "PARITY with a numerical predicate" in card
    assert (
        "Given a word w₁ … wₙ of letters `0`, `1`\nas the tokens `BOS w₁ … wₙ`, it answers at every position, all" in card
    )
    assert "`tm2tfr verify-export . --input 10110` compares the weights" in card
    reader, shown = Reader(monkeypatch, capsys), []
    for language, text in BLOCK.findall(card):
        if language == "python":
            shown.append(reader.python(text, folder))
        elif language == "sh":  # which is run as it is, since labeller.py imports the file beside it
            command = [sys.executable, "-B", *shlex.split(text)[1:]]
            shown.append(subprocess.run(command, cwd=folder, capture_output=True, encoding="utf-8", check=True).stdout)
        else:
            assert "odd(count(Q[1]))" in text
    assert all(LABELS in re.sub(r"[^FT ]", "", text) or text.startswith("tensor") for text in shown)
    assert len(shown) == {"gpt2": 1, "lens": 2, "torch": 2, "onnx": 1}[to]


PREDICATES = ("i mod 2 = 1", "prime(i)", "square(i)", "power of 2(i)")
WORDS = ["".join(letters) for n in range(4) for letters in product("ab", repeat=n)]


def test_what_it_says() -> None:
    made = framed()
    for word in WORDS:
        passed = run_whole(made, prompted(made, ("BOS", *word)), engine=Dense())
        assert [answered(made, there.logits) for there in passed] == expected(word)


def programs(dtype: str) -> list[Any]:
    """The targets with the masks that they take; with float64 these tests take longer."""
    both = product(("lens", "torch", "onnx"), ("future", "none"))
    found = []
    for to, mask in (("gpt2", "future"), ("bert", "none"), *both):
        fast = dtype == "float32" and (to, mask) not in (("lens", "none"), ("torch", "none"), ("onnx", "future"))
        marks = [there("gpt2" if to == "bert" else to), *([] if fast else [pytest.mark.slow])]
        found.append(pytest.param(to, mask, dtype, marks=marks, id=f"{to}-{mask}-{dtype}"))
    return found


@pytest.mark.similar
@pytest.mark.parametrize(("to", "mask", "dtype"), [*programs("float32"), *programs("float64")])
def test_it_is_exported_run_and_verified(
    to: str, mask: Any, dtype: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    if dtype == "float32":
        monkeypatch.setattr(labels, "EVERY", 16)
        monkeypatch.setattr(labels, "DRAWN", 4)
    made = framed(mask, extra=PREDICATES)
    report = export_to(to, made, tmp_path / "x", dtype=dtype, positions=200)
    told = f"of up to 64 tokens, including all of up to {3 if dtype == 'float32' else 6} tokens, "
    told += "after BOS" if mask == "future" else "between BOS and EOS"
    told += "; every label agrees with the dense engine, since no program is stored; words of all 200 positions agree"
    assert told in str(report).splitlines()[2]
    card = (tmp_path / "x" / "README.md").read_text(encoding="utf-8")
    fed = "BOS w₁ … wₙ" if mask == "future" else "BOS w₁ … wₙ EOS"
    assert f"Given a word w₁ … wₙ of letters `a`, `b`\nas the tokens `{fed}`, it answers at every position" in card
    verdict = verify_export(tmp_path / "x", machine=made, word=json.dumps(fed.replace("w₁ … wₙ", "a b a").split()))
    assert verdict.same, str(verdict)


@pytest.mark.parametrize(
    ("to", "mask", "words"),
    [
        (
            "bert",
            "future",
            "framed: in a BERT every head sees every position, and these weights have heads with the mask future",
        ),
        (
            "gpt2",
            "none",
            "framed: in a GPT-2 no head sees a later position, and these weights have heads with the mask none: us",
        ),
    ],
)
def test_masks_that_an_architecture_does_not_have(to: str, mask: Any, words: str, tmp_path: Path) -> None:
    with pytest.raises(ExportError, match=f"^{words}"):
        export_to(to, framed(mask), tmp_path / "x", verify=False)


@there("lens")
def test_what_is_right_on_short_words_alone_is_not_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(labels, "EVERY", 2)
    monkeypatch.setattr(labels, "DRAWN", 1)
    monkeypatch.setattr(running, "TIELESS", 16.0)
    monkeypatch.setattr(Claim, "smallest_gap", lambda claim, _positions: claim.gap_at(65, 66))
    told = r"is not right on .*… \(3,002 characters\) in .*: count\(Q\[a\]\) should be .*; try dtype='float64', or fewer"
    with pytest.raises(ExportError, match=told):
        export_to("lens", framed(), tmp_path / "x", positions=600)
    assert list(tmp_path.iterdir()) == []
