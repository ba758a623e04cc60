"""RASP programs to weights: their outputs, the masks of heads, and the statements of the weights."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import cycle, islice

from tm2tfr.base.choices import RASP, RaspMask
from tm2tfr.base.errors import CompileError, Diagnostic, Tm2tfrError
from tm2tfr.base.text.source import Log, SourceText
from tm2tfr.base.text.words import all_words, alphabet_of, shown_word, written
from tm2tfr.base.waiting import advanced
from tm2tfr.contract.options import MOST_LENGTH, RaspOptions
from tm2tfr.sources.rasp.compiler.lower import lowered
from tm2tfr.sources.rasp.evaluate import Undefined, evaluate
from tm2tfr.sources.rasp.naming import RaspNames
from tm2tfr.sources.rasp.program import Program, Word, headers, shown_atom
from tm2tfr.sources.rasp.read import read
from tm2tfr.sources.rasp.sops import Aggregate, Atom, Node, Selector, SOp, needed
from tm2tfr.sources.rasp.write import write
from tm2tfr.sources.sequence.compiler import Limits, compile_graph, compile_unbounded
from tm2tfr.sources.sequence.domains import Domains
from tm2tfr.sources.sequence.graph import SequenceGraph
from tm2tfr.transformer import provenance
from tm2tfr.transformer.weights import Decoder

# ── Whether a program looks ahead: an input on which one of its selections does, if there is one among the short ones.
BUDGET = 4_000
"""The most inputs that are run."""


@dataclass(frozen=True)
class Ahead:
    """A selection that looks ahead: on `word`, at position `query`, the selector selects the later position `key`."""

    selector: Selector
    word: Word
    query: int
    key: int


def looks_ahead(sops: Iterable[SOp], alphabet: Sequence[Atom], longest: int) -> tuple[Ahead | None, int]:
    """Return a selection of these s-ops that looks ahead, None if there is none, and up to which length that was tried.

    All inputs of each length are run as long as no more than `BUDGET` are; those on which the s-ops are undefined say
    nothing.
    """
    wanted = tuple(sops)
    selectors = list(dict.fromkeys(node.selector for node in needed(wanted) if isinstance(node, Aggregate)))
    selectors.sort(key=lambda each: each.span is None)  # one that the program's own text makes, if there is one
    left, length = BUDGET, 0
    for length in range(1, longest + 1):
        left -= len(alphabet) ** length
        if left < 0:
            return None, length - 1
        for word in all_words(alphabet, length):
            try:
                matrices = evaluate(wanted, word).matrices
            except Undefined:
                continue
            for selector in selectors:
                for query, row in enumerate(matrices[selector]):
                    if True in row[query + 1 :]:
                        return Ahead(selector, word, query, row.index(True, query + 1)), length
    return None, length


# ── Which s-ops of a RASP program weights answer: the one that is compiled, then other named ones.
NamedSOp = tuple[str, SOp]
"""An output: its name, and the s-op."""
TRIED, TRIED_LENGTH = 200, 3
"""The number of inputs, and their greatest length, to try for an s-op that is undefined where the chosen one is not."""
SHORT = 3
"""Up to which length the values of nodes are known soon: a selection that looks ahead does so on these inputs as a rule."""
FEW_LENGTH = 16
"""Up to which length a few inputs are tried."""


def outputs_of(program: Program) -> list[NamedSOp]:
    """Return the s-op that is compiled, then others that the program assigns at top level, each once.

    Beside the s-op assigned last these are all others; beside another one, those that it needs.
    """
    found, needs = {program.sop.number: (program.chosen, program.sop)}, {node.number for node in needed([program.sop])}
    whole = program.chosen == next(reversed([*program.sops]), None)
    for name, sop in program.sops.items():
        if whole or sop.number in needs:
            found.setdefault(sop.number, (name, sop))
    return list(found.values())


def less_defined(program: Program, others: Sequence[NamedSOp], longest: int) -> set[str]:
    """Return the names of s-ops that are undefined on some input on which the chosen s-op is defined: short inputs are
    tried, and a few of each length up to `longest`.
    """
    found: set[str] = set()
    every = [program.sop, *(sop for _, sop in others)]
    for word in _tried(program.alphabet, longest):
        if not _defined(every, word) and _defined([program.sop], word):
            found.update(name for name, sop in others if name not in found and not _defined([sop], word))
    return found


def _tried(alphabet: Word, longest: int) -> Iterator[Word]:
    for length in range(1, min(TRIED_LENGTH, longest) + 1):
        yield from islice(all_words(alphabet, length), TRIED)
    for length in range(TRIED_LENGTH + 1, min(FEW_LENGTH, longest) + 1):
        for letters in (alphabet[:1], alphabet[-1:], alphabet, alphabet[::-1]):
            yield tuple(islice(cycle(letters), length))


def _defined(sops: Sequence[SOp], word: Word) -> bool:
    try:
        evaluate(tuple(sops), word)
    except Undefined:
        return False
    return True


LENGTH = 10
"""The longest input, where neither the program nor an option says it."""


def limits_of(options: RaspOptions) -> Limits:
    """Return how large the model may get."""
    given = {"values": options.max_values, "units": options.max_units}
    return Limits(**{name: limit for name, limit in given.items() if limit is not None})


def prepared(program: Program, options: RaspOptions) -> Program:
    """Return the program with the requested s-op and alphabet.

    Raises:
        CompileError: if it has no such s-op.
    """
    if options.sop is not None:
        program = program.choosing(options.sop)
    return program if options.alphabet is None else replace(program, alphabet=alphabet_of(options.alphabet, shown_atom))


def compile_program(program: Program, options: RaspOptions) -> Decoder:
    """Return the weights of a program; see `tm2tfr.sources.sequence.compiler.compile_graph`.

    Its outputs are the s-op that is compiled and other named ones, see `outputs_of`, but for those that are undefined on an
    input on which that one is not, and those that cannot be compiled; the weights say which, and why.

    Raises:
        CompileError: where it cannot be compiled exactly, with the place and the reason; if it looks ahead and is asked
            not to; if its alphabet is not known.
    """
    program, text = stored(prepared(program, options))
    attempt = _Attempt(program, text, options)
    first, *others = outputs_of(program)
    notes = []
    if program.alphabet:
        vague = less_defined(program, others, attempt.longest)
        others = [each for each in others if each[0] not in vague]
        notes += [f"{name} is not an output: it is undefined on an input on which {first[0]} is defined" for name in vague]
    try:
        return attempt([first, *others], notes)
    except CompileError:
        if not others:
            raise
    kept = [first]
    decoder = attempt(kept, notes)  # raises if it cannot be compiled
    for each in others:
        try:
            decoder = attempt([*kept, each], notes)
            kept.append(each)
        except CompileError as error:
            why = str(error).splitlines()[0]
            notes.append(f"{each[0]} is not an output: {why.removeprefix(f'{program.name}.rasp:')}")
    return replace(decoder, provenance=provenance.noted(decoder.provenance, notes))


def _looks_ahead(domains: Domains) -> bool:
    return any(facts.ahead is not None for facts in domains.facts.values())


class _Attempt:
    """Compiles some outputs of a program."""

    def __init__(self, program: Program, text: str, options: RaspOptions) -> None:
        self._program, self._text, self._options = program, text, options
        self._file, self._names = f"{program.name}.rasp", RaspNames(program)
        said = headers(Log(SourceText(program.text, f"{program.name}.rasp")))
        self._length = options.max_length or said.length or LENGTH
        self.longest = MOST_LENGTH if options.unbounded else self._length
        self._asked = options.mask or said.mask or None

    def __call__(self, outputs: Sequence[NamedSOp], notes: Sequence[str]) -> Decoder:
        """Return the weights with these outputs.

        Raises:
            CompileError: see `compile_program`.
        """
        try:
            return self._compiled(outputs, notes)
        except RecursionError:
            what = f"{self._file}: selectors are combined to more levels than can be compiled"
            raise CompileError(f"{what}: combine fewer of them") from None

    def _compiled(self, outputs: Sequence[NamedSOp], notes: Sequence[str]) -> Decoder:
        program, limits = self._program, limits_of(self._options)
        graph = lowered(program, outputs, file=self._file, names=self._names)
        if self._options.unbounded:
            stated = {"sop": program.chosen, "alphabet": written(program.alphabet), "unbounded": "True", "mask": "none"}
            said = provenance.stated(RASP, source=self._text, name=program.name, options=stated)
            return compile_unbounded(graph, provenance.noted(said, notes))
        mask, cautions, domains = self._mask(graph, outputs)
        stated = {"sop": program.chosen, "alphabet": written(program.alphabet)}
        stated |= {"max_length": str(self._length), "mask": mask}
        stated |= {"max_values": str(limits.values), "max_units": str(limits.units)}
        said = provenance.stated(RASP, source=self._text, name=program.name, options=stated)
        said = provenance.noted(said, [*cautions, *notes])
        return compile_graph(graph, length=self._length, mask=mask, limits=limits, provenance=said, domains=domains)

    def _mask(self, graph: SequenceGraph, outputs: Sequence[NamedSOp]) -> tuple[RaspMask, list[str], Domains | None]:
        """Return the mask of every head, with notes on what is not proved, and the values of nodes if known."""
        if self._asked == "none":
            return "none", [], None
        may, domains = self._may_look_ahead(graph)
        if self._asked is None:
            return "none" if may else "future", [], domains
        if not may:
            return "future", [], None
        found, upto = looks_ahead([sop for _, sop in outputs], self._program.alphabet, min(self._length, 8))
        if found is not None:
            raise self._refusal(found)
        what = f"it selects no later position on any input of up to {upto} tokens, which is not proved beyond"
        return "future", [f"the mask is 'future', as was asked for: {what}"], None

    def _may_look_ahead(self, graph: SequenceGraph) -> tuple[bool, Domains | None]:
        """Return whether a selection may look ahead, as far as the sets of values tell, and these sets on all inputs.

        Short inputs are tried first: if one looks ahead on these, the sets on all inputs are not known.
        """
        wanted, most = [node for _, node in graph.outputs], limits_of(self._options).values
        if self._length > SHORT:
            advanced(0, 0, "preparing")
            short = Domains(graph, SHORT, wanted=wanted, most=most, early=False, progress=None)
            if _looks_ahead(short):
                return True, None
        # Where nothing looks ahead, the sets are those under the mask, unless requested in spite of them.
        domains = Domains(graph, self._length, wanted=wanted, most=most, early=self._asked is None)
        return _looks_ahead(domains), domains

    def _refusal(self, found: Ahead) -> CompileError:
        selector = found.selector
        name = f"the selector {self._names[selector]!r}{'' if selector.span else ' of the library'}"
        where = f"position {found.query} selects position {found.key}"
        what = f"{name} looks ahead: on the input {shown_word(found.word)}, {where}"
        remedy = "omit --mask future, or select only keys up to the query with 'and select(indices, indices, <=)'"
        return CompileError(str(Diagnostic(what=what, remedy=remedy, file=self._file, span=selector.span)))


# ── the text that is stored ─────────────────────────────────────────────────────────────────────────────────


def stored(program: Program) -> tuple[Program, str]:
    """Return a program with a text that reads back to the same s-ops, with the same numbers.

    That is its own text; without one, or where it needs other files, it is one written from its s-ops, and the program is
    what that reads as.

    Raises:
        CompileError: if a value cannot be written.
    """
    if program.text and _reads_back(program):
        return program, program.text
    text = write(program)
    again = read(text, file=f"{program.name}.rasp", name=program.name).program
    return replace(again, alphabet=program.alphabet, examples=program.examples), text


def _reads_back(program: Program) -> bool:
    try:
        again = read(program.text, file=f"{program.name}.rasp").program
    except Tm2tfrError:
        return False
    same = program.sops.keys() == again.sops.keys()
    return same and _numbered([*program.sops.values(), program.sop]) == _numbered(
        [*again.sops.values(), again.choosing(program.chosen).sop]
    )


_ABOUT = ("span", "name", "statement", "made_in", "called", "returned")
"""The fields of a node that do not determine what it computes."""


def _numbered(sops: Sequence[SOp]) -> list[tuple[str, dict[str, object]]]:
    """Return what nodes are, with their numbers."""
    return [
        (
            type(node).__name__,
            {name: _plain(value) for name, value in vars(node).items() if name not in _ABOUT},
        )
        for node in needed(sops)
    ]


def _plain(value: object) -> object:
    if isinstance(value, tuple):
        return [_plain(each) for each in value]
    return value.number if isinstance(value, Node) else (type(value), value)
