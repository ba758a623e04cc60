"""Automata to weights, by way of a program in B-RASP, where they are star-free, or in RASP."""

from __future__ import annotations

from dataclasses import replace

from tm2tfr.base.choices import AUTOMATON
from tm2tfr.base.errors import CompileError, visible
from tm2tfr.base.text.words import alphabet_of, written
from tm2tfr.contract.options import AutomatonOptions, LogicOptions, RaspOptions
from tm2tfr.sources.automaton.automaton import Automaton, with_alphabet
from tm2tfr.sources.automaton.formats import native, regex
from tm2tfr.sources.automaton.programs import LENGTH, STAR_FREE, decided, program_of, shown_counter, way_of
from tm2tfr.sources.logic.compiler import compile_program as compile_logic
from tm2tfr.sources.rasp.compiler import compile_program as compile_rasp
from tm2tfr.transformer import provenance
from tm2tfr.transformer.weights import Decoder


def prepared(automaton: Automaton, options: AutomatonOptions) -> Automaton:
    """Return the automaton over the requested alphabet; a regular expression is read anew with it.

    Raises:
        CompileError: if the automaton reads a token that is not in it.
    """
    if options.alphabet is None:
        return automaton
    alphabet = tuple(map(str, alphabet_of(options.alphabet)))
    if alphabet == automaton.alphabet:
        return automaton
    if automaton.pattern:
        found = regex.of_text(automaton.pattern, alphabet).program
        return replace(found, name=automaton.name, title=automaton.title, examples=automaton.examples)
    return with_alphabet(automaton, alphabet)


def compile_automaton(automaton: Automaton, options: AutomatonOptions) -> Decoder:
    """Return the weights of an automaton: for words of any length if it is star-free, otherwise up to a longest one.

    They answer at every token whether the word up to it is accepted, and the state after it; star-free ones the levels of
    the cascade as well.

    Raises:
        CompileError: for a way that is impossible; where the scan has more values than can be compiled.
    """
    automaton = prepared(automaton, options)
    plain = replace(options, alphabet=None)
    way, known = way_of(automaton, plain), decided(automaton)
    stated = {"by": way, "alphabet": written(automaton.alphabet)}
    program, notes = program_of(automaton, plain), []
    if way == STAR_FREE:
        decoder = compile_logic(program, LogicOptions(answers="definitions"))  # type: ignore[arg-type]
        if known.merged:
            stated["merged"] = "True"
            notes.append("its states are those of the minimal automaton, since the given one counts where it need not")
    else:
        length = options.max_length or LENGTH
        stated["max_length"] = str(length)
        try:
            decoder = compile_rasp(program, RaspOptions(max_length=length))  # type: ignore[arg-type]
        except CompileError as error:
            problem = f"{visible(automaton.name)}: its {way} for words of up to {length} tokens cannot be compiled"
            cause = str(error.typed).splitlines()[0].rpartition(".rasp:")[2]
            remedy = "use a smaller --max-length, or an automaton with fewer states"
            raise CompileError(f"{problem} ({cause}): {remedy}") from None
        if options.by is None and known.cascade is not None:
            notes.append(f"it is star-free, but its cascade is large, of {known.images:,} images: it is compiled by {way}")
        if known.counter is not None:
            notes.append(f"it is not star-free: {shown_counter(known.counter)}")
    said = provenance.stated(AUTOMATON, source=native.write(automaton), name=automaton.name, options=stated)
    return replace(decoder, provenance=provenance.noted(said, notes))
