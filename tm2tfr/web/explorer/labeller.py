"""The page of a labeller: its answers, its drawings, where every head looks, and the residual stream stage by stage.

A labeller answers at every position at once, so there is nothing to step through: all is on one page, which shows it
without a script. The script runs other inputs, with the weights in the page.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from html import escape
from typing import NamedTuple

import numpy as np

from tm2tfr.base.errors import ShapeError, counted, visible
from tm2tfr.contract.specification import stage_text
from tm2tfr.engines.decode import Observation
from tm2tfr.runs.comparison import Trace
from tm2tfr.tables.sheet import summary, title
from tm2tfr.transformer.matrix import Floats
from tm2tfr.transformer.residual import Subspace
from tm2tfr.transformer.weights import Decoder, Layer
from tm2tfr.web.explorer.document import Explorer, asset, embedded
from tm2tfr.web.explorer.weights_data import PackedColumns, decoder_data

MOST_IN_A_PAGE = 200
"""The most positions of a labeller in a page, which has a cell for each pair of them in each head."""
STILL = "default-src 'none'; style-src 'unsafe-inline'"
POLICY = "default-src 'none'; script-src 'unsafe-inline'; style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'"
STYLE = """
:root{color-scheme:light dark}
body{background:Canvas;color:CanvasText}
body{font:15px/1.5 system-ui,sans-serif;margin:1.5rem auto;max-width:100rem;padding:0 1rem}
h1{font-size:1.4rem}h2{font-size:1.15rem;margin-top:2rem}h3{font-size:1rem;margin-bottom:.3rem}
table{border-collapse:collapse;font-variant-numeric:tabular-nums}
caption{text-align:left;white-space:nowrap}
th,td{padding:.1rem .6rem;text-align:left;white-space:nowrap;border:1px solid #8884}
tbody tr:hover{background:#8882}
.weights td{min-width:2.2rem;text-align:center;padding:.1rem .2rem}
.heads{display:flex;flex-wrap:wrap;gap:2rem}
.wide{overflow-x:auto}
summary{cursor:pointer}
.box{margin:.8rem 0}.box :is(input,button){font:inherit;padding:.15rem .5rem;box-sizing:border-box;max-width:100%}
.hint{margin:.2rem 0;opacity:.8}.said{min-height:1.5em;margin:.3rem 0;overflow-wrap:anywhere}
svg{max-width:none}
""".replace("\n", "")


def labeller_page(
    trace: Trace,
    decoder: Decoder,
    seen: Sequence[Observation],
    pictures: Sequence[tuple[str, str]] = (),
    *,
    tokens: Sequence[str] | None = None,
    ends: tuple[Sequence[str], Sequence[str]] = ((), ()),
    live: bool = True,
) -> Explorer:
    """Return the page.

    Args:
        seen: what there is at each position of the run, the one of the trace.
        tokens: what is fed at each position, shown beside its number where heads look; by default the number is alone.
        ends: the tokens that are fed before and after those of any input.
        live: whether the page has the weights and a script, so that it can run another input.
        pictures: headings, each with a drawing as SVG, or with the reason why there is none as text.

    Raises:
        ShapeError: if there are not as many positions, or tokens, as rows of the trace.
    """
    for many, what in ((len(seen), "observations"), (len(seen if tokens is None else tokens), "tokens")):
        if many != len(trace.rows):
            rows = counted(len(trace.rows), "row")
            raise ShapeError(f"the page of {visible(trace.machine)}: {rows} and {many} {what}: give those of one run")
    names = [*map(str, range(len(seen)))] if tokens is None else [f"{n} {visible(t)}" for n, t in enumerate(tokens)]
    name = visible(title(trace))
    layers = [_named(n, layer) for n, layer in enumerate(decoder.layers)]
    script = _script(trace, decoder, ends, layers, named=tokens is not None) if live else ""
    drawings = "".join(f"<h2>{escape(heading)}</h2>\n{_picture(drawn)}" for heading, drawn in pictures)
    html = f"""<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="{POLICY if live else STILL}">
<meta name="viewport" content="width=device-width">
<title>{escape(name)}</title>
<style>{STYLE}</style>
</head>
<body>
<main>
<h1>{escape(name)}</h1>
<div class="wide" tabindex="0" id="answers">{summary(trace, titled=False)}</div>
<div id="drawings">{drawings}</div>
<h2>Where the heads of the weights look</h2>
<div id="heads">{"".join(_layers(layers, seen, names))}</div>
<h2>The residual stream, stage by stage</h2>
<p>After each stage, what it changed: labels of one-hot vectors, · for zero, and numbers.</p>
<div id="stages">{"".join(_stages(decoder, seen))}</div>
</main>
{script}</body>
</html>
"""
    return Explorer(html, (trace,))


def _script(
    trace: Trace,
    decoder: Decoder,
    ends: tuple[Sequence[str], Sequence[str]],
    layers: Sequence[_Named],
    *,
    named: bool,
) -> str:
    """Return the script of the page, and what it needs: the weights, and how an input becomes tokens."""
    (before, after), columns = ends, PackedColumns()
    data = {
        "name": trace.machine,
        "word": trace.input,
        "before": list(before),
        "after": list(after),
        "named": named,
        "layers": [each._asdict() for each in layers],
        "most": MOST_IN_A_PAGE,
        "subspaces": [{"name": s.name, "labels": s.labels and list(s.labels)} for s in decoder.layout.subspaces],
        "decoder": decoder_data(decoder, columns),
    }
    return f"""<script type="application/json" id="data">{embedded(data)}</script>
<script type="text/plain" id="columns">{columns.packed()}</script>
<script>
{asset("labeller.js")}</script>
"""


def _picture(drawn: str) -> str:
    inside = drawn[drawn.index("<svg") :] if "<svg" in drawn else f"<p>{escape(drawn)}</p>\n"
    return f'<div class="wide" tabindex="0">{inside}</div>\n'


class _Named(NamedTuple):
    """The names of a layer and of its heads."""

    heading: str
    heads: list[str]


def _named(n: int, layer: Layer) -> _Named:
    """Return the names of a layer and of its heads, without generated names."""
    heading = f"layer {n + 1}" + (f" ({visible(layer.name)})" if layer.name else "")
    own = ["" if re.fullmatch(r"c\d+", head.name) else head.name for head in layer.heads]
    names = [visible(name) for name in own]
    return _Named(heading, [f"head {k}: {name}" if name else f"head {k}" for k, name in enumerate(names, start=1)])


def _layers(layers: Sequence[_Named], seen: Sequence[Observation], names: Sequence[str]) -> Iterator[str]:
    """Yield a matrix for each head, layer by layer: a row for each position that looks."""
    for n, layer in enumerate(layers):
        if layer.heads:
            looks = [[each.heads[n, k][1] for each in seen] for k in range(len(layer.heads))]
            heads = "".join(_head(called, places, names) for called, places in zip(layer.heads, looks, strict=True))
            yield f'<h3>{escape(layer.heading)}</h3>\n<div class="heads">{heads}</div>\n'


def _head(name: str, attended: Sequence[Sequence[int]], names: Sequence[str]) -> str:
    count = len(attended)
    heading = "".join(f'<th scope="col">{escape(each).replace(" ", " <br>", 1)}</th>' for each in names)
    rows = []
    for query, places in zip(names, attended, strict=True):
        shares = np.zeros(count)
        shares[np.asarray(places)] = 1 / len(places)
        said = "1" if len(places) == 1 else f"1/{len(places)}"
        light = ";color:#fff" if len(places) == 1 else ""
        cells = "".join(
            f'<td style="background:rgba(11,114,133,{s:.2f}){light}">{said}</td>' if s else "<td></td>" for s in shares
        )
        rows.append(f'<tr><th scope="row">{escape(query)}</th>{cells}</tr>')
    return (
        f'<table class="weights"><caption>{escape(name)}</caption><thead><tr><td></td>{heading}</tr></thead>'
        f"<tbody>{''.join(rows)}</tbody></table>"
    )


def _stages(decoder: Decoder, seen: Sequence[Observation]) -> Iterator[str]:
    """Yield the subspaces that each stage changes, with a row for each position."""
    before = [np.zeros(decoder.layout.width) for _ in seen]
    for n, (layer, part, _) in enumerate(seen[0].stages):
        streams = [np.asarray(each.stages[n][2], dtype=float) for each in seen]
        changed = [s for s in decoder.layout.subspaces if _differs(decoder, s, before, streams)]
        where = stage_text((layer, part))
        if any(loop.first <= layer + 1 <= loop.last for loop in decoder.loops):
            where = where.replace(", ", f", pass {seen[0].passes[n] + 1}, ")
        before = streams
        heading = f"{where}: {counted(len(changed), 'subspace')}" if changed else f"{where}: nothing changes"
        yield f"<details{' open' if n == 0 else ''}><summary>{escape(heading)}</summary>\n"
        if changed:
            header = "".join(f'<th scope="col">{escape(visible(s.name))}</th>' for s in changed)
            rows = "".join(
                f'<tr><th scope="row">{i}</th>{"".join(_cell(s, x[decoder.layout[s.name]]) for s in changed)}</tr>'
                for i, x in enumerate(streams)
            )
            table = f"<table><thead><tr><th>i</th>{header}</tr></thead><tbody>{rows}</tbody></table>"
            yield f'<div class="wide" tabindex="0">{table}</div>'
        yield "</details>\n"


def _differs(decoder: Decoder, subspace: Subspace, before: Sequence[Floats], after: Sequence[Floats]) -> bool:
    place = decoder.layout[subspace.name]
    return any(not np.array_equal(a[place], b[place]) for a, b in zip(before, after, strict=True))


def _cell(subspace: Subspace, part: Floats) -> str:
    """Return the content of a subspace at a position: part: (width of the subspace,)."""
    if subspace.labels is None:
        return f"<td>{', '.join(f'{value:g}' for value in part)}</td>"
    there = [(label, value) for label, value in zip(subspace.labels, part, strict=True) if value]
    said = ", ".join(visible(label) if value == 1 else f"{visible(label)}: {value:g}" for label, value in there)
    return f"<td>{escape(said) if there else '·'}</td>"
