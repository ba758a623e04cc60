"""Weight files of version 1, which state no claims: they are completed to what is compiled today."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

import tm2tfr
from tests.recordings import recorded_text
from tm2tfr.sources.turing.compiler import compile_machine, completed
from tm2tfr.sources.turing.library import load, shipped
from tm2tfr.sources.turing.spec import Machine
from tm2tfr.transformer import provenance, storage
from tm2tfr.transformer.listing import layer_number, listing
from tm2tfr.transformer.residual import Residual, Subspace
from tm2tfr.transformer.weights import Decoder, Layer, matrices, replaced

FILES = Path(__file__).parents[3] / "cases" / "version-1"
CASES = {"chapter": "chapter", "palindromes": None, "busy-beaver-2": None}


def bare(decoder: Decoder) -> Decoder:
    """A decoder as version 1 had it: without claims."""
    layout = tuple(Subspace(s.name, s.labels) for s in decoder.layout.subspaces)

    def layer_of(layer: Layer) -> Layer:
        return replace(layer, heads=tuple(replace(h, claim=None) for h in layer.heads), equation="")

    said = dict(decoder.provenance)
    old = {"left_boundary": said.pop("option.left_boundary", "none"), "machine": said.pop("source"), **said}
    return replace(decoder, layout=Residual(layout), layers=tuple(map(layer_of, decoder.layers)), provenance=old)


@pytest.mark.slow
@pytest.mark.parametrize("name", CASES)
def test_files_of_version_1_become_what_is_compiled_today(name: str) -> None:
    path = FILES / f"{name}.safetensors"
    old, today = storage.load(path), compile_machine(tm2tfr.load(name), left_boundary=CASES[name])
    assert provenance.is_version_1(old.provenance)
    assert {s.holds for s in old.layout.subspaces} == {""}
    found = tm2tfr.load_weights(path)
    assert found == today
    own = {"tm2tfr": "", "source": ""}  # texts whose descriptions may be others
    assert {**found.provenance, **own} == {**today.provenance, **own}
    machines = [Machine.from_yaml(each.provenance["source"]) for each in (found, today)]
    assert replace(machines[0], description=machines[1].description) == machines[1]
    assert storage.loads(storage.dumps(found)) == found
    assert tm2tfr.certify(found).refusals == tm2tfr.certify(today).refusals
    assert tm2tfr.measure_softness(found, max_steps=6).softness.uniform_tieless


@pytest.mark.parametrize("name", shipped())
def test_every_shipped_machine_is_completed(name: str) -> None:
    machine = tm2tfr.load(name)
    for boundary in ("repaired", "chapter") if machine.tape == "one-way" else (None,):
        decoder = compile_machine(machine, left_boundary=boundary)
        assert bare(decoder) != decoder
        assert completed(bare(decoder)) == decoder
        assert completed(bare(decoder)).provenance == decoder.provenance
        assert completed(decoder) is decoder


def test_weights_from_elsewhere_get_no_claims() -> None:
    decoder = bare(compile_machine(tm2tfr.load("chapter")))
    for said in ({}, {"name": "x"}, {**decoder.provenance, "construction": "circuit"}, {"machine": "x"}):
        other = replace(decoder, provenance=said)
        assert completed(other) is other


def test_names_that_version_1_did_not_have_get_no_claims() -> None:
    decoder = bare(compile_machine(tm2tfr.load("chapter")))
    layers = [replace(x, name=f"{x.name}?", heads=tuple(replace(h, name="mine") for h in x.heads)) for x in decoder.layers]
    spaces = tuple(replace(s, name="hh" if s.name == "h" else s.name) for s in decoder.layout.subspaces)
    found = completed(replace(decoder, layers=tuple(layers), layout=Residual(spaces)))
    assert {head.claim for layer in found.layers for head in layer.heads} == {None}
    assert {layer.equation for layer in found.layers} == {""}
    assert [s.name for s in found.layout.subspaces if not s.holds] == ["hh"]
    (refusal,) = tm2tfr.certify(found).refusals
    assert str(refusal).endswith("nothing says what the subspace 'hh' holds: compile the machine again")
    assert tm2tfr.listing(found)


def test_the_command_line_reads_them(capsys: pytest.CaptureFixture[str]) -> None:
    from tm2tfr.cli import main

    for command in ("check", "certify"):
        with pytest.raises(SystemExit) as ended:
            main([command, str(FILES / "palindromes.safetensors")])
        assert ended.value.code == 0, capsys.readouterr()


def test_what_a_file_of_today_claims_is_kept_whatever_its_provenance_says(tmp_path: Path) -> None:
    decoder = tm2tfr.compile("chapter")
    said = {**decoder.provenance, "machine": decoder.provenance["source"]}
    renamed = Residual(tuple(replace(s, name=f"my {s.name}") for s in decoder.layout.subspaces))
    odd = replace(decoder, provenance=said, layout=renamed)
    tm2tfr.save_weights(odd, tmp_path / "odd.safetensors")
    assert tm2tfr.load_weights(tmp_path / "odd.safetensors") == odd
    assert tm2tfr.check(tmp_path / "odd.safetensors", "11").agrees


# ── the compiler's output, weight by weight: ``golden/NAME.txt`` is what ``tm2tfr compile NAME --explain`` prints
GOLDEN = Path(__file__).parent / "golden"


@pytest.mark.parametrize("name", ["chapter", "busy-beaver-2"])
def test_the_weights_are_those_of_the_golden_listing(name: str) -> None:
    path = GOLDEN / f"{name}.txt"
    golden = recorded_text(path, f"run 'tm2tfr compile {name} --explain > {path}'")
    assert listing(compile_machine(load(name))) == golden


def test_one_layer_by_number_and_by_name() -> None:
    decoder = compile_machine(load("chapter"))
    whole, third = listing(decoder), listing(decoder, "3")
    assert third == listing(decoder, "read input")
    assert third in whole
    assert "    query[0] = 2·h/(i+1)\n    query[1] = -1/(i+1)\n    key[0] = i\n    key[1] = i^2\n" in third
    assert layer_number(decoder, "symbol") == 5


def test_every_changed_weight_changes_the_listing() -> None:
    decoder = compile_machine(load("chapter"))
    before = listing(decoder)
    for path, matrix in matrices(decoder).items():
        if matrix.shape[0] and matrix.shape[1]:
            changed = replaced(decoder, {path: matrix.with_entry(0, 0, 0.75)})
            assert listing(changed) != before, path
