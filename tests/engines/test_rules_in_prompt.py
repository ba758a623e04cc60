"""The fast engine on universal decoders, right ones and sabotaged ones: the dense engine's numbers, whatever the prompt.

One session runs prompts of different lengths one after another: what it knows of the rules of one must not outlive it.
"""

from __future__ import annotations

import dataclasses
import random
from collections.abc import Iterator, Sequence

import pytest

from tests.engines.test_fast_sabotage import mutated
from tests.engines.test_groups import WHY
from tests.engines.test_straight import as_python, at_once  # noqa: F401  (fixtures)
from tests.sources.turing.universal.cases import compiled, random_prompt
from tests.strategies import tries
from tm2tfr.engines.dense import Dense
from tm2tfr.engines.fast import Fast, fresh
from tm2tfr.engines.fast.arrays import ENTRIES
from tm2tfr.engines.fast.session import FastSession
from tm2tfr.sources.turing.universal.program import Universal
from tm2tfr.transformer.weights import Decoder

SIZES = ((1, 2, "both"), (2, 2, "both"), (3, 2, "two-way"), (2, 3, "one-way"), (5, 2, "both"), (8, 4, "both"))
MOST = 80
"""The number of positions after the prompt."""
pytestmark = pytest.mark.slow


def unstopped(states: int, symbols: int, tape: str) -> Decoder:
    """Return the decoder of a class, which stops at nothing."""
    return dataclasses.replace(compiled(Universal(states=states, symbols=symbols, tape=tape)), stop=())  # type: ignore[arg-type]


def prompts(chance: random.Random, decoder: Decoder, states: int, symbols: int, tape: str) -> Iterator[list[int]]:
    """Yield random prompts for a decoder, without end; some rules are there twice, as in no prompt of a machine."""
    while True:
        first = chance.choice(("one-way", "two-way")) if tape == "both" else None
        tokens = random_prompt(chance, states, symbols, first).split()
        if chance.random() < 0.2:
            at = chance.randrange(len(tokens))
            tokens[at:at] = tokens[at : at + 4]
        yield [decoder.vocabulary.index(token) for token in tokens]


def agree(decoder: Decoder, session: FastSession, prompt: Sequence[int], where: str = "") -> None:
    """Check that a session answers a prompt, and what it goes on with, as the dense engine does, with the same numbers."""
    session.restart()
    session.prompt(prompt)
    chunks = [session.extend(n) for n in (len(prompt) // 2, len(prompt) - len(prompt) // 2, MOST)]
    answers = [answer for chunk in chunks for answer in chunk.answers.tolist()]
    numbers = [row for chunk in chunks for row in chunk.numbers.tolist()]
    dense = Dense().start(decoder)
    for i, token in enumerate(token for chunk in chunks for token in chunk.tokens.tolist()):
        assert dense.feed(token) == answers[i], (where, i, session.report())
        assert dense.residual[list(READ)].tolist() == numbers[i], (where, i)


READ = range(60)


@pytest.mark.parametrize(("states", "symbols", "tape"), SIZES)
@pytest.mark.parametrize("straight", [False, True])
def test_one_session_runs_every_prompt(
    states: int, symbols: int, tape: str, straight: bool, request: pytest.FixtureRequest
) -> None:
    if straight:
        request.getfixturevalue("at_once")
        request.getfixturevalue("as_python")
    chance, decoder = random.Random(f"{states} {symbols}"), unstopped(states, symbols, tape)
    session = Fast().start(decoder, numbers=READ)
    for prompt, _ in zip(prompts(chance, decoder, states, symbols, tape), range(tries(30)), strict=False):
        agree(decoder, session, prompt)
        assert session.report()[-1] == f"layer 6, head 'rule for q, a': grouped: {WHY}"
    assert (session.hurried > 50) == straight


def test_answers_are_forgotten_between_runs_once_there_is_no_room_for_more(monkeypatch: pytest.MonkeyPatch) -> None:
    for module, name in ((fresh, "MEMO"), (fresh, "SMALL_MEMO")):
        monkeypatch.setattr(module, name, 64)
    chance, decoder, filled = random.Random(3), unstopped(3, 2, "two-way"), 0
    session = Fast().start(decoder, numbers=READ)
    for prompt, _ in zip(prompts(chance, decoder, 3, 2, "two-way"), range(12), strict=False):
        agree(decoder, session, prompt)
        filled += session._control[ENTRIES] == 64
        session.restart()
        assert session._control[ENTRIES] < 64
    assert 0 < filled < 12


@pytest.mark.parametrize("straight", [False, True])
def test_sabotaged_weights_give_the_dense_engines_wrong_tokens(straight: bool, request: pytest.FixtureRequest) -> None:
    if straight:
        request.getfixturevalue("at_once")
        request.getfixturevalue("as_python")
    chance, kinds = random.Random(f"sabotage {straight}"), []
    for n in range(tries(150)):
        states, symbols, tape = SIZES[n % 5]
        decoder = unstopped(states, symbols, tape)
        some = prompts(chance, decoder, states, symbols, tape)
        broken, where = mutated(decoder, chance, times=1 + n % 2)
        session = Fast().start(broken, numbers=READ)
        for _ in range(2):
            agree(broken, session, next(some), where)
        kinds.append(session.recognised[5][0].kind)
    assert kinds.count("grouped") > tries(100)


def test_a_session_that_has_stopped_stays_stopped() -> None:
    decoder = compiled(Universal(states=2, symbols=2, tape="two-way"))
    session, numbers = FastSession(decoder), decoder.numbers
    session.prompt([numbers[token] for token in ("q0,0", "→ACC", "BOS")])
    chunks = [session.extend(n) for n in (3, 3, 3, 0, 3)]
    assert [(len(chunk.tokens), chunk.stopped) for chunk in chunks] == [
        (3, False),
        (1, True),
        (0, True),
        (0, True),
        (0, True),
    ]


def test_a_description_of_more_rules_than_keys_are_asked_about_is_grouped() -> None:
    universal = Universal(states=33, symbols=33, tape="two-way")
    decoder, names = compiled(universal), universal.names
    keys = [names.key(q, a) for q in range(33) for a in range(33)]
    session = FastSession(decoder)
    session.prompt([decoder.numbers[token] for key in keys for token in (key, "→(q0,1,+1)")] + [decoder.numbers["BOS"]])
    session.extend(2 * len(keys) + 40)
    assert [found.kind for found in session.recognised[5]] == ["grouped"]


@pytest.mark.parametrize("memo", [1, 4, 8])
def test_a_memo_that_grows_in_a_run_leaves_its_groups(memo: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(fresh, "SMALL_MEMO", memo)  # powers of 2, as `find` wants them
    decoder, some = unstopped(2, 2, "two-way"), prompts(random.Random(3), unstopped(2, 2, "two-way"), 2, 2, "two-way")
    grown = 0
    for _ in range(6):
        session = FastSession(decoder, numbers=READ)
        before = len(session._state.memo_token)
        agree(decoder, session, next(some))
        grown += len(session._state.memo_token) > before
    assert grown
