from ._version import __version__ as __version__
from .api.attention import attention_of, plot_head, scores_of
from .api.cases import check_many
from .api.datasets import make_dataset, sweep
from .api.drawings import draw_requests, draw_run
from .api.figure_1 import figure_1
from .api.frames import animate, frames
from .api.machines import convert, formula, load, to_graph
from .api.pages import explore
from .api.prompts import prompt_of, read_prompt
from .api.runs import activations, certify, check, compile, default_input, machine_of, run, simulate
from .api.softness import measure_softness, soften
from .api.subject import Subject
from .api.targets import export_gpt2, export_to, verify_checkpoint, verify_export
from .api.weights import listing, load_weights, save_weights, summary
from .errors import SpecError, SpecWarning, Tm2tfrError
from .sources.circuit.netlist import Circuit, Gate
from .sources.turing.library import shipped
from .sources.turing.spec import Example, Machine, Rule
from .sources.turing.universal.program import Universal
from .tables.table import table
from .trace.check import Trace
from .transformer.weights import Decoder

__all__ = [
    "Circuit",
    "Decoder",
    "Example",
    "Gate",
    "Machine",
    "Rule",
    "SpecError",
    "SpecWarning",
    "Subject",
    "Tm2tfrError",
    "Trace",
    "Universal",
    "__version__",
    "activations",
    "animate",
    "attention_of",
    "certify",
    "check",
    "check_many",
    "compile",
    "convert",
    "default_input",
    "draw_requests",
    "draw_run",
    "explore",
    "export_gpt2",
    "export_to",
    "figure_1",
    "formula",
    "frames",
    "listing",
    "load",
    "load_weights",
    "machine_of",
    "make_dataset",
    "measure_softness",
    "plot_head",
    "prompt_of",
    "read_prompt",
    "run",
    "save_weights",
    "scores_of",
    "shipped",
    "simulate",
    "soften",
    "summary",
    "sweep",
    "table",
    "to_graph",
    "verify_checkpoint",
    "verify_export",
]
