"""Turing machines in words: the list of shipped ones, and of one its rules, its examples, and commands to try."""

from __future__ import annotations

import json
import shutil
import sys
from collections.abc import Iterator
from typing import TYPE_CHECKING

from tm2tfr.base.errors import counted, shortened, spaced, visible
from tm2tfr.cli.output import styled

if TYPE_CHECKING:
    from tm2tfr.runs.comparison import Trace
    from tm2tfr.sources.turing.simulator import Result
    from tm2tfr.sources.turing.spec import Example, Machine
    from tm2tfr.transformer.weights import Decoder

MOST_RULES = 80
"""A table of δ with more cells than this is not printed: the state graph is clearer."""
VERDICTS = {
    "accept": "ACC: the machine accepts",
    "reject": "REJ: the machine rejects",
    "halt": "HALT: the machine halts",
}
WIDEST = 100
"""A wider table of δ is not printed either."""


def heading(machine: Machine, decoder: Decoder) -> str:
    """Return the lines above a summary: the machine, its missing rules, and the left boundary of the chapter."""
    from tm2tfr.transformer.provenance import option

    lines = named(machine)
    if option(decoder.provenance, "left_boundary") == "chapter":
        lines.append("left boundary as in the chapter: a move left at cell 0 goes wrong (Exercise 8.3)")
    return "\n".join(lines) + "\n"


def named(machine: Machine) -> list[str]:
    """Return a line that describes a machine, and a line on its missing rules."""
    lines = [str(machine).strip("<>")]
    if missing := machine.missing_rules:
        q, a = missing[0]
        lines.append(
            f"δ is partial: {len(missing)} (state, symbol) pairs have no rule and {machine.missing_outcome}; "
            f"the first is ({visible(q)}, {spaced(a)})"
        )
    return lines


def ended(trace: Trace, decoder: Decoder) -> Iterator[str]:
    """Yield how a run ended, by the decoder."""
    if trace.T is None:
        yield f"no verdict within the limit of --max-steps, {counted(trace.tokens, 'position')} processed"
        return
    said = VERDICTS.get(trace.answer, f"{visible(trace.answer)}: the run ends")
    if decoder.positions is not None and not decoder.stop:
        said = "the run ends where the position table does"
    yield f"{said}, after T = {trace.T:,} intermediate step{'' if trace.T == 1 else 's'}"


def concluded(result: Result) -> Iterator[str]:
    """Yield the simulator's result of the whole run; if it rejects for lack of a rule, with the state and the symbol."""
    steps, cells = counted(result.steps, "step"), counted(result.cells_visited, "cell")
    state, symbol = result.stuck or ("", "")
    why = (
        f" (no rule for {spaced(symbol)} in state {visible(state)})" if result.stuck and result.outcome == "reject" else ""
    )
    yield f"simulator: {result.outcome} after {steps}{why}, {cells} visited, final tape {shortened(result.tape)}"


def listed(*, as_json: bool) -> Iterator[str]:
    """Yield one line per shipped machine."""
    from tm2tfr.sources.turing.library import load_with_warnings, shipped

    names = shipped()
    width, room = max(map(len, names)), shutil.get_terminal_size((110, 24)).columns
    for name in names:
        machine = load_with_warnings(name).machine
        states, symbols = len(machine.states), len(machine.tape_alphabet)
        if as_json:
            yield json.dumps(_facts(machine), ensure_ascii=False)
            continue
        sizes = f"{states:>3} {'states' if states > 1 else 'state':<6} {symbols:>3} symbols"
        line = f"{name:<{width}}  {machine.tape:<7} {sizes}  {machine.description}"
        yield line if len(line) <= room or not sys.stdout.isatty() else line[: room - 1] + "…"


def _facts(machine: Machine) -> dict[str, object]:
    sizes = {"tape": machine.tape, "states": len(machine.states), "symbols": len(machine.tape_alphabet)}
    return {"name": machine.name, **sizes, "description": machine.description, "source": machine.source}


def described(argument: str, machine: Machine, *, as_json: bool) -> Iterator[str]:
    """Yield the lines that describe a machine, given as `argument`; as JSON, one object."""
    if as_json:
        examples = [{k: v for k, v in vars(example).items() if v is not None} for example in machine.examples]
        rules = [[q, a, *rule] for (q, a), rule in machine.transitions.items()]
        yield json.dumps({**_facts(machine), "rules": rules, "examples": examples}, ensure_ascii=False)
        return
    yield str(machine).strip("<>")
    for text in (machine.description, f"Source: {machine.source}" if machine.source else ""):
        yield from _wrapped(text)
    halting = [f"{verb} in {', '.join(states)}" for verb, states in _verdicts(machine) if states]
    yield from _wrapped(f"It {', '.join(halting)}." if halting else "")
    yield ""
    yield from _rules(argument, machine)
    if machine.examples:
        yield ""
        yield styled("Examples", "bold")
        width = max(len(spaced(example.input)) for example in machine.examples) + 2
        yield from (f"  {_example(example, width)}" for example in machine.examples)
    yield ""
    yield styled("Try", "bold")
    yield from (f"  {line}" for line in _commands(argument, machine))


def _wrapped(text: str) -> Iterator[str]:
    import textwrap

    if text:
        width = min(WIDEST, max(40, shutil.get_terminal_size((WIDEST, 24)).columns))
        yield from map(visible, textwrap.wrap(text, width))


def _verdicts(machine: Machine) -> Iterator[tuple[str, tuple[str, ...]]]:
    accept, reject = machine.accept_states, machine.reject_states
    yield "accepts", tuple(q for q in machine.states if q in accept)
    yield "rejects", tuple(q for q in machine.states if q in reject)
    yield "halts", tuple(q for q in machine.states if q in machine.halting_states and q not in {*accept, *reject})


def _rules(argument: str, machine: Machine) -> Iterator[str]:
    """Yield δ as a table with one row per state that has rules, or if it is large, the command that shows it."""
    from tm2tfr.base.text.shown import line, widths
    from tm2tfr.sources.turing.spec import MOVE_LETTERS

    states = [q for q in machine.states if q not in machine.halting_states]
    rows = [["δ", *map(spaced, machine.tape_alphabet)]]
    for q in states:
        found = [machine.transitions.get((q, a)) for a in machine.tape_alphabet]
        rows.append(
            [spaced(q), *(f"{spaced(r.state)},{spaced(r.write)},{MOVE_LETTERS[r.move]}" if r else "-" for r in found)]
        )
    wide = widths(rows)
    if len(states) * len(machine.tape_alphabet) > MOST_RULES or sum(wide) + 2 * len(wide) > WIDEST:
        yield f"{counted(len(machine.transitions), 'rule')}: see {_command('convert', argument)}"
        return
    yield from (line(row, wide) for row in rows)


def _example(example: Example, width: int) -> str:
    steps = "" if example.steps is None else f"  {counted(example.steps, 'step')}"
    tape = "" if example.tape is None else f"  final tape '{spaced(example.tape)}'"
    word = f"'{spaced(example.input)}'"
    return f"{word:<{width}}  {example.outcome:<6}{steps}{tape}".rstrip()


def _commands(argument: str, machine: Machine) -> Iterator[str]:
    """Yield commands to paste."""
    from tm2tfr.sources.turing.source import own_input

    first = next((example.input for example in machine.examples if example.input), own_input(machine))
    yield _command("trace", argument, "--input", first)
    yield _command("check", argument)
    yield _command("graph", argument, "-o", f"{machine.name}.svg")


def _command(*words: str) -> str:
    from tm2tfr.base.text.shown import quoted

    return " ".join(["tm2tfr", *map(quoted, words)])
