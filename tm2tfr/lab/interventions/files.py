"""Random interventions as files: rows of JSON Lines and Parquet, the head of the manifest, the card."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from tm2tfr._version import __version__
from tm2tfr.base.text.shown import code, escaped, markdown_table
from tm2tfr.contract.specification import LAYERS, stage_text
from tm2tfr.lab.interventions.intervened import Base
from tm2tfr.lab.interventions.intervention import Intervention, text_of_cell
from tm2tfr.lab.interventions.tried import Tried, shown_outcomes
from tm2tfr.lab.labels.patches import HOOKS, SCHEMA, subspace_of
from tm2tfr.lab.line.folder import VOCABULARY
from tm2tfr.lab.line.manifest import MANIFEST, arrow_or_error, readme, sha256
from tm2tfr.lab.line.manifest import parquet as parquet_file
from tm2tfr.transformer.weights import digest

COLUMNS: Mapping[str, str] = {
    "input": "the input of the base run",
    "base_tokens": "the tokens fed in the base run",
    "base_answers": "what the model answers at each position of the base run, in the prompt too",
    "variables": "the variables that are set",
    "positions": "the positions at which they are set, from 0",
    "values": "the values that they are set to; ⊥ for nothing",
    "sources": "the inputs of the runs that the values are from; null for a value from no run",
    "source_positions": "the positions in those runs",
    "expected_tokens": "the tokens fed with the intervention, by the causal model of the source",
    "expected_answers": "what the model answers at each position with the intervention; null where it is not known",
    "known": "whether the answer is known, for each position",
    "first": "the first position whose answer is known and changes; null if there is none",
    "why": "why no answer changes",
}


def row_of(done: Intervention) -> dict[str, object]:
    """Return an intervention as a row, see `COLUMNS`."""
    settings, unknown = done.settings, done.expected.unanswered
    return {
        "input": done.input,
        "base_tokens": list(done.without.tokens),
        "base_answers": [text_of_cell(answer) for answer in done.without.answers],
        "variables": [each.variable for each in settings],
        "positions": [each.position for each in settings],
        "values": [text_of_cell(each.value) for each in settings],
        "sources": [None if each.origin is None else each.origin[0] for each in settings],
        "source_positions": [None if each.origin is None else each.origin[1] for each in settings],
        "expected_tokens": list(done.expected.tokens),
        "expected_answers": [
            None if i in unknown else text_of_cell(answer) for i, answer in enumerate(done.expected.answers)
        ],
        "known": [i not in unknown for i in range(len(done.expected.answers))],
        "first": done.first,
        "why": done.why,
    }


def as_parquet(rows: Sequence[Mapping[str, object]]) -> bytes:
    """Return a Parquet file of rows.

    Raises:
        DatasetError: if PyArrow is missing.
    """
    arrow = arrow_or_error()
    text, texts, numbers = arrow.string(), arrow.list_(arrow.string()), arrow.list_(arrow.int32())
    kinds = dict.fromkeys(COLUMNS, texts) | {"input": text, "why": text, "first": arrow.int32()}
    kinds |= {"positions": numbers, "source_positions": numbers, "known": arrow.list_(arrow.bool_())}
    schema = arrow.schema([arrow.field(name, kind) for name, kind in kinds.items()])
    return parquet_file([arrow.Table.from_pylist(list(rows), schema=schema)], schema, level=3)


def head_of(found: Tried, base: Base, words: Sequence[str], count: int, seed: int, *, parquet: bool) -> dict[str, object]:
    """Return the facts that must be equal for a folder to be resumed."""
    return {
        "format": 3,
        "tm2tfr": __version__,
        "subject": found.subject,
        "weights_sha256": digest(base.decoder),
        "inputs_sha256": sha256("\n".join(words).encode()),
        "engine": base.engine.name,
        "most_positions": base.most,
        "count": count,
        "seed": seed,
        "parquet": parquet,
        "keep_unknown": found.keep_unknown,
        "effective": found.effective,
        "balanced": list(found.balanced),
        "layers": LAYERS,
        "variables": {
            variable.name: {
                "meaning": variable.meaning,
                "kind": variable.kind,
                "layer": variable.since[0] + 1,
                "after": variable.since[1],
                "directions": [
                    direction
                    for holds in (variable.name, *variable.mirrors)
                    for direction in subspace_of(base.decoder.layout, variable, holds).directions
                ],
                "divided_by_i_plus_1": variable.share,
                "read_by": variable.read_by,
            }
            for variable in base.model.variables.values()
        },
    }


def card(found: Tried, base: Base, seed: int, *, parquet: bool) -> str:
    """Return the text of the folder's README."""
    split = f'  - split: train\n    path: "*.{"parquet" if parquet else "jsonl"}"'
    explained = f", but for {found.explained:,} runs with cells of which nothing is known." if found.explained else "."
    certain = " with a known answer" if found.left_out or (found.drawn > found.number and not found.keep_unknown) else ""
    variables = (
        (code(v.name), escaped(v.meaning), stage_text(v.since), escaped(v.read_by) or "nothing")
        for v in base.model.variables.values()
    )
    return readme(
        ("- config_name: default", "  data_files:", split),
        f"# Interventions on {escaped(found.subject)}",
        f"{found.number - found.left_out:,} random interventions{certain}, made by tm2tfr {__version__} with the seed "
        f"{seed}. "
        f"Each sets {'one variable' if found.balanced else 'one or two variables'} of a run, to values of another run "
        "(interchange interventions; Geiger et al. 2021, "
        "2024) or to any other. What must come out is computed from the source alone; the "
        f"{found.engine} engine ran the weights with the subspaces of these variables overwritten, and every cell that is "
        f"known was as expected{explained}",
        " ".join(_numbers(found)),
        markdown_table(("column", "contents"), COLUMNS.items()),
        markdown_table(("variable", "what it is", "written after", "read by"), variables),
        f"`{HOOKS}` says how each variable is set in exported models: at which module, at which coordinates, with which "
        f"numbers; `{SCHEMA}` is its JSON schema, and `{VOCABULARY}` has the tokens by number. `{MANIFEST}` has the "
        "directions of each variable in the residual stream, the digest of the weights, the seed and the digests of all "
        "files.",
    )


def _numbers(found: Tried) -> Iterable[str]:
    """Yield sentences on the numbers of interventions."""
    known = "an answer that is known" if found.unknown and found.keep_unknown else "an answer"
    yield f"{found.causal:,} of them change {known}."
    if found.unknown and found.keep_unknown:
        yield f"Of {found.unknown:,} the expected answer is not known at every position: `known` says where it is;"
        yield "elsewhere the answer is null, and was not compared."
    elif found.unknown:
        yield f"{found.unknown:,} more were drawn and are left out: their expected answers are not known."
    if found.redrawn:
        yield f"{found.redrawn}."
    if found.balanced:
        yield f"{found.spread}."
    yield from (f"Not set: {code(name)}: {escaped(why)}." for name, why in found.unbalanced.items())
    if found.inputs:
        yield f"The runs are on {sum(found.inputs.values()):,} inputs: {escaped(shown_outcomes(found.inputs))}."
