"""A layer of the weights has one number, from 1, wherever people read it: see docs/architecture.md."""

from __future__ import annotations

import dataclasses
import json
import re
from collections.abc import Iterator

import pytest

import tm2tfr
from tm2tfr.contract.specification import LAYERS, stage_record, stage_text
from tm2tfr.sources.rasp.drawing.flow import flow
from tm2tfr.sources.rasp.page import draw_run, heads_of
from tm2tfr.transformer.listing import listing
from tm2tfr.transformer.weights import Decoder, matrices, replaced

WORDS = {"chapter": "11", "full-adder": "110", "sort": "bca", "since-b": "ab"}
_NAMED = re.compile(r"([\w#.]+)[ :]+\(?number-(\d+)\b")


def named(name: str) -> Decoder:
    """Return the weights of a source, each layer with its number from 1 in its name."""
    decoder = tm2tfr.compile(name)
    layers = (dataclasses.replace(layer, name=f"number-{n}") for n, layer in enumerate(decoder.layers, start=1))
    return dataclasses.replace(decoder, layers=tuple(layers))


def causes(decoder: Decoder, word: str) -> Iterator[str]:
    """Yield why weights go wrong, of which one matrix after the other has an entry that is twice what it should be."""
    for path, matrix in matrices(decoder).items():
        if path.endswith("output") and (entry := next(matrix.entries(), None)) is not None:
            row, column, value = entry
            wrong = tm2tfr.check(replaced(decoder, {path: matrix.with_entry(row, column, 2 * value)}), word)
            yield str(wrong.divergence)


def views(decoder: Decoder, word: str) -> Iterator[tuple[str, str]]:
    """Yield what people read of weights."""
    yield "listing", listing(decoder)
    yield "one layer", listing(decoder, str(len(decoder.layers)))
    explained = tm2tfr.explain(decoder)
    yield "explain", str(explained)
    yield "explain, Markdown", explained.markdown()
    yield "causes", "\n".join(causes(decoder, word))
    for n, layer in enumerate(decoder.layers, start=1):
        for k, _ in enumerate(layer.heads, start=1):
            yield f"head {n}.{k}", tm2tfr.attention_of(decoder, word, head=f"{n}.{k}").text()


@pytest.mark.slow
@pytest.mark.parametrize("name", WORDS)
def test_a_layer_is_called_by_its_number(name: str) -> None:
    decoder = named(name)
    for view, text in views(decoder, WORDS[name]):
        found = _NAMED.findall(text)
        assert found, view
        assert {(view, number) for number, own in found if number != own} == set()


@pytest.mark.parametrize("name", WORDS)
def test_data_has_the_same_numbers_and_0_for_the_embedding(name: str) -> None:
    explained, variables = tm2tfr.explain(name), tm2tfr.causal_variables(name, WORDS[name]).as_dict()
    since = {each.name: each.since for each in explained.variables if each.stored}
    spaces = [space for space in tm2tfr.compile(name).layout.subspaces if space.since is not None]
    own = {(space.name if space.name in since else space.holds): space.since for space in spaces}
    assert own == {what: since[what] for what in own}
    due = {holds: {"layer": layer + 1, "part": part} for holds, (layer, part) in since.items()}
    assert 0 in {each["layer"] for each in due.values()}
    for said in (explained.as_dict(), variables):
        rows = json.loads(json.dumps(said["variables"]))
        found = {each["name"]: each["since"] for each in rows if each["name"] in due}
        assert found == {holds: due[holds] for holds in found} != {}
    assert variables["layers"] == LAYERS


def test_stages_as_text_and_as_data() -> None:
    assert [stage_text((-1, "embedding")), stage_text((0, "attention")), stage_text((3, "feed_forward"), "read tape")] == [
        "embedding",
        "layer 1, attention",
        "layer 4 (read tape), feed-forward",
    ]
    assert stage_record((-1, "embedding")) == {"layer": 0, "part": "embedding"}


def test_a_drawing_of_rasp_tells_its_depth_from_a_layer_of_the_weights() -> None:
    subject = tm2tfr.Subject.of("most-frequent")
    program, decoder = subject.right, subject.decoder
    drawn = flow(program)
    assert "depth 2" in draw_run(program, "aab", None)
    assert "layer" not in re.sub(r'class="layer"|\.layer', "", draw_run(program, "aab", None))
    places = {place: (layer, head + 1) for place, (layer, head) in heads_of(program, decoder).items()}
    titled = dataclasses.replace(drawn, places=places)
    layers = [layer for (_, k), (layer, _) in places.items() if k == 0]
    assert [titled.heading(n) for n in range(1, len(layers) + 1)] == [
        f"layer {layer} (depth {n})" for n, layer in enumerate(layers, start=1)
    ]
    assert layers != list(range(1, len(layers) + 1))
