"""A frozen body from a folder: it is the folder's, training leaves it as it is, and other folders are refused."""

from __future__ import annotations

import json
import os
import shutil
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

torch = pytest.importorskip("torch", reason="PyTorch is not installed: pip install 'tm2tfr[torch]'")
transformers = pytest.importorskip("transformers", reason="transformers is not installed: pip install 'tm2tfr[hf]'")

from safetensors.torch import load_file, save_file  # noqa: E402

import tm2tfr  # noqa: E402
from tests.cli.lines import said  # noqa: E402
from tm2tfr.base.errors import TrainingError  # noqa: E402
from tm2tfr.lab.training.compiled import build, trained_model  # noqa: E402
from tm2tfr.lab.training.examples import adder_examples  # noqa: E402
from tm2tfr.lab.training.gpt2 import read_pretrained  # noqa: E402
from tm2tfr.lab.training.grid import load_grid, read_grid  # noqa: E402
from tm2tfr.lab.training.model import answered  # noqa: E402
from tm2tfr.lab.training.record import ModelOptions, TrainingOptions, TrainingRun  # noqa: E402

pytestmark = pytest.mark.slow

BITS = {"bits": 3, "intermediates": "carries"}
SHORT = TrainingOptions(steps=12, batch=8, evaluate_every=5)
FILE = "model.safetensors"
TRAINED = ("wte", "wpe", "ln_1", "ln_2", "ln_f", "lm_head")


def made(folder: Path, *, seed: int = 0, **saving: Any) -> Path:
    """Save a tiny GPT-2, whose vocabulary is not that of the sums."""
    shape = {"n_layer": 2, "n_head": 2, "n_embd": 16, "n_positions": 40, "vocab_size": 50}
    torch.manual_seed(seed)
    model = transformers.GPT2LMHeadModel(transformers.GPT2Config(**shape, bos_token_id=0, eos_token_id=0))
    for each in model.parameters():  # norms and biases, too
        each.data += 0.1 * torch.randn(each.shape)
    model.save_pretrained(folder, **saving)
    return folder


@pytest.fixture(scope="module")
def saved(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return made(tmp_path_factory.mktemp("pretrained") / "tiny")


@pytest.fixture
def folder(saved: Path, tmp_path: Path) -> Path:
    """A copy that a test may change."""
    return Path(shutil.copytree(saved, tmp_path / "tiny"))


def trained(folder: Path | str, place: Path | None = None, **given: Any) -> TrainingRun:
    model = ModelOptions(kind=str(folder))
    return tm2tfr.train("binary-adder", place, model=model, **{"options": SHORT, **BITS, **given})


def changed(folder: Path, name: str, to: Any) -> None:
    """Change a tensor of a folder; None: leave it out."""
    tensors = load_file(folder / FILE)
    if to is None:
        del tensors[name]
    else:
        tensors[name] = to(tensors[name])
    save_file(tensors, folder / FILE, metadata={"format": "pt"})


def test_the_logits_are_those_of_the_folder(saved: Path) -> None:
    """With the vocabulary of the folder's own model put in, it answers as transformers does."""
    ours = build(ModelOptions(kind=str(saved)), adder_examples(**BITS)).model.eval()
    theirs = transformers.GPT2LMHeadModel.from_pretrained(saved).eval()
    with torch.no_grad():
        ours.transformer.wte.weight.copy_(theirs.transformer.wte.weight[:3])
        ours.lm_head.weight.copy_(theirs.lm_head.weight[:3])
        tokens = torch.randint(0, 3, (5, 11))
        assert torch.allclose(ours(tokens).logits, theirs(tokens).logits[..., :3], atol=1e-5)


def test_the_body_stays_as_it_is_and_the_rest_is_trained(saved: Path, tmp_path: Path) -> None:
    run = trained(saved, tmp_path / "run")
    before, after = load_file(saved / FILE), load_file(tmp_path / "run" / "weights.safetensors")
    body = {name for name in before if not any(part in TRAINED for part in name.split("."))}
    assert len(body) == 2 * 8
    for name in body:
        assert after[f"model.{name}"].numpy().tobytes() == before[name].numpy().tobytes()
    for name in ("transformer.h.0.ln_1.weight", "transformer.h.1.ln_2.bias", "transformer.ln_f.weight"):
        assert not torch.equal(after[f"model.{name}"], before[name])
        assert torch.allclose(after[f"model.{name}"], before[name], atol=0.2)
    positions = after["model.transformer.wpe.weight"]
    assert len(positions) == run.data["positions"] == 11
    assert torch.allclose(positions, before["transformer.wpe.weight"][:11], atol=0.2)
    assert {len(after[f"model.{name}.weight"]) for name in ("transformer.wte", "lm_head")} == {3}
    assert run.trained == 2 * 3 * 16 + 11 * 16 + 5 * 2 * 16


def test_a_weight_of_the_body_changes_the_run(folder: Path) -> None:
    before = trained(folder)
    assert trained(folder).same() == before.same()
    changed(folder, "transformer.h.1.mlp.c_fc.weight", lambda each: each + 0.01)
    after = trained(folder)
    assert after.losses != before.losses
    assert after.model["pretrained_sha256"] != before.model["pretrained_sha256"]


def test_the_record_names_the_folder_and_the_model_needs_it_no_more(folder: Path, tmp_path: Path) -> None:
    run = trained(folder, tmp_path / "run")
    told = json.loads((tmp_path / "run" / "run.json").read_text(encoding="utf-8"))["model"]
    assert (told["pretrained"], told["layers"], told["heads"], told["width"]) == (str(folder), 2, 2, 16)
    assert told["pretrained_sha256"] == read_pretrained(str(folder)).sha256
    examples = adder_examples(**BITS)
    shutil.rmtree(folder)
    model = trained_model(run)
    right = (answered(model, examples.test) == examples.test.wanted) | ~examples.test.answer
    assert right.all(axis=1).mean() == run.exact_match


def test_generating_with_a_memory_gives_the_same_answers(saved: Path) -> None:
    examples = adder_examples(**BITS)
    model = build(ModelOptions(kind=str(saved)), examples).eval()
    tokens = torch.tensor(examples.test.fed[:7])
    memory = model.memory(*tokens.shape)
    with torch.no_grad():
        whole = model(tokens)
        for place in range(tokens.shape[1]):
            assert torch.allclose(model.following(tokens[:, place : place + 1], memory), whole[:, place], atol=1e-5)


def test_an_interrupted_run_is_resumed_with_the_same_body_only(folder: Path, tmp_path: Path) -> None:
    whole, steps = trained(folder, tmp_path / "whole"), iter(range(100))
    assert not trained(folder, tmp_path / "parts", stop=lambda: next(steps) == 6).finished
    body = folder / FILE
    kept = body.read_bytes()
    changed(folder, "transformer.h.0.attn.c_attn.bias", lambda each: each + 1)
    with pytest.raises(TrainingError, match=r"the run here has different model \(pretrained_sha256\): train this one in"):
        trained(folder, tmp_path / "parts", resume=True)
    body.write_bytes(kept)
    assert trained(folder, tmp_path / "parts", resume=True).same() == whole.same()


def test_shards_half_floats_and_older_names_are_the_same_body(saved: Path, folder: Path, tmp_path: Path) -> None:
    made(tmp_path / "sharded", max_shard_size="10KB")
    assert len(list((tmp_path / "sharded").glob("*.safetensors"))) > 2
    assert not (tmp_path / "sharded" / FILE).exists()
    digest = read_pretrained(str(saved)).sha256
    assert read_pretrained(str(tmp_path / "sharded")).sha256 == digest
    tensors = {name.removeprefix("transformer."): each for name, each in load_file(folder / FILE).items()}
    masks = {f"h.{n}.attn.{name}": torch.ones(1, 1, 40, 40) for n in (0, 1) for name in ("bias", "masked_bias")}
    save_file({**tensors, **masks}, folder / FILE)  # as GPT-2 itself was published
    assert read_pretrained(str(folder)).sha256 == digest
    save_file({name: each.half() for name, each in tensors.items()}, folder / FILE)
    half = read_pretrained(str(folder))
    assert half.tensors["wpe.weight"].dtype == torch.float32
    save_file({name: each.half().double() for name, each in tensors.items()}, folder / FILE)
    assert read_pretrained(str(folder)).sha256 == half.sha256 != digest


def test_a_grid_has_a_folder_as_its_model(saved: Path, tmp_path: Path) -> None:
    shutil.copytree(saved, tmp_path / "gpt2")
    text = "data: binary-adder\nbits: 3\nintermediates: carries\nmodel: [gpt2/, gpt2]\nsteps: 2\n"
    (tmp_path / "g.yaml").write_text(text, encoding="utf-8")
    runs = load_grid(tmp_path / "g.yaml").runs
    assert [run.model.pretrained for run in runs] == [True, False]
    found = tm2tfr.train_grid(tmp_path / "g.yaml", tmp_path / "runs", workers=1)
    assert [run.model.get("pretrained") for run in found.runs] == [os.path.join(tmp_path, "gpt2", ""), None]
    assert [(run.model["layers"], run.model["width"]) for run in found.runs] == [(2, 16), (1, 64)]
    with pytest.raises(TrainingError, match="unknown model 'gpt3'"):
        read_grid("data: binary-adder\nmodel: gpt3\n", file="g.yaml", folder=tmp_path)


def config(folder: Path, **entries: Any) -> None:
    found = json.loads((folder / "config.json").read_text(encoding="utf-8"))
    found = {name: value for name, value in {**found, **entries}.items() if value is not ...}
    (folder / "config.json").write_text(json.dumps(found), encoding="utf-8")


def breaks() -> Iterator[tuple[str, Any, str]]:
    """What is wrong with a folder -> what makes it so, and the words of the complaint after the folder's name."""
    file = f"/{FILE}: "
    yield "no config", lambda f: (f / "config.json").unlink(), "/config.json: this file is missing: name the folder of a"
    yield "no JSON", lambda f: (f / "config.json").write_text("{"), "/config.json: this JSON cannot be read ("
    yield "a list", lambda f: (f / "config.json").write_text("[]"), "/config.json: this is not a JSON object: copy it once"
    yield (
        "another architecture",
        lambda f: config(f, model_type="llama"),
        "/config.json: this is the configuration of a model of type 'llama': use one of type 'gpt2', which GPT-2 of",
    )
    yield "no width", lambda f: config(f, n_embd=...), "/config.json: 'n_embd' is missing: use the config.json of a GPT-2"
    yield "no number", lambda f: config(f, n_layer="2"), "/config.json: layers must be a whole number from 1 to 1,048,576"
    yield "an activation", lambda f: config(f, activation_function="no"), "transformers refuses this GPT-2 ("
    yield (
        "a layer more",
        lambda f: config(f, n_layer=3),
        ": the tensor 'h.2.ln_1.weight' is missing in the model that config.json describes: use config.json and weights",
    )
    yield "a layer less", lambda f: config(f, n_layer=1), ": the tensor 'h.1.attn.c_attn.bias' has no place in the model"
    yield "a head of another width", lambda f: config(f, n_embd=32), ": the tensor 'wpe.weight' has the shape (11, 16), not"
    yield "no weights", lambda f: (f / FILE).unlink(), ": there is no model.safetensors here: save the model with save_pre"
    yield (
        "pickled weights",
        lambda f: (f / FILE).rename(f / "pytorch_model.bin"),
        ": there is no model.safetensors here (pytorch_model.bin is a pickled file, which may run code, and is not read)",
    )
    yield (
        "half a file",
        lambda f: (f / FILE).write_bytes((f / FILE).read_bytes()[:-9]),
        f"{file}this safetensors file is",
    )
    yield "no header", lambda f: (f / FILE).write_bytes(b"x" * 99), f"{file}this safetensors file is missing or damaged ("
    yield (
        "not finite",
        lambda f: changed(f, "transformer.ln_f.bias", lambda each: each / 0),
        f"{file}the tensor 'transformer.ln_f.bias' has entries that are not finite: use weights in float32 or float16",
    )
    yield (
        "whole numbers",
        lambda f: changed(f, "transformer.ln_f.bias", lambda each: each.to(torch.int8)),
        f"{file}the tensor 'transformer.ln_f.bias' has entries of torch.int8: use weights in float32 or float16",
    )
    yield (
        "no positions",
        lambda f: changed(f, "transformer.wpe.weight", None),
        ": these weights have no position embed",
    )
    yield (
        "too few positions",
        lambda f: changed(f, "transformer.wpe.weight", lambda each: each[:10].clone()),
        ": this GPT-2 has 10 positions, and the sequences have 11: use shorter ones, such as fewer bits, or another GPT-2",
    )
    for name, shards in (("an index of nothing", {}), ("an index of elsewhere", {"ln_f.bias": "../x.safetensors"})):
        yield (
            name,
            lambda f, shards=shards: (
                (f / FILE).unlink(),
                (f / f"{FILE}.index.json").write_text(json.dumps({"weight_map": shards})),
            ),
            f"/{FILE}.index.json: 'weight_map' does not name files of this folder: copy it once more",
        )
    yield (
        "a shard that is not there",
        lambda f: (f / FILE).rename(f / f"{FILE}.index.json").write_text('{"weight_map": {"a": "b.safetensors"}}'),
        "/b.safetensors: this safetensors file is missing or damaged (",
    )


@pytest.mark.parametrize(("broken", "words"), [each[1:] for each in breaks()], ids=[each[0] for each in breaks()])
def test_every_folder_that_is_none_is_refused(
    broken: Any, words: str, folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    broken(folder)
    monkeypatch.chdir(folder.parent)
    message = said(
        capsys, "train", "binary-adder", "--bits", "3", "--intermediates", "carries", "--model", "tiny", "-o", "r"
    )
    assert message.startswith(words if words.startswith("transformers") else f"tiny{words}")
    assert not Path("r").exists() or not list(Path("r").iterdir())


def test_what_is_no_folder_or_stands_beside_one(
    folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(folder.parent)
    Path("file").touch()
    given = ["train", "binary-adder", "--bits", "3", "-o", "r", "--model"]
    assert said(capsys, *given, "none/").startswith("none/: there is no folder with that name: name the folder of a pre")
    assert said(capsys, *given, "./file").startswith("./file: there is a file with that name: name the folder of a pre")
    known = "unknown model 'gpt3' (did you mean 'gpt2'?): use one of mingpt, gpt2, compiled, or name the folder of a pretr"
    assert said(capsys, *given, "gpt3").startswith(known)
    for option in (["--width", "32"], ["--frozen"], ["--config", '{"n_layer": 1}'], ["--noise", "0.1"]):
        message = said(capsys, *given, "tiny", *option)
        assert message == "the shape of a pretrained model is that of its folder: omit all options but dropout"
    monkeypatch.setitem(sys.modules, "transformers", None)
    assert said(capsys, *given, "tiny").startswith("a GPT-2 needs transformers (")
