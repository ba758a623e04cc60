from ._version import __version__ as __version__
from .api.attention import attention_of, draw_requests, draw_run, next_tokens, plot_head, scores_of
from .api.batches import check_batch, check_many, run_batch
from .api.checking import check
from .api.datasets import make_dataset, make_labels, normal_form, sweep
from .api.hidden import (
    claim_template,
    disguise,
    disguise_by_training,
    make_suite,
    measure_disguise,
    score_baseline,
    score_claim,
    verify_disguise,
)
from .api.interventions import causal_variables, intervene, intervene_many
from .api.machines import automaton, convert, explain, formula, load, prompt_of, read_prompt, to_graph
from .api.pages import animate, explore, frames
from .api.runs import (
    activations,
    certify,
    compile,
    default_input,
    listing,
    load_weights,
    machine_of,
    run,
    save_weights,
    simulate,
    summary,
    with_weight,
)
from .api.sensitivity import measure_sensitivity, parity_encoder
from .api.softness import figure_1, measure_softness, soften
from .api.subject import Subject
from .api.targets import export_gpt2, export_to, verify_checkpoint, verify_export
from .api.training import compare, train, train_grid, training_examples
from .base.errors import SpecError, SpecWarning, Tm2tfrError
from .lab.interventions.settings import From
from .runs.comparison import Trace
from .runs.plan import CheckReport, Plan, RunOptions, Soft
from .runs.sampling import Sampling
from .sources.circuit.netlist import Circuit, Gate
from .sources.turing.library import shipped
from .sources.turing.spec import Example, Machine, Rule
from .sources.turing.universal.program import Universal
from .tables.table import table
from .transformer.weights import Decoder

__all__ = [
    "CheckReport",
    "Circuit",
    "Decoder",
    "Example",
    "From",
    "Gate",
    "Machine",
    "Plan",
    "Rule",
    "RunOptions",
    "Sampling",
    "Soft",
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
    "automaton",
    "causal_variables",
    "certify",
    "check",
    "check_batch",
    "check_many",
    "claim_template",
    "compare",
    "compile",
    "convert",
    "default_input",
    "disguise",
    "disguise_by_training",
    "draw_requests",
    "draw_run",
    "explain",
    "explore",
    "export_gpt2",
    "export_to",
    "figure_1",
    "formula",
    "frames",
    "intervene",
    "intervene_many",
    "listing",
    "load",
    "load_weights",
    "machine_of",
    "make_dataset",
    "make_labels",
    "make_suite",
    "measure_disguise",
    "measure_sensitivity",
    "measure_softness",
    "next_tokens",
    "normal_form",
    "parity_encoder",
    "plot_head",
    "prompt_of",
    "read_prompt",
    "run",
    "run_batch",
    "save_weights",
    "score_baseline",
    "score_claim",
    "scores_of",
    "shipped",
    "simulate",
    "soften",
    "summary",
    "sweep",
    "table",
    "to_graph",
    "train",
    "train_grid",
    "training_examples",
    "verify_checkpoint",
    "verify_disguise",
    "verify_export",
    "with_weight",
]
