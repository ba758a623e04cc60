"""Programs of all kinds: loaded, as graphs, in other formats, and as prompts of universal decoders."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tm2tfr.api.subject import Subject, issue
from tm2tfr.base.errors import CompileError, ConversionError, InputError

if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Unpack

    import networkx as nx

    from tm2tfr.api.subject import Given
    from tm2tfr.base.choices import HaltVerdict
    from tm2tfr.contract.keywords import CircuitParameters
    from tm2tfr.sources.automaton.automaton import Automaton
    from tm2tfr.sources.logic.program import LogicProgram
    from tm2tfr.sources.turing.universal.program import Universal
    from tm2tfr.sources.turing.universal.spelled import Prompt
    from tm2tfr.tables.explained import Explained
    from tm2tfr.transformer.weights import Decoder


def load(
    subject: Given, *, format: str | None = None, cut_registers: bool = False, **parameters: Unpack[CircuitParameters]
) -> Any:
    """Load a source of any kind: from a path, from standard input (``-``), or a shipped one by its name.

    A name without a suffix or a slash means a file in the current folder if there is one, otherwise a shipped source,
    otherwise bbchallenge text, ``1RB1LB_1LA1RZ``. The format of a file is recognised by its text, formats with its
    extension first, or named by `format`. A `SpecWarning` reports what the author may not have meant. For weights the
    stored program is returned.

    >>> import tm2tfr
    >>> tm2tfr.load("chapter").tape, tm2tfr.load("full-adder").inputs
    ('one-way', ('a', 'b', 'c'))
    >>> tm2tfr.load("reverse.rasp")
    <Program reverse: s-op reverse of the tokens a, b, c>

    Args:
        subject: see `Subject.of`.
        format: the format of the text; None: recognised.
        cut_registers: cut a circuit at its registers: their outputs become inputs of the circuit, and their inputs become
            outputs. A `SpecWarning` names them, and their initial values.
        parameters: the parameters of a shipped circuit, such as ``bits=8``.

    Returns:
        A `tm2tfr.sources.turing.spec.Machine`, a `tm2tfr.sources.circuit.netlist.Circuit`, a
        `tm2tfr.sources.rasp.program.Program`, a `tm2tfr.sources.logic.program.LogicProgram`, or a
        `tm2tfr.sources.automaton.automaton.Automaton`.

    Raises:
        NotFoundError: if there is no such file or shipped source.
        ReadError, WeightFileError: if the file cannot be read.
        ConversionError: for an unknown format, or a subject that is not a text.
        SpecError: with every error of the document.
        CompileError: if no program is stored with weights.
        UsageError: for parameters that a shipped circuit does not have, or for another source.
    """
    if parameters:
        from tm2tfr.sources.registry import built

        return built(str(subject), parameters).program
    if format is not None and (not isinstance(format, str) or not format):
        raise ConversionError(f"{format!r} is not the name of a format: use text, or None to go by the file")
    found = Subject.read(subject, format=format, cut_registers=cut_registers)
    if format is not None and (found.compiled or not found.text):
        raise ConversionError(f"{found.name}: it is not a text that could be in the format {format!r}: omit the format")
    issue(found.warnings)
    return found.right


def formula(text: str, *, alphabet: str | Sequence[str] | None = None, define: str | None = None) -> LogicProgram:
    """Return the formula of temporal logic in a text, a subject for all functions.

    >>> import tm2tfr
    >>> some = tm2tfr.formula("once (Q[a] & prev Q[b])", alphabet="abc")
    >>> tm2tfr.check(some, "cba").result.outcome
    'accept'

    A `SpecWarning` reports what its author may not have meant.

    Args:
        text: a formula, or definitions, the last of which is the formula; see the documentation of the language.
        alphabet: the tokens of its words, as one text if each is a character. Default: the tokens that it names.
        define: the definition that is compiled. Default: the last one.

    Raises:
        InputError: if it is not a text.
        SpecError: with every error of the text.
        CompileError: for an unknown definition, or an invalid alphabet.
    """
    if not isinstance(text, str):
        raise InputError(f"a formula must be text, not {text!r}: write for example 'once Q[a]'")
    from tm2tfr.contract.options import LogicOptions, read_options
    from tm2tfr.sources.logic.compiler import prepared
    from tm2tfr.sources.logic.read import cautions
    from tm2tfr.sources.registry import of_formula

    found, options = of_formula(text), {"alphabet": alphabet, "define": define}
    program = prepared(found.program, read_options(LogicOptions, options))
    issue(cautions(program, options, found.warnings))
    return program


def automaton(given: object, *, alphabet: str | Sequence[str] | None = None, name: str | None = None) -> Automaton:
    """Return the finite automaton of a regular expression or an automata-lib object, a subject for all functions.

    >>> import tm2tfr
    >>> some = tm2tfr.automaton("(a|b)*abb")
    >>> some.states, tm2tfr.check(some, "babb").result.outcome
    (('q0', 'q1', 'q2', 'q3'), 'accept')

    A `SpecWarning` reports what its author may not have meant, such as choices.

    Args:
        given: a regular expression as text, see the documentation of automata; or a `DFA` or an `NFA`.
        alphabet: its tokens, as one text if each is a character. Default: the tokens that it names.
        name: the name of the automaton. Default: the expression.

    Raises:
        SpecError: with every error of the text, or for an object of another class.
        CompileError: if it names a token that is not in the alphabet.
    """
    from tm2tfr.base.text.words import alphabet_of
    from tm2tfr.contract.options import AutomatonOptions
    from tm2tfr.sources.automaton.compiler import prepared
    from tm2tfr.sources.automaton.formats import automata_lib, regex

    tokens = None if alphabet is None else tuple(map(str, alphabet_of(alphabet)))
    found = regex.of_text(given, tokens) if isinstance(given, str) else automata_lib.of_object(given)
    program = prepared(found.program, AutomatonOptions(alphabet=tokens))
    issue(tuple(map(str, found.warnings)))
    return program if name is None else replace(program, name=name)


def explain(subject: Given) -> Explained:
    """Return the model of a source: each variable with its equation, the layer that writes it, and what reads it.

    >>> import tm2tfr
    >>> found = tm2tfr.explain("full-adder")
    >>> found.by_name["y"].formula, found.layer_of(found.by_name["y"])
    ('y = t[x_a x_b x_c]', 'layer 1 (gate), feed-forward')
    >>> tm2tfr.explain("since-b").by_name["(Q[a] | Q[b]) since Q[b]"].meaning
    'whether (Q[a] | Q[b]) since Q[b] holds'

    Args:
        subject: see `Subject.of`.

    Returns:
        The model as ``str(…)``, ``markdown()`` and ``as_dict()``.

    Raises:
        CompileError: if no program is stored with weights, or they are weights of a RASP program for inputs of any length.
    """
    from tm2tfr.tables.explained import Explained

    found = Subject.of(subject)
    program, decoder = found.right, found.decoder
    return Explained(program.name, found.noun, *found.kind.explained(program, decoder), decoder)


def to_graph(subject: Given) -> nx.MultiDiGraph[str]:
    """Return the state graph of a machine, the graph of a circuit or program, or the syntax graph of a formula.

    The graph of a machine has a node for each state, in its order, and an edge for each rule. A node has the attributes
    ``start``, ``accept``, ``reject`` and ``halting`` (bool). The edge of δ(q, a) = (r, b, m) goes from q to r, its key is
    ``a``, and it has the attributes ``rule``, ``read`` (a), ``write`` (b) and ``move`` (m: -1, 0 or +1).

    The graph of a circuit has a node for each net, inputs first, and an edge from each operand to the net of its gate. A
    node has the attributes ``kind`` (``INPUT`` or the kind of its gate), ``table`` (empty for an input) and ``outputs``
    (the names of the outputs that it drives). The key of an edge is the operand's index in the gate, from 0.

    Args:
        subject: see `Subject.of`.

    Raises:
        CompileError: if no program is stored with weights.
    """
    found = Subject.of(subject)
    graph: nx.MultiDiGraph[str] = found.kind.graph(found.right)
    return graph


def convert(subject: Given, format: str, *, verdict: HaltVerdict | None = None) -> Any:
    """Return a machine, a circuit, a formula or an automaton in another format.

    >>> import tm2tfr
    >>> print(tm2tfr.convert("busy-beaver-2", "bbchallenge"))
    1RB1LB_1LA1RZ
    <BLANKLINE>
    >>> print(tm2tfr.convert("half-adder", "expression"))
    # circuit "half-adder"
    # inputs a b
    # outputs sum carry
    sum = a ^ b
    carry = a & b
    <BLANKLINE>

    Args:
        subject: see `Subject.of`.
        format: for a machine one of `tm2tfr.sources.turing.conversion.TARGETS`, for a circuit one of
            `tm2tfr.sources.circuit.conversion.CIRCUIT_TARGETS`, for an automaton one of
            `tm2tfr.sources.automaton.conversion.TARGETS`, which include its programs in B-RASP and RASP.
        verdict: for a machine that halts without verdicts, and formats in which every run accepts or rejects: the verdict
            of every halt, ``accept`` or ``reject``; see `tm2tfr.sources.turing.conversion.with_verdict`.

    Returns:
        The text; bytes for the binary format ``aig``.

    Raises:
        ConversionError: for an unknown format, or one that cannot express the program; the message gives the reason.
        CompileError: if no program is stored with weights, or for a verdict with a source that is not a machine.
    """
    found = Subject.of(subject)
    program = found.right
    if verdict is not None:
        from tm2tfr.sources.turing.conversion import with_verdict

        program = with_verdict(found.turing("a verdict"), verdict).machine
    return found.kind.convert(program, format).text


# ── machines in prompts of universal decoders ───────────────────────────────────────────────────────────────
def prompt_of(
    subject: Given,
    word: str | None = None,
    *,
    universal: tuple[int, int] | str | Path | Universal | Decoder | None = None,
    tape: str | None = None,
    seed: int | None = None,
) -> Prompt:
    """Return the prompt with which a universal decoder runs a machine, as tokens with canonical names.

    >>> import tm2tfr
    >>> found = tm2tfr.prompt_of("busy-beaver-2")
    >>> print(found.text)
    two-way q0,0 →(q1,1,+1) q0,1 →(q1,1,-1) q1,0 →(q0,1,-1) q1,1 →(halt,1,+1) BOS
    >>> found.states
    {'A': 'q0', 'B': 'q1', 'Z': 'halt'}

    Args:
        subject: a machine, see `Subject.of`, or a universal decoder with a machine in its prompt.
        word: the input; by default the machine's own.
        universal, tape, seed: see `tm2tfr.compile`. Default: the smallest decoder that the machine fits into.

    Raises:
        CompileError: if it is not a machine, or does not fit; the message has the sizes that it needs.
        InputError: if `word` is not over its input alphabet.
        SpecError, NotFoundError, ReadError, WeightFileError: if the subject or the weights cannot be loaded.
    """
    from tm2tfr.sources.turing.universal.names import size_of
    from tm2tfr.sources.turing.universal.spelled import Prompt

    found = Subject.of(subject)
    machine = found.turing("prompt_of")
    if found.prompted:
        if any(option is not None for option in (universal, tape, seed)):
            what = f"{found.name} is in the prompt of a universal decoder already"
            raise CompileError(f"{what}: omit universal, tape and seed, or give the machine alone")
        return Prompt(found.program, found.word(word))
    asked = {"universal": size_of(machine) if universal is None else universal, "tape": tape, "seed": seed}
    placed = replace(Subject.of(machine, options=asked), name=found.name)
    return Prompt(placed.right, placed.word(word))


def read_prompt(
    text: str | Prompt | Sequence[str] | Sequence[int],
    universal: tuple[int, int] | str | Path | Universal | Decoder | None = None,
    *,
    tape: str | None = None,
) -> Universal:
    """Return the machine that a prompt describes as a `Universal`, a subject for all functions.

    >>> import tm2tfr
    >>> flips = tm2tfr.read_prompt("one-way q0,1 →(q0,2,+1) q0,2 →(q0,1,+1) 1 2 1 BOS", (2, 3))
    >>> tm2tfr.check(flips).result.tape
    '212'

    Args:
        text: tokens with canonical names, see `tm2tfr.sources.turing.universal.prompt.read`; or a `Prompt` from
            `prompt_of`, its tokens, or their ids.
        universal: the decoder that the prompt is for; see `tm2tfr.compile`, for `tape` too. Only a `Prompt` does without.
            The result does not contain the weights: pass them again,
            ``tm2tfr.compile(read_prompt(text, weights), universal=weights)``.

    Raises:
        InputError: if `text` is neither text nor tokens.
        SpecError: with every error of the text and its place.
        CompileError, WeightFileError: if `universal` is missing, or not a decoder.
    """
    from tm2tfr.sources.turing.universal.compiler import class_asked
    from tm2tfr.sources.turing.universal.prompt import read
    from tm2tfr.sources.turing.universal.spelled import Prompt

    if isinstance(text, Prompt):
        universal = text.universal.empty if universal is None else universal
        text = text.text
    elif isinstance(text, Sequence) and not isinstance(text, str | bytes) and all(type(t) in (str, int) for t in text):
        text = " ".join(map(str, text))
    if not isinstance(text, str):
        raise InputError(f"a prompt must be text, not {repr(text)[:80]}: write for example 'one-way q0,1 →(q0,1,+1) 1 BOS'")
    if universal is None:
        raise CompileError("the tokens of a prompt depend on its decoder: give its size too, for example (8, 4)")
    return read(text, class_asked({"universal": universal, "tape": tape}))
