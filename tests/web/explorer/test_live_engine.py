"""The engine in the page, run in a browser, beside the dense one: the same numbers, bit for bit, and the same refusals."""

from __future__ import annotations

import base64
import zlib
from collections.abc import Iterator, Sequence
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pytest

import tm2tfr
from tests.web.explorer.live_cases import POSITIONS, Case, cases
from tm2tfr.base.errors import EngineError
from tm2tfr.engines.decode import run_whole
from tm2tfr.engines.dense import Dense
from tm2tfr.transformer.weights import Decoder
from tm2tfr.web.explorer.weights_data import PackedColumns, decoder_data

SCRIPT = (Path(tm2tfr.__file__).parent / "web" / "explorer" / "assets" / "explorer.js").read_text(encoding="utf-8")
IN_A_WORKER = """
async ({ script, task, argument }) => {
  const failing = "(error) => setTimeout(() => { throw error; })";
  const text = `${script}; (${task})(${JSON.stringify(argument)}).then(postMessage, ${failing});`;
  const worker = new Worker(URL.createObjectURL(new Blob([text], { type: "text/javascript" })));
  return new Promise((resolve, reject) => {
    worker.onmessage = ({ data }) => resolve(data);
    worker.onerror = (event) => reject(new Error(event.message));
  }).finally(() => worker.terminate());
}
"""
RUN = """
async ({ columns, cases, positions }) => {
  const buffers = await explorer.unpacked(columns);
  const logs = [], told = [];
  for (const { spec, given, whole } of cases) {
    const log = [];
    const watching = (log) => ({
      stage: (layer, part, x) => log.push(Float64Array.from(x)),
      head: (layer, head, look) =>
        log.push(Float64Array.from(look ? [look.attended.length, ...look.attended, ...look.scores, look.runner] : [-1])),
    });
    const watch = watching(log), own = given.map(() => []);
    let refused = null;
    try {
      const decoder = explorer.decoderOf(spec, buffers);
      if (whole) {
        const watches = new Map(own.map((each, i) => [i, watching(each)]));
        const passed = explorer.wholeRun(decoder, given, watches);
        for (const { logits } of passed) log.push(logits);
      } else {
        const session = new explorer.Dense(decoder);
        const most = spec.outputs.length ? given.length : positions;
        for (let i = 0, answer = -1; i < most; i++) {
          answer = session.feed(given[i] ?? answer, watch);
          log.push(session.logits, Float64Array.of(answer));
        }
      }
    } catch (error) {
      if (error.name !== "Refused") throw error;
      refused = error.message;
    }
    log.unshift(...own.flat());
    logs.push(...log);
    told.push({ size: log.reduce((sum, part) => sum + part.length, 0), refused });
  }
  const packed = new Blob(logs).stream().pipeThrough(new CompressionStream("deflate"));
  const bytes = new Uint8Array(await new Response(packed).arrayBuffer());
  let text = "";
  for (let n = 0; n < bytes.length; n += 32768) text += String.fromCharCode(...bytes.subarray(n, n + 32768));
  return { told, numbers: btoa(text) };
}
"""


class Seen(NamedTuple):
    """All numbers of a run in the order in which they were computed, and why it could not go on, if it could not."""

    numbers: Any
    refused: str | None


class _Log:
    """What a watch is shown, one number after another."""

    def __init__(self, decoder: Decoder) -> None:
        self._uniform = [[head.uniform for head in layer.heads] for layer in decoder.layers]
        self.parts: list[Any] = []

    def stage(self, layer: int, part: str, residual: Any) -> None:
        self.parts.append(residual)

    def head(self, layer: int, head: int, scores: Any, attended: Any) -> None:
        if self._uniform[layer][head]:
            self.parts.append([-1.0])
            return
        best = scores.max()
        start = attended[0] - int(np.flatnonzero(scores == best)[0])  # of the positions in sight
        others = np.where(scores == best, -np.inf, scores)
        runner = start + int(others.argmax()) if len(attended) < len(scores) else -1
        self.parts += [[len(attended)], attended, scores, [runner]]


def in_python(case: Case) -> Seen:
    log, refused = _Log(case.decoder), None
    own = {i: _Log(case.decoder) for i in range(len(case.given))}  # positions are computed in no order that matters
    try:
        if case.whole:
            log.parts += [passed.logits for passed in run_whole(case.decoder, case.given, engine=Dense(), watches=own)]
        else:
            session, answer = Dense().start(case.decoder), -1
            for i in range(len(case.given) if case.decoder.labeller else POSITIONS):
                answer = session.feed(case.given[i] if i < len(case.given) else answer, log)
                log.parts += [session.logits, [answer]]
    except EngineError as error:
        refused = error.typed
    parts = [part for each in (*own.values(), log) for part in each.parts]
    return Seen(np.concatenate([np.zeros(0), *parts]).astype(np.float64), refused)


def in_a_worker(chromium: Any, task: str, argument: dict[str, Any], script: str = SCRIPT) -> Any:
    """Return what a task, a function in JavaScript, says in a worker that has the script of a page."""
    page = chromium.new_page()
    try:
        return page.evaluate(IN_A_WORKER, {"script": script, "task": task, "argument": argument})
    finally:
        page.close()


def in_the_browser(chromium: Any, chosen: Sequence[Case], script: str = SCRIPT) -> list[Seen]:
    columns = PackedColumns()
    given = [{"spec": decoder_data(c.decoder, columns), "given": c.given, "whole": c.whole} for c in chosen]
    answer = in_a_worker(chromium, RUN, {"columns": columns.packed(), "cases": given, "positions": POSITIONS}, script)
    numbers = np.frombuffer(zlib.decompress(base64.b64decode(answer["numbers"])), np.float64)
    cuts = np.cumsum([told["size"] for told in answer["told"]])
    refusals = [told["refused"] for told in answer["told"]]
    return [Seen(part, refused) for part, refused in zip(np.split(numbers, cuts[:-1]), refusals, strict=True)]


def differences(chosen: Sequence[Case], found: Sequence[Seen], wanted: Sequence[Seen]) -> Iterator[str]:
    """Yield what differs, by case; NaNs, which a refusal follows, are the same, and so are 0 and -0, as scores may be."""
    for case, here, there in zip(chosen, found, wanted, strict=True):
        if here.refused != there.refused:
            yield f"{case.name}: {here.refused} instead of {there.refused}"
        elif len(here.numbers) != len(there.numbers) and not here.refused:
            yield f"{case.name}: {len(here.numbers)} numbers instead of {len(there.numbers)}"
        else:
            size = min(len(here.numbers), len(there.numbers))  # one may have shown more of where it was refused
            ours, theirs = here.numbers[:size], there.numbers[:size]
            wrong = np.flatnonzero((ours != theirs) & ~(np.isnan(ours) & np.isnan(theirs)))
            if len(wrong):
                at = int(wrong[0])
                yield f"{case.name}: {len(wrong)} numbers, the first {ours[at]!r}, not {theirs[at]!r}"


@cache
def decoders() -> tuple[tuple[Case, ...], tuple[Seen, ...]]:
    """Return all cases and what the dense engine computes of them."""
    made = tuple(cases())
    return made, tuple(map(in_python, made))


@pytest.mark.slow
def test_more_than_200_decoders_have_the_same_numbers_in_the_browser_bit_for_bit(chromium: Any) -> None:
    """Every stage of the stream, every score, every attended position, every logit; sabotaged weights among them."""
    chosen, wanted = decoders()
    assert list(differences(chosen, in_the_browser(chromium, chosen), wanted)) == []
    assert len({id(case.decoder) for case in chosen}) > 200
    assert sum("sabotaged" in case.name for case in chosen) > 60
    refusals = {seen.refused for seen in wanted if seen.refused}
    for words in (
        "too large for float64",
        "it divides by 0",
        "the variance is",
        "stop before it",
        "a score",
        "of the stream",
    ):
        assert any(words in refusal for refusal in refusals), words


BROKEN = {
    "a mean is a product": (" / many;", " * (1 / many);"),
    "ties are broken": (" === most) count", " === most && n < 0) count"),
    "a later token is answered": ("numbers[n] > numbers[found]", "numbers[n] >= numbers[found]"),
    "the bias comes first": ("const hidden = part.inputBias.slice();", "const hidden = part.inputBias.slice().reverse();"),
    "a norm has no epsilon": ("squares / x.length + this.epsilon", "squares / x.length"),
}


@pytest.mark.slow
@pytest.mark.parametrize("name", BROKEN)
def test_an_engine_that_computes_otherwise_is_noticed(chromium: Any, name: str) -> None:
    right, wrong = BROKEN[name]
    assert SCRIPT.count(right) == 1
    chosen, wanted = (part[::3] for part in decoders())
    found = in_the_browser(chromium, chosen, SCRIPT.replace(right, wrong))
    assert list(differences(chosen, found, wanted)) != []
