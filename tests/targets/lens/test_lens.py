"""Exports in TransformerLens, where it is installed."""

from __future__ import annotations

import json
import re
import sys
from dataclasses import replace
from importlib.util import find_spec
from pathlib import Path

import numpy as np
import pytest
from safetensors import numpy as safetensors

from benchmarks.machines import rewriter
from tests.cli.test_commands import failed, tm2tfr
from tests.targets.matrices.programs import first, rewritten, right_of, sabotaged
from tm2tfr.api.targets import export_to, verify_export
from tm2tfr.base.errors import ExportError
from tm2tfr.sources.turing.compiler import compile_machine
from tm2tfr.sources.turing.library import load
from tm2tfr.targets.common.comparison import compared
from tm2tfr.targets.gpt2.export import Gpt2Exported
from tm2tfr.targets.gpt2.recipe import Gpt2Recipe
from tm2tfr.targets.gpt2.translated import translated
from tm2tfr.targets.lens import target
from tm2tfr.targets.lens.native import Native
from tm2tfr.targets.lens.target import LensRunning

MISSING = "TransformerLens is not installed: pip install 'tm2tfr[lens]'"
there = pytest.mark.skipif(find_spec("transformer_lens") is None, reason=MISSING)
NAMES = ["README.md", "lens.json", "model.safetensors", "tm2tfr.json", "tokenizer.json", "tokenizer_config.json"]
WORDS = [
    ("chapter", "1" * 512),
    ("binary-increment", "1" * 600),
    ("palindromes", "abba" * 15),
    ("busy-beaver-5", ""),
]
"""Machines with words on which they run beyond 1,024 positions; the last two are two-way."""


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An export of the chapter's machine, not verified."""
    path = tmp_path_factory.mktemp("lens") / "chapter"
    export_to("lens", "chapter", path, positions=64, verify=False)
    return path


# ── without TransformerLens ─────────────────────────────────────────────────────────────────────────────────
def test_what_is_written(folder: Path) -> None:
    assert sorted(path.name for path in folder.iterdir()) == NAMES
    names = json.loads((folder / "tm2tfr.json").read_text(encoding="utf-8"))
    config = json.loads((folder / "lens.json").read_text(encoding="utf-8"))
    tensors = safetensors.load_file(folder / "model.safetensors")
    assert names["rounding_bounds"] == (
        "for every input and every run with at most 64 positions, "
        "greedy generation in float64 gives exactly the machine's run"
    )
    assert (names["format"], config["tm2tfr"]["format"]) == ("tm2tfr-lens", "tm2tfr-lens")
    assert [d["index"] for d in names["directions"]] == list(range(config["d_model"]))
    assert {"h", "h_{i-1}", "e_a[x]", "m/(i+1)"} <= {d["name"] for d in names["directions"]}
    assert [layer["name"] for layer in names["layers"]][2:4] == ["read input", "read tape"]
    assert [head["name"] for head in names["layers"][2]["heads"]] == ["cell h", "cell h_{i-1}"]
    assert (config["normalization_type"], config["n_heads"], config["eos_token_id"]) == (None, 2, [2, 3])
    assert tensors["blocks.3.attn.q.weight"].shape == (config["n_heads"] * config["d_head"], config["d_model"])


def test_the_stream_holds_the_values_themselves() -> None:
    gpt2 = translated(compile_machine(load("busy-beaver-2")), Gpt2Recipe(positions=32, max_head=31))
    tensors, at = Native(gpt2).tensors(), {name: n for n, name in enumerate(gpt2.directions)}
    assert tensors["pos_embed.weight"][[0, 1, 5, 31], at["i"]].tolist() == [0, 1, 5, 31]
    assert tensors["pos_embed.weight"][[0, 1, 5, 31], at["i^2"]].tolist() == [0, 1, 25, 961]
    bb = [layer.name for layer in gpt2.decoder.layers].index("read tape")
    query, key = (tensors[f"blocks.{bb}.attn.{part}.weight"] for part in "qk")
    factor = gpt2.recipe.temperature * 8
    assert (query[0, at["u(h)"]], key[0, at["u(h_{i-1})"]]) == (2 * factor, 1)
    assert (query[3, at["1"]], key[3, at["i"]]) == (factor / 32, 1)


@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_all_tensors_are_of_the_dtype_that_is_asked_for(dtype: str) -> None:
    gpt2 = translated(compile_machine(load("busy-beaver-2")), Gpt2Recipe(positions=16, max_head=15, dtype=dtype))
    assert {str(tensor.dtype) for tensor in Native(gpt2).tensors().values()} == {dtype}


def test_as_many_positions_as_masks_may_be_made_for(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(target, "MASKS", 6 * 40 * 40 + 5)
    export_to("lens", "chapter", tmp_path / "x", positions=40, verify=False)
    with pytest.raises(ExportError, match="for 41 positions TransformerLens makes 6 causal masks .*: use positions=40,"):
        export_to("lens", "chapter", tmp_path / "y", positions=41, verify=False)


def test_every_weight_is_one_of_the_gpt2s() -> None:
    """Each is named as the weight of the GPT-2 that is not 0 where it is not 0."""
    gpt2 = translated(compile_machine(load("busy-beaver-2")), Gpt2Recipe(positions=16, max_head=15))
    native, theirs = Native(gpt2), gpt2.tensors()
    for name, tensor in native.tensors().items():
        if name == "unembed.bias":
            continue
        origins = {native.origin(name, tuple(at)) for at in np.argwhere(tensor)}
        assert len(origins) == np.count_nonzero(tensor)
        assert all(theirs[other][at] for other, at in origins)


@pytest.mark.slow
def test_without_transformer_lens_it_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "transformer_lens.model_bridge", None)
    with pytest.raises(ExportError, match=r"needs TransformerLens .*: pip install 'tm2tfr\[lens\]'$"):
        target.required()


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--positions", "5000", "--dtype", "float32"], "use --positions 2048, or --max-head 399, or --dtype float64"),
        (["--positions", "20000"], "6 causal masks of more than 2 GiB in all: use --positions 18918, or --to gpt2"),
        (["--stock"], "--to lens does not take --stock, which only applies to --to gpt2: omit it"),
    ],
)
def test_what_does_not_fit_exits_with_2(arguments: list[str], words: str, tmp_path: Path) -> None:
    done = tm2tfr("export", "left-edge", "--to", "lens", "-o", "x", "--no-verify", *arguments, cwd=tmp_path)
    assert words in failed(2, done)
    assert list(tmp_path.iterdir()) == []


# ── with it ─────────────────────────────────────────────────────────────────────────────────────────────────
@pytest.mark.similar
@pytest.mark.slow
@there
@pytest.mark.parametrize("dtype", ["float64", "float32"])
@pytest.mark.parametrize(("name", "word"), WORDS)
def test_machines_run_to_1024_positions(name: str, word: str, dtype: str, tmp_path: Path) -> None:
    machine = load(name)
    done = export_to("lens", name, tmp_path / "x", positions=1024, dtype=dtype, verify=False)
    assert isinstance(done, Gpt2Exported)
    model = LensRunning(tmp_path / "x")
    model.longest_generated = len(word) + 12  # from the end of the prompt: each token is a pass over all
    run = compared(model, done.gpt2.vocabulary, right_of(machine), word, 1024)
    assert (run.divergence, len(run.tokens), run.generated) == (None, 1024, model.longest_generated)


@pytest.mark.slow
@there
def test_the_worst_case_for_retrieval(tmp_path: Path) -> None:
    machine = rewriter()
    done = export_to("lens", machine, tmp_path / "x", positions=1600, max_head=700, dtype="float32", verify=False)
    assert isinstance(done, Gpt2Exported)
    model = LensRunning(tmp_path / "x")
    model.longest_generated = 0
    assert compared(model, done.gpt2.vocabulary, right_of(machine), "1" * 699, 1600).divergence is None


@pytest.mark.slow
@there
@pytest.mark.parametrize("name", ["busy-beaver-4", "turing-1936", "balanced-brackets", "accept-all"])
def test_exports_are_verified(name: str, tmp_path: Path) -> None:
    done = export_to("lens", name, tmp_path / "x", positions=120)
    assert isinstance(done, Gpt2Exported)
    assert all(run.generated and run.divergence is None for run in done.runs)
    assert re.search(r"verified: loaded and run in TransformerLens 4\.\S+, torch \S+: \d+ runs?, ", str(done))


@there
def test_hooks_show_the_attention_of_the_latest_write(folder: Path) -> None:
    model = LensRunning(folder)
    made = model.generated(model.prompt("11"), most=10)
    _, cache = model.model.run_with_cache(model._torch.tensor([made]))
    pattern = cache["pattern", 3][0, 0].numpy()
    assert pattern.argmax(axis=-1).tolist()[4:9] == [4, 5, 5, 4, 7]  # h 1 2 1 0 1; b_{i-1} was written in cell h_{i-1}
    assert pattern.max(axis=-1).tolist() == [1.0] * 10  # softmax, and yet nothing goes to the others


@there
def test_it_runs_in_the_dtype_of_the_weights(folder: Path, tmp_path: Path) -> None:
    at = [d["name"] for d in json.loads((folder / "tm2tfr.json").read_text(encoding="utf-8"))["directions"]].index(
        "1/(i+1)"
    )
    assert LensRunning(folder).streams([0, 0, 0])[0, 2, at] == 1 / 3
    export_to("lens", "chapter", tmp_path / "x", positions=64, dtype="float32", verify=False)
    assert LensRunning(tmp_path / "x").streams([0, 0, 0])[0, 2, at] == float(np.float32(1 / 3))


@there
def test_a_run_or_a_prompt_that_is_longer_than_the_positions_is_an_error(tmp_path: Path) -> None:
    export_to("lens", "never-halts", tmp_path / "x", positions=20, verify=False)
    model = LensRunning(tmp_path / "x")
    assert (len(model.answers([0] * 20)), len(model.generated(model.prompt(""), most=21))) == (20, 21)
    for run in (lambda: model.answers([0] * 21), lambda: model.generated(model.prompt(""), most=22)):
        with pytest.raises(ValueError, match="input length 21 exceeds n_ctx=20"):
            run()


@there
def test_batches_of_words(folder: Path) -> None:
    model = LensRunning(folder).model
    texts = model.generate(["11", "", "1"], max_new_tokens=20, do_sample=False, verbose=False)
    whole = "1 1 (q0,1,0) (q1,_,+1) (q2,x,+1) (q4,_,-1) (q4,x,-1) (q1,_,+1) ACC"
    assert texts == [whole, "(q0,_,0) REJ", "1 (q0,1,0) (q1,_,+1) ACC"]


@there
def test_verify_export_says_yes(folder: Path) -> None:
    verdict = verify_export(folder, machine="chapter", word="11")
    assert verdict.same
    assert str(verdict).splitlines()[:2] == [
        "weights: all 76 tensors are those of chapter",
        "run: '11', 9 positions, teacher-forced and generated: the simulator's tokens",
    ]


@there
@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("blocks.3.attn.q.weight", "layer 4 (read tape), head 'latest write', query 0, reads u(h)"),
        ("blocks.3.attn.k.weight", "layer 4 (read tape), head 'latest write', key 0, reads u(h_{i-1})"),
        ("blocks.2.attn.v.weight", "layer 3 (read input), head 'cell h', value 0, reads "),
        ("blocks.1.attn.o.weight", "layer 2 (head position), head 'sum of moves', value 0, writes h/(i+1)"),
        ("blocks.0.mlp.in.weight", "layer 1 (unpack), unit 'e_q[q0]', reads e_x[(q0,1,0)]"),
        ("blocks.5.mlp.in.bias", "layer 6 (transition), unit 'BOS, 1', bias"),
        ("blocks.5.mlp.out.weight", "layer 6 (transition), unit "),
        ("embed.weight", "embedding of 1: e_x[1]"),
        ("pos_embed.weight", "embedding of position 0: "),
        ("unembed.weight", "logit of 1, reads e_y[1]"),
    ],
)
def test_after_one_weight_is_changed_it_says_no_and_where(folder: Path, tmp_path: Path, name: str, words: str) -> None:
    verdict = verify_export(sabotaged(folder, tmp_path / "x", "lens", name, first), word="1111")
    assert not verdict.same
    assert len(verdict.weights) == 1
    assert verdict.weights[0].startswith(f"{name}[")
    assert words in verdict.weights[0]


@there
def test_where_a_run_goes_wrong(folder: Path, tmp_path: Path) -> None:
    verdict = verify_export(sabotaged(folder, tmp_path / "x", "lens", "blocks.1.attn.o.weight", first), word="11")
    assert "position 4, after layer 2 (head position): h/(i+1) should be 0.2, is -0.6" in verdict.cause


@there
def test_another_machine_and_another_configuration(folder: Path, tmp_path: Path) -> None:
    verdict = verify_export(folder, machine="parity", word="1")
    assert verdict.weights[0] == "lens.json: the machine stored with it is a different one"
    copy = sabotaged(folder, tmp_path / "x", "lens", "embed.weight", lambda _: None)
    config = json.loads((copy / "lens.json").read_text(encoding="utf-8"))
    (copy / "lens.json").write_text(json.dumps({**config, "act_fn": "gelu"}), encoding="utf-8")
    verdict = verify_export(copy, machine="chapter", word="11")
    assert verdict.weights == ("lens.json: act_fn is 'gelu', should be 'relu'",)
    assert not verdict.same
    rewritten(copy, "lens.json", lambda settings: settings.update(config, attn_scale=3.0))
    assert verify_export(copy, word="11").weights == ("lens.json: attn_scale is 3.0, should be missing",)
    rewritten(copy, "tm2tfr.json", lambda names: names["directions"].reverse())
    assert verify_export(copy, word="11").weights[1] == (
        "tm2tfr.json: directions[0].name is 'u(h_{i-1})^2+v(h_{i-1})^2', should be 'e_x[1]'"
    )


@there
def test_a_name_decides_nothing(folder: Path) -> None:
    assert verify_export(folder, machine=replace(load("chapter"), name="another name"), word="11").same


@there
def test_what_transformer_lens_cannot_load(folder: Path, tmp_path: Path) -> None:
    copy = sabotaged(folder, tmp_path / "x", "lens", "embed.weight", lambda _: None)
    (copy / "lens.json").write_text("{}", encoding="utf-8")
    with pytest.raises(ExportError, match="TransformerLens cannot load it .*: export it again"):
        LensRunning(copy)
    with pytest.raises(ExportError, match="does not say that it is an export of a machine: use .* --to lens'"):
        verify_export(copy)


@there
def test_an_export_that_is_wrong_is_not_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    right = Native._writes
    monkeypatch.setattr(Native, "_writes", lambda self, rows: right(self, rows)[..., ::-1])
    with pytest.raises(ExportError, match=r"is not right on '11' .* nothing was written"):
        export_to("lens", "chapter", tmp_path / "x", positions=64)
    assert list(tmp_path.iterdir()) == []


@there
def test_an_export_whose_names_are_wrong_is_not_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Native, "reads", lambda self: lambda x: np.roll(x, 1)[: self.gpt2.decoder.layout.width])
    with pytest.raises(ExportError, match=r"on '11' in .* first goes wrong at position 0, after the embedding: .* nothing"):
        export_to("lens", "chapter", tmp_path / "x", positions=64)
    assert list(tmp_path.iterdir()) == []
