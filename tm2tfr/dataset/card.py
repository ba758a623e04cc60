"""The README of a data set: what a person reads, with the head that `datasets.load_dataset` finds the files by."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from tm2tfr._version import __version__
from tm2tfr.dataset.spec import Spec
from tm2tfr.dataset.tally import Tally

COLUMNS = {
    "machine": "the machine's name; `machines.jsonl` has each machine and its vocabulary",
    "input": "the input word",
    "form": "`answer`, `steps shown` or `steps scored`",
    "prompt": "the tokens given: the input and BOS",
    "target": "the tokens to predict",
    "loss_mask": "1 where a token of the target is scored, 0 where it is only shown",
    "verdict": "accept, reject or halt; null for a run that was cut off",
    "T": "the number of intermediate steps; null for a run that was cut off",
    "tape": "the final tape",
}


def card(spec: Spec, tally: Tally, examples: Mapping[str, Mapping[str, int]], formats: Sequence[str]) -> str:
    """Return the text; formats: parquet is what is read where nothing else is said."""
    splits = [split for split, _ in spec.splits if split in examples]
    head = ["---", "configs:"]
    for place, format in enumerate(sorted(formats, reverse=True)):
        head += [f"- config_name: {'default' if place == 0 else format}", "  data_files:"]
        for split in splits:
            head += [f"  - split: {split}", f'    path: "{split}/*.{format}"']
    head += ["---", ""]
    if not splits:
        head = []
    shares = {split: sum(examples[split].values()) for split in splits}
    lines = [
        f"# {spec.name}",
        "",
        f"Runs of Turing machines as a transformer decoder generates them, made by tm2tfr {__version__}: "
        f"{tally.runs:,} runs, {tally.rows:,} positions, every one compared with a reference simulator.",
        "",
        "| split | examples |",
        "|---|---|",
        *(f"| {split} | {number:,} |" for split, number in shares.items()),
        "",
        "| column | what |",
        "|---|---|",
        *(f"| {name} | {what} |" for name, what in COLUMNS.items()),
        "",
        "The forms differ in what a model is shown and scored on: the answer alone; the intermediate steps and the answer, "
        "of which only the answer is scored; all of it scored. `manifest.json` has the spec, seeds, counts and digests.",
        "",
    ]
    return "\n".join([*head, *lines])
