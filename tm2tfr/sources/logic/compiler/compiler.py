"""Formulas and programs to weights: what is answered, whether they see the whole word, and what the weights say of it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from tm2tfr.choices import (
    LOGIC,
    LOGIC_ANSWERS,
    LOGIC_COMPARE,
    LOGIC_VARIANTS,
    RASP_MASKS,
    LogicAnswers,
    LogicCompare,
    LogicVariant,
    RaspMask,
)
from tm2tfr.errors import CompileError, Diagnostic, did_you_mean
from tm2tfr.sources.logic.lower import lowered
from tm2tfr.sources.logic.nodes import Node, looks_right
from tm2tfr.sources.logic.outputs import answered_names, output_names
from tm2tfr.sources.logic.program import LogicProgram
from tm2tfr.sources.sequence.compiler.framed import FramedOptions, compile_framed
from tm2tfr.sources.sequence.graph import SequenceGraph
from tm2tfr.text.words import alphabet_of, written
from tm2tfr.transformer import provenance
from tm2tfr.transformer.weights import Decoder


@dataclass(frozen=True, kw_only=True)
class LogicOptions:
    """How a formula or a program is compiled.

    Args:
        define: the name of the definition that is compiled; None: the program's own choice.
        alphabet: its tokens; None: the program's.
        mask: ``future``: a decoder, whose heads see no later position; ``none``: an encoder, which sees the whole word.
            None: a decoder if nothing looks right.
        compare: how numbers are compared, see `tm2tfr.choices.LOGIC_COMPARE`.
        variant: see `tm2tfr.choices.LOGIC_VARIANTS`.
        answers: which nodes are outputs, see `tm2tfr.choices.LOGIC_ANSWERS`.
        steep: whether queries grow with the position, so that softmax needs no temperature; for ⊖ and since alone.

    Raises:
        CompileError: for anything else.
    """

    define: str | None = None
    alphabet: tuple[str, ...] | None = None
    mask: RaspMask | None = None
    compare: LogicCompare = "lookup"
    variant: LogicVariant = "ours"
    answers: LogicAnswers = "all"
    steep: bool = False

    def __post_init__(self) -> None:
        if self.steep and self.variant != "ours":
            raise CompileError("--steep is a change of our heads, not of the paper's: omit --variant, or --steep")
        if self.steep and self.mask == "none":
            raise CompileError("--steep is for decoders: omit --mask none")

    @classmethod
    def of(cls, options: Mapping[str, Any]) -> LogicOptions:
        """Return the options that are given by name, as values or, as in provenance, as text."""
        alphabet = options.get("alphabet")
        return cls(
            define=options.get("define"),
            alphabet=None if alphabet is None else tuple(map(str, alphabet_of(alphabet))),
            mask=_word("mask", options.get("mask"), RASP_MASKS),
            compare=_word("way to compare", options.get("compare"), LOGIC_COMPARE) or "lookup",
            variant=_word("variant of formulas", options.get("variant"), LOGIC_VARIANTS) or "ours",
            answers=_word("way to answer", options.get("answers"), LOGIC_ANSWERS) or "all",
            steep=options.get("steep") not in (None, False, "False"),
        )


def _word(what: str, given: Any, words: tuple[Any, ...]) -> Any:
    if given is not None and given not in words:
        raise CompileError(f"there is no {what} {given!r}{did_you_mean(str(given), words)}: use {' or '.join(words)}")
    return given


def prepared(program: LogicProgram, options: LogicOptions) -> LogicProgram:
    """Return the program with the definition and the alphabet that are asked for.

    Raises:
        CompileError: if it has no such definition, or its alphabet is not known, or lacks a token that it names.
    """
    if options.define is not None:
        program = program.choosing(options.define)
    if options.alphabet is not None:
        program = replace(program, alphabet=options.alphabet)
    return program


def compile_program(program: LogicProgram, options: LogicOptions) -> Decoder:
    """Return the weights of a formula or program, for words of any length over its alphabet.

    They answer every node at every position, the one that is compiled first, see `output_names`; where numbers are not
    looked up, the weights say so.

    Raises:
        CompileError: where it cannot be compiled, with the place and the reason; if it looks right and is asked not to; if
            its alphabet is not known.
    """
    program = prepared(program, options)
    if not program.alphabet:
        what = f"{program.name}: the tokens of its words are not known"
        raise CompileError(f"{what}: add the header '# alphabet: ab' to the text, or give --alphabet ab")
    file = program.file
    ahead = _ahead(program, options, file)
    if ahead and options.variant != "ours":
        right = next((node for node in program.nodes if looks_right(node)), None)
        seen = "--mask none looks" if right is None else f"{_called(right)} looks"
        what = f"{seen} at later positions, and --variant {options.variant} shows Theorems 13 and 16, of decoders"
        remedy = "omit --variant, or --mask none" if right is None else "omit --variant, or look at earlier positions alone"
        raise CompileError(str(Diagnostic(what=what, remedy=remedy, file=file, span=right.span if right else None)))
    names = output_names(program)
    answered = answered_names(program, defined=options.answers == "definitions")
    outputs = [(name, node) for node, name in answered.items()]
    graph, _ = lowered(outputs, names, name=program.name, file=file, alphabet=program.alphabet)
    chosen = FramedOptions(
        ahead=ahead, sign=options.compare == "sign", steep=options.steep, printed=options.variant == "paper"
    )
    stated = {"define": program.chosen, "alphabet": written(program.alphabet), "mask": "none" if ahead else "future"}
    stated |= {
        "compare": options.compare,
        "variant": options.variant,
        "answers": options.answers,
        "steep": str(options.steep),
    }
    said = provenance.stated(LOGIC, source=program.text, name=program.name, options=stated)
    decoder, left = compile_framed(graph, chosen, said)
    notes = [f"{name} is not an output: the sign head compares numbers that are never looked up" for name in left]
    notes += _without_effect(graph, chosen, decoder)
    return replace(decoder, provenance=provenance.noted(decoder.provenance, notes))


def _without_effect(graph: SequenceGraph, chosen: FramedOptions, decoder: Decoder) -> list[str]:
    """Return a note on each option without which the weights are the same."""
    options = {
        "sign": "--compare sign changes nothing: there are no two numbers that the sign head compares",
        "printed": "--variant paper changes nothing: there is no ⊖ and no since, whose heads it is about",
    }
    asked = {name: note for name, note in options.items() if getattr(chosen, name)}
    plain = {name: compile_framed(graph, replace(chosen, **{name: False}))[0] for name in asked}
    return [note for name, note in asked.items() if plain[name].layers == decoder.layers]


def _ahead(program: LogicProgram, options: LogicOptions, file: str) -> bool:
    """Return whether the heads see later positions.

    Raises:
        CompileError: if an operator looks at later positions, and a decoder is asked for.
    """
    right = next((node for node in program.nodes if looks_right(node)), None)
    if right is None or options.mask == "none":
        return options.mask == "none"
    if options.mask is None and not options.steep:
        return True
    what = f"{_called(right)} looks at later positions, which a decoder does not see"
    remedy = "omit --mask future" if options.mask else "omit --steep, which is for decoders"
    raise CompileError(str(Diagnostic(what=what, remedy=remedy, file=file, span=right.span)))


def _called(node: Node) -> str:
    """Return a node as people know it: by name, or as that which the complaint points at."""
    return repr(node.name) if node.name else "this operator" if node.span else f"node {node.number}"
