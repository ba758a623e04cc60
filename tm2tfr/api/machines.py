"""Programs of all kinds: loaded, as graphs, and written in other formats."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tm2tfr.api.subject import Subject, issue
from tm2tfr.base.errors import ConversionError, InputError

if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Unpack

    import networkx as nx

    from tm2tfr.api.subject import Given
    from tm2tfr.base.choices import HaltVerdict
    from tm2tfr.contract.options import CircuitParameters
    from tm2tfr.sources.logic.program import LogicProgram


def load(
    subject: Given, *, format: str | None = None, cut_registers: bool = False, **parameters: Unpack[CircuitParameters]
) -> Any:
    """Load a machine, a circuit, a program or a formula: from a path, standard input (``-``), or a shipped one by name.

    A name without a suffix or a slash means a file in the current folder if there is one. A name that is neither and
    looks like bbchallenge text, ``1RB1LB_1LA1RZ``, is read as such. The format of a file is determined by its extension
    or, failing that, its contents, unless `format` names it (see the registries in `tm2tfr.sources.turing.formats` and
    `tm2tfr.sources.circuit.formats`). Anything that the author may not have meant is issued as a `SpecWarning`. Of weights
    it is the program stored with them.

    >>> import tm2tfr
    >>> tm2tfr.load("chapter").tape, tm2tfr.load("full-adder").inputs
    ('one-way', ('a', 'b', 'c'))
    >>> tm2tfr.load("reverse.rasp")
    <Program reverse: s-op reverse of the tokens a, b, c>

    Args:
        subject: see `Subject.of`.
        format: that of the text, if it is not to be guessed.
        cut_registers: cut a circuit at its registers: their outputs become inputs, and what they take in becomes outputs.
            A `SpecWarning` names them, and their first values.
        parameters: those of a shipped circuit, such as ``bits=8``.

    Returns:
        A `tm2tfr.sources.turing.spec.Machine`, a `tm2tfr.sources.circuit.netlist.Circuit`, a
        `tm2tfr.sources.rasp.program.Program`, or a `tm2tfr.sources.logic.program.LogicProgram`.

    Raises:
        NotFoundError: if there is no such file, and no such machine or circuit is shipped.
        ReadError, WeightFileError: if it cannot be read.
        ConversionError: if no such format is read, or what is given is not a text.
        SpecError: with every error of the document.
        CompileError: if no program is stored with weights.
        UsageError: for parameters of anything but a shipped circuit, or that it does not have.
    """
    if parameters:
        from tm2tfr.sources.registry import built

        return built(str(subject), parameters).program
    if format is not None and (not isinstance(format, str) or not format):
        raise ConversionError(f"{format!r} is not the name of a format: use for example 'jflap', or None")
    found = Subject.read(subject, format=format, cut_registers=cut_registers)
    if format is not None and (found.compiled or not found.text):
        raise ConversionError(f"{found.name}: it is not a text that could be in the format {format!r}: omit the format")
    issue(found.warnings)
    return found.right


def formula(text: str, *, alphabet: str | Sequence[str] | None = None, define: str | None = None) -> LogicProgram:
    """Return the formula of temporal logic that a text describes, for all functions that take a subject.

    >>> import tm2tfr
    >>> some = tm2tfr.formula("once (Q[a] & prev Q[b])", alphabet="abc")
    >>> tm2tfr.check(some, "cba").result.outcome
    'accept'

    Anything that its author may not have meant is issued as a `SpecWarning`.

    Args:
        text: a formula, or definitions of which the last one is the formula, see the documentation of the language.
        alphabet: the tokens of its words, as one text if each is a character. Default: those that it names.
        define: the definition that is compiled. Default: the last one.

    Raises:
        InputError: if it is not a text.
        SpecError: with every error of the text.
        CompileError: if nothing is defined by that name, or the alphabet is none.
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


def to_graph(subject: Given) -> nx.MultiDiGraph[str]:
    """Return the state graph of a machine, the graph of a circuit or a program, or the syntax of a formula.

    Of a machine it has a node for each state, in its order, and an edge for each rule. A node has the attributes
    ``start``, ``accept``, ``reject`` and ``halting`` (bool). The edge of δ(q, a) = (r, b, m) goes from q to r, its key is
    ``a``, and it has the attributes ``rule``, ``read`` (a), ``write`` (b) and ``move`` (m: -1, 0 or +1).

    Of a circuit it has a node for each net, inputs first, and an edge from each operand to the net of its gate. A node has
    the attributes ``kind`` (``INPUT`` or the kind of its gate), ``table`` (empty for an input) and ``outputs`` (the names
    of the outputs that it drives). The key of an edge is the operand's place in the gate, from 0.

    Args:
        subject: see `Subject.of`.

    Raises:
        CompileError: if no program is stored with weights.
    """
    found = Subject.of(subject)
    graph: nx.MultiDiGraph[str] = found.kind.graph(found.right)
    return graph


def convert(subject: Given, format: str, *, verdict: HaltVerdict | None = None) -> Any:
    """Return a machine, a circuit or a formula in another format.

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
        format: of a machine one of `tm2tfr.sources.turing.conversion.TARGETS`, of a circuit one of
            `tm2tfr.sources.circuit.conversion.CIRCUIT_TARGETS`.
        verdict: of a machine that halts without verdicts: take every halt to ``accept`` or to ``reject``, for formats in
            which every run does one of the two; see `tm2tfr.sources.turing.conversion.with_verdict`.

    Returns:
        Its text; in the binary format ``aig``, bytes.

    Raises:
        ConversionError: if there is no such format, or it cannot express the program; the message gives the reason.
        CompileError: if no program is stored with weights, or there is a verdict for anything but a machine.
    """
    found = Subject.of(subject)
    program = found.right
    if verdict is not None:
        from tm2tfr.sources.turing.conversion import with_verdict

        program = with_verdict(found.turing("a verdict"), verdict).machine
    return found.kind.convert(program, format).text
