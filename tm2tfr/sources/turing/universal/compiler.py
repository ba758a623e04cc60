"""From a class of machines to its decoder: the chapter's steps around the rules in the prompt."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path
from typing import Any

from tm2tfr.base.choices import UNIVERSAL, UniversalTape
from tm2tfr.base.errors import CompileError, visible
from tm2tfr.contract.options import OptionValues
from tm2tfr.sources.turing.compiler.head_position import halves, sum_of_moves
from tm2tfr.sources.turing.compiler.read_input import input_symbols, kept, lookups
from tm2tfr.sources.turing.compiler.read_tape import read_tape
from tm2tfr.sources.turing.compiler.symbol import symbol
from tm2tfr.sources.turing.compiler.unpack import unpacking
from tm2tfr.sources.turing.compiler.version_1 import load
from tm2tfr.sources.turing.spec import Machine
from tm2tfr.sources.turing.tokens import ACC, BOS, HALT, REJ
from tm2tfr.sources.turing.universal.names import MachineNames
from tm2tfr.sources.turing.universal.program import Universal
from tm2tfr.sources.turing.universal.rules import answer, description_heads, find_rule, kinds, rule_units
from tm2tfr.sources.turing.universal.spelled import restored, written
from tm2tfr.transformer import provenance
from tm2tfr.transformer.gadgets import Unit, feed_forward, lookup, stacked
from tm2tfr.transformer.matrix import Matrix
from tm2tfr.transformer.provenance import NAME, SOURCE, stated
from tm2tfr.transformer.residual import Residual, Subspace, at
from tm2tfr.transformer.weights import Decoder, Layer

# ── the residual stream of the universal decoder: the chapter's activation vectors, and those that find a rule
FEATURES = ("1/(i+1)", "1", "i", "i^2")


def layout(universal: Universal, names: MachineNames) -> Residual:
    """Return the residual stream of the decoder of a class, with labels by `names`.

    Beside the chapter's vectors (see `tm2tfr.sources.turing.compiler.layout`): ``[rule]``, ``[key]`` and ``[value]`` say
    what part of the machine's description a token is, and ``k/(i+1)`` counts them. ``e_q(key)`` and ``e_a(key)`` are of
    the last key, ``r_q`` and ``r_a`` those of the rule that ends here; ``r*_q``, ``r*_a`` and ``out`` are of the rule that
    is found, and ``[r*_q=q]`` and ``[r*_a=a]`` say whether it is the right one.
    """
    tokens, gamma, sigma = names.vocabulary(universal.tapes), names.symbols, names.symbols[1:]
    halves = ("h+/(i+1)", "h-/(i+1)", "h_{i-1}+/(i+1)", "h_{i-1}-/(i+1)")
    shares = ("1/(i+1)", "m/(i+1)", "h/(i+1)", "k/(i+1)", *halves)
    subspaces = (
        Subspace("e_x", tokens),
        *map(Subspace, FEATURES),
        Subspace("e_q", names.states),
        Subspace("e_b", gamma),
        Subspace("m"),
        Subspace("m/(i+1)"),
        *map(Subspace, ("[rule]", "[key]", "[value]")),
        Subspace("h/(i+1)"),
        Subspace("k/(i+1)"),
        Subspace("e_q(key)", names.ruled),
        Subspace("e_a(key)", gamma),
        *((Subspace("[one-way]"),) if universal.tapes else ()),
        *map(Subspace, halves if universal.two_way else ()),
        Subspace("r_q", names.ruled),
        Subspace("r_a", gamma),
        Subspace("h"),
        Subspace("h^2"),
        *((Subspace("h-"), Subspace("e_x(h+)", sigma)) if universal.two_way else ()),
        Subspace("e_x(h)", sigma),
        *((Subspace("[left end]"),) if universal.walled else ()),
        Subspace("h_{i-1}"),
        Subspace("h_{i-1}^2"),
        Subspace("h_{j*-1}"),
        Subspace("e_b(j*-1)", gamma),
        Subspace("[h_{j*-1}=h]"),
        Subspace("e_a", gamma),
        Subspace("r*_q", names.ruled),
        Subspace("r*_a", gamma),
        Subspace("out", names.values),
        Subspace("[r*_q=q]"),
        Subspace("[r*_a=a]"),
        Subspace("e_y", tokens),
    )
    return Residual(tuple(replace(s, holds=s.name, share=s.name in shares) for s in subspaces))


STOP = (ACC, REJ, HALT)


def compile_universal(universal: Universal) -> Decoder:
    """Return the decoder that runs every machine of a class, whose rules are in its prompt.

    The matrices depend on the class alone. With a machine in it, labels and tokens have that machine's names.
    """
    decoder = compile_class(universal.empty)
    return decoder if universal.machine is None else renamed(decoder, universal)


def renamed(decoder: Decoder, universal: Universal) -> Decoder:
    """Return a decoder of the class of `universal` with the labels and tokens of `universal`; the same matrices."""
    return replace(
        decoder,
        layout=layout(universal, universal.names),
        vocabulary=universal.vocabulary,
        provenance={**decoder.provenance, SOURCE: written(universal), NAME: universal.name},
    )


def compile_class(universal: Universal) -> Decoder:
    """Return the decoder of a class of machines, with its canonical names."""
    names, tapes = universal.names, universal.tapes
    tokens = names.vocabulary(tapes)
    stream = layout(universal, names)
    tape = _tape(universal)
    return Decoder(
        layout=stream,
        vocabulary=tokens,
        bos=BOS,
        stop=STOP,
        features=FEATURES,
        token_embedding=_embedding(stream, [at("e_x", token) for token in tokens]),
        position_embedding=_embedding(stream, FEATURES),
        layers=(
            _unpack(stream, tokens, kinds(names.keys, names.values, tapes)),
            _head_position(stream, universal, names),
            _read_input(stream, universal, tape),
            read_tape(stream, tape),
            symbol(stream, tape),
            find_rule(stream, names),
            answer(stream, names, (*names.symbols[1:], *names.keys, *names.values, *tapes), walled=universal.walled),
        ),
        unembedding=stacked(stream, [{at("e_y", token): 1.0} for token in tokens]),
        unembedding_bias=Matrix.from_entries((len(tokens), 1), {}),
        provenance=stated(UNIVERSAL, source=written(universal), name=universal.name, options={}),
    )


def _tape(universal: Universal) -> Machine:
    """Return a machine without rules, which has the alphabets and the tape that the chapter's steps need."""
    names = universal.names
    return Machine(
        transitions={},
        start=names.states[0],
        states=names.states,
        blank=names.blank,
        input_alphabet=names.symbols[1:],
        tape_alphabet=names.symbols,
        tape="two-way" if universal.two_way else "one-way",
    )


def _embedding(stream: Residual, directions: list[str] | tuple[str, ...]) -> Matrix:
    """Return the matrix that has a 1 in each of these directions: (width, directions)."""
    entries = {(stream.index(direction), n): 1.0 for n, direction in enumerate(directions)}
    return Matrix.from_entries((stream.width, len(directions)), entries)


def _unpack(stream: Residual, tokens: tuple[str, ...], of_rules: list[Unit]) -> Layer:
    return Layer(
        name="unpack",
        meaning="unpack the token: state, symbol written, move; or what part of a rule it is",
        source="step 1, Eq. 8.5; repair 2; universal, layer 1",
        feed_forward=feed_forward(stream, [*unpacking(tokens), *of_rules]),
        equation="x_i = (q, b, m)",
    )


def _head_position(stream: Residual, universal: Universal, names: MachineNames) -> Layer:
    units = [*(halves() if universal.two_way else ()), *rule_units(names)]
    return Layer(
        name="head position",
        meaning="where the head is: the mean of all moves so far is h/(i+1); how long the description is, and its rules",
        source="step 2, Eqs. 8.6-8.7; universal, layer 2" + ("; repair 5" if universal.two_way else ""),
        heads=(sum_of_moves(stream), *description_heads(stream, names, universal.tapes)),
        feed_forward=feed_forward(stream, units),
        equation="h/(i+1) = 1/(i+1) · Σ_{j≤i} m_{j-1};  k/(i+1) = 1/(i+1) · Σ_{j≤i} [j < k]",
    )


def _read_input(stream: Residual, universal: Universal, tape: Machine) -> Layer:
    """Return the layer of step 3, first half; the input begins behind the description, at position k.

    (h + k)/(i+1) is a sum of two means, so the offset needs no weight of its own. The numbers h and h² still come from
    position h itself, since h² is not linear in h + k.
    """
    here, found = ("h+/(i+1)", "e_x(h+)") if universal.two_way else ("h/(i+1)", "e_x(h)")
    given = lookup(
        stream,
        "input symbol",
        "Eq. 8.8; universal, layer 3",
        scaled={here: 1, "k/(i+1)": 1},
        carries=input_symbols(tape, found),
        attends="h+k",
    )
    units = [*(kept(tape) if universal.two_way else ()), *_left_end(universal)]
    return Layer(
        name="read input",
        meaning="from h/(i+1) to h itself, by looking up position h; the input symbol of that cell, at position h + k",
        source="step 3, Eqs. 8.8-8.14; repair 2; universal, layer 3",
        heads=(*lookups(stream, universal.two_way), given),
        feed_forward=feed_forward(stream, units) if units else None,
        equation="h = argmax_j (2h·j − j^2)/(i+1);  h + k = argmax_j (2(h + k)·j − j^2)/(i+1)",
    )


def _left_end(universal: Universal) -> list[Unit]:
    """Return the unit that writes ``[left end]``: whether the tape is one-way and h = 0 (repair 4).

    With h = h⁺ - h⁻ and |h| = h + 2h⁻, and w the bit of a one-way tape, it is ReLU(w - |h|).
    """
    if not universal.walled:
        return []
    if universal.tapes:
        return [Unit("[left end]", {"[one-way]": 1.0, "h": -1.0, "h-": -2.0}, {"[left end]": 1.0})]
    return [Unit("[left end]", {"h": -1.0}, {"[left end]": 1.0}, bias=1.0)]


# ── what ``universal=`` and ``--universal`` may be: the sizes of a class of machines, or weights for one, and what they
# make of a machine, which is to stand in their prompt.
_SIZES = re.compile(r"\s*(-?\d{1,9})\s*,\s*(-?\d{1,9})\s*", re.ASCII)


def in_prompt(machine: Machine, options: OptionValues) -> Machine | Universal:
    """Return a machine in the prompt of the universal decoder that `options` ask for; without such options, the machine.

    Raises:
        CompileError: if the machine does not fit, or options cannot be combined; see also `class_asked`.
    """
    if options.get("universal") is None:
        return machine if needs_universal(options) is None else _refuse(machine.name, options)
    _refuse_boundary(machine.name, options)
    return class_asked(options).holding(machine, seed=options.get("seed"))


def in_weights(universal: Universal, options: OptionValues) -> Universal:
    """Return a universal program for which weights of its class may be given.

    Raises:
        CompileError: for weights of another class, and anything but weights: the program says everything else itself.
    """
    _refuse_boundary(universal.name, options)
    given = options.get("universal")
    if needs_universal(options) is not None or (given is not None and weights_given(given) is None):
        option = needs_universal(options) or "universal"
        problem = f"{visible(universal.name)} is for a universal decoder already, of at most {_sizes_of(universal)}"
        raise CompileError(f"{problem}: omit the {option} option")
    if given is not None and class_asked(options) != universal.empty:
        problem = f"{visible(universal.name)} is for a universal decoder of at most {_sizes_of(universal)}"
        raise CompileError(
            f"{problem}, and these weights are one of at most {_sizes_of(class_asked(options))}: use its own"
        )
    return universal


def compiled(universal: Universal, options: OptionValues) -> Decoder:
    """Return the decoder of a universal program, or the weights that are given for it, with its names.

    Raises:
        CompileError, WeightFileError: see `class_asked`.
    """
    weights = weights_given(options.get("universal"))
    if weights is None:
        return compile_universal(universal)
    return weights if universal.machine is None else renamed(weights, universal)


def canonical(decoder: Decoder, universal: Universal) -> Decoder:
    """Return weights of a universal program as they are exported: with the names of the class."""
    every = universal.empty
    stated = {**decoder.provenance, provenance.SOURCE: written(every), provenance.NAME: every.name}
    return replace(decoder, layout=layout(every, every.names), vocabulary=every.vocabulary, provenance=stated)


def class_asked(options: OptionValues) -> Universal:
    """Return the class of machines that the options ``universal`` and ``tape`` ask for, without a machine.

    Args:
        options: ``universal`` is S and K, as a pair or as the text ``8,4``; a `Universal`; or weights, see `weights_given`.

    Raises:
        CompileError: if it is something else; for a tape beside weights or a `Universal`, which have one.
        WeightFileError: if a weight file cannot be read.
    """
    given, tape = options.get("universal"), options.get("tape")
    sizes = _sizes(given)
    if sizes is not None:
        kind: UniversalTape = "both" if tape is None else tape  # `Universal` rejects unknown tapes
        return Universal(states=sizes[0], symbols=sizes[1], tape=kind)
    weights = None if isinstance(given, Universal) else weights_given(given)
    found = given.empty if isinstance(given, Universal) else None if weights is None else class_of(weights)
    if found is None:
        problem = f"{given!r} is not the size of a universal decoder, nor weights of one"
        raise CompileError(f"{problem}: use for example 8,4 for 8 states and 4 symbols, or a weight file")
    if tape is not None and tape != found.tape:
        raise CompileError(f"{found.name} is for the tape {found.tape!r}, not {tape!r}: omit --tape")
    return found


def weights_given(given: object) -> Decoder | None:
    """Return the weights that ``universal`` names, or is; None if it is something else.

    Raises:
        WeightFileError: if they cannot be read.
    """
    if isinstance(given, Decoder):
        return given
    if isinstance(given, Path) or (isinstance(given, str) and _sizes(given) is None and _is_path(given)):
        return load(given)
    return None


def class_of(decoder: Decoder) -> Universal:
    """Return the class of machines that universal weights are for, as their provenance says.

    Raises:
        CompileError: if they are not weights of a universal decoder, or have other tokens or subspaces than that class.
        SpecError: if the text stored with them is not a class of machines.
    """
    said = decoder.provenance
    name, text = provenance.name(said), provenance.source(said)
    if provenance.construction(said) != UNIVERSAL or text is None:
        problem = f"{visible(name)}: these weights are not those of a universal decoder"
        raise CompileError(f"{problem}: make some with tm2tfr compile --universal 8,4 -o universal.safetensors")
    found = restored(text, name)
    ends = (decoder.bos, decoder.stop) == (BOS, STOP)
    if not ends or decoder.vocabulary != found.vocabulary or decoder.layout != layout(found, found.names):
        problem = f"{visible(name)}: these weights say that they are for {_sizes_of(found)}, and their tokens say otherwise"
        raise CompileError(f"{problem}: compile them again")
    return found.empty


def needs_universal(options: OptionValues) -> str | None:
    """Return the first option that makes no sense without a universal decoder; None if there is none."""
    return next((name for name in ("tape", "seed") if options.get(name) is not None), None)


def _refuse_boundary(name: str, options: OptionValues) -> None:
    if options.get("left_boundary") is not None:
        problem = f"{visible(name)}: in a universal decoder the left boundary is the repaired one"
        raise CompileError(f"{problem}: omit --left-boundary")


def _refuse(name: str, options: OptionValues) -> Machine:
    problem = f"{visible(name)}: --{needs_universal(options)} is for the prompt of a universal decoder"
    raise CompileError(f"{problem}: omit it, or say which decoder with --universal, for example 8,4")


def _sizes(given: object) -> tuple[Any, Any] | None:
    """Return S and K if they are given as numbers, otherwise None. `Universal` checks them."""
    if isinstance(given, str) and (match := _SIZES.fullmatch(given)):
        return int(match[1]), int(match[2])
    return (given[0], given[1]) if isinstance(given, tuple | list) and len(given) == 2 else None


def _is_path(given: str) -> bool:
    return bool(given) and (Path(given).suffix != "" or "/" in given or Path(given).exists())


def _sizes_of(universal: Universal) -> str:
    return f"{universal.states} states and {universal.symbols} symbols"
