"""The folder of a data set: refused if it is in use, made, and filled with one finished shard after the other."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from tm2tfr._version import __version__
from tm2tfr.dataset import manifest
from tm2tfr.dataset.jobs import Job
from tm2tfr.dataset.labels.spec import LabelSpec
from tm2tfr.dataset.manifest import JOURNAL, MANIFEST, Record
from tm2tfr.dataset.pool import Pool
from tm2tfr.dataset.runs import versions
from tm2tfr.dataset.shard import Done
from tm2tfr.dataset.spec import CommonSpec, Spec
from tm2tfr.dataset.tally import Tally
from tm2tfr.errors import DatasetError, OutputError, counted
from tm2tfr.files import refusal, write_bytes
from tm2tfr.text.markdown import escaped

CARD = "README.md"
VOCABULARY = "vocabulary.json"

ShardProgress = Callable[[int, int, int], None]
"""Called with the number of finished jobs, of all jobs, and of the trace rows made since the start."""


def results(
    task: Callable[[Job, Any], Done],
    missing: list[Job],
    making: Any,
    crew: Pool,
    progress: ShardProgress | None,
    reused: int,
) -> Iterator[Done]:
    """Yield the results of the missing jobs, reporting progress."""
    rows, own = 0, versions()
    for place, done in enumerate(crew.map(task, missing, making), start=reused + 1):
        refuse_other_versions(done.versions, own)
        rows += done.tally.rows
        yield done
        if progress:
            progress(place, reused + len(missing), rows)


def refuse_other_versions(theirs: dict[str, str], own: dict[str, str]) -> None:
    """Raise DatasetError if a worker's versions differ from this process's, since the bytes could differ."""
    if theirs != own:
        names = [name for name in {**own, **theirs} if theirs.get(name) != own.get(name)]
        shown = ", ".join(f"{name} {theirs.get(name, 'none')}, here {own.get(name, 'none')}" for name in names)
        raise DatasetError(f"a worker has different versions ({shown}): install the same versions there as here")


def kept(folder: Path, done: Done, shards: int) -> Record:
    """Write the files of a shard, and only then record them."""
    names = {(split, format): f"{split}/{done.number:05}-of-{shards:05}.{format}" for split, format in done.files}
    for key, data in done.files.items():
        write_bytes(folder / names[key], data)
    record = manifest.recorded(done, names)
    manifest.noted(folder, record)
    return record


def refuse_used(folder: Path, *, resume: bool) -> None:
    """Raise OutputError if the folder is not empty or is not a folder, or if a link in it leads out of it."""
    with _blamed(folder):
        for path in (*folder.glob("*"), *folder.glob("*/*")) if resume else ():
            if path.is_symlink():
                what = f"{path}: this is a symbolic link, and a data set is written within its own folder"
                raise OutputError(f"{what}: remove it, or choose another folder")
        if not resume and folder.is_dir() and any(folder.iterdir()):
            ours = (folder / JOURNAL).exists() or (folder / MANIFEST).exists()
            remedy = "resume it with --resume, or choose another folder" if ours else "choose another folder"
            raise OutputError(f"{folder}: this folder is not empty: {remedy}")
        if folder.exists() and not folder.is_dir():
            raise OutputError(f"{folder}: this is not a folder: choose another name")


def prepared(folder: Path, splits: Iterable[str]) -> None:
    """Make the folders."""
    with _blamed(folder):
        folder.mkdir(exist_ok=True)
        for split in splits:
            (folder / split).mkdir(exist_ok=True)
        for left in folder.glob("*/.tm2tfr-*.tmp"):  # left by a process that was killed
            with suppress(OSError):
                left.unlink()


@contextmanager
def _blamed(folder: Path) -> Iterator[None]:
    """Turn the system's errors into OutputError, naming the folder."""
    try:
        yield
    except OSError as error:
        raise refusal(folder, error, folder.parent) from error


# ── The README of a data set, for people, with the header by which `datasets.load_dataset` finds the files.
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
