"""Parts that only some decoders have are refused by name wherever they are not known."""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.engines.labellers import causal, labeller, soft, with_heads
from tests.handmade import majority, normed, tabled
from tm2tfr import check, export_gpt2, export_to
from tm2tfr.base.errors import EngineError, ExportError
from tm2tfr.engines import engine
from tm2tfr.lab.softness.measure import measure
from tm2tfr.lab.softness.run import soft_run
from tm2tfr.sources.circuit.compiler import compile_circuit
from tm2tfr.sources.circuit.library import load as load_circuit
from tm2tfr.sources.circuit.proof.certificate import CircuitProof
from tm2tfr.sources.turing.compiler import compile_machine
from tm2tfr.sources.turing.library import load
from tm2tfr.sources.turing.proof.prove import prove
from tm2tfr.tables.scores import attention_map
from tm2tfr.targets.common.reference import reference_of
from tm2tfr.targets.lens.target import lens_recipe
from tm2tfr.targets.matrices.contents import fitted
from tm2tfr.transformer.claims import Output
from tm2tfr.transformer.matrix import Matrix
from tm2tfr.transformer.parts import NO_BOS, NORMS, TABLE, parts
from tm2tfr.transformer.weights import Decoder, Norm
from tm2tfr.web.explorer.record import record


def test_parts_are_named() -> None:
    assert parts(majority()) == ()
    assert parts(tabled()) == (TABLE, NO_BOS)
    assert parts(normed()) == (NORMS,)


ENGINES = {"exact": "square roots are not rational: use the dense engine", "fast": "use the dense engine"}


@pytest.mark.parametrize("name", ENGINES)
def test_engines_refuse_norms_by_name(name: str) -> None:
    words = f"these weights have layer norms, which the {name} engine cannot run: {ENGINES[name]}"
    with pytest.raises(EngineError, match=f"^{re.escape(words)}$"):
        engine(name).start(normed())


@pytest.mark.parametrize(
    ("target", "told"), [(name, "matrices without the program that they were compiled from") for name in ("torch", "onnx")]
)
@pytest.mark.parametrize(
    ("made", "lacking"), [(tabled, "a position table and no BOS"), (normed, "layer norms")], ids=["table", "norms"]
)
def test_exports_refuse_parts_by_name(
    target: str, told: str, made: Callable[[], Decoder], lacking: str, tmp_path: Path
) -> None:
    remedy = "run them with tm2tfr, or save them as a weight file"
    words = f"these weights have {lacking}, which an export to {told} does not have: {remedy}"
    with pytest.raises(ExportError, match=f"^{re.escape(words)}$"):
        export_to(target, made(), tmp_path / "export", verify=False)
    assert not list(tmp_path.iterdir())


def _with_table(decoder: Decoder) -> Decoder:
    return dataclasses.replace(decoder, position_table=Matrix.from_entries((decoder.layout.width, 9), {(0, 3): 1.0}))


def _with_norm(decoder: Decoder) -> Decoder:
    gain = Matrix.from_entries((decoder.layout.width, 1), {(0, 0): 1.0})
    return dataclasses.replace(decoder, norm=Norm(gain=gain, bias=Matrix.from_entries(gain.shape, {})))


@pytest.mark.parametrize(
    ("added", "part"), [(_with_table, "a position table"), (_with_norm, "layer norms")], ids=["table", "norm"]
)
def test_a_turing_machine_with_such_a_part_is_not_certified_and_not_exported(
    added: Callable[[Decoder], Decoder], part: str, tmp_path: Path
) -> None:
    machine = load("parity")
    decoder = added(compile_machine(machine))
    told = [(r.part, r.what, r.witness) for r in prove(decoder, machine).refusals]
    assert told == [("layout", "the construction has no such part", f"these weights have {part}")]
    with pytest.raises(ExportError, match=f"^these weights have {part}, which an export to GPT-2 does not have: run"):
        export_gpt2(decoder, tmp_path / "export", machine=machine, verify=False)


def test_the_exact_scores_of_a_head_behind_a_norm_are_not_looked_at() -> None:
    machine = load("chapter")
    decoder = compile_machine(machine)
    gain = Matrix.from_entries((decoder.layout.width, 1), {(decoder.layout.index("i"), 0): 1.0})
    norm = Norm(gain=gain, bias=Matrix.from_entries(gain.shape, {}), epsilon=1.0)
    layers = list(decoder.layers)
    layers[3] = dataclasses.replace(layers[3], attention_norm=norm)
    trace = check(dataclasses.replace(decoder, layers=tuple(layers)), "11", machine="chapter")
    assert trace.divergence is not None
    assert trace.divergence.cause is not None
    assert trace.divergence.cause.why == (
        "it reads a layer norm, which is not computed in exact arithmetic: its weights are wrong, or it is rounding"
    )


# ── heads that look ahead, and outputs by name ──────────────────────────────────────────────────────────────
def unmasked(decoder: Decoder) -> Decoder:
    return with_heads(decoder, lambda head: dataclasses.replace(head, mask="none"))


AHEAD_ALONE = unmasked(majority())
TOLD = {"labeller": (labeller(), "heads that look ahead and outputs by name"), "causal": (causal(), "outputs by name")}


def test_exports_refuse_heads_that_look_ahead_where_tokens_are_generated(tmp_path: Path) -> None:
    for target in ("torch", "onnx"):
        words = "these weights have heads that look ahead, which an export to PyTorch or ONNX does not have: run them with"
        with pytest.raises(ExportError, match=f"^{words} tm2tfr"):
            export_to(target, AHEAD_ALONE, tmp_path / "export", verify=False)
    assert not list(tmp_path.iterdir())


def test_exports_to_causal_models_refuse_heads_that_look_ahead(tmp_path: Path) -> None:
    machine, circuit = load("parity"), load_circuit("half-adder")
    told = "^these weights have heads that look ahead, which an export to {} does not have: run them with tm2tfr, or save"
    with pytest.raises(ExportError, match=told.format("GPT-2")):
        export_gpt2(unmasked(compile_machine(machine)), tmp_path / "export", machine=machine, verify=False)
    with pytest.raises(ExportError, match=told.format("TransformerLens")):
        export_to("lens", unmasked(compile_machine(machine)), tmp_path / "export", machine=machine, verify=False)
    compiled = compile_circuit(circuit)
    with pytest.raises(ExportError, match=told.format("TransformerLens")):
        lens_recipe(unmasked(compiled), reference_of(circuit, compiled), positions=None, max_head=None, dtype="float64")
    with pytest.raises(ExportError, match=told.format("PyTorch or ONNX")):
        fitted(reference_of(circuit, unmasked(compiled)))
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("name", TOLD)
def test_softness_of_labellers_is_not_measured(name: str) -> None:
    made, lacking = TOLD[name]
    words = f"these weights have {lacking}, which a measurement of softness cannot run: call tm2tfr.api.softness.measure"
    with pytest.raises(EngineError, match=f"^{words}"):
        soft_run(made, "ab", truth=None, engine=engine("dense"))
    with pytest.raises(EngineError, match=f"^{words}"):
        measure(made, "ab", 0.5, engine=engine("dense"))


@pytest.mark.parametrize("name", TOLD)
def test_a_page_shows_no_labellers(name: str) -> None:
    made, lacking = TOLD[name]
    with pytest.raises(
        EngineError, match=f"^these weights have {lacking}, which the explorer cannot run: see tm2tfr trace$"
    ):
        record(made, "ab", truth=None, engine=engine("dense"), max_steps=None)


def test_certificates_refuse_labellers_by_name() -> None:
    machine = load("parity")
    decoder = compile_machine(machine)
    outputs = tuple(Output(f"n{n}", None) for n in range(len(decoder.vocabulary)))
    labelling = dataclasses.replace(decoder, bos=None, stop=(), outputs=outputs)
    told = [(r.part, r.what, r.witness) for r in prove(labelling, machine).refusals]
    assert told[0] == ("layout", "the construction has no such part", "these weights have outputs by name")
    told = [(r.part, r.what) for r in prove(unmasked(decoder), machine).refusals]
    assert told[0] == ("attention", "head 'sum of moves' is not future-masked average-hard attention")
    circuit = load_circuit("half-adder")
    compiled = compile_circuit(circuit)
    for wrong, part in (
        (unmasked(compiled), "heads that look ahead"),
        (dataclasses.replace(compiled, outputs=(Output("bit", ("0", "1")),)), "outputs by name"),
    ):
        refused = CircuitProof(wrong, circuit).certificate().refusals[0]
        assert (refused.what, refused.witness) == ("the construction has no such part", f"these weights have {part}")


def test_a_map_of_attention_knows_every_mask() -> None:
    found = [attention_map(labeller(), "abc", engine=engine("dense"), layer=1, head=k) for k in range(3)]
    assert [(m.rows, m.columns) for m in found] == [(("0 a", "1 b", "2 c"),) * 2] * 3
    assert found[0].weights.tolist() == [[0, 1, 0], [0, 0, 1], [0, 0, 1]]
    assert found[1].weights.tolist() == [[1 / 3] * 3] * 3
    assert found[2].weights.tolist() == [[1, 0, 0], [1, 0, 0], [0, 1, 0]]
    weights = attention_map(soft(labeller()), "abc", engine=engine("dense"), layer=1, head=0).weights
    assert (weights[1, 0], weights[2].tolist()) == (0, [0, 0, 1])
    assert weights.sum(axis=1).tolist() == pytest.approx([1, 1, 1])
