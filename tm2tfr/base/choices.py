"""The words that options take, each list once: for the library, its types, and the help of the command line.

Nothing is imported here, so that ``--help`` is immediate.
"""

from __future__ import annotations

from typing import Literal, NamedTuple, get_args

ENGINES: tuple[str, ...] = ("dense", "exact", "fast")
"""The engines that run weights."""
AUTO: Literal["auto"] = "auto"
"""In place of an engine: see `tm2tfr.runs.choose`. In place of a temperature: see `TEMPERATURES`."""
CERTIFIED: tuple[str, ...] = ("dense", "fast", "exact")
"""The engines that a certificate speaks of, in its order."""

Float = Literal["float64", "float32"]
DTYPES: tuple[Float, ...] = get_args(Float)
"""The floating-point types."""

TURING = "turing"
"""The construction that compiles Turing machines, as the provenance of weights names it."""
LeftBoundary = Literal["repaired", "chapter"]
LEFT_BOUNDARIES: tuple[LeftBoundary, ...] = get_args(LeftBoundary)
"""The move emitted for a step left of cell 0 on a one-way tape: m = 0, or m = -1 as printed (Exercise 8.3)."""

UNIVERSAL = "universal"
"""The construction of one decoder for all machines of a size, as the provenance of weights names it."""
UniversalTape = Literal["both", "one-way", "two-way"]
UNIVERSAL_TAPES: tuple[UniversalTape, ...] = get_args(UniversalTape)
"""The tape of the machines that a universal decoder runs; for both, the first token of its prompt says which."""
PROMPT_FORMATS: tuple[str, ...] = ("text", "json", "ids")
"""The formats in which the prompt of a universal decoder is written."""
CIRCUIT = "circuit"
"""The construction that compiles Boolean circuits, as the provenance of weights names it."""
CircuitVariant = Literal["lookup", "paper-hard", "paper"]
CIRCUIT_VARIANTS: tuple[CircuitVariant, ...] = get_args(CircuitVariant)
"""How a position finds the operands of its gate. ``lookup``: one head per operand, by position. ``paper``: one head with
one-hot positions, softmax and layer norms, Appendix A with its repairs. ``paper-hard``: the same head, average-hard and
without norms."""

AdderOrder = Literal["paper-1", "paper-2"]
ADDER_ORDERS: tuple[AdderOrder, ...] = get_args(AdderOrder)
"""The order of the gates of an adder, the two representations of Section 4: one place after the other, or all intermediates
before the sum."""
GateKinds = Literal["any", "two", "paper", "nor"]
GATE_KINDS: tuple[GateKinds, ...] = get_args(GateKinds)
"""The gates of random circuits: any table over one to three operands; any over two; NOR, AND, XOR over two; NOR alone."""

Basis = Literal["nor", "paper"]
BASES: tuple[Basis, ...] = get_args(Basis)
"""The bases for a circuit's gates: only NOR, as in the theorem; or NOR, AND and XOR of two operands, as in the paper's
variants."""

Weighting = Literal["average-hard", "softmax", "leftmost", "rightmost"]
WEIGHTINGS: tuple[Weighting, ...] = get_args(Weighting)
"""How a head's scores become attention weights (Definitions 2 and 3 of Yang et al.). ``average-hard``: the weight is shared
evenly by all positions of maximal score, Eq. 8.1. ``leftmost``, ``rightmost``: the first, or the last, of these has all of
it. ``softmax``: position j has the weight ``e^{s_j} / Σ_k e^{s_k}``; the queries already include any temperature, see
`tm2tfr.transformer.soft`."""
UNIQUE: frozenset[Weighting] = frozenset({"leftmost", "rightmost"})
"""Unique-hard attention: one position has all the weight."""
ATTENTIONS: tuple[Weighting, ...] = ("average-hard", "softmax")
"""The attention of a run: hard, as compiled, or softmax in its place."""

Temperature = Literal["auto", "local", "theorem-26", "none", "per-position", "paper"]
TEMPERATURES: tuple[Temperature, ...] = get_args(Temperature)
"""The words in place of a temperature. ``local``: each head by a bound of its own; ``none``: each by a bound for runs of
any length, for weights with constant gaps; ``per-position``: by a function of the position; ``paper``: by that
which the paper states; ``theorem-26``: one for all, by that theorem; ``auto``: ``local``
where every head has such a bound, otherwise ``theorem-26``."""
LOCAL: Literal["local"] = "local"
THEOREM_26: Literal["theorem-26"] = "theorem-26"
NO_TEMPERATURE: Literal["none"] = "none"
PER_POSITION: Literal["per-position"] = "per-position"
PAPER: Literal["paper"] = "paper"

RASP = "rasp"
"""The construction that compiles RASP programs, as the provenance of weights names it."""
RaspMask = Literal["none", "future"]
"""The positions that heads of a RASP program's or a formula's weights may see: all, or none after their own."""

LOGIC = "logic"
"""The construction that compiles formulas and S-RASP programs, as the provenance of weights names it."""
LogicCompare = Literal["lookup", "sign"]
LOGIC_COMPARE: tuple[LogicCompare, ...] = get_args(LogicCompare)
"""How two numbers are compared: each is looked up (Theorem 20), or by one head that sees the sign of their difference."""
LogicAnswers = Literal["all", "definitions"]
"""The parts of a formula or program that its weights answer: every subformula, or only those with names."""
LogicVariant = Literal["ours", "paper", "unique"]
"""How neighbours are found, ties broken and counts looked up: ours, or by parity, ±j/(2n) or -1/j, and 3C, as printed; or
with leftmost and rightmost heads, whose ties need no breaking, and which do not count."""

AUTOMATON = "automaton"
"""The construction that compiles finite automata, as the provenance of weights names it."""
AutomatonWay = Literal["star-free", "scan", "steps"]
AUTOMATON_WAYS: tuple[AutomatonWay, ...] = get_args(AutomatonWay)
"""How an automaton is compiled: by the cascade of a star-free one, in B-RASP; in RASP by a scan, whose layers grow with the
logarithm of the longest word; or step by step, with a layer for each token."""

TABLES: tuple[str, ...] = ("text", "markdown", "latex", "csv", "json", "jsonl", "html")
"""The formats of a table."""
FIGURES: tuple[str, ...] = ("text", "markdown", "latex", "json")
"""The formats of Figure 1."""
SOFT_REPORTS: tuple[str, ...] = ("text", "csv", "json")
"""The formats of the measurements under softmax."""


class TextFormat(NamedTuple):
    """A format that sources are read from or written in: one line here, and a module beside the others of its kind.

    The module has ``looks_like(text)`` and ``read(source)`` if the format `reads`, and ``write(program)`` if it `writes`.

    Args:
        name: as options name it.
        module: the module in the folder ``formats`` of the source, see `tm2tfr.sources`.
        endings: those of its files; the first one names new files.
        title: as the playground names it; by default its name.
        reads, writes: whether it is read and written.
        binary: whether it is bytes, not text: ``read(data, file=…)``, and ``write`` returns bytes.
        most: the size of the largest file that is read, in MiB.
        registers: whether it has registers, at which a circuit can be cut: ``read`` takes ``cut``.
    """

    name: str
    module: str
    endings: tuple[str, ...] = ()
    title: str = ""
    reads: bool = True
    writes: bool = True
    binary: bool = False
    most: int = 256
    registers: bool = False


MACHINE_TEXTS: tuple[TextFormat, ...] = (
    TextFormat("yaml", "native", (".yaml", ".yml"), "YAML"),
    TextFormat("turingmachine.io", "turingmachine_io"),
    TextFormat("bbchallenge", "bbchallenge"),
    TextFormat("advent-of-code", "advent", title="Advent of Code"),
    TextFormat("doty", "doty", (".tm",), "Doty"),
    TextFormat("morphett", "morphett", (".tm",), "Morphett"),
    TextFormat("jflap", "jflap", (".jff",), "JFLAP"),
    TextFormat("ft_turing", "ft_turing", (".json",)),
    TextFormat("turingmachinesimulator.com", "turingmachinesimulator"),
    TextFormat("automata-lib", "automata_lib", (".py",)),
)
"""Every format of machines: the one place where a format is registered."""
READABLE: tuple[str, ...] = tuple(text.name for text in MACHINE_TEXTS if text.reads)
"""The formats that machines are read from."""
WRITABLE: tuple[str, ...] = tuple(text.name for text in MACHINE_TEXTS if text.writes)
"""The formats that machines are written in, to be read by other programs."""
HaltVerdict = Literal["accept", "reject"]
HALT_VERDICTS: tuple[HaltVerdict, ...] = get_args(HaltVerdict)
"""What every halt of a machine without verdicts is taken for in a format in which every run accepts or rejects."""
PICTURES: tuple[str, ...] = ("mermaid", "dot", "tikz", "latex")
"""The formats that machines are drawn or printed in."""
IMAGES: tuple[str, ...] = (".svg", ".png", ".pdf")
"""The endings of images, which are drawn and not written as text."""
DRAWN: tuple[str, ...] = (".dot", ".gv", ".mmd", *IMAGES)
"""The endings of drawings."""

CIRCUIT_TEXTS: tuple[TextFormat, ...] = (
    TextFormat("yaml", "native", (".yaml", ".yml"), "YAML", most=64),
    TextFormat("bench", "bench", (".bench",), "BENCH", registers=True),
    TextFormat("aag", "aiger", (".aag",), "AIGER", registers=True),
    TextFormat("aig", "aiger_binary", (".aig",), binary=True, registers=True),
    TextFormat("blif", "blif", (".blif",), "BLIF", registers=True),
    TextFormat("pla", "pla", (".pla",), "PLA", most=64),
    TextFormat("truth-table", "truth_table", (".tt",), "truth table: 0110", most=64),
    TextFormat("expression", "expression", (".expr",), "expression: a ^ b & ~c", most=16),
    TextFormat("verilog", "verilog", (".v",), reads=False),
)
"""Every format of circuits: the one place where a format is registered."""
CIRCUIT_FORMATS: tuple[str, ...] = tuple(text.name for text in CIRCUIT_TEXTS if text.reads and text.name != "yaml")
"""The formats that circuits are read from and written in, beside our own YAML."""
HARDWARE: tuple[str, ...] = tuple(text.name for text in CIRCUIT_TEXTS if not text.reads)
"""The formats that circuits are only written in."""
AUTOMATON_TEXTS: tuple[TextFormat, ...] = (
    TextFormat("jflap", "jflap", (".jff",), "JFLAP"),
    TextFormat("yaml", "native", (".yaml", ".yml"), "YAML"),
    TextFormat("regex", "regex", (".regex",), "regular expression: (ab)*", writes=False),
)
"""Every format of automata: the one place where a format is registered."""
LOGIC_LANGUAGES: tuple[str, ...] = ("tl", "srasp")
"""The languages of formulas and of programs, which are the endings of their files too."""
LOGIC_FORMATS: tuple[str, ...] = ("ascii", "paper")
"""The formats that formulas are written in, beside LaTeX and drawings: as they are typed, and in the signs of the paper."""
TARGETS: tuple[str, ...] = ("gpt2", "bert", "lens", "torch", "onnx")
"""The programs that weights are exported to."""
FrameFormat = Literal["svg", "png", "both"]
FRAMES: tuple[FrameFormat, ...] = get_args(FrameFormat)
"""What is written of each step of a run that is drawn as slides."""
