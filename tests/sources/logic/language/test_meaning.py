"""What a text means when it has been read and evaluated, beside what it means read off position by position."""

from __future__ import annotations

import pytest

from tests.sources.logic.language.printed import written
from tests.strategies import tries
from tm2tfr.sources.logic.evaluate import evaluate
from tm2tfr.sources.logic.read import read
from tm2tfr.text.words import all_words


@pytest.mark.parametrize("language", ["tl", "srasp"])
def test_a_text_means_what_it_says(language: str) -> None:
    for seed in range(tries(250)):
        text = written(seed, language)
        program = read(text.text, file=f"{seed}.{language}").program
        assert set(program.definitions) == set(text.definitions)
        for word in (word for n in range(1, 4) for word in all_words("ab", n)):
            found = evaluate(program.definitions.values(), word)
            for name, node in program.definitions.items():
                assert found[node] == text.values(name, "".join(word)), (text.text, name, word)
