"""The house's walls: who may import whom, read off the source; imports within functions count."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Mapping
from functools import cache
from pathlib import Path

import networkx as nx
import pytest

from tests.house.reading import MODULES, ROOT, facts, name_of, source_texts, text_of, without

BASE = {"base", "options", "_version"}
MODEL = BASE | {"transformer"}
CONTRACT = {"blocks", "specification", "model"}
RUN = MODEL | {"contract", "blocks", "specification", "model", "columns", "sources", "truth", "engines", "comparison"}
WHOLE = RUN | {"certificates", "registry", "compiler", "proof", "tables", "runs", "targets"}
MAY_IMPORT: dict[str, set[str]] = {
    "_version": set(),
    "base": {"_version"},
    "options": {"base"},
    "sources": BASE,
    "rasp": {"base", "sources"},
    "transformer": BASE,
    "certificates": {"base", "transformer"},
    "specification": {"transformer"},
    "blocks": {"base", "transformer"},
    "model": {"base", "specification", "transformer"},
    "contract": {"base", "options", "certificates", "specification", "blocks", "model", "transformer"},
    "columns": {"contract", "model", "sources", "transformer"},
    "truth": MODEL | CONTRACT | {"contract", "columns", "sources"},
    "engines": BASE | {"transformer"},
    "compiler": MODEL | {"sources"},
    "comparison": MODEL | {"contract", "specification", "columns", "engines"},
    "proof": RUN | {"certificates"},
    "exported": RUN | {"proof"},
    "registry": RUN | {"certificates", "compiler", "proof", "exported"},
    "tables": RUN,
    "runs": RUN | {"registry", "tables"},
    "targets": RUN | {"certificates", "registry", "compiler", "proof", "exported"},
    "lab": WHOLE | CONTRACT,
    "web": WHOLE,
    "api": WHOLE | {"lab", "web"},
    "playground": WHOLE | {"web", "api"},
    "__init__": WHOLE | {"lab", "api"},
    "cli": WHOLE | {"lab", "web", "api", "playground"},
    "__main__": {"cli"},
}
"""Part of the package -> the other parts that it may import; nothing but `__main__` imports `cli`."""

ROOMS = {
    "compiler": "compiler",
    "proof": "proof",
    "source": "registry",
    "page": "exported",
    "graph_data": "exported",
    "exported": "exported",
    "columns": "columns",
    "truth": "truth",
    "specification": "truth",
    "blocks": "truth",
    "_blocks_kernel": "truth",
    "model": "truth",
    "patterns": "truth",
    "rules": "compiler",
}
"""The rooms of a source that are parts of their own: what a program is knows nothing of transformers, but these do."""

CONTRACTS = {**dict.fromkeys(("model", "evaluation", "modelled", "labelling", "wired"), "model"), "keywords": "options"}
"""The rooms of the contract that are one part: variables with their equations, and what follows from them."""

COMPARISON = {"rows", "comparison", "cause", "told", "passes", "predictions", "sampling", "side_by_side"}
"""The modules of `runs` that compare any decoder with any reference, and so know no construction; proofs use them."""

DOORS = {"from_yaml", "from_automata", "to_automata", "load"}
"""The one exception to `test_imports_form_no_circle`: methods of `Machine` that lead to its formats, for users alone."""


def part_of(module: str) -> str:
    """The part of the package that a dotted name belongs to; ``tm2tfr`` itself is ``__init__``; see also `ROOMS`."""
    parts = module.split(".")
    if parts[1:2] == ["contract"]:
        return "contract" if parts[2:3] in ([], ["source"], ["shown"]) else CONTRACTS.get(parts[2], parts[2])
    if parts[1:3] == ["web", "playground"]:
        return parts[2]
    if parts[1:2] == ["runs"] and COMPARISON.issuperset(parts[2:3]) and parts[2:]:
        return "comparison"
    if parts[1:2] == ["sources"]:
        own = [
            part for part in parts[3:] if part != "universal"
        ]  # a second construction of Turing machines, with such rooms
        return "registry" if parts[2:3] == ["registry"] else ROOMS.get("".join(own[:1]), "sources")
    return (*parts, "__init__")[1]


NAMES = {name_of(path) for path in MODULES}
PARTS = {part_of(name) for name in NAMES}


def imports(source: str, module: str, *, package: bool = False) -> Iterator[str]:
    """Yield the modules of this package that `source` imports anywhere in it, also by their names as text."""
    known = facts(source)
    found = sorted(known.words & NAMES)
    for node in known.imports:
        if isinstance(node, ast.Import):
            found += [alias.name for alias in node.names]
        else:
            up = module.split(".")[: len(module.split(".")) - node.level + package] if node.level else []
            base = ".".join([*up, *([node.module] if node.module else [])])
            # "from tm2tfr import cli" is the package cli, "from tm2tfr import run" the package
            found += [f"{base}.{a.name}" if base == "tm2tfr" and f"{base}.{a.name}" in NAMES else base for a in node.names]
    yield from (name for name in found if re.match(r"tm2tfr(\.|$)", name))


@cache
def imported_by(path: Path) -> set[str]:
    """The modules that a module imports; but for what a `_repr_html_` needs, which is there for notebooks alone."""
    return set(imports(source_texts()[name_of(path)], name_of(path), package=path.stem == "__init__"))


def graph(sources: Mapping[str, str]) -> nx.DiGraph[str]:
    """The modules by name, with an arrow to each one that they import; ``from tm2tfr.runs import comparison`` is one.

    Whoever imports a module of another package runs the ``__init__`` of that package, too.
    """
    packages = {name.rpartition(".")[0] for name in sources} & set(sources) - {"tm2tfr"}
    found: nx.DiGraph[str] = nx.DiGraph()
    for module, source in sources.items():
        known, package = facts(source), module if module in packages else module.rpartition(".")[0]
        used = {name for name in known.words if name in sources}
        used |= {f"{package}.{name}" for name in known.siblings}
        for node in known.imports:
            if isinstance(node, ast.Import):
                used |= {alias.name for alias in node.names}
            else:
                up = package.split(".")[: len(package.split(".")) - node.level + 1] if node.level else []
                base = ".".join([*up, *([node.module] if node.module else [])])
                exact = [f"{base}.{alias.name}" for alias in node.names]
                used |= {name if name in sources else base for name in exact}
        run = {name for name in packages if any(each.startswith(f"{name}.") for each in used)}
        used |= {name for name in run if not f"{module}.".startswith(f"{name}.")}
        found.add_edges_from((module, name) for name in used)
    return found.subgraph(sources)


def circles(sources: Mapping[str, str]) -> list[list[str]]:
    found = graph(sources)
    large = (part for part in nx.strongly_connected_components(found) if len(part) > 1)
    return sorted([sorted(part) for part in large] + [[module] for module in nx.nodes_with_selfloops(found)])


SPEC = "tm2tfr.sources.turing.spec"


def test_every_part_of_the_package_has_a_rule() -> None:
    assert set(MAY_IMPORT) == PARTS, "say in MAY_IMPORT what a new part may import"


def test_a_module_imports_only_what_its_part_may() -> None:
    found = {path: {part_of(name) for name in imported_by(path)} - {part_of(name_of(path))} for path in MODULES}
    too_much = {name_of(path): sorted(others - MAY_IMPORT[part_of(name_of(path))]) for path, others in found.items()}
    assert {name: others for name, others in too_much.items() if others} == {}


def test_constructions_do_not_import_each_other() -> None:
    for path in (ROOT / "sources").glob("*/**/*.py"):
        own = path.relative_to(ROOT / "sources").parts[0]
        others = {name.split(".")[2] for name in imported_by(path) if re.match(r"tm2tfr\.sources\.", name)}
        assert others <= {own, *SHARED.get(own, ())}


SHARED = {"rasp": ("sequence",), "logic": ("sequence",), "automaton": ("logic", "rasp")}
"""The languages that are lowered to weights by way of the graph of sequence operations; and automata, which are written as
programs in B-RASP or RASP, and compiled as these. What says what is right of an automaton, its run, uses neither."""


def test_the_run_of_an_automaton_uses_no_program() -> None:
    whole = graph(source_texts())
    used = nx.descendants(whole, "tm2tfr.sources.automaton.evaluate")
    assert "tm2tfr.sources.automaton.automaton" in used
    assert {name for name in used if name.startswith("tm2tfr.sources.")} == {"tm2tfr.sources.automaton.automaton"}


def test_no_import_runs_back_up() -> None:
    """The parts stand in an order, from the bottom to the top: `MAY_IMPORT` names only parts that come before."""
    order = list(MAY_IMPORT)
    assert all(
        order.index(other) < order.index(part) for part, others in MAY_IMPORT.items() for other in others if other != part
    )


RIGHT = (
    "tm2tfr.certificates",
    "tm2tfr.sources.turing.simulator",
    "tm2tfr.sources.turing.blocks",
    "tm2tfr.sources.turing.patterns",
    "tm2tfr.sources.turing.model",
    "tm2tfr.sources.turing.truth",
    "tm2tfr.sources.turing.proof",
    "tm2tfr.sources.turing.universal.model",
    "tm2tfr.sources.turing.universal.names",
    "tm2tfr.sources.turing.universal.program",
    "tm2tfr.sources.turing.universal.prompt",
    "tm2tfr.sources.turing.universal.proof",
    "tm2tfr.sources.turing.universal.truth",
    "tm2tfr.runs.cause",
    "tm2tfr.runs.passes",
    "tm2tfr.runs.told",
    "tm2tfr.runs.comparison",
    "tm2tfr.runs.rows",
    "tm2tfr.sources.circuit.truth",
    "tm2tfr.sources.circuit.columns",
    "tm2tfr.sources.circuit.evaluate",
    "tm2tfr.sources.circuit.model",
    "tm2tfr.sources.circuit.netlist",
    "tm2tfr.sources.circuit.proof",
    "tm2tfr.sources.automaton.evaluate",
    "tm2tfr.sources.automaton.model",
    "tm2tfr.sources.automaton.truth",
    "tm2tfr.sources.logic.model",
    "tm2tfr.sources.logic.evaluate",
    "tm2tfr.sources.logic.truth",
    "tm2tfr.sources.rasp.model",
    "tm2tfr.sources.rasp.evaluate",
    "tm2tfr.sources.rasp.truth",
    "tm2tfr.contract.blocks",
    "tm2tfr.contract.evaluation",
    "tm2tfr.contract.model",
    "tm2tfr.contract.modelled",
    "tm2tfr.contract.wired",
    "tm2tfr.contract.source",
)
"""What says what is right."""


def told(sources: Mapping[str, str]) -> set[tuple[str, str]]:
    """Return which modules that say what is right learn of a compiler, and from which one: by any way round."""
    whole = graph(sources)
    return {
        (name, used)
        for name in whole
        if name.startswith(RIGHT)
        for used in nx.descendants(whole, name)
        if used != "tm2tfr.sources.sequence.naming"
        and (part_of(used) in ("compiler", "api", "cli") or used.startswith("tm2tfr.sources.sequence."))
    }


def test_what_says_what_is_right_imports_no_compiler() -> None:
    """Nor does anything that it imports: the evaluator, the specification and the proof share nothing with the compiler."""
    assert told(source_texts()) == set()
    assert sum(name.startswith(RIGHT) for name in source_texts()) > 15
    assert all(any(name.startswith(right) for name in source_texts()) for right in RIGHT), "a name that there is not"


@pytest.mark.parametrize("module", ["names", "truth", "proof"])
@pytest.mark.parametrize("path", ["rules import finders", "compiler import compile_universal"])
def test_what_would_say_what_is_right_by_a_compiler_is_found(module: str, path: str) -> None:
    universal = "tm2tfr.sources.turing.universal"
    name, text = f"{universal}.{module}", f"def f():\n    from {universal}.{path}\n"
    changed = {
        **{n: "" for n in source_texts() if n.startswith((f"{universal}.compiler", f"{universal}.rules"))},
        name: text,
    }
    changed[f"{universal}.truth"] = changed.get(f"{universal}.truth", f"import {name}")
    assert (name, f"{universal}.{path.split(maxsplit=1)[0]}") in told(changed)
    assert (f"{universal}.truth", f"{universal}.{path.split(maxsplit=1)[0]}") in told(changed)


def test_no_folder_has_too_many_files() -> None:
    folders = [ROOT, *(path for path in ROOT.rglob("*") if path.is_dir()), *(ROOT.parent / "tests").rglob("*")]
    sizes = {
        str(folder.relative_to(ROOT.parent)): sum(file.is_file() for file in folder.iterdir())
        for folder in (*folders, ROOT.parent / "tests", ROOT.parent / "docs")
        if folder.is_dir() and "__pycache__" not in folder.parts
    }
    assert {name: size for name, size in sizes.items() if size > 25} == {}
    assert len(sizes) > 30


def test_imports_form_no_circle() -> None:
    """Not within functions, for type checkers, by names as text or by way of a package's ``__init__`` either."""
    assert circles({**source_texts(), SPEC: without(source_texts()[SPEC], DOORS)}) == []


def test_the_doors_of_a_machine_are_for_users_and_what_stands_in_for_them() -> None:
    below = {module: source for module, source in source_texts().items() if part_of(module) not in ("api", "cli")}
    used = {
        module: re.findall(rf"Machine\.(?:{'|'.join(DOORS)})\(|\.to_automata\(", source) for module, source in below.items()
    }
    assert {module: found for module, found in used.items() if found} == {}, "call the format, or machine.library.load"


def test_circles_are_found_wherever_an_import_stands() -> None:
    way_back = {
        "import tm2tfr.b": [["tm2tfr.a", "tm2tfr.b"]],
        "def f():\n    from tm2tfr.b import g": [["tm2tfr.a", "tm2tfr.b"]],
        "if TYPE_CHECKING:\n    from tm2tfr import b": [["tm2tfr.a", "tm2tfr.b"]],
        "import_module('tm2tfr.b')": [["tm2tfr.a", "tm2tfr.b"]],
        "from tm2tfr.a import x": [["tm2tfr.a"]],
        "from tm2tfr.c import x": [],
    }
    for source, found in way_back.items():
        assert circles({"tm2tfr.a": source, "tm2tfr.b": "from tm2tfr.a import f", "tm2tfr.c": ""}) == found
    back = "from tm2tfr.p.a import f"
    for source in (
        "from . import b",
        "from .b import x",
        "from ..p import b",
        "import_module(f'{__package__}.{names[0]}')",
    ):
        texts = {"tm2tfr.p": "", "tm2tfr.p.a": f"names = ['b']\n{source}", "tm2tfr.p.b": back}
        assert circles(texts) == [["tm2tfr.p.a", "tm2tfr.p.b"]], source
    texts = {"tm2tfr.p": "import tm2tfr.b", "tm2tfr.p.a": "", "tm2tfr.b": back}
    assert circles(texts) == [["tm2tfr.b", "tm2tfr.p"]]


def test_nothing_is_asserted_and_no_file_is_too_long() -> None:
    texts = {name_of(path): text_of(path) for path in MODULES}
    asserts = [f"{name}:{line}: raise instead of asserting" for name, text in texts.items() for line in facts(text).asserts]
    assert asserts == []
    assert {name: len(text.splitlines()) for name, text in texts.items() if len(text.splitlines()) > 420} == {}


@pytest.mark.parametrize(
    ("source", "module", "found"),
    [
        ("import tm2tfr.engines.dense as d, numpy", "tm2tfr.x", ["tm2tfr.engines.dense"]),
        ("def f():\n    from tm2tfr.cli import main", "tm2tfr.x", ["tm2tfr.cli"]),
        ("from tm2tfr import cli, run", "tm2tfr.x", ["tm2tfr.cli", "tm2tfr"]),
        ("from . import matrix", "tm2tfr.transformer.weights", ["tm2tfr.transformer"]),
        ("from ..sources.turing.spec import Machine", "tm2tfr.transformer.weights", ["tm2tfr.sources.turing.spec"]),
        ("import_module('tm2tfr.cli')", "tm2tfr.x", ["tm2tfr.cli"]),
        ("if TYPE_CHECKING:\n    from tm2tfr.runs.comparison import check", "tm2tfr.x", ["tm2tfr.runs.comparison"]),
        ("from tm2tfrs import x\n'see tm2tfr.cli'", "tm2tfr.x", []),
    ],
)
def test_the_reader_of_imports_sees_them_all(source: str, module: str, found: list[str]) -> None:
    assert list(imports(source, module)) == found
