"""Certificates under attack: weights that do the same in exact arithmetic, and whether what they are granted is true.

``python benchmarks/attack_certificates.py [NUMBER] [SEED]``: NUMBER decoders are made of compiled ones by rescaling,
permuting, splitting, shifting and adding to their weights. Each that is still certified is run beside the simulator on
every engine, as far as it is certified but not for long; and at the far end of what is certified the scores of its heads
are computed as the engine rounds them, for keys that are equal or nearly so. Whether the fast engine compares the scores
of equal keys is asked of the engine, after the run. Exit code 1 if a certificate is found to be wrong.
"""

from __future__ import annotations

import random
import sys
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import NamedTuple

import numpy as np
from rich.progress import track

sys.path.insert(0, str(Path(__file__).parent.parent))

from benchmarks.machines import rewriter, runner
from tests.mutations import Aim, cancelling_units, scaled_values, some_head, some_units
from tests.mutations.weights import grown, moved, scaled, with_layer
from tests.sources.turing.proof.scores import latest_ties, lookup_picks, other_cells
from tm2tfr.engines import engine, generate
from tm2tfr.engines.fast.session import FastSession
from tm2tfr.sources.turing.compiler import compile_machine
from tm2tfr.sources.turing.library import load
from tm2tfr.sources.turing.proof.prove import MachineProof, prove
from tm2tfr.sources.turing.spec import Machine
from tm2tfr.transformer.matrix import Matrix
from tm2tfr.transformer.residual import Residual
from tm2tfr.transformer.weights import Decoder, FeedForward, Head

MOST_RUN, MOST_EXACT = 56, 6
"""The positions that are run on the engines that round, and on the one that does not."""
Granted = Mapping[tuple[str, str], Mapping[int | None, int | None]]
"""(engine, dtype) -> the bound on |h| -> the positions certified, None for all."""
FAR = 2**31 - 2
"""The last position at which scores are computed: its square is a 64-bit integer."""
HEADS = (None, 20)
"""The bounds on |h| for which certificates are asked for."""
ENGINES = (("dense", "float32"), ("dense", "float64"), ("fast", "float64"), ("exact", "rational"))


class Case(NamedTuple):
    """A machine, a word, its compiled decoder, and the tokens that are right."""

    machine: Machine
    word: str
    decoder: Decoder
    tokens: tuple[str, ...]
    heads: tuple[int, ...]


@cache
def cases() -> tuple[Case, ...]:
    """Return the machines: two that come back to far cells, two that run away, one that is small and two-way."""
    chosen = [(replace(rewriter(), tape=tape), "1" * cells) for tape, cells in (("one-way", 15), ("two-way", 7))]
    chosen += [(runner(tape), "") for tape in ("one-way", "two-way")] + [
        (load("busy-beaver-4"), ""),
        (load("chapter"), "1111"),
    ]
    return tuple(_case(machine, word) for machine, word in chosen)


def _case(machine: Machine, word: str) -> Case:
    decoder = compile_machine(machine)
    steps = list(generate(decoder, word, engine=engine("dense"), max_positions=MOST_RUN))
    moves = np.cumsum([int(s.token.rstrip(")").rsplit(",")[-1]) if s.token.startswith("(") else 0 for s in steps])
    return Case(machine, word, decoder, tuple(s.output for s in steps), tuple(moves.tolist()))


# ── what is changed ─────────────────────────────────────────────────────────────────────────────────────────
def power(chance: random.Random, most: int = 16) -> float:
    """Return a power of two, most of them small."""
    return 2.0 ** chance.choice([1, -1, 2, -2, 5, -5, chance.randint(-most, most)])


def shuffled(size: int, chance: random.Random) -> list[int]:
    """Return a permutation."""
    return chance.sample(range(size), size)


def between(decoder: Decoder, chance: random.Random) -> Decoder:
    """A factor, maybe negative, is moved from a query component to its key component."""

    def change(head: Head) -> Head:
        c, factor = chance.randrange(max(1, head.query.shape[0])), power(chance, 6) * chance.choice([1, 1, 1, -1])
        return replace(head, query=scaled(head.query, rows={c: 1 / factor}), key=scaled(head.key, rows={c: factor}))

    return some_head(decoder, chance, change)


def loud(decoder: Decoder, chance: random.Random) -> Decoder:
    """All scores of a head are multiplied."""
    factor = power(chance, 10)
    return some_head(decoder, chance, lambda h: replace(h, query=scaled(h.query, factor)))


def tie_break(decoder: Decoder, chance: random.Random) -> Decoder:
    """The tie-break of the latest write gets smaller."""
    head = decoder.layers[3].heads[-1]
    factor, tie = 2.0 ** -chance.randint(0, 14), max(head.query.rows.tolist(), default=0)
    changed = replace(head, query=scaled(head.query, rows={tie: factor}))
    return with_layer(decoder, 3, heads=(*decoder.layers[3].heads[:-1], changed))


def components(decoder: Decoder, chance: random.Random) -> Decoder:
    """Components of queries and keys change places, or those of values do."""

    def change(head: Head) -> Head:
        d_k, d_v = head.query.shape[0], head.value.shape[0]
        order, values = shuffled(d_k, chance), shuffled(d_v, chance)
        if d_k == 3 and chance.random() < 0.7:  # the tie-break stays the last
            order = [*chance.choice([(0, 1), (1, 0)]), 2]
        new = replace(head, query=moved(head.query, order), key=moved(head.key, order))
        return replace(new, value=moved(head.value, values), output=moved(head.output, None, values))

    return some_head(decoder, chance, change)


def split(decoder: Decoder, chance: random.Random) -> Decoder:
    """A component becomes two, each with half of the query."""

    def change(head: Head) -> Head:
        d_k = head.query.shape[0]
        c = chance.randrange(max(1, d_k))
        query, key = (matrix.by_row()[c] if d_k else {} for matrix in (head.query, head.key))
        halves = grown(scaled(head.query, rows={c: 0.5}), 1, 0, {(d_k, x): w / 2 for x, w in query.items()})
        return replace(head, query=halves, key=grown(head.key, 1, 0, {(d_k, x): w for x, w in key.items()}))

    return some_head(decoder, chance, change)


def shifted(decoder: Decoder, chance: random.Random) -> Decoder:
    """All scores of a query get the same addend: a component in which all keys are alike, or one that no key has."""
    one, v = decoder.layout["1"].start, decoder.layout["1/(i+1)"].start

    def change(head: Head) -> Head:
        d_k, read, some = head.query.shape[0], chance.choice([one, v]), chance.random() < 0.5
        query = grown(head.query, 1, 0, {(d_k, read): power(chance, 3)})
        return replace(head, query=query, key=grown(head.key, 1, 0, {(d_k, one): 1.0} if some else {}))

    return some_head(decoder, chance, change)


def idle_head(decoder: Decoder, chance: random.Random) -> Decoder:
    """A head that writes nothing is put among the others, with any weights."""
    n = chance.choice([1, 2, 3, 3])
    heads = list(decoder.layers[n].heads)
    copied = chance.choice(heads)
    size, width = 10.0 ** chance.choice([0, 3, 40, 300]), decoder.layout.width
    noise = {(r, chance.randrange(width)): size * chance.uniform(-1, 1) for r in range(copied.query.shape[0])}
    idle = replace(
        copied,
        name="idle",
        query=grown(copied.query, 0, 0, noise),
        output=Matrix.from_entries((width, copied.value.shape[0]), {}),
    )
    heads.insert(chance.randrange(len(heads) + 1), idle)
    return with_layer(decoder, n, heads=tuple(heads))


def units(decoder: Decoder, chance: random.Random) -> Decoder:
    """Units change places, and one gets a factor that its output takes back."""

    def change(part: FeedForward) -> FeedForward:
        order, u, factor = shuffled(len(part.units), chance), chance.randrange(len(part.units)), power(chance)
        first = (
            scaled(part.input, rows={u: factor}),
            scaled(part.input_bias, rows={u: factor}),
            scaled(part.output, columns={u: 1 / factor}),
        )
        names = tuple(part.units[order.index(n)] for n in range(len(order)))
        back = moved(first[2], None, order)
        return replace(part, input=moved(first[0], order), input_bias=moved(first[1], order), output=back, units=names)

    return some_units(decoder, chance, change)


def doubled(decoder: Decoder, chance: random.Random) -> Decoder:
    """A unit becomes two, each with half of the output."""

    def change(part: FeedForward) -> FeedForward:
        n, u = len(part.units), chance.randrange(len(part.units))
        rows, bias, writes = part.input.by_row()[u], part.input_bias.by_row()[u], part.output.by_row()
        share = {(r, n): row[u] / 2 for r, row in enumerate(writes) if u in row}
        return replace(
            part,
            input=grown(part.input, 1, 0, {(n, c): w for c, w in rows.items()}),
            input_bias=grown(part.input_bias, 1, 0, {(n, c): w for c, w in bias.items()}),
            output=grown(scaled(part.output, columns={u: 0.5}), 0, 1, share),
            units=(*part.units, "copy"),
        )

    return some_units(decoder, chance, change)


def rewritten(decoder: Decoder, chance: random.Random) -> Decoder:
    """A feature that all engines think constant, or a function of the position, is written to, by units that cancel."""
    features = [decoder.layout.index(name) for name in ("i", "i^2", "1", "1/(i+1)")]
    return cancelling_units(decoder, chance, Aim(power, reads=[decoder.layout.index("1")], writes=features))


def directions(decoder: Decoder, chance: random.Random) -> Decoder:
    """The subspaces of the residual stream change places."""
    old = decoder.layout
    layout = Residual(tuple(chance.sample(old.subspaces, len(old.subspaces))))
    place = [layout.index(name) for name in old.directions]

    def head(h: Head) -> Head:
        reads = {name: moved(getattr(h, name), None, place) for name in ("query", "key", "value")}
        return replace(h, **reads, output=moved(h.output, place))

    def part(f: FeedForward) -> FeedForward:
        new = replace(f, input=moved(f.input, None, place), output=moved(f.output, place))
        return replace(new, output_bias=moved(f.output_bias, place))

    layers = tuple(
        replace(x, heads=tuple(map(head, x.heads)), feed_forward=x.feed_forward and part(x.feed_forward))
        for x in decoder.layers
    )
    embedded = {name: moved(getattr(decoder, name), place) for name in ("token_embedding", "position_embedding")}
    return replace(decoder, layout=layout, layers=layers, unembedding=moved(decoder.unembedding, None, place), **embedded)


def outside(decoder: Decoder, chance: random.Random) -> Decoder:
    """Tokens and position features change their numbers, heads their places, and all logits get the same addend."""
    order, features = shuffled(len(decoder.vocabulary), chance), shuffled(len(decoder.features), chance)
    bias = {(n, 0): 0.25 * chance.choice([0, 1]) for n in range(len(order))}
    new = replace(
        decoder,
        vocabulary=tuple(decoder.vocabulary[order.index(n)] for n in range(len(order))),
        features=tuple(decoder.features[features.index(n)] for n in range(len(features))),
        token_embedding=moved(decoder.token_embedding, None, order),
        position_embedding=moved(decoder.position_embedding, None, features),
        unembedding=moved(decoder.unembedding, order),
        unembedding_bias=grown(moved(decoder.unembedding_bias, order), 0, 0, bias),
    )
    return with_layer(new, 2, heads=tuple(chance.sample(new.layers[2].heads, len(new.layers[2].heads))))


CHANGES = (between, between, loud, tie_break, components, components, split, shifted, scaled_values, idle_head, units)
CHANGES += (doubled, cancelling_units, rewritten, directions, outside)


# ── what is granted ─────────────────────────────────────────────────────────────────────────────────────────
def wrong(case: Case, decoder: Decoder, proof: MachineProof, all_granted: Granted, chance: random.Random) -> str | None:
    """Return in words where a certificate does not hold, None if nothing is found."""
    for (name, dtype), granted in all_granted.items():
        run = min(MOST_EXACT if name == "exact" else MOST_RUN, len(case.tokens))
        run = max((n for n in range(run + 1) if _covers(granted, n, case)), default=0)
        if not any(most is None or most for most in granted.values()):
            continue
        found, compares = _run(decoder, case, name, dtype, run)
        if found is not None:
            return f"{name} {dtype}: position {found} is wrong, {granted} are certified"
        for head, positions in granted.items():
            if positions and (bad := _far(decoder, proof, positions, head, dtype, compares, chance)):
                return f"{name} {dtype}, {positions} positions, |h| ≤ {head} certified: {bad}"
    return None


def _covers(granted: Mapping[int | None, int | None], n: int, case: Case) -> bool:
    reach = max(map(abs, case.heads[:n]), default=0)
    return any(most is None or (n <= most and (head is None or reach <= head)) for head, most in granted.items())


def _run(decoder: Decoder, case: Case, name: str, dtype: str, most: int) -> tuple[int | None, bool]:
    """Return the first position that is wrong, and whether the engine compares the scores of equal keys."""
    with np.errstate(all="raise", under="ignore"):
        session = engine(name, dtype).start(decoder) if name != "exact" else engine(name).start(decoder)
        fed = [decoder.numbers[token] for token in (*case.word, decoder.bos)]
        for n in range(most):
            answer = session.feed(fed[n] if n < len(fed) else decoder.numbers[case.tokens[n - 1]])
            if decoder.vocabulary[answer] != case.tokens[n]:
                return n, True
    apart = isinstance(session, FastSession) and session.recognised[3][_latest(decoder)].kind == "latest"
    return None, not apart


def _latest(decoder: Decoder) -> int:
    return next(k for k, head in enumerate(decoder.layers[3].heads) if head.output.nonzero and head.value.nonzero)


def _far(
    decoder: Decoder,
    proof: MachineProof,
    positions: int,
    head: int | None,
    dtype: str,
    compares: bool,
    chance: random.Random,
) -> str | None:
    """Return in words which scores at the far end of a certificate are not in the right order."""
    if dtype == "rational":
        return None
    latest, i = decoder.layers[3].heads[_latest(decoder)], min(positions - 1, FAR)
    most = i if head is None else min(i, head)
    two_way = proof.machine.tape == "two-way"
    cells = sorted({most, chance.randint(0, most)})
    signed = [h for cell in cells for h in ((cell, -cell) if two_way else (cell,))]
    j = np.array(
        sorted({i, *(i - d for d in range(30)), *(2**k + d for k in range(32) for d in (-1, 0, 1))}), dtype=np.int64
    )
    for h in signed:
        if compares and (tied := latest_ties(decoder, latest, i, h, j[(j > 0) & (j <= i)], dtype)).size:
            return f"writes to cell {h} at {tied[:3].tolist()} do not score above those before them"
        if (cell := other_cells(decoder, latest, i, h, dtype)).size and two_way:
            return f"a write to cell {cell[:3].tolist()} scores as high as one to cell {h}"
    for looked in decoder.layers[2].heads:
        if looked.output.nonzero and looked.value.nonzero:
            for at, h, m, picks in lookup_picks(decoder, looked, _lookups(looked.name, signed, i), dtype):
                if picks.size:
                    return f"{looked.name} at position {at}, h = {h}, moved by {m}, looks at {picks[:3].tolist()}"
    return None


def _lookups(name: str, cells: list[int], i: int) -> Iterator[tuple[int, int, int, int]]:
    sign = -1 if name.endswith("-") else 1
    for cell in cells:
        for m in (-1, 0, 1) if "{" in name else (0,):
            before = cell - m if "{" in name else cell
            if max(abs(cell), abs(before)) <= max(map(abs, cells)) and sign * before >= 0 and abs(before) <= i:
                yield i, cell, m, abs(before)


# ── the attack ──────────────────────────────────────────────────────────────────────────────────────────────
def attacked(seed: int) -> tuple[tuple[str, ...], str, str | None]:
    """Return the changes made with this seed; ``refused``, ``uncertified`` or ``certified``; what is wrong."""
    chance = random.Random(seed)
    case = chance.choice(cases())
    decoder, names = case.decoder, []
    for change in chance.sample(CHANGES, chance.choice([1, 1, 2, 2, 3, 4])):
        decoder = change(decoder, chance)
        names.append(change.__name__)
    proof = prove(decoder, case.machine)
    if proof.refusals:
        return tuple(names), "refused", None
    granted = {pair: {head: proof.largest(*pair, head) for head in HEADS} for pair in ENGINES}
    kind = "certified" if any(any(granted[pair].values()) for pair in ENGINES[:3]) else "uncertified"
    return tuple(names), kind, wrong(case, decoder, proof, granted, chance)


def main(number: int, seed: int) -> int:
    """Attack until so many certified decoders have been tried; print a summary."""
    kinds, made, found = Counter[str](), Counter[str](), []
    tried = iter(range(seed, seed + 100 * number))
    for _ in track(range(number), "certified decoders", disable=not sys.stderr.isatty()):
        kind = ""
        while kind != "certified":
            at = next(tried)
            names, kind, bad = attacked(at)
            kinds[kind] += 1
            made.update(names if kind == "certified" else ())
            if bad is not None:
                found.append(f"seed {at}, {', '.join(names)}: {bad}")
                print(found[-1], flush=True)
    print(
        f"{kinds['certified']:,} certified, {kinds['uncertified']:,} for exact numbers alone, {kinds['refused']:,} refused"
    )
    print("changes in those certified: " + ", ".join(f"{name} {count:,}" for name, count in made.most_common()))
    print(f"{len(found)} wrong certificates")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main(int(sys.argv[1]) if len(sys.argv) > 1 else 5_000, int(sys.argv[2]) if len(sys.argv) > 2 else 0))
