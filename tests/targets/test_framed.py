"""Weights for words of any length between BOS and EOS, in every program that takes them: every label is right."""

from __future__ import annotations

import json
from itertools import product
from pathlib import Path
from typing import Any

import pytest

from tests.targets.framed import expected, framed
from tests.targets.test_documents import there
from tm2tfr.api.targets import export_to, verify_export
from tm2tfr.base.errors import ExportError
from tm2tfr.engines.decode import prompted, run_whole
from tm2tfr.engines.dense import Dense
from tm2tfr.engines.reading import answered
from tm2tfr.targets.common import labels
from tm2tfr.targets.gpt2 import labelling
from tm2tfr.transformer.claims import Claim

PREDICATES = ("i mod 2 = 1", "prime(i)", "square(i)", "power of 2(i)")
WORDS = ["".join(letters) for n in range(4) for letters in product("ab", repeat=n)]


def test_what_it_says() -> None:
    made = framed()
    for word in WORDS:
        passed = run_whole(made, prompted(made, ("BOS", *word)), engine=Dense())
        assert [answered(made, there.logits) for there in passed] == expected(word)


def programs(dtype: str) -> list[Any]:
    """The targets with the masks that they take; with float64 these tests take longer."""
    both = product(("lens", "torch", "onnx"), ("future", "none"))
    found = []
    for to, mask in (("gpt2", "future"), ("bert", "none"), *both):
        fast = dtype == "float32" and (to, mask) not in (("lens", "none"), ("torch", "none"), ("onnx", "future"))
        marks = [there("gpt2" if to == "bert" else to), *([] if fast else [pytest.mark.slow])]
        found.append(pytest.param(to, mask, dtype, marks=marks, id=f"{to}-{mask}-{dtype}"))
    return found


@pytest.mark.similar
@pytest.mark.parametrize(("to", "mask", "dtype"), [*programs("float32"), *programs("float64")])
def test_it_is_exported_run_and_verified(
    to: str, mask: Any, dtype: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    if dtype == "float32":
        monkeypatch.setattr(labels, "EVERY", 16)
        monkeypatch.setattr(labels, "DRAWN", 4)
    made = framed(mask, extra=PREDICATES)
    report = export_to(to, made, tmp_path / "x", dtype=dtype, positions=200)
    told = f"of up to 64 tokens, of up to {3 if dtype == 'float32' else 6} tokens all there are, "
    told += "after BOS" if mask == "future" else "between BOS and EOS"
    told += "; every label is the dense engine's, since no program is stored; with all 200 positions the dense engine's"
    assert told in str(report).splitlines()[2]
    card = (tmp_path / "x" / "README.md").read_text(encoding="utf-8")
    fed = "BOS w₁ … wₙ" if mask == "future" else "BOS w₁ … wₙ EOS"
    assert f"Given a word w₁ … wₙ of letters `a`, `b`\nas the tokens `{fed}`, it answers at every position" in card
    verdict = verify_export(tmp_path / "x", machine=made, word=json.dumps(fed.replace("w₁ … wₙ", "a b a").split()))
    assert verdict.same, str(verdict)


@pytest.mark.parametrize(
    ("to", "mask", "words"),
    [
        (
            "bert",
            "future",
            "framed: in a BERT every head sees every position, and these weights have heads with the mask future",
        ),
        (
            "gpt2",
            "none",
            "framed: in a GPT-2 no head sees a later position, and these weights have heads with the mask none: us",
        ),
    ],
)
def test_masks_that_an_architecture_does_not_have(to: str, mask: Any, words: str, tmp_path: Path) -> None:
    with pytest.raises(ExportError, match=f"^{words}"):
        export_to(to, framed(mask), tmp_path / "x", verify=False)


@there("lens")
def test_what_is_right_on_short_words_alone_is_not_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(labels, "EVERY", 2)
    monkeypatch.setattr(labels, "DRAWN", 1)
    monkeypatch.setattr(labelling, "TIELESS", 16.0)
    monkeypatch.setattr(Claim, "smallest_gap", lambda claim, _positions: claim.gap_at(65, 66))
    told = r"is not right on .*… \(3,002 characters\) in .*: count\(Q\[a\]\) should be .*; try --dtype float64, or fewer"
    with pytest.raises(ExportError, match=told):
        export_to("lens", framed(), tmp_path / "x", positions=600)
    assert list(tmp_path.iterdir()) == []
