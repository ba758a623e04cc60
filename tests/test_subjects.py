"""Every function and every command takes every form of a subject, with one meaning, and ignores nothing."""

from __future__ import annotations

import inspect
import io
import shutil
import sys
import tempfile
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from itertools import product
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import tm2tfr
from tests.cli.lines import params
from tests.golden import Golden
from tests.handmade import normed, tabled
from tests.targets.matrices.programs import needs_torch
from tm2tfr.base.errors import CompileError, EngineError, InputError, NotFoundError, Tm2tfrError
from tm2tfr.base.native import folder
from tm2tfr.cli import app
from tm2tfr.cli.commands import guarded
from tm2tfr.engines import engine
from tm2tfr.runs.plan import RunOptions
from tm2tfr.transformer.weights import Decoder, matrices, replaced

MACHINE, CIRCUIT = tm2tfr.load("chapter"), tm2tfr.load("full-adder")
TEXT = MACHINE.yaml or ""
SMALL: Any = (5, 3)
"""The size of the universal decoder in whose prompt the machine is tried."""

TEXTS = ("name", "path", "text path", "weight file", "weight path", "standard input")
OBJECTS = ("object", "decoder", "subject", "subject of weights")
FORMS = (*TEXTS, *OBJECTS)


@dataclass(frozen=True)
class Tried:
    """A source of some kind: its input, a head, a position, a layer, and a format to convert it to."""

    source: Any
    name: str
    options: Mapping[str, Any]
    word: str
    head: str
    position: int
    layer: str
    format: str


MACHINES = Tried(MACHINE, "chapter", {}, "11", "latest write", 5, "3", "morphett")
CIRCUITS = Tried(CIRCUIT, "full-adder", {}, "110", "operand b", 2, "1", "truth-table")
PROMPTED = Tried(MACHINE, "chapter", {"universal": SMALL}, "11", "latest write", 5, "3", "morphett")
KINDS = {"machine": MACHINES, "circuit": CIRCUITS, "machine in a prompt": PROMPTED}
AS_TEXT = ("name", "path", "text path", "standard input")
"""The forms that are compiled, and so have no machine in a prompt."""


class Forms:
    """The forms of one source."""

    def __init__(self, folder: Path, monkeypatch: pytest.MonkeyPatch, of: Tried = MACHINES) -> None:
        self._monkeypatch, self._of = monkeypatch, of
        self.text, self.weights = folder / f"{of.name}.yaml", folder / f"{of.name}{len(of.options)}.safetensors"
        self.text.write_text(TEXT if of.source is MACHINE else tm2tfr.convert(of.source, "yaml"), encoding="utf-8")
        self.decoder = tm2tfr.compile(of.source, **of.options)
        tm2tfr.save_weights(self.decoder, self.weights)

    def __getitem__(self, form: str) -> Any:
        of = self._of
        if form == "standard input":
            stdin = io.TextIOWrapper(io.BytesIO(self.text.read_bytes()), encoding="utf-8")
            self._monkeypatch.setattr(sys, "stdin", stdin)
        return {
            "name": of.name,
            "path": str(self.text),
            "text path": self.text,
            "weight file": str(self.weights),
            "weight path": self.weights,
            "standard input": "-",
            "object": tm2tfr.Universal(states=5, symbols=3).holding(MACHINE) if of.options else of.source,
            "decoder": self.decoder,
            "subject": tm2tfr.Subject.of(of.source, options=of.options),
            "subject of weights": tm2tfr.Subject.of(self.decoder),
        }[form]


@pytest.fixture
def forms(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Forms:
    return Forms(tmp_path, monkeypatch)


def saved(subject: Any, folder: Path) -> bytes:
    tm2tfr.save_weights(subject, folder / "again.safetensors")
    return (folder / "again.safetensors").read_bytes()


def exported(subject: Any, folder: Path, of: Tried) -> dict[str, bytes]:
    out = Path(tempfile.mkdtemp(dir=folder)) / "out"
    tm2tfr.export_to("torch", subject, out, positions=None if of is CIRCUITS else 20, verify=False)
    return {path.name: path.read_bytes() for path in out.iterdir()}


def drawn(subject: Any, folder: Path, word: str) -> dict[str, bytes]:
    return {p.name: p.read_bytes() for p in tm2tfr.frames(subject, word, folder=folder / "slides", format="svg")}


def labelled(subject: Any, folder: Path, word: str) -> bytes:
    made = tm2tfr.make_labels(subject, Path(tempfile.mkdtemp(dir=folder)) / "labels", inputs=[word], workers=1)
    return (made.folder / "labels" / "00000-of-00001.parquet").read_bytes()


FUNCTIONS: dict[str, Callable[[Any, Path, Tried], Any]] = {
    "activations": lambda s, _, of: tm2tfr.activations(s, of.word, 2),
    "certify": lambda s, _, of: str(tm2tfr.certify(s)),
    "check": lambda s, _, of: tm2tfr.check(s, of.word),
    "compile": lambda s, _, of: tm2tfr.compile(s),
    "convert": lambda s, _, of: tm2tfr.convert(s, of.format),
    "default_input": lambda s, _, of: tm2tfr.default_input(s),
    "explain": lambda s, _, of: tm2tfr.explain(s).as_dict(),
    "explore": lambda s, _, of: tm2tfr.explore(s, of.word).html,
    "export_gpt2": lambda s, f, of: tm2tfr.export_gpt2(s, f / "gpt2", positions=20, verify=False).gpt2.decoder,
    "export_to": exported,
    "frames": lambda s, f, of: drawn(s, f, of.word),
    "listing": lambda s, _, of: tm2tfr.listing(s, of.layer),
    "load": lambda s, _, of: tm2tfr.load(s),
    "make_labels": lambda s, f, of: labelled(s, f, of.word),
    "machine_of": lambda s, _, of: tm2tfr.machine_of(s),
    "measure_softness": lambda s, _, of: tm2tfr.measure_softness(s, of.word[1:], temperature=0.01).softness,
    "run": lambda s, _, of: tm2tfr.run(s, of.word),
    "save_weights": lambda s, f, of: saved(s, f),
    "scores_of": lambda s, _, of: tm2tfr.scores_of(s, of.word, head=of.head, position=of.position).text(),
    "simulate": lambda s, _, of: tm2tfr.simulate(s, of.word),
    "soften": lambda s, _, of: tm2tfr.soften(s, **({"temperature": 0.01} if of is CIRCUITS else {"length": 50})),
    "summary": lambda s, _, of: tm2tfr.summary(s),
    "to_graph": lambda s, _, of: sorted(tm2tfr.to_graph(s).edges(keys=True)),
}
"""The functions that are about a subject -> a call whose result can be compared."""
OF_CIRCUITS: dict[str, Callable[[Any, Path, Tried], Any]] = {
    "attention_of": lambda s, _, of: tm2tfr.attention_of(s, of.word, head=of.head).text(),
    "check of numbers": lambda s, _, of: tm2tfr.check(s, "1+0+1").input,
    "check_many": lambda s, _, of: tm2tfr.check_many(s).bits,
}
"""Functions about circuits, likewise."""
TURING_ONLY = ("machine_of", "simulate")
NOT_OF_CIRCUITS = (*TURING_ONLY, "measure_softness", "export_gpt2")
AGAINST: dict[str, Callable[[Any], Any]] = {
    "certify": lambda m: str(tm2tfr.certify(tm2tfr.compile(MACHINE), machine=m)),
    "check": lambda m: tm2tfr.check(tm2tfr.compile(MACHINE), "11", machine=m),
    "explore": lambda m: tm2tfr.explore(tm2tfr.compile(MACHINE), "11", machine=m).html,
    "measure_softness": lambda m: tm2tfr.measure_softness("chapter", "1", machine=m, temperature=0.01).softness,
}
"""The functions that compare with a machine."""


def pairs(name: str) -> Iterator[tuple[str, str]]:
    """Yield forms with kinds of sources: each form, each kind, and over all functions each form of each kind."""
    if name in OF_CIRCUITS:
        yield from (("circuit", form) for form in FORMS)
        return
    known = [kind for kind in KINDS if kind != "circuit" or name not in NOT_OF_CIRCUITS]
    turn = list(FUNCTIONS).index(name)
    for place, form in enumerate(FORMS):
        some = [kind for kind in known if kind != "machine in a prompt" or form not in AS_TEXT]
        yield some[(turn + place) % len(some)], form


def test_every_pair_is_tried() -> None:
    """Each function with each form and each kind that it takes, and each form of each kind."""
    tried = [(name, kind, form) for name in (*FUNCTIONS, *OF_CIRCUITS) for kind, form in pairs(name)]
    assert {(name, form) for name, _, form in tried} == {*product((*FUNCTIONS, *OF_CIRCUITS), FORMS)}
    of_kinds = {(name, kind) for name, kind, _ in tried}
    assert {(name, kind) for name in FUNCTIONS for kind in KINDS} - of_kinds == {
        (name, "circuit") for name in NOT_OF_CIRCUITS
    }
    every = {(kind, form) for kind in KINDS for form in FORMS if kind != "machine in a prompt" or form not in AS_TEXT}
    assert {(kind, form) for _, kind, form in tried} == every


def test_every_public_function_is_tried() -> None:
    """One that takes no subject is named here, with what it takes instead."""
    others = {
        "animate": "what frames takes, in tests/web/slides",
        "plot_head": "what attention_of and scores_of take, in tests/tables/test_scores.py",
        "attention_of": "every subject, in tests/tables/test_scores.py",
        "next_tokens": "what generates, in tests/tables/test_next_tokens.py",
        "check_many": "circuits alone, see below",
        "disguise": "every subject, in tests/lab/hidden",
        "claim_template": "a key, in tests/lab/hidden/test_claims.py",
        "score_claim": "a key, likewise",
        "score_baseline": "a key and hidden weights, or a suite, in tests/lab/hidden/test_baselines.py",
        "verify_disguise": "hidden weights and a key, likewise",
        "disguise_by_training": "sources of all kinds, in tests/lab/hidden/test_trained.py",
        "measure_disguise": "trained weights and a key, likewise",
        "make_suite": "nothing, in tests/lab/hidden/test_suite.py",
        "check_batch": "every subject, in tests/runs/batches",
        "run_batch": "likewise",
        "draw_requests": "RASP programs alone, in tests/sources/rasp/drawing",
        "draw_run": "RASP programs alone, in tests/sources/rasp/drawing",
        "figure_1": "nothing, in tests/lab/softness/test_figure_1.py",
        "causal_variables": "every source, in tests/lab/interventions/test_subjects.py",
        "intervene": "every subject, in tests/lab/interventions/test_subjects.py",
        "intervene_many": "likewise",
        "automaton": "a regular expression or an object of automata-lib, in tests/sources/automaton",
        "formula": "the text of a formula, in tests/cli/test_formulas.py",
        "measure_sensitivity": "inputs of two symbols or more, which the machine has not; in tests/lab/softness",
        "parity_encoder": "nothing",
        "load_weights": "a weight file",
        "with_weight": "every subject, in tests/transformer/test_changes.py",
        "prompt_of": "machines alone, in tests/sources/turing/universal/test_given.py",
        "read_prompt": "the text of a prompt, likewise",
        "shipped": "nothing",
        "table": "a trace",
        "make_dataset": "a spec",
        "sweep": "a spec",
        "normal_form": "a size",
        "compare": "a training run",
        "train": "a spec",
        "train_grid": "a grid",
        "training_examples": "a spec",
        "verify_checkpoint": "the older name of the next one",
        "verify_export": "an export",
    }
    public = {name for name in tm2tfr.__all__ if inspect.isfunction(getattr(tm2tfr, name))}
    assert public == {*FUNCTIONS, *others}


@pytest.mark.slow
@pytest.mark.parametrize("name", [*FUNCTIONS, *OF_CIRCUITS])
def test_every_function_takes_every_form_with_the_same_meaning(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    call, made, right = {**FUNCTIONS, **OF_CIRCUITS}[name], dict[str, Forms](), dict[str, Any]()
    for kind, form in pairs(name):
        of = KINDS[kind]
        if kind not in made:
            folder = tmp_path / kind
            folder.mkdir()
            made[kind] = Forms(folder, monkeypatch, of)
            right[kind] = call(made[kind]["object"], tmp_path, of)
            assert right[kind] not in (None, "", False)
        assert call(made[kind][form], tmp_path, of) == right[kind], (kind, form)


@pytest.mark.slow
@pytest.mark.parametrize("name", AGAINST)
def test_what_is_compared_with_is_given_in_every_form(name: str, forms: Forms) -> None:
    right = AGAINST[name](MACHINE)
    for form in FORMS:
        assert AGAINST[name](forms[form]) == right, form


@pytest.mark.slow
def test_another_machine_to_compare_with_is_heard_in_every_form(forms: Forms) -> None:
    """It was ignored where the subject was a machine itself."""
    for form in FORMS:
        trace = tm2tfr.check(forms[form], "11", machine="copy")
        assert trace.divergence is not None, form
        assert trace.machine == "copy"
        assert tm2tfr.certify(forms[form], machine="copy").refusals, form


@pytest.mark.slow
@needs_torch
@pytest.mark.parametrize("form", FORMS)
def test_an_export_is_compared_with_any_form(form: str, forms: Forms, tmp_path: Path) -> None:
    tm2tfr.export_to("torch", "chapter", tmp_path / "out", positions=20, verify=False)
    assert tm2tfr.verify_export(tmp_path / "out", machine=forms[form], word="11").same


@pytest.mark.parametrize(
    ("ending", "format", "name"),
    [("jff", "jflap", "palindromes"), ("txt", "morphett", "busy-beaver-3"), ("yaml", "turingmachine.io", "busy-beaver-3")],
)
def test_machines_in_other_formats_are_subjects(ending: str, format: str, name: str, tmp_path: Path) -> None:
    path = tmp_path / f"other.{ending}"
    path.write_text(tm2tfr.convert(name, format), encoding="utf-8")
    word = "aba" if name == "palindromes" else ""
    found, right = tm2tfr.check(path, word), tm2tfr.check(name, word)
    assert (found.agrees, found.compared, found.result) == (True, right.compared, right.result)


def test_bbchallenge_text_is_a_subject() -> None:
    assert tm2tfr.check("1RB1LB_1LA1RZ").agrees
    assert tm2tfr.default_input("1RB1LB_1LA1RZ") == ""
    assert tm2tfr.machine_of("1RB1LB_1LA1RZ") == tm2tfr.load("1RB1LB_1LA1RZ")


# ── circuits ────────────────────────────────────────────────────────────────────────────────────────────────
@pytest.mark.parametrize("ending", ["bench", "blif", "aag", "aig"])
def test_a_circuit_in_another_format_has_the_same_function(ending: str, tmp_path: Path) -> None:
    """Those with AND gates and inverters alone have other gates, and the same inputs and outputs."""
    text, path = tm2tfr.convert(CIRCUIT, ending), tmp_path / f"full-adder.{ending}"
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    found = tm2tfr.check(path, "110")
    assert (found.agrees, found.result.outputs) == (True, (("sum", 0), ("carry", 1)))
    assert tm2tfr.load(path).inputs == ("a", "b", "c")
    if ending in ("bench", "blif"):
        assert found.rows == tm2tfr.check(CIRCUIT, "110").rows


@pytest.mark.parametrize("name", TURING_ONLY)
def test_a_function_about_machines_alone_says_so(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    forms = Forms(tmp_path, monkeypatch, CIRCUITS)
    for form in FORMS:
        with pytest.raises(CompileError, match=f"{name} takes a Turing machine, and this is a circuit: give a machine"):
            FUNCTIONS[name](forms[form], tmp_path, CIRCUITS)
    with pytest.raises(
        CompileError, match="chapter: check_many goes through the inputs of a circuit, and this is not a circuit"
    ):
        tm2tfr.check_many("chapter")


def test_weights_of_a_circuit_without_the_circuit_are_run_and_not_checked() -> None:
    whole = tm2tfr.compile("full-adder")
    alone = replace(whole, provenance={key: text for key, text in whole.provenance.items() if key != "source"})
    assert tm2tfr.run(alone, "110").rows == tm2tfr.run(whole, "110").rows
    for function in (tm2tfr.check, tm2tfr.certify, tm2tfr.check_many, tm2tfr.load, tm2tfr.to_graph):
        with pytest.raises(CompileError, match="no circuit is stored with these weights: give a circuit, or weights"):
            function(alone)  # type: ignore[operator]
    assert tm2tfr.check(alone, "110", machine="full-adder").agrees


def test_an_option_for_circuits_is_no_option_of_machines_nor_of_weights() -> None:
    for option in ({"variant": "paper"}, {"basis": "nor"}, {"epsilon": 0.1}):
        with pytest.raises(CompileError, match="chapter is a machine, and .* circuit.*: omit [a-z]+$"):
            tm2tfr.compile("chapter", **option)  # type: ignore[arg-type]
        with pytest.raises(CompileError, match="these weights are already compiled: omit "):
            tm2tfr.compile(tm2tfr.compile("full-adder"), **option)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("options", "gates"), [({"variant": "paper-hard"}, 5), ({"basis": "nor"}, 9), ({"variant": "paper"}, 5)]
)
def test_a_circuit_is_rewritten_in_the_basis_that_is_asked_for(options: dict[str, str], gates: int) -> None:
    decoder = tm2tfr.compile("full-adder", **options)  # type: ignore[arg-type]
    assert decoder.positions == 3 + gates - 1
    assert tm2tfr.check_many(decoder).agrees


# ── nothing is ignored, and nothing but our own errors ──────────────────────────────────────────────────────
NONSENSE: tuple[Any, ...] = (
    None,
    3,
    3.5,
    b"chapter",
    ["chapter"],
    object(),
    "",
    "no such machine",
    "no-such-file.yaml",
    "no-such-file.safetensors",
    Path("no-such-folder/x.jff"),
    "\0",
    "1RB1LB_1LA",
)


@pytest.mark.parametrize("name", FUNCTIONS)
@pytest.mark.parametrize("what", NONSENSE)
def test_what_is_no_subject_is_refused(name: str, what: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(Tm2tfrError, match=": "):
        FUNCTIONS[name](what, tmp_path, MACHINES)
    assert [path.name for path in tmp_path.rglob("*") if path.is_file()] == []


@pytest.mark.slow
@pytest.mark.parametrize("name", ["check", "soften", "measure_softness", "certify", "explore", "compile"])
@pytest.mark.parametrize("form", FORMS)
@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_an_option_of_the_construction_is_never_ignored(name: str, form: str, forms: Forms) -> None:
    function = getattr(tm2tfr, name)
    with pytest.raises(CompileError, match="omit left_boundary|unknown left boundary 'nonsense'"):
        function(forms[form], left_boundary="nonsense")
    compiled = "weight" in form or form in ("decoder", "subject of weights")
    if compiled:
        with pytest.raises(CompileError, match="these weights are already compiled: omit left_boundary"):
            function(forms[form], left_boundary="repaired")


@pytest.mark.parametrize("name", ["check", "soften", "measure_softness", "certify", "explore"])
def test_an_option_of_the_construction_beside_a_function_is_deprecated(name: str) -> None:
    with pytest.warns(DeprecationWarning, match=r"pass tm2tfr.compile\(machine, left_boundary=...\) instead") as caught:
        getattr(tm2tfr, name)("chapter", left_boundary="repaired")
    assert [warning.filename for warning in caught] == [__file__]


def test_the_old_keyword_means_what_compiling_means() -> None:
    with pytest.warns(DeprecationWarning, match="left_boundary is an option of compiling"):
        old = tm2tfr.check("left-edge", "11", left_boundary="chapter", engine="dense")
    assert old == tm2tfr.check(tm2tfr.compile("left-edge", left_boundary="chapter"), "11", engine="dense")
    assert old.divergence is not None


OPTIONS: dict[str, tuple[Any, ...]] = {
    "engine": ("nonsense", 3, None, b"dense", []),
    "dtype": ("float16", 3, "rational!", b"float64"),
    "max_steps": ("10", 1.5, -1, True, [], float("nan")),
    "checkpoint_every": ("60", -1.0, float("nan"), 60.0, True),
    "checkpoint": (3, b"x.npz", ["x.npz"]),
    "resume": (3, "no-such-checkpoint.npz"),
    "out": (3, "rows.nonsense", b"rows.csv"),
    "word": (11, b"11", ["1", "1"], "nonsense"),
    "machine": NONSENSE[1:],
    "temperature": ("hot", -1.0, 0.0, float("nan"), True, b"auto"),
    "length": (0, -3, "10", 1.5, True),
    "position": (99, -1, "1", 1.5, True),
    "format": ("nonsense", 3),
    "layer": ("nonsense", 99),
    "compare": ("nonsense", 3),
    "positions": (0, -1, "10", 1.5),
    "max_head": (-1, "10"),
    "to": ("nonsense", 3),
    "folder": (3, b"x"),
    "path": (3, b"x"),
}
"""Option -> what it cannot be."""


def needed(name: str, folder: Path) -> dict[str, Any]:
    """What a function cannot do without, beside its subject; and no verification, which would take another program."""
    parameters = inspect.signature(getattr(tm2tfr, name)).parameters
    values = {"position": 3, "to": "torch", "folder": folder / "x", "path": folder / "x.safetensors", "format": "jflap"}
    values["word"] = "11"
    found = {key: value for key, value in values.items() if key in parameters and parameters[key].default is inspect._empty}
    return found | ({"verify": False} if "verify" in parameters else {})


def calls() -> Iterator[tuple[str, str, Any]]:
    """Each function with each of its options, and something that the option cannot be."""
    for name in FUNCTIONS:
        function = getattr(tm2tfr, name)
        for option in inspect.signature(function).parameters:
            switch = (name, option) == ("make_labels", "resume")  # true or false, and not the file of a run
            yield from ((name, option, value) for value in OPTIONS.get(option, ()) if not switch)


@pytest.mark.slow
@pytest.mark.parametrize(("name", "option", "value"), list(calls()))
def test_an_option_that_makes_no_sense_is_refused(
    name: str, option: str, value: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    function = getattr(tm2tfr, name)
    asked = needed(name, tmp_path)
    if option == "length":
        asked["temperature"] = "auto"
    asked |= {option: value}
    with pytest.raises(Tm2tfrError):
        function(subject="chapter", **asked)
    assert [path.name for path in tmp_path.rglob("*") if path.is_file()] == []


def test_a_dtype_beside_an_engine_object_is_refused() -> None:
    dense = engine("dense", "float32")
    for function in (tm2tfr.run, tm2tfr.check):
        with pytest.raises(EngineError, match="the engine dense already computes in float32: omit dtype"):
            function("chapter", "11", engine=dense, dtype="float64")
    with pytest.raises(EngineError, match="omit dtype"):
        tm2tfr.activations("chapter", "11", 2, engine=dense, dtype="float64")


def test_a_length_beside_a_temperature_is_refused() -> None:
    with pytest.raises(CompileError, match="length only applies to temperature='auto'"):
        tm2tfr.soften("chapter", temperature=0.01, length=10)


def test_errors_say_what_to_do() -> None:
    with pytest.raises(
        NotFoundError,
        match=r"3 \(int\) is not a machine, circuit, program, formula, automaton or decoder, nor the name of one: use",
    ):
        tm2tfr.check(3)  # type: ignore[arg-type]
    with pytest.raises(InputError, match="an input word must be text, not 11: write for example '11'"):
        tm2tfr.check("chapter", 11)  # type: ignore[arg-type]
    with pytest.raises(
        EngineError, match="max_steps must be a whole number of steps, not '10': use for example 10_000, or None"
    ):
        tm2tfr.check("chapter", "11", max_steps="10")  # type: ignore[arg-type]


@pytest.mark.slow
@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=st.data())
def test_any_function_with_any_form_and_any_nonsense(data: st.DataObject, forms: Forms, tmp_path: Path) -> None:
    """Whatever is combined, it is the right answer or one of our own errors."""
    fresh = Path(tempfile.mkdtemp(dir=tmp_path))
    name = data.draw(st.sampled_from(sorted(FUNCTIONS)))
    what = data.draw(st.one_of(st.sampled_from(FORMS).map(lambda form: (form, forms)), st.sampled_from(NONSENSE)))
    subject = what[1][what[0]] if isinstance(what, tuple) else what
    parameters = [
        p for p in inspect.signature(getattr(tm2tfr, name)).parameters if p in OPTIONS and p not in ("out", "resume")
    ]
    chosen = data.draw(st.lists(st.sampled_from(parameters), unique=True, max_size=2)) if parameters else []
    asked = needed(name, fresh) | {option: data.draw(st.sampled_from(OPTIONS[option])) for option in chosen}
    try:
        getattr(tm2tfr, name)(subject=subject, **asked)
    except Tm2tfrError:
        assert chosen or not isinstance(what, tuple)
    else:
        assert not chosen
        assert isinstance(what, tuple)


# ── commands ────────────────────────────────────────────────────────────────────────────────────────────────
COMMANDS: dict[str, tuple[str, ...]] = {
    "trace": ("--input", "11"),
    "table": ("--input", "11", "--format", "csv"),
    "check": ("--input", "11"),
    "compile": (),
    "certify": (),
    "intervene": ("--input", "11", "--set", "q@5=q1"),
    "soften": ("--input", "1"),
    "graph": (),
    "explain": (),
    "convert": ("--to", "morphett"),
    "prompt": ("--input", "11"),
    "explore": ("--input", "11", "-o", "run.html"),
    "plot": ("--input", "11", "--head", "4.1"),
    "labels": ("--input", "11", "--workers", "1", "-o", "labels"),
    "disguise": ("--grade", "1", "--seed", "1", "--key", "key.json", "-o", "hidden.safetensors"),
    "export": ("--to", "torch", "--no-verify", "--positions", "20", "-o", "out"),
}


def said(form: Any, command: str, capsys: pytest.CaptureFixture[str]) -> tuple[int, str, str]:
    shutil.rmtree("labels", ignore_errors=True)  # which is not replaced
    code = guarded(app, [command, str(form), *COMMANDS[command]])
    out, err = capsys.readouterr()
    return code, out, err


def test_every_command_about_a_machine_is_tried() -> None:
    about = {name for name in app.commands if any(p.name == "machine" and p.opts == ["machine"] for p in params(name))}
    assert about == {*COMMANDS, "sensitivity"}, "which changes a symbol, and this machine's inputs have only one"


@pytest.mark.slow
@pytest.mark.parametrize("command", COMMANDS)
def test_every_command_takes_every_form_with_the_same_meaning(
    command: str, forms: Forms, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    code, out, _ = right = said("chapter", command, capsys)
    assert (code, bool(out)) == (0, True)
    for form in ("path", "weight file", "standard input"):
        subject = forms[form]
        found = said(subject, command, capsys)
        assert (found[0], found[1].replace(str(subject), "chapter") if form != "standard input" else found[1]) == (
            right[0],
            right[1] if form != "standard input" else right[1].replace(" chapter --", " - --"),
        ), form


@pytest.mark.parametrize("command", [c for c in COMMANDS if "--left-boundary" in str([p.opts for p in params(c)])])
def test_a_command_refuses_an_option_of_the_construction_beside_weights(
    command: str, forms: Forms, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    code = guarded(app, [command, str(forms.weights), *COMMANDS[command], "--left-boundary", "chapter"])
    out, err = capsys.readouterr()
    assert (code, out) == (2, "")
    assert err == f"{forms.weights}: these weights are already compiled: omit --left-boundary\n"


# ── the options of a run, and "auto" ────────────────────────────────────────────────────────────────────────
def test_the_options_of_a_run_are_frozen_and_check_themselves() -> None:
    asked = RunOptions(out="rows.csv")  # type: ignore[arg-type]
    assert asked.out == Path("rows.csv")
    assert replace(asked, max_steps=3).max_steps == 3
    with pytest.raises(AttributeError):
        asked.max_steps = 3  # type: ignore[misc]
    with pytest.raises(EngineError, match="max_steps"):
        replace(asked, max_steps=-1)


def test_auto_goes_by_positions_and_the_prompt_counts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("numba", reason="no Numba here: pip install 'tm2tfr[fast]'")
    from tm2tfr.runs.choose import DENSE_POSITIONS, FEW_POSITIONS, MANY_STEPS, engines

    decoder = tm2tfr.compile("parity")

    def tried(prompt: int, **asked: Any) -> list[tuple[str, int | None]]:
        return [(found.name, limit) for found, limit in engines(decoder, prompt, RunOptions(**asked))]

    most = DENSE_POSITIONS - 2
    assert tried(0, max_steps=most) == [("dense", most)]
    assert tried(0, max_steps=most + 1) == [("dense", most), ("fast", most + 1)]
    assert tried(most - 10, max_steps=10) == [("dense", 10)]
    assert tried(most - 10, max_steps=11) == [("dense", 10), ("fast", 11)]
    assert tried(100_000, max_steps=300) == [("fast", 300)]
    assert tried(100_000, max_steps=None) == [("fast", None)]
    assert tried(5, max_steps=9, out="rows.csv") == [("fast", 9)]
    assert tried(5, dtype="float32", max_steps=10**6) == [("dense", 10**6)]
    monkeypatch.setenv("TM2TFR_CACHE", str(tmp_path))
    assert tried(0, max_steps=MANY_STEPS) == [("dense", most), ("fast", MANY_STEPS)]
    assert tried(0, max_steps=MANY_STEPS + 1) == [("dense", FEW_POSITIONS - 2), ("fast", MANY_STEPS + 1)]
    assert tried(0, max_steps=None) == [("dense", FEW_POSITIONS - 2), ("fast", None)]
    folder.write("some", b"code")
    assert tried(0, max_steps=MANY_STEPS) == [("dense", most), ("fast", MANY_STEPS)]
    assert tried(0, max_steps=MANY_STEPS + 1) == [("fast", MANY_STEPS + 1)]
    assert tried(0, max_steps=None) == [("fast", None)]
    monkeypatch.setenv("TM2TFR_CACHE", "0")  # fast compiles its code in each process
    assert tried(0, max_steps=None) == [("dense", most), ("fast", None)]
    monkeypatch.undo()
    assert tm2tfr.check("parity", "1" * 2000, max_steps=5, keep_rows=False).engine == "fast"


def test_auto_knows_where_a_position_table_ends() -> None:
    pytest.importorskip("numba", reason="no Numba here: pip install 'tm2tfr[fast]'")
    from tm2tfr.runs.choose import DENSE_POSITIONS, engines

    def tried(decoder: Decoder, **asked: Any) -> list[tuple[str, int | None]]:
        return [(found.name, limit) for found, limit in engines(decoder, 1, RunOptions(**asked))]

    assert tried(tabled(DENSE_POSITIONS), max_steps=10**6) == [("dense", 10**6)]
    assert tried(tabled(DENSE_POSITIONS + 1), max_steps=10**6) == [("fast", 10**6)]
    assert tried(tabled(DENSE_POSITIONS + 1), max_steps=5) == [("dense", 5)]
    assert tried(normed(), max_steps=10**6) == [("dense", 10**6)]


def test_the_source_of_another_construction_is_not_read_as_a_machine() -> None:
    decoder = tm2tfr.compile("chapter")
    other = replace(decoder, provenance={**decoder.provenance, "construction": "another"})
    assert tm2tfr.Subject.of(other).machine is None
    with pytest.raises(CompileError, match="no machine is stored with these weights"):
        tm2tfr.check(other, "11")
    assert tm2tfr.check(other, "11", machine="chapter").agrees


def test_a_weight_file_is_known_by_how_it_begins(forms: Forms, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The extension in capitals, no extension, another one; and on standard input, where it cannot be read."""
    for name in ("A.SAFETENSORS", "weights", "weights.bin"):
        path = tmp_path / name
        path.write_bytes(forms.weights.read_bytes())
        assert tm2tfr.check(path, "11").agrees
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(forms.weights.read_bytes())))
    with pytest.raises(Tm2tfrError, match="<stdin>: this is a weight file, and standard input is for the text"):
        tm2tfr.check("-", "11")


def test_what_is_compared_with_has_no_option_of_the_construction() -> None:
    printed = tm2tfr.Subject.of("left-edge", left_boundary="chapter")
    for function in (tm2tfr.check, tm2tfr.certify, tm2tfr.measure_softness, tm2tfr.explore):
        with pytest.raises(CompileError, match="a machine to compare with has no left_boundary"):
            function("left-edge", machine=printed)
    with pytest.raises(CompileError, match="a machine to compare with has no left_boundary"):
        tm2tfr.export_to("torch", "left-edge", "never-written", machine=printed)


@needs_torch
def test_an_export_is_compared_with_the_weights_that_are_given(tmp_path: Path) -> None:
    decoder = tm2tfr.compile("chapter")
    renamed = replace(decoder, layers=(replace(decoder.layers[0], name="my own"), *decoder.layers[1:]))
    tm2tfr.export_to("torch", renamed, tmp_path / "out", positions=20)
    assert tm2tfr.verify_export(tmp_path / "out", machine=renamed, word="11").same
    said = tm2tfr.verify_export(tmp_path / "out", word="11")
    assert not said.same
    assert "'my own'" in str(said)
    query = matrices(decoder)["layers.4.heads.0.query"]
    broken = replaced(renamed, {"layers.4.heads.0.query": query.with_entry(*next(query.entries())[:2], -9.0)})
    assert not tm2tfr.verify_export(tmp_path / "out", machine=broken, word="11").same


REFUSED = Golden(Path(__file__).parent / "refused.txt")
test_calls_that_make_no_sense_are_refused = REFUSED.test()
