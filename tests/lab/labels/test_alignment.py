"""Labels beside the exports, run for real: at each hook point, along the directions given, is the variable that is said.

All that is known of an export here is `hooks.json`; the models are run by PyTorch, transformers and TransformerLens.
"""

from __future__ import annotations

import json
import os
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.lab.labels import subjects
from tests.lab.labels.subjects import CASES, Case, ids, labelled, pattern, specified
from tm2tfr.lab.labels.hooks import coordinates, hooks_of
from tm2tfr.lab.labels.runs import LabelledRuns, LabelRows

DEEP = os.environ.get("TM2TFR_DEPTH") == "1"
QUICK = ("chapter", "busy-beaver-2", "full-adder", "reverse", "dyck-1", "hop-1")
"""Without TM2TFR_DEPTH=1, subjects of these names alone."""
SOME = [case for case in CASES if DEEP or case[0] in QUICK]
NEEDS = {"torch": ("torch",), "gpt2": ("torch", "transformers"), "lens": ("torch", "transformers", "transformer_lens")}
REFUSED = ("reverse", "sort", "histogram", "most-frequent", "count", "full-adder", "left-edge", "after-a-until-b")
"""Some target does not take these: heads that look ahead, norms, a left boundary that no bounds are proved for."""
POSITIONS = 64
CLOSE = 2.0**-30
"""By how much values may be off, relative to their size if that is more than 1: floats round."""
SOFT = 0.02
"""The same where weights have softmax of their own: labels are those of the limit, see the specification of circuits."""


@pytest.mark.slow
@pytest.mark.parametrize("case", SOME, ids=ids)
@pytest.mark.parametrize("target", NEEDS)
def test_the_stream_and_the_attention_of_an_export_are_what_labels_say(target: str, case: Case, tmp_path: Path) -> None:
    for module in NEEDS[target]:
        if find_spec(module) is None:
            pytest.skip(f"{module} is not installed: pip install 'tm2tfr[torch,hf,lens]'")
    subject, runs, rows = labelled(case)
    positions = None if subject.decoder.positions is not None else POSITIONS
    there = specified(subject, rows.words[0], 1)
    hooks = hooks_of(subject.decoder, subject.right, runs.scheme, there, positions=positions)
    said = json.loads(json.dumps(hooks.as_dict()))
    own = said["targets"][target]
    if "refused" in own:
        assert case[0] in REFUSED, own["refused"]
        return
    assert said["offset"][target] == 0
    folder = subjects.export(target, subject, tmp_path / "out", positions)
    for run in range(len(rows.words)):
        compared(target, folder, said, (subject, runs, rows), run)


def compared(target: str, folder: Path, said: Any, made: tuple[Any, LabelledRuns, LabelRows], run: int) -> None:
    subject, runs, rows = made
    decoder, scheme, own = subject.decoder, runs.scheme, said["targets"][target]
    close = SOFT if decoder.soft else CLOSE
    start, end = rows.offsets[run : run + 2].tolist()
    streams, weights = subjects.run(target, folder, own, rows.tokens[start:end].tolist())
    seen = set()
    for point in own["points"]:
        stream = streams[point["layer"], point["part"]]
        assert len(stream) == end - start
        for name in point["carries"]:
            held, labels = scheme.held[name], decoder.layout.subspace(name).labels
            assert held is not None
            wanted = coordinates(rows, scheme, held, labels, decoder.vocabulary)[start:end]
            found = subjects.values(own, name, stream)
            assert np.abs(found - wanted).max() <= close * max(1.0, float(np.abs(wanted).max())), (point["module"], name)
            seen.add(name)
    assert seen == {subspace["name"] for subspace in said["subspaces"]}
    assert len(weights) == len(scheme.heads)
    for head in scheme.heads:
        assert weights[head.layer, head.head] == pytest.approx(pattern(rows, head, run), abs=close), head.column
