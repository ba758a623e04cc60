"""Masks and outputs as data: they check themselves, survive in weight files, and count in the digest."""

from __future__ import annotations

import dataclasses
import pickle
import re
from typing import Any

import pytest
from safetensors.numpy import load as load_tensors

import tm2tfr
from tests.engines.labellers import LETTERS, causal, labeller, scrambled, soft
from tests.handmade import bigrams, majority, tabled
from tests.transformer.test_storage import document
from tests.transformer.test_storage_errors import refusal, signed
from tm2tfr.sources.logic.read import formula
from tm2tfr.transformer.claims import Output, sections
from tm2tfr.transformer.gadgets import head
from tm2tfr.transformer.listing import html_summary, listing, summary
from tm2tfr.transformer.parts import AHEAD, NO_BOS, TABLE, parts
from tm2tfr.transformer.parts import OUTPUTS as NAMED
from tm2tfr.transformer.residual import Residual, Subspace
from tm2tfr.transformer.storage import dumps, loads
from tm2tfr.transformer.weights import Decoder, digest


# ── what it is made of ──────────────────────────────────────────────────────────────────────────────────────
def test_it_says_what_it_is() -> None:
    made = labeller()
    assert (made.labeller, made.looks_ahead, made.answers) == (True, True, 6)
    assert made.answered == ("next[a]", "next[b]", "next[c]", "share", "same[yes]", "same[no]")
    assert [(output.name, cut.start, cut.stop) for output, cut in sections(made.outputs)] == [
        ("next", 0, 3),
        ("share", 3, 4),
        ("same", 4, 6),
    ]
    assert (causal().labeller, causal().looks_ahead) == (True, False)
    plain = bigrams()
    assert (plain.labeller, plain.looks_ahead, plain.answers) == (False, False, 4)
    assert plain.answered == plain.vocabulary
    assert parts(made) == (NO_BOS, AHEAD, NAMED)
    assert parts(causal()) == (NO_BOS, NAMED)
    assert parts(tabled()) == (TABLE, NO_BOS)


def test_a_head_has_the_mask_that_it_is_given() -> None:
    layout = Residual((Subspace("x"),))
    made = [head(layout, "h", "", query=[], key=[], carries=[], mask=mask).mask for mask in ("future", "past", "none")]
    assert made == ["future", "past", "none"]
    assert head(layout, "h", "", query=[], key=[], carries=[]).mask == "future"


def test_lists_become_tuples() -> None:
    made = labeller()
    assert Output("y", ["a"]) == Output("y", ("a",))  # type: ignore[arg-type]
    assert dataclasses.replace(made, outputs=list(made.outputs)) == made
    assert Subspace("x", since=[0, "attention"]).since == (0, "attention")  # type: ignore[arg-type]


def test_a_subspace_holds_its_value_since_a_stage() -> None:
    stages = [(-1, "embedding"), (0, "attention"), (7, "feed_forward")]
    assert [Subspace("x", since=since).since for since in stages] == stages
    assert Subspace("x").since is None


# ── the digest ──────────────────────────────────────────────────────────────────────────────────────────────
def _remasked(decoder: Decoder, number: int, mask: Any) -> Decoder:
    layer = decoder.layers[0]
    heads = tuple(dataclasses.replace(h, mask=mask) if n == number else h for n, h in enumerate(layer.heads))
    return dataclasses.replace(decoder, layers=(dataclasses.replace(layer, heads=heads), *decoder.layers[1:]))


def test_masks_and_outputs_count_in_the_digest() -> None:
    made = labeller()
    others = [_remasked(made, n, mask) for n in range(3) for mask in ("future", "past", "none")]
    renamed = (Output("then", LETTERS), *made.outputs[1:])
    apart = (*(Output(f"n{n}", None) for n in range(4)), Output("same", ("yes", "no")))
    others += [dataclasses.replace(made, outputs=outputs) for outputs in (renamed, apart)]
    found = {digest(other) for other in others}
    assert len(found) == len(set(others)) == 9  # three of the eleven are the decoder itself
    assert digest(made) in found
    assert digest(made) != digest(soft(made))


def test_since_is_a_claim_and_no_weight() -> None:
    made = labeller()
    spaces = tuple(dataclasses.replace(space, since=None) for space in made.layout.subspaces)
    other = dataclasses.replace(made, layout=Residual(spaces))
    assert other != made
    assert digest(other) == digest(made)


# ── weight files ────────────────────────────────────────────────────────────────────────────────────────────
@pytest.mark.parametrize(
    "made",
    [labeller(), causal(), soft(labeller()), scrambled(1), scrambled(2, positions=3), _remasked(majority(), 0, "none")],
    ids=["labeller", "causal", "soft", "scrambled", "with a table", "a mask alone"],
)
def test_a_weight_file_has_it_all(made: Decoder) -> None:
    data = dumps(made)
    again = loads(data)
    assert again == made
    assert (again.outputs, [s.since for s in again.layout.subspaces]) == (
        made.outputs,
        [s.since for s in made.layout.subspaces],
    )
    assert [h.mask for layer in again.layers for h in layer.heads] == [h.mask for layer in made.layers for h in layer.heads]
    assert digest(again) == digest(made)
    assert dumps(again) == data
    assert document(data)["version"] == "3"
    assert pickle.loads(pickle.dumps(made)) == made


def test_what_the_file_says() -> None:
    about = document(dumps(labeller()))
    assert about["parts"] == {
        "position_table": False,
        "norms": {},
        "outputs": [
            {"name": "next", "labels": ["a", "b", "c"]},
            {"name": "share", "labels": None},
            {"name": "same", "labels": ["yes", "no"]},
        ],
    }
    assert [head["mask"] for head in about["layers"][0]["heads"]] == ["past", "none", "future"]
    assert about["layout"][0]["since"] == [-1, "embedding"]
    plain = document(dumps(tabled()))
    assert "outputs" not in plain["parts"]
    assert "since" not in plain["layout"][0]


def _changed(**said: Any) -> bytes:
    data = dumps(labeller())
    return signed({**document(data), **said}, dict(load_tensors(data)))


def test_a_file_that_does_not_fit_is_refused() -> None:
    again, remake = "make it again with 'tm2tfr compile'", "make the file again with 'tm2tfr compile'"
    about = document(dumps(labeller()))
    outputs = about["parts"]["outputs"]
    assert refusal(_changed(parts={**about["parts"], "outputs": outputs[:2]})) == (
        f"w: unembedding has shape (6, {labeller().layout.width}), expected (4, {labeller().layout.width}): {again}"
    )
    assert refusal(_changed(parts={**about["parts"], "outputs": [*outputs, {"name": "x"}]})) == (
        f"w: parts.outputs[3] in the metadata has no 'labels': {remake}"
    )
    assert refusal(_changed(parts={**about["parts"], "outputs": [*outputs, outputs[0]]})) == (
        f"w: two outputs are called 'next': give each output a name of its own: {again}"
    )
    assert refusal(_changed(bos="a")) == (
        f"w: a decoder with outputs generates nothing, so it has no BOS: use None, not 'a': {again}"
    )
    space = about["layout"][0]
    assert refusal(_changed(layout=[{**space, "since": [0]}, *about["layout"][1:]])) == (
        f"w: layout[0].since in the metadata should be a layer and one of its parts: {remake}"
    )
    assert refusal(_changed(layout=[{**space, "since": [0.5, "attention"]}, *about["layout"][1:]])) == (
        f"w: layout[0].since[0] in the metadata should be a whole number, is a number: {remake}"
    )
    assert refusal(_changed(layout=[{**space, "since": [0, "heads"]}, *about["layout"][1:]])).startswith(
        "w: subspace 'token' cannot hold its value since (0, 'heads'): use (-1, 'embedding')"
    )


# ── as text ─────────────────────────────────────────────────────────────────────────────────────────────────
def test_the_listing_names_masks_and_answers() -> None:
    told = listing(labeller())
    assert "head 'next': past-masked, average-hard" in told
    assert "head 'all': unmasked, average-hard" in told
    assert "head 'before': future-masked, average-hard" in told
    assert told.endswith(
        "unembedding\n  logit next[a] = next[a]\n  logit next[b] = next[b]\n  logit next[c] = next[c]\n"
        "  logit share = share\n  logit same[yes] = same[yes]\n  logit same[no] = same[no]\n"
    )


def test_the_summary_has_masks_and_outputs() -> None:
    assert summary(labeller()).splitlines()[-4:] == [
        f"{'BOS':<25}none",
        "",
        "masks: future, past, none",
        "outputs: next (3 labels), share (a number), same (2 labels)",
    ]
    assert "outputs" not in summary(tabled())
    assert "masks" not in summary(causal())
    assert "masks future, past, none, outputs next (3 labels), share (a number), same (2 labels)" in html_summary(
        labeller()
    )


@pytest.mark.parametrize(("text", "fed"), [("once Q[a]", "BOS word"), ("eventually Q[a]", "BOS word EOS")])
def test_the_summary_says_between_what_words_are_fed(text: str, fed: str) -> None:
    said = tm2tfr.summary(formula(text, alphabet="ab"))
    assert re.search(rf"^fed {{2,}}{fed}$", said, re.MULTILINE)
    assert not re.search(r"^BOS ", said, re.MULTILINE)
    assert re.search(r"^BOS {2,}none$", tm2tfr.summary("reverse"), re.MULTILINE)
