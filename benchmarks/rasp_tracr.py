"""RASP programs beside tracr: time to compile, speed, size, and what is wrong, for the same programs in one run.

``python benchmarks/rasp_tracr.py TRACR [--json FILE]``: TRACR is a checkout of google-deepmind/tracr; see README.md for the
environment. A few minutes, most of them for compiling with tracr. What is right is what the interpreter of RASP says.

A block is attention and feed-forward part together, either of them possibly empty, on both sides. Parameters and non-zero
weights of tracr are those of its parameter tree, in which the unembedding is not counted.
"""

from __future__ import annotations

import argparse
import json
import random
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from fractions import Fraction
from importlib import import_module
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np

sys.path.insert(0, str(Path(__file__).parent.parent))

from benchmarks.rasp import Compiled, Shipped, compiled, shipped
from tm2tfr.runs.batches.labelled import LabellerRuns

SIZES = (6, 10)
"""The longest inputs for which sizes are compared; programs are run at the first."""
MOST_INPUTS = 2_000
APPLIED = 20
"""So many inputs for a call of tracr that takes a tenth of a second each."""
LONG = {"length": 40, "histogram-without-bos": 40, "reverse": 24, "sort": 24}
"""Programs for which the first input length is sought at which tracr is wrong, and the length they are compiled for."""


@dataclass(frozen=True)
class Pair:
    """A program of ours, and the same one of theirs.

    Args:
        ours: a shipped program.
        theirs: tracr's name of it.
        make: what makes it, from the module of tracr's library and the longest input.
        tokens: their token for each of ours, where they differ.
    """

    ours: str
    theirs: str
    make: Callable[[Any, int], Any]
    tokens: tuple[tuple[str, Any], ...] = ()

    def their_word(self, word: Sequence[Any]) -> list[Any]:
        """Return an input in their tokens."""
        known = dict(self.tokens)
        return [known.get(token, token) for token in word]


def _rasp() -> Any:
    return import_module("tracr.rasp.rasp")


def _double(lib: Any, _: int) -> Any:
    rasp, hist = _rasp(), lib.make_hist()
    return rasp.SelectorWidth(rasp.Select(hist, hist, rasp.Comparison.EQ))


PAIRS = (
    Pair("length", "length", lambda lib, n: lib.make_length()),
    Pair("histogram-without-bos", "hist", lambda lib, n: lib.make_hist()),
    Pair("double-histogram-without-bos", "hist of hist", _double),
    Pair("reverse", "reverse", lambda lib, n: lib.make_reverse(_rasp().tokens)),
    Pair("fraction-of-previous", "frac_prevs", lambda lib, n: lib.make_frac_prevs(_rasp().tokens == "a")),
    Pair("count", "count", lambda lib, n: lib.make_count(_rasp().tokens, "a")),
    Pair("count-rare", "count_less_freq", lambda lib, n: lib.make_count_less_freq(1)),
    Pair(
        "sort",
        "sort",
        lambda lib, n: lib.make_sort(_rasp().tokens, _rasp().tokens, max_seq_len=n, min_key=1),
        (("a", 1), ("b", 2), ("c", 3)),
    ),
    Pair("sort-by-frequency", "sort_freq", lambda lib, n: lib.make_sort_freq(n)),
    Pair("pair-balance", "pair_balance", lambda lib, n: lib.make_pair_balance(_rasp().tokens, "(", ")")),
    Pair("shuffle-dyck-1", "shuffle_dyck1", lambda lib, n: lib.make_shuffle_dyck(pairs=["()"])),
    Pair("shuffle-dyck-2", "shuffle_dyck2", lambda lib, n: lib.make_shuffle_dyck2()),
)


@dataclass(frozen=True)
class Size:
    """How large a model is."""

    blocks: int
    heads: int
    width: int
    nonzero: int
    parameters: int


class Theirs:
    """A program compiled by tracr."""

    def __init__(self, pair: Pair, alphabet: Sequence[Any], length: int) -> None:
        compiling = import_module("tracr.compiler.compiling")
        self._pair = pair
        started = time.perf_counter()
        program = pair.make(import_module("tracr.compiler.lib"), length)
        vocabulary = set(pair.their_word(alphabet))
        self.model = compiling.compile_rasp_to_model(program, vocabulary, max_seq_len=length, compiler_bos="BOS")
        self.seconds = time.perf_counter() - started

    @property
    def size(self) -> Size:
        """Its size; heads are those of all blocks."""
        found = [np.asarray(each) for each in import_module("jax").tree_util.tree_leaves(self.model.params)]
        config = self.model.model_config
        heads = sum(self._used(f"transformer/layer_{n}/attn/value") * config.num_heads for n in range(config.num_layers))
        return Size(
            config.num_layers,
            heads,
            self.model.params["token_embed"]["embeddings"].shape[1],
            sum(int(np.count_nonzero(each)) for each in found),
            sum(each.size for each in found),
        )

    def _used(self, module: str) -> bool:
        return any(np.any(np.asarray(each)) for each in self.model.params[module].values())

    def answers(self, word: Sequence[Any]) -> list[Any]:
        """Return its public answer."""
        return self.model.apply(["BOS", *self._pair.their_word(word)]).decoded[1:]

    def encoded(self, words: Sequence[Sequence[Any]]) -> Any:
        """Return inputs of one length as its numbers: (inputs, n + 1)."""
        encode = self.model.input_encoder.encode
        return np.array([encode(["BOS", *self._pair.their_word(word)]) for word in words])

    def jitted(self) -> Callable[[Any], None]:
        """Return its forward pass, compiled by jax."""
        forward = import_module("jax").jit(lambda params, tokens: self.model.forward(params, tokens).unembedded_output)
        params = self.model.params
        return lambda tokens: forward(params, tokens).block_until_ready()


def same(pair: Pair, ours: Sequence[Any], theirs: Sequence[Any]) -> bool:
    """Return whether their answer is what is right, numbers up to 0.001."""
    known = dict(pair.tokens)
    return len(ours) == len(theirs) and all(
        abs(float(right) - float(found)) < 1e-3
        if isinstance(right := known.get(value, value), int | Fraction) and isinstance(found, int | float | bool)
        else right == found
        for value, found in zip(ours, theirs, strict=True)
    )


def seconds(job: Callable[[], object], at_least: float = 0.5) -> float:
    """Return the least time of `job`, which is run at least three times: other jobs of the machine make no run shorter."""
    times: list[float] = []
    while len(times) < 3 or (sum(times) < at_least and len(times) < 200):
        started = time.perf_counter()
        job()
        times.append(time.perf_counter() - started)
    return min(times)


def inputs(program: Shipped, length: int, most: int = MOST_INPUTS) -> list[tuple[Any, ...]]:
    """Return all inputs of a length, or `most` of them at random."""
    alphabet = program.program.alphabet
    if len(alphabet) ** length <= most:
        return list(product(alphabet, repeat=length))
    chooser = random.Random(length)
    return [tuple(chooser.choices(alphabet, k=length)) for _ in range(most)]


def our_size(found: Compiled) -> Size:
    """Return the size of a model of ours."""
    decoder = found.decoder
    return Size(len(decoder.layers), decoder.heads, decoder.layout.width, decoder.nonzero, decoder.parameters)


def measured(pair: Pair) -> dict[str, Any]:
    """Return the figures of one pair."""
    program = shipped(pair.ours)
    length = SIZES[0]
    row: dict[str, Any] = {"program": pair.ours, "tracr": pair.theirs, "sizes": {}, "compile": {}}
    mine, other = [], []
    for n in SIZES:
        mine.append(compiled(program, n))
        other.append(Theirs(pair, program.program.alphabet, n))
        row["sizes"][str(n)] = {"ours": asdict(our_size(mine[-1])), "tracr": asdict(other[-1].size)}
        row["compile"][str(n)] = {"ours": mine[-1].seconds, "tracr": other[-1].seconds}
    words = inputs(program, length)
    few = words[:: max(1, len(words) // APPLIED)][:APPLIED]
    tokens = mine[0].numbers(words)
    encoded = other[0].encoded(words)
    forward = other[0].jitted()
    one = encoded[:1]
    places = {token: place for place, token in enumerate(program.program.alphabet)}
    given = np.arange(len(words)), np.array([[places[token] for token in word] for word in words])
    runs = LabellerRuns(mine[0].decoder, program.program, checked=True, rows=False, workers=1)
    speed = {
        "ours": len(words) * length / seconds(lambda: mine[0].answered(tokens)),
        "ours, checked": len(words) * length / seconds(lambda: list(runs.on([given]))),
        "ours, one input": length / seconds(lambda: mine[0].answered(tokens[:1])),
        "apply": len(few) * length / seconds(lambda: [other[0].answers(word) for word in few], 0.0),
        "jit, one input": length / seconds(lambda: forward(one)),
        "jit, batched": len(words) * length / seconds(lambda: forward(encoded)),
    }
    row["tokens a second"] = speed
    row["wrong"] = {
        "inputs": len(words),
        "ours": mine[0].wrong(words),
        "tracr": [sum(not same(pair, program.right(word), other[0].answers(word)) for word in few), len(few)],
    }
    return row


def first_wrong(pair: Pair, length: int) -> dict[str, Any]:
    """Return the first input length at which tracr is wrong on one of some inputs, for models for `length`."""
    program = shipped(pair.ours)
    mine, other = compiled(program, length), Theirs(pair, program.program.alphabet, length)
    found: dict[str, Any] = {"program": pair.ours, "compiled for": length, "tracr": None, "ours": None}
    found["parameters"] = {"ours": our_size(mine).parameters, "tracr": other.size.parameters}
    for n in range(1, length + 1):
        words = inputs(program, n, 12)
        if found["ours"] is None and mine.wrong(inputs(program, n, 100)):
            found["ours"] = n
        for word in words if found["tracr"] is None else ():
            if not same(pair, right := program.right(word), says := other.answers(word)):
                found |= {"tracr": n, "input": "".join(word), "right": list(map(str, right)), "says": list(map(str, says))}
                break
    return found


def refusals() -> list[dict[str, str]]:
    """Return what tracr says of programs that it does not compile."""
    rasp, compiling = _rasp(), import_module("tracr.compiler.compiling")
    same_token = rasp.Select(rasp.tokens, rasp.tokens, rasp.Comparison.EQ)
    before = rasp.Select(rasp.indices, rasp.indices, rasp.Comparison.LT)
    shift = rasp.Select(rasp.indices, rasp.indices, lambda key, query: key == query - 1)
    programs = {
        "a selector with and": rasp.SelectorWidth(rasp.SelectorAnd(same_token, before)),
        "a selector with or": rasp.SelectorWidth(rasp.SelectorOr(same_token, before)),
        "a selector with not": rasp.SelectorWidth(rasp.SelectorNot(same_token)),
        "the mean of indices": rasp.numerical(rasp.Aggregate(same_token, rasp.numerical(rasp.indices), default=0)),
        "a default of text": rasp.Aggregate(shift, rasp.tokens, default="-"),
    }
    found = []
    for name, program in programs.items():
        try:
            compiling.compile_rasp_to_model(program, {"a", "b", "c"}, max_seq_len=5, compiler_bos="BOS")
            found.append({"program": name, "says": "compiled"})
        except (AttributeError, NotImplementedError, ValueError) as error:
            found.append({"program": name, "says": f"{type(error).__name__}: {str(error).strip().splitlines()[-1]}"})
    return found


def silent() -> list[dict[str, Any]]:
    """Return programs that tracr compiles without a word, and on how many short inputs they are not what they say."""
    compiling, lib, rasp = import_module("tracr.compiler.compiling"), import_module("tracr.compiler.lib"), _rasp()
    unique, pattern, hist = (
        lib.make_sort_unique(rasp.tokens, rasp.tokens),
        lib.detect_pattern(rasp.tokens, "ab"),
        lib.make_hist(),
    )
    cases: tuple[tuple[str, Any, bool, Callable[[list[str]], Any]], ...] = (
        ("sort_unique, equal keys", unique, False, sorted),
        ("detect_pattern ab", pattern, False, pattern),
        ("shift_by 1", lib.shift_by(1, rasp.tokens), False, lib.shift_by(1, rasp.tokens)),
        ("hist, causal=True", hist, True, hist),
    )
    found = []
    for name, program, causal, right in cases:
        model = compiling.compile_rasp_to_model(program, {"a", "b", "c"}, max_seq_len=4, compiler_bos="BOS", causal=causal)
        words = [
            list(word) for n in (3, 4) for word in product("abc", repeat=n) if "unique" not in name or len(set(word)) < n
        ]
        says = {"".join(word): model.apply(["BOS", *word]).decoded[1:] for word in words}
        wrong = [word for word in words if list(says["".join(word)]) != list(right(word))]
        first = "".join(wrong[0]) if wrong else ""
        found.append({"program": name, "inputs": len(words), "wrong": len(wrong), "input": first})
        if wrong:
            found[-1] |= {"right": list(map(str, right(wrong[0]))), "says": list(map(str, says[first]))}
    return found


def shown(row: dict[str, Any]) -> None:
    """Print the figures of a pair."""
    speed = row["tokens a second"]
    print(f"{row['program']} ({row['tracr']})")
    for n, sizes in row["sizes"].items():
        took = row["compile"][n]
        for side in ("ours", "tracr"):
            size = sizes[side]
            print(
                f"  N = {n:<3} {side:<6} {took[side]:>7.2f} s  {size['blocks']} blocks, {size['heads']} heads, width"
                f" {size['width']}, {size['nonzero']:,} of {size['parameters']:,} weights are not 0"
            )
    print("  tokens/s  " + ", ".join(f"{name} {rate:,.0f}" for name, rate in speed.items()))
    ratios = [speed["ours"] / speed[name] for name in ("apply", "jit, one input", "jit, batched")]
    ratios.append(speed["ours, checked"] / speed["jit, batched"])
    print("  ours ÷ apply {:,.0f} (at least 100), ÷ jit {:.1f} (at least 1), ÷ jit batched {:.2f}".format(*ratios))
    print(f"  ours, checked ÷ jit batched {ratios[-1]:.2f} (at least 1)")
    print(f"  wrong: ours {row['wrong']['ours']} of {row['wrong']['inputs']}, tracr {row['wrong']['tracr']}", flush=True)


def main() -> None:
    """Measure, print, and write what was measured."""
    words = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    words.add_argument("tracr", type=Path, help="a checkout of google-deepmind/tracr")
    words.add_argument("--json", type=Path, help="where the figures are written as JSON")
    words.add_argument("--only", choices=SECTIONS, help="measure this, and leave the rest of the file as it is")
    given = words.parse_args()
    sys.path.insert(0, str(given.tracr))
    there = given.json and given.only and given.json.exists()
    found: dict[str, Any] = json.loads(given.json.read_text(encoding="utf-8")) if there else {}
    found["about"] = {"jax": import_module("jax").__version__, "python": sys.version.split()[0], "numpy": np.__version__}
    for section in SECTIONS if given.only is None else (given.only,):
        found[section] = SECTIONS[section]()
        if given.json:
            given.json.write_text(json.dumps(found, indent=1) + "\n", encoding="utf-8")


def programs() -> list[dict[str, Any]]:
    """Return the figures of all pairs, and print them."""
    rows = []
    for pair in PAIRS:
        rows.append(measured(pair))
        shown(rows[-1])
    return rows


def _printed(job: Callable[[], list[dict[str, Any]]]) -> Callable[[], list[dict[str, Any]]]:
    def done() -> list[dict[str, Any]]:
        found = job()
        print(*found, sep="\n", flush=True)
        return found

    return done


def long_inputs() -> list[dict[str, Any]]:
    """Return where tracr is wrong first."""
    return [first_wrong(pair, LONG[pair.ours]) for pair in PAIRS if pair.ours in LONG]


SECTIONS: dict[str, Callable[[], list[dict[str, Any]]]] = {
    "programs": programs,
    "refused": _printed(refusals),
    "silent": _printed(silent),
    "long": _printed(long_inputs),
}
"""What is measured, by name, in the order in which it is."""


if __name__ == "__main__":
    main()
