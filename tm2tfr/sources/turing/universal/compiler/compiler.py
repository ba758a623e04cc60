"""From a class of machines to its decoder: the chapter's steps around the rules in the prompt."""

from __future__ import annotations

from dataclasses import replace

from tm2tfr.choices import UNIVERSAL
from tm2tfr.sources.turing.compiler.head_position import halves, sum_of_moves
from tm2tfr.sources.turing.compiler.read_input import input_symbols, kept, lookups
from tm2tfr.sources.turing.compiler.read_tape import read_tape
from tm2tfr.sources.turing.compiler.symbol import symbol
from tm2tfr.sources.turing.compiler.unpack import unpacking
from tm2tfr.sources.turing.spec import Machine
from tm2tfr.sources.turing.tokens import ACC, BOS, HALT, REJ
from tm2tfr.sources.turing.universal.compiler.rules import answer, description_heads, find_rule, kinds, rule_units
from tm2tfr.sources.turing.universal.names import MachineNames
from tm2tfr.sources.turing.universal.program import Universal
from tm2tfr.sources.turing.universal.stored import written
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
