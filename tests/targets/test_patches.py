"""Interventions in exported models, run by TransformerLens, transformers and PyTorch, with what hooks.json says."""

from __future__ import annotations

import json
import os
import subprocess
import sys
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
SOURCES = ("palindromes", "full-adder", "running-parity", "hop-1", "regex:(a|b)*abb")
"""A machine, a circuit, a RASP program, attention programs, an automaton; each becomes a GPT-2 as well."""
EVERY = ("chapter", "left-edge", "full-adder", "reverse", "dyck-1", "histogram", "since-b", "two-to-three", "regex:a*b")
SCRIPT = Path(__file__).with_name("patched_export.py")


@pytest.mark.slow
@pytest.mark.parametrize("source", SOURCES)
@pytest.mark.parametrize("target", ["lens", "gpt2", "torch"])
def test_a_patched_export_answers_what_is_expected(target: str, source: str, tmp_path: Path) -> None:
    for module in ("transformers", "transformer_lens"):
        if find_spec(module) is None:
            pytest.skip(f"{module} is not installed: pip install 'tm2tfr[torch,hf,lens]'")
    found = subject(source)
    data = tmp_path / "data"
    tried = intervene_many(found, ROWS, seed=3, folder=data, keep_unknown=True)
    assert tried.agrees
    tm2tfr.export_to(target, found, tmp_path / target, verify=False)
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    done = subprocess.run(
        [sys.executable, "-P", str(SCRIPT), target, str(tmp_path / target), str(data)],
        check=False,
        capture_output=True,
        text=True,
        cwd=tmp_path,
        env={**environment, "HF_HUB_OFFLINE": "1"},
    )
    assert done.returncode == 0, done.stderr
    said = [json.loads(line) for line in done.stdout.splitlines() if line.startswith("{")]
    assert said == [{"rows": ROWS, "effective": tried.causal, "wrong": [], "tm2tfr": False}]
    rows = [json.loads(line) for path in data.glob("*.jsonl") for line in path.read_text(encoding="utf-8").splitlines()]
    patched = {variable for row in rows for variable in row["variables"]}
    assert patched == set(variables_of(found.construction, found.right, found.decoder)) or DEPTH < 1


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
