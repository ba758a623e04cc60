"""Interventions in exported models, run by TransformerLens, transformers and PyTorch, with what hooks.json says."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import textwrap
from collections.abc import Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest

import tm2tfr
from tests.lab.interventions.agreeing import subject
from tests.strategies import DEPTH
from tm2tfr.api.interventions import bases, intervene_many
from tm2tfr.base.errors import ExportError
from tm2tfr.lab.labels.hooks import hooks_of
from tm2tfr.lab.labels.patches import schema, variables_of
from tm2tfr.lab.labels.runs import LabelledRuns
from tm2tfr.targets.registry import CHUNK

ROWS = 500 if DEPTH >= 1 else 40
ROWS_IN_PROMPT = 200 if DEPTH >= 1 else 16
"""The same in the prompt of a universal decoder, whose exports are large and whose runs are long."""
UNIVERSAL: dict[str, Any] = {"universal": (8, 4)}
SOURCES: dict[str, tuple[str, dict[str, Any]]] = {
    "palindromes": ("palindromes", {}),
    "chapter in a prompt": ("chapter", UNIVERSAL),
    "full-adder": ("full-adder", {}),
    "running-parity": ("running-parity", {}),
    "hop-1": ("hop-1", {}),
    "regex:(a|b)*abb": ("regex:(a|b)*abb", {}),
}
"""A machine, a machine in a prompt, a circuit, RASP and attention programs, an automaton; each becomes a GPT-2 as well."""
TARGETS: dict[str, tuple[str, dict[str, Any]]] = {
    "lens": ("lens", {}),
    "gpt2": ("gpt2", {}),
    "gpt2 --stock": ("gpt2", {"stock": True}),
    "torch": ("torch", {}),
}
STOCK = ("palindromes", "chapter in a prompt")
"""The sources that a stock GPT-2 is made of: its bounds are those of Turing machines."""
EVERY = ("chapter", "left-edge", "full-adder", "reverse", "dyck-1", "histogram", "since-b", "two-to-three", "regex:a*b")
SCRIPT = Path(__file__).with_name("patched_export.py")


@pytest.mark.slow
@pytest.mark.parametrize("source", SOURCES)
def test_patched_exports_answer_what_is_expected(source: str, tmp_path: Path) -> None:
    name, options = SOURCES[source]
    found, data = subject(name, **options), tmp_path / "data"
    # the few in a prompt set every variable, in turn
    rows = ROWS_IN_PROMPT if options else ROWS
    tried = intervene_many(found, rows, seed=3, folder=data, keep_unknown=True, balanced=bool(options))
    assert tried.agrees
    exports = []
    for target, (to, how) in TARGETS.items():
        if target != "gpt2 --stock" or source in STOCK:
            exports.append((to, folder := tmp_path / target))
            tm2tfr.export_to(to, found, folder, verify=False, **how)
    done = patched_exports(exports, data)
    assert done.returncode == 0, done.stderr
    said = [json.loads(line) for line in done.stdout.splitlines() if line.startswith("{")]
    assert said == [{"rows": tried.number, "effective": tried.causal, "wrong": [], "tm2tfr": False}] * len(exports)
    interventions = [
        json.loads(line) for path in data.glob("*.jsonl") for line in path.read_text(encoding="utf-8").splitlines()
    ]
    patched = {variable for row in interventions for variable in row["variables"]}
    assert patched == set(variables_of(found.construction, found.right, found.decoder)) or DEPTH < 1


def patched_exports(exports: Sequence[tuple[str, Path]], data: Path) -> subprocess.CompletedProcess[str]:
    """Return what the script says of exports to these targets, in one process, which has no tm2tfr."""
    each = (str(argument) for target, folder in exports for argument in (target, folder, data))
    return without_tm2tfr(str(SCRIPT), *each, folder=data)


def without_tm2tfr(*arguments: str, folder: Path) -> subprocess.CompletedProcess[str]:
    """Return what a script prints in a folder, in a process that has no tm2tfr."""
    for module in ("transformers", "transformer_lens"):
        if find_spec(module) is None:
            pytest.skip(f"{module} is not installed: pip install 'tm2tfr[torch,hf,lens]'")
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    return subprocess.run(
        [sys.executable, "-P", *arguments],
        check=False,
        capture_output=True,
        text=True,
        cwd=folder,
        env={**environment, "HF_HUB_OFFLINE": "1"},
    )


PAGE = Path(__file__).parents[2] / "docs" / "how-to" / "interventions.md"
LENS = """
from safetensors.torch import load_file
from transformer_lens.model_bridge import TransformerBridge
from transformers import AutoTokenizer

tensors = load_file("chapter-lens/model.safetensors")
model = TransformerBridge.boot_native(
    json.loads(Path("chapter-lens/lens.json").read_text()),
    AutoTokenizer.from_pretrained("chapter-lens"),
    dtype=torch.float64,
)
model.load_state_dict(tensors)
run = ["1", "1", "BOS", "(q0,1,0)", "(q1,_,+1)", "(q2,x,+1)"]
tokens = torch.tensor([[vocabulary.index(token) for token in run]])
"""
"""What the second block of the page is given: a model, and the run that its first example is about."""


PROGRAM = """
names = json.loads(Path("program-lens/tm2tfr.json").read_text())
wrong = 0
for row in map(json.loads, (data / "00000-of-00001.jsonl").read_text(encoding="utf-8").splitlines()):
    settings = zip(row["variables"], row["positions"], row["values"])
    tokens = torch.tensor([[vocabulary.index(token) for token in row["expected_tokens"]]])
    with torch.no_grad():
        logits = model.run_with_hooks(tokens, fwd_hooks=[hook for each in settings for hook in patch(*each)])[0]
"""
"""The loop around the third block, which reads the answers of a program."""


def _blocks() -> list[str]:
    return re.findall(r"^```py\n(.*?)^```$", PAGE.read_text(encoding="utf-8"), re.MULTILINE | re.DOTALL)


def _without_model(gpt2: str) -> str:
    """Return what the page's first block defines before `patch`, without the GPT-2."""
    return (
        gpt2.partition("def patch(")[0]
        .replace(", AutoModelForCausalLM.from_pretrained", ", None  #")
        .replace("modules = dict(model.named_modules())\n", "")
    )


@pytest.mark.slow
def test_the_code_of_the_page_reads_the_answers_of_programs(tmp_path: Path) -> None:
    gpt2, lens, answers = _blocks()
    found = subject("histogram-without-bos")
    intervene_many(found, 20, seed=1, folder=tmp_path / "chapter-interventions")
    tm2tfr.export_to("lens", found, tmp_path / "program-lens", verify=False)
    loaded = LENS.replace("chapter-lens", "program-lens").partition("run = [")[0]
    loop = PROGRAM + textwrap.indent(f"{answers}wrong += answers != row['expected_answers']\n", "    ")
    code = f"{_without_model(gpt2)}{loaded}{lens.partition('logits = ')[0]}{loop}print(wrong)\n"
    (tmp_path / "program.py").write_text(code, encoding="utf-8")
    done = without_tm2tfr("program.py", folder=tmp_path)
    assert done.stdout.splitlines()[-1:] == ["0"], done.stderr


@pytest.mark.slow
def test_the_code_of_the_page_patches_exports(tmp_path: Path) -> None:
    gpt2, lens, _ = _blocks()
    rows = 150 if DEPTH >= 1 else 30  # those of the page, by the first of its commands
    intervene_many("chapter", rows, seed=1, effective=True, balanced=True, folder=tmp_path / "chapter-interventions")
    for target in ("gpt2", "lens"):
        tm2tfr.export_to(target, subject("chapter"), tmp_path / f"chapter-{target}", verify=False)
    (tmp_path / "gpt2.py").write_text(gpt2, encoding="utf-8")
    done = without_tm2tfr("gpt2.py", folder=tmp_path)
    assert done.stdout.splitlines() == [f"{rows} interventions, 0 with other answers than expected"], done.stderr
    assert "# 150 interventions, 0 with other answers than expected\n" in gpt2
    (tmp_path / "lens.py").write_text(
        f"{_without_model(gpt2)}{LENS}{lens}print(vocabulary[logits[0, 5].argmax()])\n", encoding="utf-8"
    )
    done = without_tm2tfr("lens.py", folder=tmp_path)
    assert done.stdout.splitlines()[-1:] == ["ACC"], done.stderr


@pytest.mark.slow
def test_recipes_for_an_export_with_other_positions_are_refused(tmp_path: Path) -> None:
    found, data = subject("chapter"), tmp_path / "data"
    intervene_many(found, 2, seed=3, folder=data)
    tm2tfr.export_to("gpt2", found, tmp_path / "gpt2", verify=False, positions=100, stock=True)
    done = patched_exports([("gpt2", tmp_path / "gpt2")], data)
    assert done.returncode == 1
    assert "hooks.json is about 1024 positions in float64, and the export has 100 in float64" in done.stderr


@pytest.mark.slow
@pytest.mark.parametrize("source", EVERY)
def test_every_variable_has_a_recipe_in_every_export(source: str) -> None:
    validator = pytest.importorskip("jsonschema", reason="jsonschema is not installed: pip install jsonschema")
    found = subject(source)
    variables = variables_of(found.construction, found.right, found.decoder)
    causal = bases(found, engine="dense", dtype=None, max_positions=40)(None).model.variables
    assert set(variables) == {name for name, variable in causal.items() if not variable.unset}
    scheme = LabelledRuns(found.decoder, found.right, "dense", 0).scheme
    hooks = json.loads(json.dumps(hooks_of(found.decoder, found.right, scheme, None, variables=variables).as_dict()))
    validator.validate(hooks, json.loads(schema()))
    taken = [target for target in ("torch", "gpt2", "lens") if not _refused(target, found)]
    assert list(hooks["patches"]["targets"]) == taken
    assert all(set(recipes) == set(variables) for recipes in hooks["patches"]["targets"].values())
    # TransformerLens's hook_resid_mid is another name of what the feed-forward part alone reads
    assert "resid_mid" not in json.dumps(hooks["patches"]["targets"].get("lens", {}))
    broken: Any = json.loads(json.dumps(hooks))
    next(iter(broken["patches"]["targets"]["torch"].values()))["places"] = []
    with pytest.raises(validator.ValidationError):
        validator.validate(broken, json.loads(schema()))


def test_the_positions_of_a_call_are_those_of_the_exported_code() -> None:
    model = pytest.importorskip("tm2tfr.targets.torch.model", reason="torch is not installed: pip install 'tm2tfr[torch]'")
    assert model.CHUNK == CHUNK


def _refused(target: str, found: Any) -> bool:
    from tm2tfr.targets.registry import stream_of

    try:
        stream_of(target, found.decoder, found.right)
    except ExportError:
        return True
    return False


def test_the_head_position_has_several_places_where_cells_are_points() -> None:
    found = subject("chapter")
    variables = variables_of(found.construction, found.right, found.decoder)
    scheme = LabelledRuns(found.decoder, found.right, "dense", 0).scheme
    patches: Any = hooks_of(found.decoder, found.right, scheme, None, variables=variables).as_dict()["patches"]
    places = {
        target: {name: [place["subspace"] for place in each["places"]] for name, each in recipes.items()}
        for target, recipes in patches["targets"].items()
    }
    assert places["torch"]["h"] == ["h"]
    assert places["lens"]["h"] == places["gpt2"]["h"] == ["h", "u(h)", "v(h)"]
    key = ["h_{i-1}", "u(h_{i-1})", "v(h_{i-1})", "u(h_{i-1})^2+v(h_{i-1})^2"]
    assert places["lens"]["h_{i-1}"] == places["gpt2"]["h_{i-1}"] == key
    assert patches["variables"]["h_{i-1}"]["together"] == ["h_{i-1}^2"]
    point = patches["targets"]["lens"]["h"]["point"]
    assert point == {"module": "blocks.2.hook_attn_out", "side": "output", "before": "blocks.2.hook_resid_pre"}
    cell = patches["targets"]["lens"]["h"]["places"][1]["table"]
    assert (cell["first"], len(cell["values"])) == (-1023, 2047)
