"""Is an export the machine? Its runs before it gets its name, its weights and its run compared later; its model card."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Generic, TypeVar

import numpy as np

from tm2tfr.base.errors import ExportError, Tm2tfrError, counted, first_line, visible
from tm2tfr.base.text.shown import code, quoted
from tm2tfr.contract.exported import ExportReference
from tm2tfr.contract.shown import PlainData
from tm2tfr.engines.decode import Observation, observe_all
from tm2tfr.engines.dense import Dense
from tm2tfr.sources.turing.spec import TAPES
from tm2tfr.targets.common.comparison import ComparedRun, Model, compared, told, tried, words
from tm2tfr.targets.common.directory import Array, shown, written
from tm2tfr.targets.common.reference import as_word, frame_of, letters_of
from tm2tfr.transformer.claims import Output
from tm2tfr.transformer.provenance import is_hidden
from tm2tfr.transformer.weights import Decoder

# ── The parts that the model cards of all exports share, and the names of everything.
SHOWN = 24
"""The most tokens or labels that a model card names."""


TRIED_LABELS = """\
Unless it is given `--no-verify`, `tm2tfr export` runs a model before it is written, on all inputs up to some length and on
random ones of any, and compares every label, and every value of the residual stream after every layer."""
"""How a sequence model is tried whose stream is compared as well."""


def heading(right: ExportReference, title: str, front: Mapping[str, str] | None = None, *tags: str) -> str:
    """Return the front matter of a model card, with further `tags`, and its title."""
    known = {**(front or {}), "tags": f"[{', '.join(filter(None, (right.tag, 'tm2tfr', *tags)))}]"}
    lines = "\n".join(f"{name}: {value}" for name, value in known.items())
    return f"---\n{lines}\n---\n# {title}\n"


def table(rows: Mapping[str, object]) -> str:
    """Return the numbers of a model as a Markdown table."""
    return "\n".join(["| | |", "|---|---|", *(f"| {name} | {value} |" for name, value in rows.items()), ""])


def layers_named(decoder: Decoder, first: int, about: Callable[[int, int], PlainData]) -> list[PlainData]:
    """Return the names of layers, heads and hidden units as plain data.

    Args:
        first: the number of the first layer.
        about: from the indices of a layer and of a head, both from 0, to the remark beside that head's name.
    """
    return [
        {
            "layer": first + n,
            "name": layer.name,
            "meaning": layer.meaning,
            "source": layer.source,
            "heads": [
                {"head": k, "name": head.name, "source": head.source, **about(n, k)} for k, head in enumerate(layer.heads)
            ],
            "units": list(layer.feed_forward.units) if layer.feed_forward is not None else [],
        }
        for n, layer in enumerate(decoder.layers)
    ]


def introduction(right: ExportReference, given: str, tokenizer: str = "") -> str:
    """Return the paragraphs about the model; see `ExportReference.introduction`."""
    if right.decoder.labeller:
        return f"{right.origin()}\n\n{given_and_labelled(right.decoder)}"
    return right.introduction(given, tokenizer)


def given_and_labelled(decoder: Decoder, outputs: Sequence[Output] | None = None) -> str:
    """Return the paragraph about a sequence model's inputs and outputs; `outputs`: some of them, by default all."""
    most = "" if decoder.positions is None else f"at most {counted(decoder.positions, 'token')}, "
    told = [
        f"- {code(output.name)}: {_labels(output.labels)}" for output in (decoder.outputs if outputs is None else outputs)
    ]
    if frame := frame_of(decoder):
        tokens = code(" ".join(frame.around(("w₁", "…", "wₙ"))))
        given = f"a word w₁ … wₙ of letters {_some(letters_of(decoder))}\nas the tokens {tokens}"
        given = f"{given}, it answers at every position, all at once; w₁ is at position 1"
    else:
        given = f"a sequence of {most}each one of\n{_some(decoder.vocabulary)}, it answers at every position, all at once"
    return f"""**Input and output.** Given {given}:

""" + "\n".join(told)


def _labels(labels: Sequence[str] | None) -> str:
    return "a number" if labels is None else f"one of {_some(labels)}"


def _some(words: Sequence[str]) -> str:
    """Return words as Markdown, the first ones if they are many."""
    rest = f" and {len(words) - SHOWN:,} more (see `tm2tfr.json`)" if len(words) > SHOWN else ""
    return ", ".join(map(code, words[:SHOWN])) + rest


def checking(right: ExportReference) -> str:
    """Return the paragraph that says how to check the model."""
    return right.checking(code(f"tm2tfr verify-export . --input {quoted(right.example)}"))


def prompt(right: ExportReference) -> str:
    """Return the example as a sequence model is fed it, see `tm2tfr.targets.common.reference.frame_of`."""
    return as_word(tuple(right.fed(right.example))) if frame_of(right.decoder) else right.example


def argument(word: str) -> str:
    """Return `word` as the last argument of a command in a shell."""
    return f"-- {quoted(word)}" if word.startswith("-") else quoted(word)


def typed(word: str, vocabulary: Collection[str]) -> str:
    """Return `word` for a tokenizer that prefers longest tokens: with spaces if its symbols spell another token.

    A prompt with a machine in it has them already.
    """
    if (word in TAPES and word in vocabulary) or (" " in word and " " not in vocabulary):
        return word
    spelled = any(len(token) > 1 and token in word for token in vocabulary)
    return " ".join(word) if spelled and " " not in vocabulary else word


M = TypeVar("M", bound=Model)
_SHOWN = 3
_COMPARED = 512
"""The cause is looked for up to the first wrong token or, without one, up to this position."""
ROUNDED = 2.0**-20
"""By how much a large value may be off, relative to its size: some roundings in float32."""


@dataclass(frozen=True)
class Verdict:
    """The result of comparing an export with its machine.

    Args:
        weights: the differences between its files, settings or weights and the machine's, most telling first.
        run: its run beside the simulator's; None if it could not be run: then `unrun` says why.
        cause: where in the residual stream the run first goes wrong; empty if nowhere.
        tensors: the number of tensors compared; versions: what ran it.
        note: what it was compared with, if not with a machine.
    """

    machine: str
    weights: tuple[str, ...]
    run: ComparedRun | None
    cause: str
    tensors: int
    versions: str
    unrun: str = ""
    note: str = ""

    @property
    def same(self) -> bool:
        """Whether the export is the machine, in its weights and on the word it was run on."""
        return not self.weights and self.run is not None and self.run.divergence is None

    def __str__(self) -> str:
        """Return the verdict in a few lines."""
        differ = counted(len(self.weights), "difference")
        lines = [f"weights: {differ if self.weights else f'all {self.tensors} tensors are those of {self.machine}'}"]
        lines += [f"  {line}" for line in self.weights[:_SHOWN]]
        if self.run is None:
            lines.append(f"run: none, {self.unrun}")
        elif self.run.divergence is None:
            run, rest = self.run, "; the run continues beyond the last position" if self.run.cut else ""
            positions = counted(len(run.tokens), "position")
            lines.append(f"run: {run.given}, {positions}, {run.how}: {run.whose} {run.answered}{rest}")
        else:
            lines.append(f"run: {self.run.given}: {self.run.divergence}")
        lines += [f"  {self.cause}"] if self.cause else []
        verdict = f"yes: this export is {self.machine}" if self.same else f"NO: this export is not {self.machine}"
        lines += [f"ran in {self.versions}"] if self.run is not None else []
        lines += [self.note] if self.note else []
        return "\n".join(map(visible, [*lines, verdict]))  # its names may come from a file that somebody has edited


@dataclass(frozen=True)
class Trial:
    """The outcome of loading an export and running it.

    Args:
        unlike: what was not loaded as it is stored in the files; the rest: see `Verdict`.
    """

    unlike: tuple[str, ...]
    run: ComparedRun
    cause: str
    versions: str


def judged(
    machine: str,
    beside: Sequence[str],
    found: Mapping[str, Array],
    right: Mapping[str, Array],
    described: Callable[[str, Sequence[int]], str],
    tried: Callable[[], Trial],
) -> Verdict:
    """Return the verdict on an export. It is only run if only its weights may be wrong.

    Whatever decides how it is loaded and run must be right first: otherwise a run would only show what the
    settings do with this word, and they may ask for anything: more memory than there is, or code.

    Args:
        beside: what differs beside its tensors; found, right, described: see `differing`.
        tried: loads and runs the export.

    Raises:
        ExportError: if nothing differs and it cannot be run.
    """
    weights = [*beside, *differing(found, right, described)]
    unrun, same = "", found.keys() == right.keys()
    if beside:
        unrun = "since an export is only run if its files and settings are right"
    elif not same or any((found[n].shape, found[n].dtype) != (right[n].shape, right[n].dtype) for n in right):
        unrun = "since its tensors have other names, shapes or dtypes"
    else:
        try:
            trial = tried()
            return Verdict(machine, (*weights, *trial.unlike), trial.run, trial.cause, len(right), trial.versions)
        except ExportError as error:
            if not weights:
                raise
            unrun = f"since it cannot be run: {error}"
        except Tm2tfrError:
            raise
        except Exception as error:  # a foreign program, on weights that may hold anything
            if not weights:
                raise ExportError(f"this export cannot be run ({first_line(error)}): export it again") from error
            unrun = f"since it cannot be run: {first_line(error)}"
    return Verdict(machine, tuple(weights), None, "", len(right), "", unrun)


def refused(machine: str, file: str, recipe: ExportError) -> Verdict:
    """Return the verdict on an export whose recipe, in `file`, does not fit the machine; `recipe`: why."""
    return Verdict(machine, (f"{file}: its recipe: {recipe}",), None, "", 0, "", "since no export has this recipe")


def unloaded(loaded: Mapping[str, Array], stored: Mapping[str, Array], file: str) -> Iterator[str]:
    """Yield each tensor that a program has not loaded as it is stored in `file`."""
    for name in sorted({*loaded, *stored}):
        have, want = loaded.get(name), stored.get(name)
        if have is None or want is None:
            yield f"{shown(name)}: {'not loaded' if have is None else f'loaded, but not in {file}'}"
        elif have.dtype != want.dtype or not np.array_equal(have, want, equal_nan=True):
            yield f"{shown(name)}: was not loaded as it is stored in {file}"


def differing(
    found: Mapping[str, Array], right: Mapping[str, Array], described: Callable[[str, Sequence[int]], str]
) -> Iterator[str]:
    """Yield each weight that differs, tensor by tensor; of many in one tensor the first, and their number.

    Args:
        described: returns the effect of an entry of a tensor, as text.
    """
    for name in sorted({*right, *found}):
        have, want = found.get(name), right.get(name)
        if have is None or want is None:
            yield f"{shown(name)}: {'missing' if have is None else 'does not belong to the machine'}"
        elif have.shape != want.shape:
            yield f"{name}: has shape {have.shape}, should have {want.shape}"
        elif have.dtype != want.dtype:  # float32 may hold the same weights, but computes less exactly
            yield f"{name}: its numbers are {have.dtype}, should be {want.dtype}"
        else:
            places = np.argwhere(have != want)
            if len(places):
                at = tuple(int(n) for n in places[0])
                more = f" (and {len(places) - 1:,} more in this tensor)" if len(places) > 1 else ""
                where = f"{name}[{', '.join(map(str, at))}]"
                yield f"{where} is {have[at]:.17g}, should be {want[at]:.17g}: {described(name, at)}{more}"


def cause(model: Model, decoder: Decoder, run: ComparedRun, read: Callable[[Array], Array]) -> str:
    """Return the first direction, by position and then by layer, whose value is not the dense engine's.

    Args:
        read: from a model's stream, (its width,), to the values of the decoder's directions, (width,).
    """
    count = _COMPARED
    if run.divergence is not None and not run.labelled:  # of a sequence nothing is cut off: a head may look ahead
        count = run.divergence.position + 1
    tokens = [decoder.numbers[token] for token in run.tokens[:count]]
    streams, directions = model.streams(tokens), decoder.layout.directions
    for i, seen in enumerate(_observed(decoder, tokens)):
        shared = len(tokens) if run.labelled else i + 1
        shown = seen.streams if decoder.norm is None else seen.streams[:-1]  # a model shows its last one behind the norm
        for n, wanted in enumerate(shown):
            found = read(streams[n, i])
            off = np.flatnonzero(~(abs(found - wanted) <= 0.25 / shared + ROUNDED * abs(wanted)))  # a NaN is off, too
            if len(off):
                at = int(off[0])
                where = f"layer {n} ({decoder.layers[n - 1].name})" if n else "the embedding"
                told = f"{directions[at]} should be {wanted[at]:.9g}, is {found[at]:.9g}"
                return f"the stream first goes wrong at position {i}, after {where}: {told}"
    return ""


def _observed(decoder: Decoder, tokens: Sequence[int]) -> Iterator[Observation]:
    """Yield what the dense engine does at each position, one after the other where that can be."""
    if not decoder.sequential:
        yield from observe_all(decoder, [decoder.vocabulary[token] for token in tokens], engine=Dense())
        return
    session = Dense().start(decoder)
    for token in tokens:
        seen = Observation()
        session.feed(token, seen)
        yield seen


@dataclass(frozen=True, kw_only=True)
class Exported:
    """A finished export, and how it ran: `runs` and `versions` are empty if it was not verified."""

    folder: Path
    runs: tuple[ComparedRun, ...]
    versions: str

    @property
    def facts(self) -> tuple[str, ...]:
        """The size of the model, and its guarantees, as text."""
        raise NotImplementedError

    def __str__(self) -> str:
        """Return it in a few lines."""
        return "\n".join([*self.facts, told(self.runs, self.versions), f"wrote {self.folder}"])


@dataclass
class Rehearsal(Generic[M]):
    """Loads the directory of an export, in its place or not yet, and compares its runs with the right ones.

    Args:
        load: returns the model in a directory, run by the program that it is for.
        vocabulary: its tokens; right: the reference.
        positions: the longest run.
        read: from the model's stream, (its width,), to the values of the decoder's directions; None: they are not compared.
        runs, versions: how it ran before it was written; empty until then.
    """

    load: Callable[[Path], M]
    vocabulary: Sequence[str]
    right: ExportReference
    positions: int
    read: Callable[[Array], Array] | None = None
    runs: tuple[ComparedRun, ...] = field(default=(), init=False)
    versions: str = field(default="", init=False)

    def __call__(self, folder: Path) -> None:
        """Load and run the export in `folder`.

        Raises:
            ExportError: if a run is not right, or the stream.
        """
        model = self.load(folder)
        self.runs, self.versions = tried(model, self.vocabulary, self.right, self.positions), model.versions
        for run in self.runs:
            if self.read is not None and (wrong := cause(model, self.right.decoder, run, self.read)):
                raise ExportError(f"on {run.given} in {model.versions} {wrong}: nothing was written")

    def trial(self, folder: Path, word: str | None, unlike: Callable[[M], Iterable[str]]) -> Trial:
        """Load and run the export in `folder`, and return the outcome.

        Args:
            word: the input; None: the first one that an export is tried on.
            unlike: returns the parts that a fresh model has not loaded as stored.
        """
        model = self.load(folder)
        differences = tuple(unlike(model))  # before the model is used, which changes a tokenizer
        word = words(self.right, self.positions)[0] if word is None else word
        run = compared(model, self.vocabulary, self.right, word, self.positions)
        wrong = ""
        if run.divergence is not None or not is_hidden(self.right.decoder.provenance):
            wrong = cause(model, self.right.decoder, run, self.read or (lambda x: x))
        return Trial(differences, run, wrong, model.versions)

    def written(self, folder: str | Path, files: Mapping[str, str | bytes], *, verify: bool) -> PlainData:
        """Write an export, after a rehearsal if it is to be verified, and return the fields of `Exported`.

        Raises:
            ExportError: if it is not right.
            OutputError: see `tm2tfr.targets.common.directory.written`.
        """
        place = written(folder, files, look=self if verify else None)
        return {"folder": place, "runs": self.runs, "versions": self.versions}
