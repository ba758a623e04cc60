"""``tm2tfr disguise`` and ``tm2tfr score``."""

from __future__ import annotations

import io
from pathlib import Path

import pytest

import tm2tfr
from tm2tfr.cli import main
from tm2tfr.lab.hidden.disguise import FloatEquality


def said(capsys: pytest.CaptureFixture[str], *arguments: str) -> tuple[int, str, str]:
    """Run a command in this process: its exit code, and what it prints."""
    with pytest.raises(SystemExit) as end:
        main(arguments)
    printed = capsys.readouterr()
    return int(end.value.code or 0), printed.out, printed.err


@pytest.mark.slow
def test_weights_are_hidden_proved_and_scored(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    hidden, key, claim = (str(tmp_path / name) for name in ("hidden.safetensors", "key.json", "claim.json"))
    code, out, _ = said(capsys, "disguise", "half-adder", "--seed", "7", "-o", hidden, "--key", key)
    assert code == 0
    assert "proved: in exact arithmetic, the same logits as the original for every input, and so the same answers" in out
    assert out.endswith(f"wrote {hidden} and {key}\n")
    assert said(capsys, "disguise", hidden, "--verify", key)[1].startswith("proved: ")
    code, out, _ = said(capsys, "disguise", "half-adder", "--verify", key)
    assert (code, "their digests differ" in out) == (1, True)
    Path(claim).write_text(said(capsys, "score", key, "--template")[1], encoding="utf-8")
    assert "heads                –   0.000   0.000 " in said(capsys, "score", key, claim)[1]
    assert '"kinds"' in said(capsys, "score", key, claim, "--json")[1]
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(Path(claim).read_bytes())))
    assert said(capsys, "score", key, "-")[1] == said(capsys, "score", key, claim)[1]
    Path(claim).write_text("{}", encoding="utf-8")
    code, _, err = said(capsys, "score", key, claim)
    assert code == 2
    assert err.splitlines()[0].endswith(
        "the format of a claim must be 'tm2tfr-claim': start with 'tm2tfr score KEY --template'"
    )
    assert err.count(":1:1: ") == 1
    assert "it is not a key of hidden weights" in said(capsys, "score", claim, key)[2]


def test_a_circuit_of_one_gate_is_compared_on_all_its_inputs(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    hidden, key = str(tmp_path / "hidden.safetensors"), str(tmp_path / "key.json")
    code, out, _ = said(capsys, "disguise", "-e", "a", "--grade", "1", "-o", hidden, "--key", key)
    assert (code, "compared in float64: 2 inputs, 2 positions: the same answers" in out) == (0, True), out


def test_weights_are_compressed_proved_and_their_error_is_said(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    hidden, key = str(tmp_path / "hidden.safetensors"), str(tmp_path / "key.json")
    given = ("disguise", "half-adder", "--grade", "1", "-o", hidden, "--key", key, "--dimensions")
    code, out, _ = said(capsys, *given, "least")
    assert (code, "  compressed              19 → 10\n" in out) == (0, True), out
    assert "proved: in exact arithmetic, the same logits as the original for every input, and so the same answers\n" in out
    assert "\nlargest difference of two logits there: " in out
    assert said(capsys, "disguise", hidden, "--verify", key)[1].startswith("proved: ")
    code, _, err = said(capsys, *given, "9")
    assert (code, "9 is too few dimensions: 10 are the fewest found" in err) == (2, True), err


def test_where_no_input_is_known_nothing_is_called_the_same(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tm2tfr.lab.hidden.disguise.prompts_of", lambda *_, **__: [])
    hidden, key = str(tmp_path / "hidden.safetensors"), str(tmp_path / "key.json")
    code, out, _ = said(capsys, "disguise", "half-adder", "--grade", "1", "-o", hidden, "--key", key)
    assert (code, "the same logits as the original for every input" in out) == (0, True)
    assert "not compared in float64: no input is known that these weights have positions for" in out
    assert not FloatEquality(0, 0, 0, ()).equal


def test_an_answer_that_is_another_is_exit_1_in_float64_and_a_finding_in_float32(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    wrong: list[str] = []

    def found(*_: object, fed: object = None, dtype: str = "float64") -> FloatEquality:
        return FloatEquality(4, 12, 3, (("1",),) if fed is not None and dtype in wrong else (), dtype)

    monkeypatch.setattr("tm2tfr.lab.hidden.disguise.compared", found)
    given = ("disguise", "half-adder", "--grade", "1", "--all-up-to", "2", "-o", str(tmp_path / "h.safetensors"))
    runs = "all 4 inputs of up to 2 tokens, 12 positions"
    for dtype, code in (("float32", 0), ("float64", 1)):
        wrong[:] = [dtype]
        ended, out, _ = said(capsys, *given, "--key", str(tmp_path / "k.json"))
        what = {
            "float64": "the same answers",
            "float32": "the same answers",
            dtype: "1 inputs with different answers, by rounding",
        }
        assert f"compared in float64: {runs}: {what['float64']}\n" in out
        assert f"found in float32 (dense engine; exports may round differently): {runs}: {what['float32']}\n" in out
        assert ended == code


@pytest.mark.slow
def test_hidden_weights_are_called_that_where_they_cannot_be_used(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    hidden = str(tmp_path / "h.safetensors")
    said(capsys, "disguise", "half-adder", "--grade", "1", "-o", hidden, "--key", str(tmp_path / "k.json"))
    for arguments, words in (
        (("check", hidden, "--all"), "these weights are hidden: they say neither what they compute"),
        (("check", hidden, "--random", "2"), "these weights are hidden: they say neither what they compute"),
        (
            ("labels", hidden, "-o", str(tmp_path / "x")),
            "these weights are hidden, and say nothing of what they compute: label",
        ),
        (
            ("compare", hidden),
            "this is a file of weights, and a training run is a folder: name one that tm2tfr train wrote",
        ),
    ):
        code, _, err = said(capsys, *arguments)
        assert (code, words in err) == (2, True), err
    for call in (tm2tfr.to_graph, tm2tfr.check_many):
        with pytest.raises(tm2tfr.Tm2tfrError, match="these weights are hidden: they say neither"):
            call(hidden)


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("disguise", "half-adder"), "missing option --output: hidden weights go to --output"),
        (("disguise", "half-adder", "-o", "x.safetensors"), "missing option --key"),
        (("disguise", "half-adder", "--verify", "k.json", "-o", "x.safetensors"), "--verify writes nothing"),
        (
            ("disguise", "half-adder", "--verify", "k.json", "--grade", "1"),
            "--verify has the grade and the seed: omit --grade",
        ),
        (
            ("disguise", "half-adder", "--verify", "k.json", "--seed", "3"),
            "--verify has the grade and the seed: omit --grade",
        ),
        (("disguise", "--verify", "k.json"), "--verify is about hidden weights: name their file before it"),
        (("disguise", "--suite", "--grade", "1", "-o", "x"), "a suite has models of all grades: omit --grade"),
        (("disguise", "--suite", "--dimensions", "9", "-o", "x"), "--dimensions is for weights that are being hidden"),
        (("disguise", "half-adder", "--dimensions", "few"), "'few' is neither a whole number nor 'least'"),
        (("disguise", "half-adder", "--resume"), "--resume is about a suite: add --suite, or omit it"),
        (("disguise", "--suite"), "missing option --output: the folder of the suite"),
        (("disguise", "--suite", "-o", "x", "--key", "k.json"), "a suite has its keys in its own folder"),
        (("disguise", "parity", "--suite", "-o", "x"), "--suite has models of its own, 40 of all sources: omit parity, or"),
        (("disguise", "--suite", "--mask", "none", "-o", "x"), "omit --mask, or omit --suite to hide one thing"),
        (
            ("disguise", "x.safetensors", "--verify", "k.json", "--from", "jflap"),
            "a .safetensors file of weights: omit --from",
        ),
        (("score", "key.json", "--template", "--json"), "--template prints a claim, which is JSON: omit --json"),
        (("score", "key.json"), "missing argument CLAIM: name a claim, or use --template or --baseline"),
        (("score", "key.json", "claim.json", "--template"), "--template prints a claim: omit the others"),
        (("score", "none.json", "--template"), "it cannot be read"),
        (("score", ".", "--template"), "it cannot be read (Is a directory): name a key made by"),
        (("disguise", "half-adder", "-o", "x.txt", "--key", "k.json"), "weights are written as .safetensors"),
    ],
)
def test_what_does_not_go_together_is_refused(
    arguments: tuple[str, ...], words: str, capsys: pytest.CaptureFixture[str]
) -> None:
    code, _, err = said(capsys, *arguments)
    assert (code, words in err) == (2, True), err
