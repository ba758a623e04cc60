"""Exports in the programs that they are for: torch and transformers, where they are installed."""

from __future__ import annotations

import json
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from benchmarks.machines import rewriter
from tests.cli.test_commands import tm2tfr_here
from tests.targets.matrices.programs import first, rewritten, right_of, sabotaged
from tm2tfr.api.targets import export_gpt2, verify_export
from tm2tfr.base.errors import ExportError, InputError
from tm2tfr.runs.comparison import Divergence
from tm2tfr.sources.turing.library import load
from tm2tfr.sources.turing.spec import Machine
from tm2tfr.targets.common import comparison
from tm2tfr.targets.common.comparison import compared, words
from tm2tfr.targets.gpt2.running import Gpt2Running, Reference

pytestmark = [
    pytest.mark.skipif(
        find_spec("torch") is None or find_spec("transformers") is None,
        reason="torch and transformers are not installed: pip install 'tm2tfr[hf]'",
    ),
    pytest.mark.filterwarnings("ignore"),  # theirs
]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An export of the chapter's machine."""
    path = tmp_path_factory.mktemp("gpt2") / "chapter"
    export_gpt2("chapter", path, positions=64)
    return path


@pytest.mark.similar
@pytest.mark.slow
@pytest.mark.parametrize("name", ["power-of-two", "busy-beaver-4", "turing-1936", "balanced-brackets", "accept-all"])
@pytest.mark.parametrize(("dtype", "stock"), [("float64", False), ("float32", False), ("float64", True)])
def test_machines_run_in_transformers(name: str, dtype: str, stock: bool, tmp_path: Path) -> None:
    found = export_gpt2(name, tmp_path / "x", positions=200, dtype=dtype, stock=stock)
    assert [run.word for run in found.runs] == words(right_of(load(name)), 200)
    assert all(run.generated and run.divergence is None for run in found.runs)
    assert "all agree with the simulator" in str(found)


@pytest.mark.slow
def test_the_worst_case_for_retrieval(tmp_path: Path) -> None:
    machine = rewriter()
    found = export_gpt2(machine, tmp_path / "x", positions=1600, max_head=700, dtype="float32", verify=False)
    run = compared(Gpt2Running(tmp_path / "x"), found.gpt2.vocabulary, right_of(machine), "1" * 699, 1600)
    assert (run.divergence, len(run.tokens), run.generated) == (None, 1600, 1600)


@pytest.mark.slow
@pytest.mark.parametrize("backend", ["MATH", "FLASH_ATTENTION"])
def test_every_backend_of_sdpa_that_a_cpu_has(backend: str, tmp_path: Path) -> None:
    """One multiplies queries and keys by the root of the scale each, which is 1 here, one adds up block by block."""
    from torch.nn.attention import SDPBackend, sdpa_kernel

    machine = rewriter()
    found = export_gpt2(machine, tmp_path / "x", positions=1024, max_head=500, dtype="float32", verify=False)
    assert json.loads((tmp_path / "x" / "config.json").read_text(encoding="utf-8"))["scale_attn_weights"] is False
    model = Gpt2Running(tmp_path / "x")
    model.longest_generated = 0
    with sdpa_kernel([getattr(SDPBackend, backend)]):
        assert compared(model, found.gpt2.vocabulary, right_of(machine), "1" * 499, 1024).divergence is None


@pytest.mark.parametrize("attention", ["eager", "sdpa"])
def test_batches_with_left_padding_and_pipelines(folder: Path, attention: str) -> None:
    from transformers import AutoModelForCausalLM, AutoTokenizer, pipeline

    tokenizer = AutoTokenizer.from_pretrained(folder)
    model = AutoModelForCausalLM.from_pretrained(folder, attn_implementation=attention)
    batch = tokenizer(["11", "1 1 1 1", "", "1"], return_tensors="pt", padding=True)
    assert batch["input_ids"][2].tolist() == [16, 16, 16, 16, 1]
    texts = tokenizer.batch_decode(model.generate(**batch), skip_special_tokens=True)
    assert texts[0] == "1 1 (q0,1,0) (q1,_,+1) (q2,x,+1) (q4,_,-1) (q4,x,-1) (q1,_,+1) ACC"
    assert texts[1].endswith("(q4,x,-1) (q1,_,+1) ACC")
    assert texts[2:] == ["(q0,_,0) REJ", "1 (q0,1,0) (q1,_,+1) ACC"]
    piped = pipeline("text-generation", model=model, tokenizer=tokenizer)("1", return_full_text=False)
    assert piped[0]["generated_text"] == "(q0,1,0) (q1,_,+1) ACC"


def test_the_tokenizer_finds_tokens_anywhere_the_longest_first(folder: Path, tmp_path: Path) -> None:
    tokenizer = Gpt2Running(folder).tokenizer
    assert tokenizer.tokenize("11 BOS(q0,1,0) REJ") == ["1", "1", "BOS", "(q0,1,0)", "REJ"]
    assert tokenizer("1?")["input_ids"] == [0, tokenizer.unk_token_id, 1]
    export_gpt2("balanced-brackets", tmp_path / "x", positions=32, verify=False)
    tokenizer = Gpt2Running(tmp_path / "x").tokenizer
    assert tokenizer.tokenize("([])") == ["(", "[", "]", ")"]
    triple = next(token for token in tokenizer.get_vocab() if token.endswith(",(,+1)"))
    assert tokenizer.tokenize(f"({triple})") == ["(", triple, ")"]


def test_states_and_symbols_of_every_kind(tmp_path: Path) -> None:
    rules = {("a b", "B"): ("é(", ")", 1), ("é(", "O"): ("a b", " ", 1), ("a b", "S"): ("end", '"', 0)}
    machine = Machine(transitions=rules, start="a b", blank="_", input_alphabet=("B", "O", "S", ","), name="odd")
    found = export_gpt2(machine, tmp_path / "x", positions=40)
    run = compared(Gpt2Running(tmp_path / "x"), found.gpt2.vocabulary, right_of(machine), "BOS,", 40)
    assert run.divergence is None
    assert run.answers[4:] == ("(a b,B,0)", "(é(,),+1)", "(a b, ,+1)", '(end,",0)', "HALT")


def test_a_run_that_is_longer_than_the_positions_ends_there(tmp_path: Path) -> None:
    export_gpt2("never-halts", tmp_path / "x", positions=20, verify=False)
    model = Gpt2Running(tmp_path / "x")
    made = model.model.generate(model._torch.tensor([model.prompt("")]))
    assert made.shape == (1, 21)
    assert len(model.answers([0] * 20)) == 20
    with pytest.raises(IndexError, match="index out of range"):
        model.answers([0] * 21)


def test_named_directions_are_where_a_probe_looks_for_them(folder: Path) -> None:
    names = json.loads((folder / "tm2tfr.json").read_text(encoding="utf-8"))
    model = Gpt2Running(folder)
    numbers = {token: n for n, token in enumerate(names["vocabulary"])}
    tokens = ["1", "1", "BOS", "(q0,1,0)", "(q1,_,+1)", "(q2,x,+1)", "(q4,_,-1)", "(q4,x,-1)", "(q1,_,+1)"]
    streams = model.streams([numbers[token] for token in tokens])
    where = {d["name"]: d for d in names["directions"]}

    def value(name: str, layer: int) -> list[float]:
        d, x = where[name], streams[layer]
        return [round(float(v), 12) for v in d["scale"] * (x[:, d["index"]] - x[:, d["mirror"]]) / 2]

    assert value("h", 3) == [0, 0, 0, 0, 1, 2, 1, 0, 1]
    assert value("e_a[x]", 5) == [0, 0, 0, 0, 0, 0, 1, 0, 1]


def test_verify_export_says_yes(folder: Path) -> None:
    verdict = verify_export(folder, machine="chapter", word="11")
    assert verdict.same
    lines = str(verdict).splitlines()
    assert lines[:2] == [
        "weights: all 77 tensors are those of chapter",
        "run: '11', 9 positions, teacher-forced and generated: the simulator's tokens",
    ]
    assert lines[-1] == "yes: this export is chapter"


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("transformer.h.3.attn.c_attn.weight", "layer 4 (read tape), head 'latest write', "),
        ("transformer.h.1.attn.c_proj.weight", "layer 2 (head position), head 'sum of moves', value 0, writes h/(i+1)"),
        ("transformer.h.0.mlp.c_fc.weight", "layer 1 (unpack), unit 'm/(i+1), m = +1', reads e_x[1]"),
        ("transformer.h.5.mlp.c_proj.weight", "layer 6 (transition), unit 'prompt 1', writes e_y[1]"),
        ("transformer.h.5.mlp.c_fc.bias", "layer 6 (transition), unit 'BOS, 1', bias"),
        ("transformer.wte.weight", "embedding of 1: e_x[1]"),
        ("transformer.wpe.weight", "embedding of position 0: "),
        ("lm_head.weight", "logit of 1, reads e_y[1]"),
        ("transformer.ln_f.weight", "last layer norm, at e_x[1]"),
        ("transformer.h.2.ln_1.weight", "layer 3 (read input), ln_1.weight, at e_x[1]"),
    ],
)
def test_after_one_weight_is_changed_it_says_no_and_where(folder: Path, tmp_path: Path, name: str, words: str) -> None:
    verdict = verify_export(sabotaged(folder, tmp_path / "x", "gpt2", name, first), word="1111")
    assert not verdict.same
    assert len(verdict.weights) == 1
    assert verdict.weights[0].startswith(f"{name}[")
    assert words in verdict.weights[0]
    assert str(verdict).splitlines()[-1] == "NO: this export is not chapter"


def test_where_a_run_goes_wrong(folder: Path, tmp_path: Path) -> None:
    broken = sabotaged(
        folder, tmp_path / "x", "gpt2", "transformer.h.1.attn.c_proj.weight", lambda tensor: first(tensor, -1)
    )
    verdict = verify_export(broken, word="11")
    assert "position 4, after layer 2 (head position): h/(i+1) should be 0.2, is 0" in verdict.cause
    assert verdict.run is not None
    assert "teacher-forced: the token should be" in str(verdict.run.divergence)


def test_what_survives_save_pretrained_and_what_does_not(folder: Path, tmp_path: Path) -> None:
    model = Gpt2Running(folder)
    model.model.save_pretrained(tmp_path)
    model.tokenizer.save_pretrained(tmp_path)
    assert verify_export(tmp_path, machine="chapter", word="11").same
    config = json.loads((tmp_path / "config.json").read_text(encoding="utf-8"))
    (tmp_path / "config.json").write_text(json.dumps({**config, "activation_function": "gelu_new"}), encoding="utf-8")
    verdict = verify_export(tmp_path, machine="chapter", word="11")
    assert verdict.weights == ("config.json: activation_function is 'gelu_new', should be 'relu'",)


@pytest.mark.parametrize(
    ("file", "change", "said"),
    [
        (
            "config.json",
            {"scale_attn_by_inverse_layer_idx": True},
            "scale_attn_by_inverse_layer_idx is True, should be False",
        ),
        ("config.json", {"dtype": "float32"}, "dtype is 'float32', should be 'float64'"),
        ("config.json", {"eos_token_id": None}, "eos_token_id is None, should be [2, 3]"),
        ("generation_config.json", {"max_length": 20}, "max_length is 20, should be 65"),
        ("generation_config.json", {"eos_token_id": [0]}, "eos_token_id is [0], should be [2, 3]"),
        ("tokenizer_config.json", {"padding_side": "right"}, "padding_side is 'right', should be 'left'"),
        ("tm2tfr.json", {"bos": "1"}, "bos is '1', should be 'BOS'"),
    ],
)
def test_another_setting(file: str, change: dict[str, Any], said: str, folder: Path, tmp_path: Path) -> None:
    copy = sabotaged(folder, tmp_path / "x", "gpt2", "lm_head.weight", lambda _: None)
    rewritten(copy, file, lambda settings: settings.update(change))
    verdict = verify_export(copy, word="11")
    assert (verdict.same, verdict.weights[0]) == (False, f"{file}: {said}")


def loaded(folder: Path, model: Gpt2Running) -> tuple[str, ...]:
    """Return what a reference says of a model, as it was loaded from `folder`."""
    files = ("config.json", "generation_config.json", "tokenizer_config.json", "tokenizer.json")
    reference = Reference({name: (folder / name).read_text(encoding="utf-8") for name in files})
    given = (model.model.config, model.model.generation_config, model.tokenizer)
    return reference.unlike(dict(zip(files[:3], given, strict=True)))


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (lambda model: setattr(model.model.config, "scale_attn_weights", True), "config.json: as loaded, scale_attn_w"),
        (lambda model: setattr(model.model.config, "further", 1), "config.json: as loaded, further is 1, should be None"),
        (lambda model: setattr(model.model.generation_config, "no_repeat_ngram_size", 2), "generation_config.json: as lo"),
        (lambda model: setattr(model.model.generation_config, "do_sample", 0), "generation_config.json: as loaded, do_sa"),
        (
            lambda model: setattr(model.tokenizer, "padding_side", "right"),
            "tokenizer_config.json: as loaded, padding_side ",
        ),
        (
            lambda model: model.tokenizer.backend_tokenizer.enable_truncation(3),
            "tokenizer_config.json: as loaded, tok",
        ),
        (
            lambda model: setattr(model.tokenizer, "chat_template", "x"),
            "tokenizer_config.json: as loaded, chat_tem",
        ),
    ],
)
def test_what_was_loaded_is_compared(change: Any, said: str, folder: Path) -> None:
    """Also where the files are right: whatever else may have decided what was loaded."""
    model = Gpt2Running(folder)
    assert loaded(folder, model) == ()
    change(model)
    (line,) = loaded(folder, model)
    assert line.startswith(said)


def test_a_checkpoint_that_is_loaded_otherwise_is_not_right(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    right = Gpt2Running.tensors
    monkeypatch.setattr(Gpt2Running, "tensors", lambda self: right(self) | {"lm_head.weight": np.zeros(3)})
    verdict = verify_export(folder, word="11")
    said = "lm_head.weight: was not loaded as it is stored in model.safetensors"
    assert (verdict.same, verdict.weights) == (False, (said,))


def test_a_missing_generation_config_is_seen(folder: Path, tmp_path: Path) -> None:
    copy = sabotaged(folder, tmp_path / "x", "gpt2", "lm_head.weight", lambda _: None)
    (copy / "generation_config.json").unlink()
    assert verify_export(copy, word="11").weights == ("generation_config.json: missing",)


def test_a_model_that_does_not_stop_is_not_right(folder: Path) -> None:
    model = Gpt2Running(folder)
    model.model.generation_config.eos_token_id = None
    vocabulary = json.loads((folder / "tm2tfr.json").read_text(encoding="utf-8"))["vocabulary"]
    difference = compared(model, vocabulary, right_of(load("chapter")), "11", 64).divergence
    assert str(difference) == "position 9, generated: the token should be nothing, is 1"


def test_another_machine(folder: Path) -> None:
    verdict = verify_export(folder, machine="parity", word="1")
    assert not verdict.same
    assert verdict.weights[0] == "config.json: the machine stored with it is a different one"
    assert "config.json: vocab_size is 18, should be 14" in verdict.weights
    assert "run: none, since an export is only run if its files and settings are right" in str(verdict)


def test_words_that_cannot_be_run(folder: Path) -> None:
    with pytest.raises(InputError, match="'2' is not in the input alphabet"):
        verify_export(folder, word="12")
    with pytest.raises(ExportError, match="the word has 64 symbols, which with BOS is more than 64 positions: use"):
        verify_export(folder, word="1" * 64)


def test_an_export_that_is_wrong_is_not_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    wrong = Divergence(position=3, column="the token", expected="a", found="b", how="teacher-forced")
    monkeypatch.setattr(comparison, "first_divergence", lambda *_: wrong)
    with pytest.raises(ExportError, match=r"is not right on '11' .*position 3, .*nothing was written"):
        export_gpt2("chapter", tmp_path / "x", positions=64)
    assert list(tmp_path.iterdir()) == []


def test_what_transformers_cannot_load(tmp_path: Path) -> None:
    (tmp_path / "config.json").write_text("{}", encoding="utf-8")
    with pytest.raises(ExportError, match="transformers cannot load it .*: export it again"):
        Gpt2Running(tmp_path)


def test_the_commands(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.chdir(tmp_path)
    code, lines = tm2tfr_here(capsys, "export", "chapter", "--to", "gpt2", "-o", "x", "--positions", "64", "--stock")
    assert (code, lines[-1]) == (0, "wrote x")
    assert lines[-2].startswith("verified: loaded and run in transformers ")
    code, lines = tm2tfr_here(capsys, "verify-export", "x", "--machine", "chapter", "--input", "11")
    assert (code, lines[-1]) == (0, "yes: this export is chapter")
    code, lines = tm2tfr_here(capsys, "verify-export", "x", "--machine", "power-of-two", "--input", "11")
    assert (code, lines[-1]) == (1, "NO: this export is not power-of-two")
