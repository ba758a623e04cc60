"""The specification of a data set of a program that labels words: the program, and its words."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, ClassVar, Generic, TypeVar, Unpack

import numpy as np

from tm2tfr.base.choices import AUTO
from tm2tfr.base.errors import CompileError, DatasetError, counted, visible
from tm2tfr.base.text.words import by_length, token_words
from tm2tfr.lab.datasets.files import Tokens
from tm2tfr.lab.datasets.shard import Done, How, Making, Piece, PieceJob, ShardMaker, ShardSweeper, Tally
from tm2tfr.lab.datasets.spec import DatasetSpec, HowOptions
from tm2tfr.sources.automaton import library as automata
from tm2tfr.sources.automaton.automaton import ACCEPTS, STATE, Automaton
from tm2tfr.sources.automaton.evaluate import run
from tm2tfr.sources.automaton.formats import native
from tm2tfr.sources.automaton.words import word_of as word_of_automaton
from tm2tfr.sources.logic import library as formulas
from tm2tfr.sources.logic.evaluate_many import ManyWords
from tm2tfr.sources.logic.program import LogicProgram
from tm2tfr.sources.logic.truth import shown_value as shown_node_value
from tm2tfr.sources.logic.write import output_names, text_of
from tm2tfr.sources.rasp import library as programs
from tm2tfr.sources.rasp.evaluate_many import ManyInputs
from tm2tfr.sources.rasp.program import Program, Word, shown_atom
from tm2tfr.sources.rasp.sops import SOp
from tm2tfr.sources.rasp.values import numeric
from tm2tfr.sources.rasp.values import shown_value as shown_sop_value
from tm2tfr.sources.rasp.write import written

LABEL_SPLIT_BY = ("run", "input", "length")
ALL_NODES = "all"
"""Stands for the names of all s-ops or nodes."""


@dataclass(frozen=True, kw_only=True)
class LabelSpec(DatasetSpec):
    """A data set of a program that labels words; `forms` are the names of the s-ops or nodes whose values are labels.

    Args:
        program: with its alphabet.
        labeller: what is to be known of programs of its kind.

    Raises:
        InputError: by `pieces`, if a listed word is not one of the program.
    """

    per_position: ClassVar[bool] = True

    program: Any
    labeller: AnyLabelSource

    @property
    def noun(self) -> str:  # type: ignore[override]
        return next(iter(self.columns))

    def pieces(self) -> list[Piece]:
        space = token_words(self.program.alphabet, partial(self.labeller.word_of, self.program))
        words = self.inputs.of(space, self.judged(self.program))
        return [Piece((self.program,), words)] if words else []

    def how(self, engine: str = AUTO, **options: Unpack[HowOptions]) -> How:
        self.refuse_prompts(options)
        if engine != AUTO:
            what = f"{self.name}: labels of {self.labeller.kind} are the {self.labeller.reference}'s"
            raise DatasetError(f"{what}: omit --engine")
        return How(self.labeller.reference)

    @property
    def maker(self) -> ShardMaker:
        return partial(made_labels, self.labeller)

    @property
    def sweeper(self) -> ShardSweeper:
        kind, reference = self.labeller.kind, self.labeller.reference
        what = f"{visible(self.name)} is about {kind}, and a sweep compares runs of machines or circuits"
        raise CompileError(f"{what}: use tm2tfr check, which compares its weights with the {reference}")

    @property
    def columns(self) -> Mapping[str, str]:
        return self.labeller.columns

    def listed(self) -> Iterator[Mapping[str, object]]:
        """Yield the program's name, what is to be told of it, what has labels, what is compiled."""
        program, key = self.program, self.labeller.key
        told = {self.noun: program.name, **self.labeller.listed(program), key: list(self.forms)}
        yield {**told, "chosen": program.chosen}

    def about(self, tally: Tally, made: str) -> str:
        return f"{self.labeller.about}, {made}: {tally.runs:,} inputs, {tally.cells:,} labels"

    @property
    def notes(self) -> str:
        return ""

    def summed(self, tally: Tally) -> str:
        by = f"by the {self.labeller.reference}"
        return f"{counted(tally.runs, 'input')}, {counted(tally.cells, 'label')} {by}"

    def result(self, tally: Tally) -> str:
        return self.summed(tally)

    def left_out(self, number: int) -> str:
        return f"{counted(number, 'input')} on which the program is undefined"


# ── What a data set has to know of one kind of program that labels words: RASP programs, or formulas.
Values = dict[str, tuple[str, ...]]
"""The name of an s-op or node -> its value at each position of a word, written as in the labels of weights."""

_Program = TypeVar("_Program")
_Token = TypeVar("_Token")


@dataclass(frozen=True)
class LabelSource(Generic[_Program, _Token]):
    """One kind.

    Args:
        kind: what one of its programs is, for complaints: ``a RASP program``.
        key: of the spec, what names the things with labels, ``s-ops``.
        reference: the evaluator, for messages.
        word_of: (program, word as people write it) -> its tokens. Raises InputError.
        example: the name of a shipped program, for complaints.
        load: (path, or the name of a shipped program) -> the program, as ``program``.
        shipped: the names of the shipped programs.
        endings: those of their files.
        shown: a token, as text.
        names: program -> what may have labels, the one that has them by default last.
        labelled: (program, names, words) -> the labels on each word; None where the program is undefined.
        fingerprint: program -> a digest of what it does, whatever its names are.
        listed: program -> what is told of it beside its name, as plain data.
        columns: the columns of the examples, and what they contain.
        about: what the examples are.
    """

    kind: str
    key: str
    reference: str
    word_of: Callable[[_Program, str], tuple[_Token, ...]]
    example: str
    load: Callable[[str], Any]
    shipped: Callable[[], tuple[str, ...]]
    endings: tuple[str, ...]
    shown: Callable[[_Token], str]
    names: Callable[[_Program], tuple[str, ...]]
    labelled: Callable[[_Program, Sequence[str], Sequence[tuple[_Token, ...]]], Sequence[Values | None]]
    fingerprint: Callable[[_Program], str]
    listed: Callable[[_Program], Mapping[str, object]]
    columns: Mapping[str, str]
    about: str


AnyLabelSource = LabelSource[Any, Any]


# ── Carrying out a job of what labels words: the reference's values on many words, as examples.
def made_labels(labeller: AnyLabelSource, job: PieceJob, making: Making[How]) -> Done:
    """Evaluate the words of a job, leave out and count those on which the program is undefined, and make its files."""
    done, tokens = Done(job.number), Tokens()
    found: dict[str, list[tuple[object, ...]]] = {name: [] for name, _ in making.splitting.splits}
    for program, texts in ((program, piece.words) for piece in job.work for program in piece.programs):
        key, words = labeller.fingerprint(program), [labeller.word_of(program, text) for text in texts]
        for text, word, labels in zip(texts, words, labeller.labelled(program, making.forms, words), strict=True):
            if labels is None:
                done.left_out += 1
                continue
            done.tally.runs += 1
            done.tally.rows += len(word)
            done.tally.cells += len(word) * len(labels)
            prompt, ones = tokens.of(list(map(labeller.shown, word))), np.ones(len(word), dtype=np.int32)
            found[making.splitting.of(key, text, length=len(word))] += [
                (program.name, text, name, prompt, tokens.of(values), ones) for name, values in labels.items()
            ]
    making.write(done, making.by_split(found), tokens)
    return done


# ── Labels of RASP programs: the interpreter's values of some s-ops on many inputs.
def values_of_sops(program: Program, names: Sequence[str], words: Sequence[Word]) -> list[Values | None]:
    """Return the labels of some s-ops on each input; None where one of them is undefined."""
    sops = {name: program.choosing(name).sop for name in names}
    many = ManyInputs(sops.values(), program.alphabet)
    numbers = numeric(node for node in many.nodes if isinstance(node, SOp))
    found: list[Values | None] = [None] * len(words)
    for batch in by_length(words):
        values = many([words[i] for i in batch])
        texts = {name: [shown_sop_value(atom, numbers[sop]) for atom in values.atoms[sop]] for name, sop in sops.items()}
        for row, i in enumerate(batch):
            if values.defined[row]:
                places = {name: values.places[sop][row].tolist() for name, sop in sops.items()}
                found[i] = {name: tuple(texts[name][p] for p in each) for name, each in places.items()}
    return found


def _sops(program: Program) -> tuple[str, ...]:
    """Return the names of the s-ops, the chosen one last."""
    return (*(name for name in program.sops if name != program.chosen), program.chosen)


def _sop_fingerprint(program: Program) -> str:
    """Return a digest of the equations of a program's s-op, regardless of names."""
    return hashlib.sha256(written({"answer": program.sop}).encode()).hexdigest()


def _listed_program(program: Program) -> dict[str, object]:
    return {"text": program.text, "alphabet": list(map(shown_atom, program.alphabet))}


OF_RASP = LabelSource(
    kind="a RASP program",
    key="s-ops",
    reference="interpreter",
    word_of=programs.word_of,
    example="sort",
    load=programs.load,
    shipped=programs.shipped,
    endings=(programs.ENDING,),
    shown=shown_atom,
    names=_sops,
    labelled=values_of_sops,
    fingerprint=_sop_fingerprint,
    listed=_listed_program,
    columns={
        "program": "the program's name; `programs.jsonl` has its text, its alphabet and its s-ops",
        "input": "the input, as `--input` takes it",
        "s-op": "the s-op whose values are the labels",
        "prompt": "the given tokens: the input",
        "target": "the labels: the value of the s-op at each position; T and F are truth values, 1/3 is a third",
        "loss_mask": "1 for each label, since all are scored",
    },
    about="Inputs of a RASP program with the values of its s-ops by the interpreter",
)


# ── Labels of formulas and programs of temporal logic: the evaluator's values of some nodes at every position of words.
def values_of_nodes(program: LogicProgram, names: Sequence[str], words: Sequence[Sequence[str]]) -> list[Values | None]:
    """Return the labels of some nodes on each word, by the names of outputs."""
    known = {name: node for node, name in output_names(program).items()}
    nodes = {name: known[name] for name in names}
    many = ManyWords(nodes.values(), program.alphabet)
    found: list[Values | None] = [None] * len(words)
    for batch in by_length(words):
        rows = many([words[i] for i in batch])
        for row, i in enumerate(batch):
            found[i] = {
                name: tuple(str(shown_node_value(value, node.kind)) for value in rows.values(node, row))
                for name, node in nodes.items()
            }
    return found


def _nodes(program: LogicProgram) -> tuple[str, ...]:
    """Return the names of all nodes; the chosen node is the last."""
    chosen, *others = output_names(program).values()
    return (*others, chosen)


def _node_fingerprint(program: LogicProgram) -> str:
    """Return a digest of the chosen node, regardless of names."""
    return hashlib.sha256(text_of(program.root, named=False).encode()).hexdigest()


def _listed_formula(program: LogicProgram) -> dict[str, object]:
    return {"text": program.text, "language": program.language, "alphabet": list(program.alphabet)}


OF_LOGIC = LabelSource(
    kind="a formula",
    key="nodes",
    reference="evaluator",
    word_of=formulas.word_of,
    example="flip-flops",
    load=formulas.load,
    shipped=formulas.shipped,
    endings=formulas.ENDINGS,
    shown=str,
    names=_nodes,
    labelled=values_of_nodes,
    fingerprint=_node_fingerprint,
    listed=_listed_formula,
    columns={
        "formula": "the name of the formula or program; `formulas.jsonl` has its text, its alphabet and its nodes",
        "input": "the word, as `--input` takes it",
        "node": "the subformula or step whose values are the labels",
        "prompt": "the given tokens: the word",
        "target": "the labels: the value of the node at each position; T and F are truth values",
        "loss_mask": "1 for each label, since all are scored",
    },
    about="Words with the truth values of a formula, or the values of a program's steps, at each position by the evaluator",
)


# ── Labels of finite automata: the state after each token, and whether the word up to it is accepted.
def values_of_states(automaton: Automaton, names: Sequence[str], words: Sequence[Sequence[str]]) -> list[Values | None]:
    """Return the state after each token of each word, and the verdict, as far as they are among `names`."""
    good, found = set(automaton.accepting), list[Values | None]()
    for word in words:
        states = run(automaton, word)[1:]
        verdicts = tuple("T" if state in good else "F" for state in states)
        values = {STATE: tuple(automaton.labels[state] for state in states), ACCEPTS: verdicts}
        found.append({name: values[name] for name in names})
    return found


def _automaton_fingerprint(automaton: Automaton) -> str:
    """Return a digest of the transitions, regardless of the names of states."""
    accepting = [state in automaton.accepting for state in automaton.reachable]
    return hashlib.sha256(repr((automaton.alphabet, automaton.table, accepting)).encode()).hexdigest()


def _listed_automaton(automaton: Automaton) -> dict[str, object]:
    return {"text": native.write(automaton), "alphabet": list(automaton.alphabet)}


OF_AUTOMATA = LabelSource(
    kind="an automaton",
    key="outputs",
    reference="automaton",
    word_of=word_of_automaton,
    example="alternating",
    load=automata.load,
    shipped=automata.shipped,
    endings=(".jff",),
    shown=str,
    names=lambda automaton: (STATE, ACCEPTS),
    labelled=values_of_states,
    fingerprint=_automaton_fingerprint,
    listed=_listed_automaton,
    columns={
        "automaton": "the automaton's name; `automata.jsonl` has its transitions, its alphabet and its outputs",
        "input": "the word, as `--input` takes it",
        "output": "what the labels are: `state`, or `accepts`",
        "prompt": "the given tokens: the word",
        "target": "the labels: the state after each token, or whether the word up to it is accepted, T or F",
        "loss_mask": "1 for each label, since all are scored",
    },
    about="Words with the states of an automaton, and whether it accepts them, at each position by its own run",
)
