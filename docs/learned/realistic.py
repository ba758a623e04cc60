"""The trained models of ``docs/how-to/realistic-models.md``: their recipes, and what came of them, in ``realistic.json``.

``python docs/learned/realistic.py`` makes all of them anew, one after the other, and prints what differs from the record;
with names only those. ``--write`` records what is made, and keeps weights and key in ``realistic/`` if they reach what the
suite has to; ``--measure`` fits scales and offsets of the kept keys to the kept weights anew, measures, and writes keys and
records, without training; ``--table`` prints the table of the page. Digests are those of one platform, processor and its
versions of torch and numpy, which the record names.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

import tm2tfr
from tm2tfr.api.hidden import _runs
from tm2tfr.api.subject import Subject
from tm2tfr.base.errors import DisguiseError
from tm2tfr.base.files import write_text
from tm2tfr.lab.hidden.key import hidden_digest
from tm2tfr.lab.hidden.keys import load_any_key
from tm2tfr.lab.hidden.suite import FORMAT, INDEX
from tm2tfr.lab.hidden.trained.key import FIGURES, GRADE, TrainedKey
from tm2tfr.lab.hidden.trained.make import TrainedDisguise, with_figures
from tm2tfr.transformer.storage import save
from tm2tfr.transformer.weights import Decoder, matrices

FILE, FOLDER = Path(__file__).with_name("realistic.json"), Path(__file__).with_name("realistic")
Record = Mapping[str, Any]
INTERCHANGE, ANSWERS = 0.98, 0.99
"""What a model of the suite reaches at least: in interchanges, and in those that change an answer, and in answers."""


def records() -> list[Record]:
    """Return the recipes with what came of them."""
    found: list[Record] = json.loads(FILE.read_text(encoding="utf-8"))
    return found


def made(record: Record) -> TrainedDisguise:
    """Make a model from its recipe."""
    subject = tm2tfr.Subject.of(record["source"], options=record["options"])
    return tm2tfr.disguise_by_training(subject, **record["recipe"])


def result(model: TrainedDisguise) -> Record:
    """Return what is recorded of a model."""
    key, decoder = model.key, model.decoder
    errors = [key.quality.decoding[name] for name in sorted(key.settable)]
    return {
        "digest": key.digest,
        "width": decoder.layout.width,
        "layers": len(decoder.layers),
        "heads": decoder.heads,
        "parameters": decoder.parameters,
        "variables": len(key.variables),
        **{name: getattr(key.quality, name).as_list() for name in FIGURES},
        "worst": key.quality.worst[1].as_list(),
        "alone": len(key.quality.alone),
        "error": [max(each.mean for each in errors), max(each.largest for each in errors)],
        "moved": round(key.moved, 3),
        "shape": {"compiled": shape(key.original), "trained": shape(decoder)},
        "made_on": dict(key.made_on),
    }


def keep(name: str, model: TrainedDisguise) -> None:
    """Record a model, and keep its weights and key if it belongs to the suite."""
    found = result(model)
    new = [{**each, "result": found} if each["source"] == name else each for each in records()]
    write_text(FILE, json.dumps(new, ensure_ascii=False, indent=1) + "\n")
    if reaches(found):
        FOLDER.mkdir(exist_ok=True)
        save(model.decoder, FOLDER / f"{name}.safetensors")
        model.key.save(FOLDER / f"{name}.json")
        write_text(FOLDER / INDEX, json.dumps(index(new), indent=1) + "\n")


def measured(record: Record) -> TrainedDisguise:
    """Return a kept model, with a key that is fitted and measured anew."""
    decoder = Subject.of(FOLDER / f"{record['source']}.safetensors").decoder
    key = load_any_key(FOLDER / f"{record['source']}.json")
    if not isinstance(key, TrainedKey) or hidden_digest(decoder) != key.digest:
        raise DisguiseError(f"{record['source']}: these are not the weights of this key: make them anew")
    return TrainedDisguise(decoder, with_figures(decoder, key, _runs(Subject.of(key.original), key.recipe.longest)))


def index(found: Sequence[Record]) -> Record:
    """Return what ``tm2tfr score docs/learned/realistic --baseline blind`` reads: the suite's files."""
    names = [record["source"] for record in found if "result" in record and reaches(record["result"])]
    models = [{"model": f"{name}.safetensors", "key": f"{name}.json", "grade": GRADE} for name in names]
    return {"format": FORMAT, "models": models}


def shape(decoder: Decoder) -> list[float]:
    """Return the kurtosis of the entries of matrices, each divided by the root mean square of its own; the share of 0s."""
    dense = [matrix.dense() for matrix in matrices(decoder).values() if matrix.nonzero and matrix.shape[1] > 1]
    entries = np.concatenate([(each / np.sqrt((each**2).mean())).ravel() for each in dense])
    return [round(float((entries**4).mean()), 1), round(float((entries == 0).mean()), 2)]


def shapes(found: Sequence[Record]) -> str:
    """Return the sentence of the page about the entries of all models."""
    said = []
    for what in ("compiled", "trained"):
        kurtosis, zeros = zip(*(record["result"]["shape"][what] for record in found), strict=True)
        none = "none of them 0" if not any(zeros) else f"{min(zeros):.0%} to {max(zeros):.0%} of them 0"
        said.append(f"{what} ones have a kurtosis of {min(kurtosis):g} to {max(kurtosis):g}, and {none}")
    return "; ".join(said)


def reaches(record: Record) -> bool:
    """Return whether a model belongs to the suite."""
    return share(record["answers"]) >= ANSWERS and all(share(record[name]) >= INTERCHANGE for name in FIGURES[1:3])


def share(pair: Sequence[int]) -> float:
    """Return the share that is right."""
    return pair[0] / pair[1] if pair[1] else 1.0


def told(pair: Sequence[int]) -> str:
    """Return the share that is right, and of how many; a dash of none."""
    return f"{share(pair):.3f} of {pair[1]}" if pair[1] else "–"


def table(found: Sequence[Record]) -> str:
    """Return the table of the page: first the suite, then what does not reach what the suite has to."""
    lines = [
        "| source | kind | width, layers, heads | variables, alone | noise | moved | answers | interchange | no-op "
        "| effective | between | least of a variable | strictness | values |",
        "|" + "---|" * 14,
    ]
    for record in sorted(found, key=lambda each: not reaches(each["result"])):
        made_of = record["result"]
        options = "".join(f" --{name.replace('_', '-')} {value}" for name, value in record["options"].items())
        cells = [
            f"`{record['source']}{options}`",
            record["kind"],
            f"{made_of['width']}, {made_of['layers']}, {made_of['heads']}",
            f"{made_of['variables']}, {made_of['alone']}",
            f"{record['recipe']['noise']:g}",
            f"{made_of['moved']:.2f}",
            f"{share(made_of['answers']):.3f}",
            f"{share(made_of['interchange']):.3f}",
            f"{1 - made_of['effective'][1] / made_of['interchange'][1]:.3f}",
            *(told(made_of[name]) for name in ("effective", "between", "worst")),
            f"{share(made_of['rest']):.3f}",
            " ".join(f"{error:.2f}" for error in made_of["error"]),
        ]
        lines.append(f"| {' | '.join(cells)} |")
    return "\n".join(lines)


def main() -> int:
    """Make models, and say what differs."""
    parser = argparse.ArgumentParser(description="Make the trained models of the documentation anew.")
    parser.add_argument("names", nargs="*", help="sources; by default all")
    parser.add_argument("--write", action="store_true", help="record what is made")
    parser.add_argument("--measure", action="store_true", help="measure what is kept anew, and write keys and records")
    parser.add_argument("--table", action="store_true", help="print the table of what is recorded, and make nothing")
    given = parser.parse_args()
    if given.table:
        print(table([record for record in records() if "result" in record]))
        return 0
    differing = 0
    for record in records():
        name = record["source"]
        if given.names and name not in given.names:
            continue
        if given.measure and not (FOLDER / f"{name}.json").is_file():
            print(f"{name}: not kept")
            continue
        began = time.monotonic()
        model = measured(record) if given.measure else made(record)
        found = result(model)
        before = record.get("result")
        differs = before != found
        differing += differs
        said = "differs from the record" if before and differs else "new" if differs else "as recorded"
        print(f"{name}: {said}, {time.monotonic() - began:.0f} s\n{model.key.quality}", flush=True)
        if given.write or given.measure:
            keep(name, model)
    return 1 if differing and not (given.write or given.measure) else 0


if __name__ == "__main__":
    sys.exit(main())
