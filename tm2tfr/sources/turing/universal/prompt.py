"""A prompt: its tokens, as text with their canonical names, and back."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace
from typing import Any, NamedTuple

from tm2tfr.errors import did_you_mean
from tm2tfr.sources.turing.spec import Machine, Rule, TapeKind
from tm2tfr.sources.turing.tokens import ACC, BOS, REJ
from tm2tfr.sources.turing.universal.names import ARROW, Entry, MachineNames
from tm2tfr.sources.turing.universal.program import VERDICT_STATES, Universal
from tm2tfr.text.source import Log, Source, decoded

_ASCII_ARROW = "->"
_TOKEN = re.compile(r"\S+")


def prompt(program: Universal, word: str, names: MachineNames | None = None) -> tuple[str, ...]:
    """Return the tokens of the prompt, without BOS: the machine's description and the input.

    Args:
        word: the input, in the machine's own symbols.
        names: those of the tokens; None: the machine's own.

    Raises:
        CompileError: if there is no machine.
        InputError: if `word` is not over its input alphabet.
    """
    machine, names = program.right, program.names if names is None else names
    numbers = {a: n for n, a in enumerate(program.names.symbols)}
    return (*program.described_in(names), *(names.symbols[numbers[a]] for a in machine.check_input(word)))


def text(program: Universal, word: str) -> str:
    """Return the prompt as text that `read` reads: canonical tokens with spaces between them, BOS at the end.

    Raises:
        CompileError, InputError: see `prompt`.
    """
    return " ".join((*prompt(program, word, program.canonical), BOS))


def read(given: str | bytes, universal: Universal, *, file: str = "<prompt>") -> Universal:
    """Return the machine that a prompt describes, with its input, in the prompt of a decoder of the class `universal`.

    The tokens are the canonical ones, with white space between them. ``->`` is read as ``→``, input symbols need no white
    space between them, and BOS may be left out.

    Raises:
        SpecError: with every error of the text and its place.
    """
    return _Reader(decoded(given, file=file, noun="prompt"), universal.empty).read()


class _Token(NamedTuple):
    """A token, its number from 1, and where it begins and ends in the text."""

    text: str
    number: int
    start: int
    end: int


class _Reader:
    """The tokens of a text, taken one after the other."""

    def __init__(self, source: Source, universal: Universal) -> None:
        self._universal, self._log, names = universal, Log(source), universal.names
        self._keys = {names.key(q, a): (q, a) for q in range(len(names.ruled)) for a in range(len(names.symbols))}
        self._values: dict[str, Any] = {names.value(answer): answer for answer in names.answers()}
        self._values |= {f"{ARROW}{verdict}": verdict for verdict in (ACC, REJ)}
        found = enumerate(_TOKEN.finditer(source.text), start=1)
        self._left = [_Token(m[0].replace(_ASCII_ARROW, ARROW, 1), n, *m.span()) for n, m in found][::-1]
        self._end = _Token("", len(self._left) + 1, len(source.text.rstrip()), len(source.text.rstrip()))

    def read(self) -> Universal:
        """Return the program."""
        tape = self._tape()
        rules = self._rules()
        word = self._word()
        self._log.conclude()
        machine = _machine(rules, word, self._universal.names, tape)
        return replace(self._universal, machine=machine, described=rules)

    @property
    def _next(self) -> _Token:
        return self._left[-1] if self._left else self._end

    def _tape(self) -> TapeKind:
        """Take the token that names the tape, if there has to be one."""
        if self._universal.tape != "both":
            return self._universal.tape
        token = self._next
        if token.text in self._universal.tapes:
            self._left.pop()
        else:
            told = f", not {token.text!r}" if token.text else ""
            self._complain(token, f"a prompt of this decoder begins with the tape{told}", "begin with one-way or two-way")
        return "one-way" if token.text == "one-way" else "two-way"

    def _rules(self) -> tuple[Entry, ...]:
        """Take the rules, as long as there are any."""
        rules, seen = list[Entry](), dict[tuple[int, int], int]()
        while self._left and _of_rule(self._next):
            key = self._left.pop()
            place, value = self._keys.get(key.text), self._next
            if key.text.startswith(ARROW):
                what = f"{key.text} answers no rule"
                self._complain(key, what, "write before it the state and the symbol that it is for, such as q0,1")
                continue
            if value.text.startswith(ARROW):
                self._left.pop()
            answer = self._values.get(value.text)
            if place is None:
                self._complain(key, *self._no_key(key.text))
            elif answer is None:
                close = did_you_mean(value.text, self._values)
                what = f"after {key.text} has to come what this rule answers, not {value.text or 'the end'!r}{close}"
                self._complain(value, what, "write for example →(q0,1,+1), →ACC or →REJ")
            elif place in seen:
                what = f"there is a rule for {key.text} already, at token {seen[place]}"
                self._complain(key, what, "the machine is deterministic: remove one of them")
            else:
                rules.append(Entry(*place, answer))
            if place is not None:
                seen.setdefault(place, key.number)
        return tuple(rules)

    def _no_key(self, text: str) -> tuple[str, str]:
        names = self._universal.names
        what = f"{text} is no state and symbol of this decoder{did_you_mean(text, self._keys)}"
        return what, f"its states are {_range(names.ruled)}, its symbols {_range(names.symbols)}"

    def _word(self) -> str:
        """Take the input, and BOS if it is there."""
        names, word = self._universal.names, ""
        symbols = _range(names.symbols[1:]) if len(names.symbols) > 1 else ""
        remedy = f"the input symbols are {symbols}" if symbols else "the only symbol is the blank: leave the input empty"
        while self._left:
            token = self._left.pop()
            if token.text == BOS:
                if self._left:
                    what = f"{self._next.text} comes after BOS, with which a prompt ends"
                    self._complain(self._next, what, "remove it: the decoder goes on from there")
                break
            if _of_rule(token):
                if not self._left or not self._next.text.startswith(ARROW) or token.text.startswith(ARROW):
                    self._complain(token, f"{token.text} comes after the input has begun", "write all rules before it")
                continue
            wrong = next((a for a in token.text if a not in names.symbols[1:]), None)
            if wrong is None:
                word += token.text
            elif token.text == names.blank:
                self._complain(token, f"{token.text} is the blank, which is no input symbol", remedy)
            else:
                self._complain(token, f"{token.text} is neither part of a rule nor an input symbol", remedy)
        return word

    def _complain(self, token: _Token, what: str, remedy: str) -> None:
        span = self._log.source.stretch(token.start, token.end)
        self._log.add(span, f"token {token.number}: {what}", remedy)


def _of_rule(token: _Token) -> bool:
    return "," in token.text or token.text.startswith(ARROW)


def _range(names: Sequence[str]) -> str:
    return ", ".join(names) if len(names) < 3 else f"{names[0]}, …, {names[-1]}"


def _machine(rules: Sequence[Entry], word: str, names: MachineNames, tape: TapeKind) -> Machine:
    """Return the machine that rules with canonical names stand for, see `Universal.standing`."""
    table: dict[tuple[str, str], Rule] = {}
    for state, symbol, answer in rules:
        place = names.states[state], names.symbols[symbol]
        if isinstance(answer, str):
            table[place] = Rule(VERDICT_STATES[answer], place[1], 0)
        else:
            table[place] = Rule(names.states[answer.state], names.symbols[answer.symbol], answer.move)
    return Machine(
        transitions=table,
        start=names.states[0],
        blank=names.blank,
        input_alphabet=names.symbols[1:],
        tape_alphabet=names.symbols,
        tape=tape,
        name="prompt",
        input=word,
    )
