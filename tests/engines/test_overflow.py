"""Numbers that floats cannot hold: every engine refuses them in the same words or computes, and no command crashes."""

from __future__ import annotations

import dataclasses
import math
import random
from collections.abc import Iterator, Sequence
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest

import tm2tfr as api
from tests.engines.test_dependence import random_decoder
from tests.strategies import tries
from tm2tfr.base.errors import EngineError
from tm2tfr.cli import main
from tm2tfr.engines import engine
from tm2tfr.engines.decode import generate
from tm2tfr.engines.fast import Fast
from tm2tfr.engines.overflow import check_weights, nearest, reach
from tm2tfr.sources.turing.library import shipped
from tm2tfr.transformer.matrix import Matrix
from tm2tfr.transformer.storage import save
from tm2tfr.transformer.weights import Decoder, Head, matrices, replaced

CHAPTER = api.compile("chapter")
PATHS = tuple(path for path, matrix in matrices(CHAPTER).items() if 0 not in matrix.shape)
HUGE = (1e200, -1e250, 1e290, 1e300, -1e306, 1.7976931348623157e308)
ODD = (*HUGE, 1e155, 1e-310, 5e-324, -0.0)


def scaled(decoder: Decoder, path: str, value: float, dice: random.Random) -> Decoder:
    """Return `decoder` with some entries of one matrix made huge, tiny, or -0.0; some entries may be new."""
    matrix = matrices(decoder)[path]
    entries = {(r, c): v for r, c, v in matrix.entries()}
    how = dice.randrange(4)
    for place in list(entries):
        if how == 0 or (how == 1 and dice.random() < 0.3):
            entries[place] = math.copysign(value, entries[place] * math.copysign(1, value))
    if how >= 2:
        for _ in range(dice.choice((1, 3, 30))):
            entries[dice.randrange(matrix.shape[0]), dice.randrange(matrix.shape[1])] = value * dice.choice((1, -1))
    return replaced(decoder, {path: Matrix.from_entries(matrix.shape, entries)})


def attacks() -> Iterator[tuple[str, Decoder]]:
    """Yield decoders with odd entries in every matrix, a name for each; the same every time."""
    dice = random.Random(34)
    for n, path in enumerate(PATHS):
        value = ODD[n % len(ODD)]
        yield f"{path} {value:g}", scaled(CHAPTER, path, value, dice)
    for n in range(24):
        some = CHAPTER
        value = HUGE[n % len(HUGE)]
        for path in dice.sample(PATHS, 8):
            some = scaled(some, path, value, dice)
        yield f"eight of {value:g}, {n}", some


ATTACKS = dict(attacks())


def run(arguments: list[str]) -> int:
    with pytest.raises(SystemExit) as stopped:
        main(arguments)
    return int(stopped.value.code or 0)


def walked(decoder: Decoder, word: Sequence[str], name: str, most: int, dtype: str | None = None) -> list[object]:
    """Return all tokens and streams of a run, and how it was refused, if it was."""
    found: list[object] = []
    try:
        for step in generate(decoder, word, engine=engine(name, dtype), max_positions=most):
            found.append((step.token, step.output, list(step.residual)))
    except EngineError as error:
        found.append(str(error))
    return found


# ── the head that writes nothing ────────────────────────────────────────────────────────────────────────────
def mute(value: float) -> Decoder:
    """Return the chapter's decoder with one more head in layer 4, which writes nothing, and whose entries are huge."""
    layer, width = CHAPTER.layers[3], CHAPTER.layout.width
    large = Matrix.from_entries((2, width), {(0, c): value for c in range(width)} | {(1, 0): -value})
    nothing = Matrix.from_entries((width, 1), {})
    head = Head(name="mute", source="", query=large, key=large, value=Matrix.from_entries((1, width), {}), output=nothing)
    layers = list(CHAPTER.layers)
    layers[3] = dataclasses.replace(layer, heads=(*layer.heads, head))
    return dataclasses.replace(CHAPTER, layers=tuple(layers))


REFUSAL = (
    "layer 4 (read tape), head 'mute', position 0: a score is too large for float64: use engine='exact', or smaller weights"
)


@pytest.mark.parametrize("name", ["dense", "fast"])
@pytest.mark.parametrize("keep_rows", [True, False])
def test_a_head_that_writes_nothing_is_refused_where_it_overflows(name: str, keep_rows: bool) -> None:
    with pytest.raises(EngineError) as refused:
        api.check(mute(1e300), "11", engine=name, keep_rows=keep_rows)
    assert str(refused.value) == REFUSAL


def test_float32_refuses_a_weight_that_it_cannot_hold() -> None:
    words = r"^layers.4.heads.1.query: the weight 1e\+300 is too large for float32: use dtype='float64' or engine='exact'"
    with pytest.raises(EngineError, match=words):
        api.check(mute(1e300), "11", dtype="float32")
    with pytest.raises(EngineError, match="a score is too large for float32: use dtype='float64' or engine='exact', or"):
        api.check(mute(1e30), "11", dtype="float32")
    check_weights(CHAPTER, "float32")


def test_the_exact_engine_computes_it() -> None:
    assert api.check(mute(1e300), "11", engine="exact").agrees


@pytest.mark.parametrize("name", ["dense", "fast"])
def test_what_is_large_and_does_not_overflow_is_computed(name: str) -> None:
    assert api.check(mute(1e150), "11", engine=name).agrees


# ── what the engines do with it ─────────────────────────────────────────────────────────────────────────────
@pytest.mark.slow
@pytest.mark.parametrize("decoder", ATTACKS.values(), ids=ATTACKS)
def test_fast_is_dense_and_so_are_its_refusals(decoder: Decoder) -> None:
    for word in ("11", ""):
        assert walked(decoder, word, "fast", 14) == walked(decoder, word, "dense", 14)


def test_the_attacks_are_refused_in_every_part() -> None:
    """So that the test before has something to compare: each kind of refusal, and runs that are computed."""
    said = [walked(decoder, "11", "dense", 14)[-1] for decoder in ATTACKS.values()]
    refusals = [text for text in said if isinstance(text, str)]
    for kind in ("a score is", "the sum of hidden unit", "of the stream is"):
        assert any(kind in text for text in refusals), kind
    assert 10 < len(refusals) < len(said) - 5


@pytest.mark.slow
def test_more_random_decoders_fast_and_dense() -> None:
    dice = random.Random(5)
    for n in range(400):
        decoder = random_decoder(n)
        for path in dice.sample([p for p, m in matrices(decoder).items() if 0 not in m.shape], 2):
            decoder = scaled(decoder, path, dice.choice(ODD), dice)
        word = [dice.choice(decoder.vocabulary) for _ in range(3)]
        got, want = (walked(decoder, word, name, 12) for name in ("fast", "dense"))
        assert got == want, n


@pytest.mark.slow
@pytest.mark.parametrize("size", [5e-324, 1e-310, 1e-300])
def test_queries_near_the_smallest_floats(size: float) -> None:
    """Products round by more there than bounds say, so that different keys can tie: such heads are scanned."""
    for n in range(12):
        decoder = random_decoder(n)
        tiny = {
            path: Matrix(m.shape, m.rows, m.columns, np.copysign(size, m.values))
            for path, m in matrices(decoder).items()
            if path.endswith("query") and 0 not in m.shape
        }
        word = [decoder.vocabulary[(3 * n + k) % len(decoder.vocabulary)] for k in range(8)]
        decoder = replaced(decoder, tiny)
        assert walked(decoder, word, "fast", 12) == walked(decoder, word, "dense", 12), n


@pytest.mark.parametrize("part", ["extend", "feed"])
def test_a_session_that_refused_goes_on_refusing_and_can_begin_again(part: str) -> None:
    decoder = mute(1e300)
    session = Fast().start(decoder)
    for _ in range(2):
        for _ in range(2):
            with pytest.raises(EngineError, match="head 'mute', position 0: a score is too large"):
                session.extend(5) if part == "extend" else session.feed(0)
        session.restart()
        assert not session.refused
    assert session.position == 0


@pytest.mark.slow
def test_a_refusal_beyond_the_first_position() -> None:
    """Scores that grow with the position: the rows before the refusal are there, and a difference there goes first."""
    head = CHAPTER.layers[3].heads[0]
    path = "layers.4.heads.0.key"
    entries = {(r, c): v * 1e307 if r == 1 else v for r, c, v in head.key.entries()}
    decoder = replaced(CHAPTER, {path: Matrix.from_entries(head.key.shape, entries)})
    found = {name: walked(decoder, "1111", name, 40) for name in ("dense", "fast")}
    assert found["dense"] == found["fast"]
    for name in ("dense", "fast"):
        outcomes = []
        for keep_rows in (True, False):
            try:
                trace = api.check(decoder, "1111", engine=name, keep_rows=keep_rows)
                outcomes.append(str(trace.divergence).partition("\n")[0])
            except EngineError as error:
                outcomes.append(str(error))
        assert outcomes[0] == outcomes[1] != ""


# ── bounds ──────────────────────────────────────────────────────────────────────────────────────────────────
@pytest.mark.parametrize("name", shipped())
def test_no_compiled_machine_is_taken_for_one_that_could_overflow(name: str) -> None:
    found = reach(api.compile(name))
    assert found.everything
    assert all(all(layer) for layer in found.scores)


def test_bounds_see_every_part() -> None:
    """A huge entry anywhere that can meet a number that is not 0 makes the bound give up."""
    for path, matrix in matrices(CHAPTER).items():
        if path.endswith(("value", "output", "unembedding", "input")) and matrix.nonzero:
            entries = {(r, c): math.copysign(1.7e308, v) for r, c, v in matrix.entries()}
            assert not reach(replaced(CHAPTER, {path: Matrix.from_entries(matrix.shape, entries)})).everything, path
    assert not all(reach(mute(1e300)).scores[3])
    assert reach(mute(1e100)).everything


def test_floats_nearest_to_rationals() -> None:
    assert [nearest(Fraction(10) ** 400), nearest(-(10**400)), nearest(Fraction(1, 3))] == [math.inf, -math.inf, 1 / 3]


# ── the command line ────────────────────────────────────────────────────────────────────────────────────────
COMMANDS = (
    ["trace", "{}", "--input", "11", "--max-steps", "8", "--engine", "exact"],
    ["trace", "{}", "--input", "11", "--max-steps", "8", "--engine", "fast"],
    ["trace", "{}", "--input", "11", "--max-steps", "8", "--engine", "dense", "--dtype", "float32"],
    ["trace", "{}", "--input", "11", "--max-steps", "8", "--engine", "exact", "--at", "3", "--quiet"],
    ["check", "{}", "--input", "11", "--max-steps", "8"],
    ["check", "{}", "--input", "11", "--max-steps", "8", "--engine", "exact", "--format", "json"],
    ["certify", "{}"],
    ["certify", "{}", "--engine", "dense", "--dtype", "float32"],
    ["explore", "{}", "--input", "11", "--max-steps", "8", "-o", "page.html"],
    ["soften", "{}", "--input", "11", "--max-steps", "8"],
    ["compile", "{}", "--attention", "softmax", "--temperature", "auto"],
    ["export", "{}", "--to", "torch", "-o", "torch-model"],
)


@pytest.mark.slow
@pytest.mark.parametrize("name", ["mute", *ATTACKS])
def test_no_command_crashes(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    save(mute(1e300) if name == "mute" else ATTACKS[name], tmp_path / "odd.safetensors")
    for command in random.Random(name).sample(COMMANDS, tries(len(COMMANDS))):
        code = run([word.format("odd.safetensors") for word in command])
        out, err = capsys.readouterr()
        assert code in (0, 1, 2), (command, err)
        assert "internal error" not in err
        assert code != 2 or ": " in err, (command, out, err)
        if "json" in command and code < 2:
            assert not {"NaN", "Infinity"} & set(out.replace(",", " ").replace(":", " ").split()), out
