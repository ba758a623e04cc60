"""What the model cards of a class of machines say: how a prompt is written, and how one's own machine is run."""

from __future__ import annotations

from tm2tfr._version import __version__
from tm2tfr.sources.turing.tokens import BOS
from tm2tfr.targets.common.prompted import Prompted
from tm2tfr.text.markdown import code, escaped

SHOWN_NAMES = 12
"""How many names of states a model card shows beside the canonical ones."""


TOKENIZER = """The tokenizer takes `->` for `→` and input symbols without spaces, and puts
`BOS` at the end. A token that it does not know becomes `[UNK]`, and nothing is promised for the run."""
"""What to know of a tokenizer that reads prompts."""


def introduction(truth: Prompted, given: str) -> str:
    """Return the paragraphs that say what the model is, and how a machine is written into its prompt.

    Args:
        given: what is to be known of the program that reads prompts.
    """
    every, names = truth.universal, truth.universal.canonical
    key, value = names.key(0, 0), names.value(next(names.answers()))
    tape = "\n- the tape: `one-way`, on which a move left of cell 0 stays there, or `two-way`;" if every.tapes else ""
    word = f"the input, symbols {_range(names.symbols[1:])}, and" if len(names.symbols) > 1 else "at the end"
    last, more = code(names.states[-1]), f"\n\n{given}" if given else ""
    return f"""{truth.title}: one model that runs whichever of them is in its prompt.

This model was not trained: its weights were compiled by tm2tfr {__version__}. There is no machine in them. Its rules are
read in the prompt, and the run is generated: one token `(state,symbol written,move)` per step, until ACC, REJ or HALT.

**How to write a machine.** As tokens with spaces between them:
{tape}
- its rules, in any order, two tokens each: a state and a symbol, {code(key)}, and what is answered, such as
  {code(value)}: the new state, the symbol written, and the move, -1, 0 or +1; or `→ACC` or `→REJ`;
- {word} {code(BOS)}.

The states are {_range(names.ruled)}, of which {code(names.states[0])} is the start, and {last}, which has no rules;
further states in which a machine halts count among the others. The symbols are {_range(names.symbols)},
of which {code(names.blank)} is the blank. Where there is no rule, the answer is HALT.
Two rules for the same state and symbol are an error that the model does not report.{more}

{_example(truth)}"""


def _example(truth: Prompted) -> str:
    """Return the paragraph about the machine that is shown, and what its names are in the prompt."""
    held = truth.example
    machine, own, every = held.right, held.names, held.canonical
    known, signs = set(machine.states), set(machine.tape_alphabet)
    states, symbols = zip(every.states, own.states, strict=True), zip(every.symbols, own.symbols, strict=True)
    pairs = [(q, mine) for q, mine in states if mine in known and q != mine]
    pairs += [(a, mine.replace(" ", "␣")) for a, mine in symbols if mine in signs and a != mine]
    shown = [f"{code(q)} is {code(mine)}" for q, mine in pairs[:SHOWN_NAMES]]
    more = ", …" if len(pairs) > SHOWN_NAMES else ""
    called = f"\nIn its prompt {', '.join(shown)}{more}." if shown else ""
    said = f": {escaped(machine.description)}" if machine.description else "."
    return f"**An example.** {escaped(machine.name)}{said}{called}"


def checking() -> str:
    """Return the paragraph that says how to check the model."""
    return """**How to check it.** `tm2tfr verify-export .` compares the weights with those compiled anew for the class,
runs them, and compares every token with the simulator's; `--input` takes another prompt, `--machine` puts a machine in it.
`tm2tfr prompt MACHINE --universal S,K` writes the prompt of any machine that tm2tfr reads."""


def _range(names: tuple[str, ...]) -> str:
    shown = names if len(names) < 5 else (*names[:2], "…", names[-1])
    return ", ".join(name if name == "…" else code(name) for name in shown)
