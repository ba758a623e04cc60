"""The README of a data set, for people, with the header by which `datasets.load_dataset` finds the files."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from tm2tfr._version import __version__
from tm2tfr.dataset.labels.spec import LabelSpec
from tm2tfr.dataset.spec import CommonSpec, Spec
from tm2tfr.dataset.tally import Tally
from tm2tfr.errors import counted
from tm2tfr.text.markdown import escaped

_COLUMNS = {
    "machine": "the machine's name; `machines.jsonl` has each machine and its vocabulary",
    "input": "the input word",
    "form": "`answer`, `steps shown` or `steps scored`",
    "prompt": "the given tokens: the input and BOS",
    "target": "the tokens to predict",
    "loss_mask": "1 for each token of the target that is scored, 0 for one that is only shown",
    "verdict": "accept, reject or halt; null for a run that was cut off",
    "T": "the number of intermediate steps; null for a run that was cut off",
    "tape": "the final tape",
}
_PROMPTED_COLUMNS = {
    **_COLUMNS,
    "machine": "the machine's name; `machines.jsonl` has each machine, and what prompts call its states and symbols",
    "prompt": "the given tokens: the machine's rules, the input and BOS; nothing of it is scored",
    "input": "the input word, in the machine's own symbols",
    "tape": "the final tape, in the machine's own symbols",
    "prompt_ids": "the numbers of the tokens of the prompt: their places in `vocabulary.json`, from 0",
    "target_ids": "those of the target",
}
_CIRCUIT_COLUMNS = {
    "circuit": "the circuit's name; `circuits.jsonl` has each circuit, its nets and the positions of its outputs",
    "input": "the bits of the inputs",
    "form": "`answer`, `steps shown` or `steps scored`",
    "prompt": "the given tokens: the bits of the inputs",
    "target": "the tokens to predict: the bits of the gates, or of the outputs alone",
    "loss_mask": "1 for each token of the target that is scored, 0 for one that is only shown",
    "result": "the numbers that the outputs say",
}


def card(spec: CommonSpec, tally: Tally, examples: Mapping[str, Mapping[str, int]], formats: Sequence[str]) -> str:
    """Return the text; the folder is read in one of the `formats`, Parquet if it is among them."""
    splits = [split for split, _ in spec.splits if examples[split]]
    format = max(formats)
    head = ["---", "configs:", "- config_name: default", "  data_files:"]
    for split in splits:
        head += [f"  - split: {split}", f'    path: "{split}/*.{format}"']
    head = [*head, "---", ""] if splits else []
    shares = {split: sum(examples[split].values()) for split in splits}
    runs, columns = _about(spec, tally)
    lines = [
        f"# {escaped(spec.name)}",
        "",
        f"{runs.format(f'made by tm2tfr {__version__}')}.",
        "",
        "| split | examples |",
        "|---|---|",
        *(f"| {split} | {number:,} |" for split, number in shares.items()),
        "",
        "| column | contents |",
        "|---|---|",
        *(f"| {name} | {what} |" for name, what in columns.items()),
        "",
        *(_in_prompts(spec) if isinstance(spec, Spec) else ()),
        f"{'' if isinstance(spec, LabelSpec) else _FORMS_DIFFER}`manifest.json` has the spec, seeds, counts and digests.",
        f"`datasets.load_dataset` reads the {format} files of this folder.",
        "",
    ]
    return "\n".join([*head, *lines])


_FORMS_DIFFER = (
    "The forms differ in the supervision: the answer alone; the intermediate steps and the answer, "
    "of which only the answer is scored; both, where all tokens are scored. "
)


def _in_prompts(spec: Spec) -> Sequence[str]:
    """Return a paragraph about the prompts and the splits, if machines stand in prompts."""
    if (made := spec.universal) is None:
        return ()
    tape = "its first token names the tape" if made.tape == "both" else f"all tapes are {made.tape}"
    order = "in the machine's own order" if spec.order is None else "in a random order, a new one for each run"
    text = (
        f"Each machine is given in the prompt of one decoder for machines with at most {counted(made.states, 'state')} and "
        f"{counted(made.symbols, 'symbol')}: {tape}, then come the rules, two tokens each, {order}; then the "
        "input and BOS. All examples have one vocabulary, `vocabulary.json`. What is to be learned is to follow rules that "
        "are given, not those of one machine: no machine is in two splits, in whatever order its rules are and whatever "
        "its states are called."
    )
    return (text, "")


def _about(spec: CommonSpec, tally: Tally) -> tuple[str, Mapping[str, str]]:
    """Return what the examples are, with a place for by whom they were made, and their columns."""
    if isinstance(spec, LabelSpec):
        labeller = spec.labeller
        return f"{labeller.about}, {{}}: {tally.runs:,} inputs, {tally.cells:,} labels", labeller.columns
    generated = f"as a transformer decoder generates them, {{}}: {tally.runs:,} runs"
    if spec.noun == "circuit":
        compared = f"{tally.cells:,} bits of gates, each compared with a reference evaluator"
        return f"Runs of Boolean circuits {generated}, {compared}", _CIRCUIT_COLUMNS
    compared = f"{tally.rows:,} positions, each compared with a reference simulator"
    in_prompts = isinstance(spec, Spec) and spec.universal is not None
    return f"Runs of Turing machines {generated}, {compared}", _PROMPTED_COLUMNS if in_prompts else _COLUMNS
