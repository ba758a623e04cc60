"""A prompt: its tokens, as text with their canonical names, and back."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import replace
from typing import Any, NamedTuple

from tm2tfr.base.errors import did_you_mean
from tm2tfr.base.text.source import MOST_DIAGNOSTICS, Log, SourceText, decoded
from tm2tfr.sources.turing.spec import TAPES, TapeKind
from tm2tfr.sources.turing.tokens import ACC, ARROW, BOS, HALT, REJ
from tm2tfr.sources.turing.universal.names import Entry, MachineNames, RuleAnswer
from tm2tfr.sources.turing.universal.program import Universal, meant

_TOKEN = re.compile(
    r"(?P<arrow>→|->)\s*(?P<answer>\([^()→>]*\)(?!\S)|(?:(?!→|->)\S)+)?"
    r"|[^\s,→()]+,\s*[^\s,→]+(?=\s*(?:→|->))"
    r"|(?:(?!→|->)\S)+"
)
"""A token: a rule's answer, after an arrow; its state and symbol; any other. White space within is an error."""
_SPACE = re.compile(r"\s+")
_DIGITS = 9
"""The most digits of an id."""
_WORDS = (BOS, ACC, REJ, HALT)
_TRIPLE = re.compile(r"→?\(([^,]+),([^,]+),([^,]+)\)")
_PAIR = re.compile(r"→?\(([^,]+),([^,]+)\)")
_WITHOUT_COMMA = re.compile(r"(\w+)[^\w\s]+(\w+)")
_COMMENT = "#"
_SIGNED = frozenset(("-1", "+1", "R", "L"))
"""Tokens that are taken for moves, not symbols."""
_MOVES = {"1": "+1", "R": "+1", "L": "-1", "S": "0", "N": "0", "\u22121": "-1", "\u20131": "-1", "+0": "0", "-0": "0"}
"""How a move may be written by mistake -> the move."""


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

    The tokens are the canonical ones, with white space between them and none within. ``->`` is read as ``→``, before which
    there need be none; nor need there be any between input symbols, and BOS may be left out. What else ``tm2tfr prompt``
    writes is read as well: a JSON object with the tokens under ``tokens``, and the ids of the tokens, which are those of
    one size and tape.

    Raises:
        SpecError: with every error of the text and its place.
    """
    source = _of_ids(_of_json(decoded(given, file=file, noun="prompt")), universal.empty)
    return _Reader(source, universal.empty).read()


def _of_json(source: SourceText) -> SourceText:
    """Return the text of the tokens, or of their ids, that are in a JSON object or a JSON list; another text as it is.

    Raises:
        SpecError: if it is JSON without them. No token begins like JSON.
    """
    if not source.text.lstrip().startswith(("{", "[")):
        return source
    with suppress(ValueError, RecursionError):
        document = json.loads(source.text)
        found = document.get("tokens", document.get("ids")) if isinstance(document, dict) else document
        if isinstance(found, list) and (all(type(n) is int for n in found) or all(isinstance(t, str) for t in found)):
            return replace(source, text=" ".join(map(str, found)))
    log, start = Log(source), len(source.text) - len(source.text.lstrip())
    problem = "token 1: this begins like JSON, and is not a JSON object with the tokens of a prompt"
    log.add(source.stretch(start, start + 1), problem, "write one with tm2tfr prompt --format json")
    raise log.failure()


def _of_ids(source: SourceText, universal: Universal) -> SourceText:
    """Return the text of the tokens whose ids these are; another text as it is.

    Input symbols may be digits too: such a text is one of ids if it is a whole prompt with rules.

    Raises:
        SpecError: if they are not ids of this decoder.
    """
    words = list(re.finditer(r"\S+", source.text))
    if not words or not all(word[0].isascii() and word[0].isdecimal() for word in words):
        return source
    names, vocabulary = universal.names, universal.vocabulary
    numbers = [int(word[0]) if len(word[0]) <= _DIGITS else len(vocabulary) for word in words]
    tokens = [vocabulary[n] if n < len(vocabulary) else None for n in numbers]
    first = universal.tapes or names.keys
    whole = len(tokens) > 1 and tokens[0] in first and tokens[-1] == BOS
    if not whole and all(set(names.symbols).issuperset(word[0]) for word in words):
        return source
    log, own = Log(source), "write the ids for its own size and tape"
    for number, (word, token) in enumerate(zip(words, tokens, strict=True), start=1):
        if token is None:
            problem = (
                f"token {number}: {word[0][:_DIGITS]} is not the id of a token of this decoder, which has {len(vocabulary)}"
            )
        elif number == 1 and token not in (*first, *names.symbols[1:], BOS):
            problem = f"token 1: {word[0]} is the id of {token} in this decoder, with which no prompt begins"
        else:
            continue
        log.add(source.stretch(*word.span()), problem, own)
        raise log.failure()
    return replace(source, text=" ".join(token for token in tokens if token is not None))


class _Token(NamedTuple):
    """A token, its number from 1, and where it begins and ends in the text."""

    text: str
    number: int
    start: int
    end: int


class _Reader:
    """The tokens of a text, taken one after the other."""

    def __init__(self, source: SourceText, universal: Universal) -> None:
        self._universal, self._log, names = universal, Log(source), universal.names
        self._keys = {names.key(q, a): (q, a) for q in range(len(names.ruled)) for a in range(len(names.symbols))}
        self._values: dict[str, Any] = {names.value(answer): answer for answer in names.answers()}
        self._values |= {f"{ARROW}{verdict}": verdict for verdict in (ACC, REJ)}
        self._inputs = frozenset(names.symbols)
        every = [_token(n, match) for n, match in enumerate(_TOKEN.finditer(source.text), start=1)]
        self._left = self._without_comments(every)[::-1]
        self._end = _Token("", len(every) + 1, len(source.text.rstrip()), len(source.text.rstrip()))
        for token in self._left[::-1]:
            if _SPACE.search(source.text, token.start, token.end):
                problem = f"there is white space inside {token.text}"
                self._complain(token, problem, f"write {token.text} without it, since white space separates tokens")

    def read(self) -> Universal:
        """Return the program."""
        tape = self._tape()
        rules = self._rules()
        word = self._word()
        self._log.conclude()
        machine = meant(rules, word, self._universal.names, tape)
        return replace(self._universal, machine=machine, described=rules)

    def _without_comments(self, tokens: Sequence[_Token]) -> list[_Token]:
        """Return the tokens before each ``#`` of a line; complain about it, since other readers know no comments."""
        text, kept, end = self._log.source.text, list[_Token](), 0
        for token in tokens:
            if token.start < end:
                continue
            if token.text.startswith(_COMMENT):
                end = next((n for n in range(token.start, len(text)) if text[n] == "\n"), len(text))
                self._complain(token, f"{_COMMENT} begins a comment, and a prompt has none", "remove it")
            else:
                kept.append(token)
        return kept

    @property
    def _next(self) -> _Token:
        return self._left[-1] if self._left else self._end

    def _tape(self) -> TapeKind:
        """Take the token that names the tape, if there has to be one."""
        kind, token = self._universal.tape, self._next
        if kind != "both":
            if token.text in TAPES:
                self._left.pop()
                problem = f"the tape of this decoder is {kind}, and its prompts do not name it"
                self._complain(token, problem, f"remove {token.text}")
            return kind
        if token.text in TAPES:
            self._left.pop()
            return "one-way" if token.text == "one-way" else "two-way"
        found = ""
        if token.text:
            found = f", not with {token.text}{did_you_mean(token.text, TAPES)}"
            if not (_of_rule(token) or token.text == BOS or self._inputs.issuperset(token.text)):
                self._left.pop()
        self._complain(token, f"a prompt of this decoder must begin with its tape{found}", "begin with one-way or two-way")
        return "two-way"

    def _rules(self) -> tuple[Entry, ...]:
        """Take the rules, up to the input or BOS."""
        rules, seen = list[Entry](), dict[tuple[int, int], int]()
        while self._left and not (self._next.text == BOS or self._inputs.issuperset(self._next.text)):
            key = self._left.pop()
            if key.text.startswith((ARROW, "(")):
                problem = f"{key.text} is not preceded by what it answers"
                self._complain(key, problem, "write the state and the symbol of its rule before it, such as q0,1")
                continue
            if not _of_rule(key):
                if (meant := self._with_comma(key.text)) and self._next.text.startswith(ARROW):
                    problem = f"{key.text} is not a state and a symbol (did you mean {meant!r}?)"
                    self._complain(key, problem, "write a comma between them")
                    self._left.pop()
                else:
                    self._complain(key, *self._no_input(key.text))
                continue
            place, value = self._keys.get(key.text), self._next
            if value.text.startswith((ARROW, "(")) or f"{ARROW}({value.text})" in self._values:
                self._left.pop()
            answer = self._values.get(value.text)
            if place is None:
                self._complain(key, *self._no_key(key.text))
            elif answer is None:
                self._complain(value, *self._no_value(key.text, value.text))
            elif place in seen:
                problem = f"there is already a rule for {key.text}, at token {seen[place]}"
                self._complain(key, problem, "remove one of them, since a machine is deterministic")
            else:
                rules.append(Entry(*place, answer))
            if place is not None:
                seen.setdefault(place, key.number)
        return tuple(rules)

    def _no_key(self, text: str) -> tuple[str, str]:
        names = self._universal.names
        if (state := text.partition(",")[0]) == names.states[-1]:
            return f"{text} is for the state {state}, which has no rules", "remove this rule, or use another state"
        problem = f"{text} is not a state and a symbol of this decoder{did_you_mean(text, self._keys)}"
        return problem, f"use the states {_range(names.ruled)} and the symbols {_range(names.symbols)}, such as q0,0"

    def _no_value(self, key: str, text: str) -> tuple[str, str]:
        names = self._universal.names
        found, remedy = text or "the end", f"write for example {names.value(RuleAnswer(0, 0, 1))}, →ACC or →REJ"
        if text == f"{ARROW}{HALT}":
            remedy = "remove this rule, since a missing one halts"
        elif parts := _TRIPLE.fullmatch(text):
            state, symbol, move = parts.groups()
            meant = f"{ARROW}({state},{symbol},{_MOVES.get(move.upper(), move)})"
            found += f" (did you mean {meant!r}?)" if meant in self._values else ""
            if state not in names.states or symbol not in names.symbols:
                remedy = f"use the states {_range(names.ruled)} or halt, and the symbols {_range(names.symbols)}"
            elif move not in _MOVES.values():
                remedy = "the moves are -1, 0 and +1"
        elif text in self._keys:
            found, remedy = f"{text}, of another rule", "write the answer in between, " + remedy.removeprefix("write ")
        elif text.startswith(("(", f"{ARROW}(")) and not text.endswith(")"):
            whole = f"{ARROW}{text.removeprefix(ARROW)})"
            found += f" (did you mean {whole!r}?)" if whole in self._values else ""
            remedy = "add the ) that is missing"
        elif parts := _PAIR.fullmatch(text):
            lacking = "symbol" if parts[2].upper() in _SIGNED else "move"
            remedy = f"add the {lacking} that is missing, as in {names.value(RuleAnswer(0, 0, 1))}"
        elif "," not in text:
            verdicts = (f"{ARROW}{ACC}", f"{ARROW}{REJ}")
            close = f" (did you mean {text.upper()!r}?)" if text.upper() in verdicts else did_you_mean(text, verdicts)
            found += close
        elif (whole := f"{ARROW}({text.removeprefix(ARROW)})") in self._values:
            found += f" (did you mean {whole!r}?)"
        return f"{key} must be followed by what its rule answers, not by {found}", remedy

    def _no_input(self, text: str) -> tuple[str, str]:
        symbols = self._universal.names.symbols
        remedy = f"use the input symbols {_range(symbols[1:])}" if symbols[1:] else "leave the input empty"
        if text == symbols[0]:
            return f"{text} is the blank, which is not an input symbol", remedy
        if text.upper() == BOS:
            return f"{text} is not a token (did you mean {BOS!r}?)", "write it in capitals, or leave it out"
        if text.endswith(BOS) and set(symbols[1:]).issuperset(word := text.removesuffix(BOS)):
            return f"there is no white space before the {BOS} of {text}", f"write {word} {BOS}"
        return f"{text} is neither part of a rule nor an input symbol", remedy

    def _with_comma(self, text: str) -> str:
        """Return a rule's state and symbol, if it has another sign in place of its comma; otherwise the empty string."""
        parts = _WITHOUT_COMMA.fullmatch(text)
        found = "" if parts is None else ",".join(parts.groups())
        return found if found in self._keys else ""

    def _word(self) -> str:
        """Take the input, and BOS if it is there."""
        given, word = self._inputs - {self._universal.names.blank}, list[str]()
        while self._left:
            token = self._left.pop()
            if token.text == BOS:
                if self._left:
                    problem = f"{self._next.text} comes after BOS, with which a prompt ends"
                    self._complain(self._next, problem, "remove it, since the decoder continues from there")
                break
            if given.issuperset(token.text):
                word.append(token.text)
                self._refuse_word(token)
            elif not _of_rule(token):
                self._complain(token, *self._no_input(token.text))
            else:
                self._complain(token, f"{token.text} comes after the input has begun", "write all rules before the input")
                if self._next.text.startswith(ARROW):
                    self._left.pop()
        return "".join(word)

    def _refuse_word(self, token: _Token) -> None:
        """Complain about input symbols among which there is another token, for which other readers take them."""
        if found := next((word for word in _WORDS if word in token.text), None):
            spaced = " ".join(found)
            problem = f"{found} is a token of its own, and these may be input symbols"
            self._complain(token, problem, f"write {spaced} if they are, since white space separates tokens")

    def _complain(self, token: _Token, what: str, remedy: str) -> None:
        """Record a complaint.

        Raises:
            SpecError: with all complaints, if there are too many to go on.
        """
        span = self._log.source.stretch(token.start, token.end)
        self._log.add(span, f"token {token.number}: {what}", remedy)
        if len(self._log.found) >= MOST_DIAGNOSTICS:
            raise self._log.failure()


def _token(number: int, match: re.Match[str]) -> _Token:
    text = _SPACE.sub("", match[0] if match["arrow"] is None else ARROW + (match["answer"] or ""))
    return _Token(text, number, *match.span())


def _of_rule(token: _Token) -> bool:
    return "," in token.text or token.text.startswith(ARROW)


def _range(names: Sequence[str]) -> str:
    return ", ".join(names) if len(names) < 4 else f"{names[0]}, …, {names[-1]}"
