"""The page about what was learned: its tables and its figure, from the records of all runs.

``python docs/learned/results.py collect FOLDER NAME`` writes the records of a grid's runs to ``NAME.jsonl``, one per line;
``python docs/learned/results.py`` writes the tables of ``index.md``, ``noise.svg`` and ``figures-3-4.svg`` anew.
``python docs/learned/results.py attention FOLDER NAME`` is ``collect`` with the comparison of each run's attention, and
``python docs/learned/results.py table FOLDER`` prints the table of any grid with regimes and bits.
"""

from __future__ import annotations

import json
import re
import sys
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from tm2tfr.lab.training.best import FIGURES, BestOfRuns, TrainedRuns, plot_best, trained_runs

HERE = Path(__file__).parent
PAGE, FIGURE, FIGURES_3_AND_4 = HERE / "index.md", HERE / "noise.svg", HERE / "figures-3-4.svg"
REGIMES = {"weak": "answer only (weak)", "medium": "steps shown (medium)", "strong": "steps scored (strong)"}
TABLE_1 = ("table-1/to-8-bits", "table-1/16-bits", "table-1/16-bits-longer")
CONTROL = ("table-1/control", "table-1/learning-rates")
GRIDS = ("section-6", "noise")
ATTENTION = ("figure-2/learned", "figure-2/sines")
REVERSE = ("rasp/reverse", "rasp/reverse-wide", "rasp/reverse-long")
CHOSEN = ("rasp/jibbiejig.json", "rasp/flip.json")
"""What ``tm2tfr compare --input WORD --json`` printed of the first run of the histogram, and of reverse in two layers."""
PAPER = {
    "weak": {8: 1.0, 16: 0.2529, 24: 0.1773, 32: 0.1961, 40: 0.072, 48: 0.0},
    "medium": {8: 0.0473, 16: 0.0003, 24: 0.0, 32: 0.0, 40: 0.0, 48: 0.0},
    "strong": {8: 1.0, 16: 1.0, 24: 1.0, 32: 1.0, 40: 0.8916, 48: 0.9873},
}
"""Table 1 of the paper: regime -> n -> the maximum of 120 runs, 30 settings with 4 trials each."""
Record = Mapping[str, Any]


def of_table_1() -> TrainedRuns:
    """Return the runs of Table 1 and of its figures: one layer and one head, on the paper's sums of as many bits."""
    found = trained_runs(*sorted(HERE.glob("table-1/*.jsonl")))
    return TrainedRuns(tuple(run for run in found.runs if run.data["bits"] in PAPER["weak"]))


def trained(folder: Path) -> list[Record]:
    """Return the records of all runs in a folder."""
    return [json.loads(path.read_text(encoding="utf-8")) for path in sorted(folder.glob("*/run.json"))]


def with_attention(folder: Path) -> list[Record]:
    """Return the records of all runs in a folder, each with the comparison of its attention."""
    import tm2tfr  # noqa: PLC0415  (the tables need only the records)

    paths = sorted(folder.glob("*/run.json"))
    compared = [tm2tfr.compare(path.parent).as_dict() for path in paths]
    return [{**record, "attention": each} for record, each in zip(trained(folder), compared, strict=True)]


def collect(found: Iterable[Record], name: str) -> None:
    """Write records to one file."""
    lines = [json.dumps(record, ensure_ascii=False, separators=(",", ":")) + "\n" for record in found]
    (HERE / f"{name}.jsonl").write_text("".join(lines), encoding="utf-8")


def records(name: str) -> list[Record]:
    """Return the records of a grid's runs."""
    return [json.loads(line) for line in (HERE / f"{name}.jsonl").read_text(encoding="utf-8").splitlines()]


def grouped(runs: Iterable[Record], *keys: str) -> dict[tuple[Any, ...], list[Record]]:
    """Return runs by what their data, model and options say of `keys`."""
    found = defaultdict[tuple[Any, ...], list[Record]](list)
    for run in runs:
        said = {**run["data"], **run["model"], **run["options"]}
        found[tuple(said[key] for key in keys)].append(run)
    return dict(found)


def share(run: Record) -> str:
    """Return the exact match of a run, with the step at which all answers were right first."""
    exact: float = run["exact_match"]
    first = next((step for step, answer, *_ in run["evaluations"] if answer == 1), None)
    return f"{exact:.3f}" if exact < 1 or first is None else f"1.000 ({first:,})"


def by_bits(runs: Sequence[Record], key: str, words: Mapping[Any, str]) -> str:
    """Return a table: a line for each value of `key`, a column for each number of bits; the runs of all seeds in a cell."""
    found = grouped(runs, key, "bits")
    bits = sorted({n for _, n in found})
    lines = ["| | " + " | ".join(f"n = {n}" for n in bits) + " |", "|---" * (len(bits) + 1) + "|"]
    for value, line in words.items():
        cells = [", ".join(map(share, found.get((value, n), []))) for n in bits]
        if any(cells):
            lines.append(f"| {line} | " + " | ".join(cells) + " |")
    return "\n".join(lines)


def best(found: TrainedRuns) -> str:
    """Return a table: a line for each regime, a column for each n; the maximum, with the mean and the number of runs."""
    tasks = {(each.regime, each.data): each for each in found.best}
    bits = sorted({run.data["bits"] for run in found.runs})
    lines = ["| | " + " | ".join(f"n = {n}" for n in bits) + " |", "|---" * (len(bits) + 1) + "|"]
    for regime, line in REGIMES.items():
        cells = [_best_cell(tasks.get((regime, n))) for n in bits]
        lines.append(f"| {line} | " + " | ".join(cells) + " |")
        lines.append(f"| in the paper, {regime} | " + " | ".join(f"{PAPER[regime][n]:.4f}" for n in bits) + " |")
    return "\n".join(lines)


def _best_cell(task: BestOfRuns | None) -> str:
    if task is None:
        return ""
    return f"**{task.maximum:.4f}** (mean {task.mean:.4f}, {task.runs} {'run' if task.runs == 1 else 'runs'})"


def varied(found: TrainedRuns) -> bool:
    """Return whether Figures 3 and 4 have more than one line."""
    return any(len({value(run) for run in found.runs}) > 1 for value in FIGURES.values())


def minutes(runs: Sequence[Record]) -> str:
    """Return the processor time of runs, in words."""
    spent = sum(run["cpu_seconds"] for run in runs) / 60
    times = f"{spent:.0f} {'minute' if round(spent) == 1 else 'minutes'}"
    unseen = sorted({run["data"]["test"] for run in runs})
    sizes = f"{unseen[0]:,}" if len(unseen) == 1 else f"{unseen[0]:,} to {unseen[-1]:,}"
    number = f"{len(runs)} {'run' if len(runs) == 1 else 'runs'}"
    return f"{number}, {times} of processor time in all; each on {sizes} unseen inputs"


def by_noise(runs: Sequence[Record]) -> str:
    """Return a table: a line for each size of the noise, with the exact match before and after training."""
    found = grouped(runs, "noise", "steps")
    last = max(steps for _, steps in found)
    lines = ["| noise σ | before training | after at most " + f"{last:,} steps |", "|---|---|---|"]
    for noise in sorted({noise for noise, _ in found}):
        cells = [
            ", ".join(f"{run['exact_match']:.3f}" for run in found[noise, steps]) if (noise, steps) in found else ""
            for steps in (0, last)
        ]
        lines.append(f"| {noise:g} | " + " | ".join(cells) + " |")
    return "\n".join(lines)


def by_kind(groups: Mapping[str, Sequence[Record]]) -> str:
    """Return a table: a line for each kind of row, the share of the attention that is on the operands in its cells.

    Args:
        groups: the runs of one column each, by its title.
    """
    shares: dict[str, dict[str, list[dict[str, float]]]] = {}
    for title, runs in groups.items():
        for run in runs:
            head = run["attention"]["heads"][0]
            for each in (*head["kinds"], {**head["overall"], "kind": "all"}):
                shares.setdefault(each["kind"], {}).setdefault(title, []).append(each)
    titles = ["rows", "compiled", *groups, "untrained", "uniform"]
    lines = [f"| {' | '.join(titles)} |", "|---" * len(titles) + "|"]
    for kind, found in shares.items():
        every = [each for some in found.values() for each in some]
        cells = [", ".join(f"{each['operands']:.2f}" for each in found.get(title, ())) for title in groups]
        ends = [
            sum(each[f"{name}_operands"] for each in every) / len(every) for name in ("compiled", "untrained", "uniform")
        ]
        lines.append(f"| {' | '.join([kind, f'{ends[0]:.2f}', *cells, *(f'{end:.2f}' for end in ends[1:])])} |")
    return "\n".join(lines)


def by_length(runs: Sequence[Record]) -> str:
    """Return a table: a line for each shape, a column for each length of words; the shares of right letters and words."""
    found, lengths = defaultdict[tuple[str, int], list[Record]](list), set[int]()
    for run in sorted(runs, key=lambda run: (-run["model"]["layers"], run["model"]["heads"], run["options"]["seed"])):
        layers, heads, length = run["model"]["layers"], run["model"]["heads"], run["data"]["positions"]
        shape = f"{layers} layer{'s' * (layers > 1)}, {heads} head{'s' * (heads > 1)} each, {run['trained']:,} parameters"
        found[shape, length].append(run)
        lengths.add(length)
    lines = ["| | " + " | ".join(f"up to {n} letters" for n in sorted(lengths)) + " |", "|---" * (len(lengths) + 1) + "|"]
    for shape in dict.fromkeys(shape for shape, _ in found):
        cells = [", ".join(map(letters_and_words, found.get((shape, n), []))) for n in sorted(lengths)]
        lines.append(f"| {shape} | {' | '.join(cells)} |")
    return "\n".join(lines)


def letters_and_words(run: Record) -> str:
    """Return the shares of right tokens and of words whose tokens are all right."""
    return f"{100 * run['token_accuracy']:.2f} % ({100 * run['exact_match']:.1f} %)"


def by_order(runs: Sequence[Record]) -> str:
    """Return a table: a line for each order of sublayers, the best first."""
    lines = ["| sublayers | parameters | right labels | right words |", "|---|---|---|---|"]
    for run in sorted(runs, key=lambda run: -run["token_accuracy"]):
        shares = [f"{100 * run[name]:.1f} %" for name in ("token_accuracy", "exact_match")]
        lines.append(f"| `{run['model']['sublayers']}` | {run['trained']:,} | {' | '.join(shares)} |")
    return "\n".join(lines)


def beside_the_selector(rows: Iterable[tuple[str, Record]]) -> str:
    """Return a table: the share of the attention of the head that is nearest on what the compiled head selects."""
    lines = ["| | right words | learned | untrained | uniform | compiled |", "|---|---|---|---|---|---|"]
    for words, found in rows:
        best = found["heads"][0]["overall"]
        names = ("operands", "untrained_operands", "uniform_operands", "compiled_operands")
        shares = " | ".join(f"{best[name]:.2f}" for name in names)
        lines.append(f"| {words} | {100 * found['exact_match']:.1f} % | {shares} |")
    return "\n".join(lines)


def rasp_tables() -> dict[str, str]:
    """Return the tables of what the slides on RASP trained."""
    reverse = [run for name in REVERSE for run in records(name)]
    sandwich, histogram = records("rasp/sandwich"), records("rasp/histogram")
    chosen, flip = (json.loads((HERE / name).read_text(encoding="utf-8")) for name in CHOSEN)
    rows = [(f"seed {run['options']['seed']}, {run['attention']['inputs']} inputs", run["attention"]) for run in histogram]
    rows += [(f"seed 0, `{chosen['input']}`", chosen)]
    return {
        "reverse": f"{by_length(reverse)}\n\n{minutes(reverse)}.",
        "flip": beside_the_selector([(f"head L{flip['heads'][0]['layer']}H0, `{flip['input']}`", flip)]),
        "histogram": f"{beside_the_selector(rows)}\n\n{minutes(histogram)}.",
        "sandwich": f"{by_order(sandwich)}\n\n{minutes(sandwich)}.",
    }


def tables() -> dict[str, str]:
    """Return what stands between the marks of the page, by their names."""
    table, more, longer = (records(name) for name in TABLE_1)
    control, weak = (records(name) for name in CONTROL)
    six, noise = (records(name) for name in GRIDS)
    rates = {
        rate: f"learning rate {rate:g}"
        for rate in sorted({run["options"]["lr"] for run in [*control, *weak]}, reverse=True)
    }
    learned, sines = (records(name) for name in ATTENTION)
    attention = by_kind({"learned positions": learned, "sines and cosines": sines})
    many = of_table_1()
    figure = f"\n\n![Figures 3 and 4]({FIGURES_3_AND_4.name})" if varied(many) else ""
    return {
        "figure-2": f"{attention}\n\n{minutes([*learned, *sines])}.",
        "table-1": f"{by_bits([*table, *more], 'regime', REGIMES)}\n\n{minutes([*table, *more])}.",
        "best": f"{best(many)}\n\n{minutes([run.as_dict() for run in many.runs])}.{figure}",
        "longer": f"{by_bits(longer, 'regime', REGIMES)}\n\n{minutes(longer)}.",
        "control": f"{by_bits([*control, *weak], 'lr', rates)}\n\n{minutes([*control, *weak])}.",
        "section-6": f"{by_bits(six, 'regime', REGIMES)}\n\n{minutes(six)}.",
        "noise": f"{by_noise(noise)}\n\n{minutes(noise)}.",
        **rasp_tables(),
    }


def page(text: str) -> str:
    """Return the page with all tables made anew."""
    for name, table in tables().items():
        pattern = re.compile(rf"(<!-- {name} -->\n).*?(<!-- end -->\n)", re.DOTALL)
        text, times = pattern.subn(lambda match, table=table: f"{match[1]}\n{table}\n\n{match[2]}", text)
        if times != 1:
            raise ValueError(
                f"the page has {times} places for the table {name}: write <!-- {name} --> and <!-- end --> once"
            )
    return text


def draw() -> None:
    """Draw the figure: exact match before and after training, by the size of the noise."""
    import matplotlib as mpl  # noqa: PLC0415  (the tables need none)
    from matplotlib.figure import Figure  # noqa: PLC0415

    found = grouped(records("noise"), "noise", "steps")
    last = max(steps for _, steps in found)
    sizes = sorted({noise for noise, _ in found if noise})
    with mpl.rc_context({"svg.hashsalt": "tm2tfr", "svg.fonttype": "none"}):
        figure = Figure(figsize=(6, 3.2), layout="constrained")
        axes = figure.subplots()
        for steps, colour, words in ((0, "#b3261e", "compiled weights plus noise"), (last, "#1b5e8f", "after training")):
            shares = [[run["exact_match"] for run in found.get((noise, steps), [])] for noise in sizes]
            axes.plot(sizes, [sum(some) / len(some) for some in shares], color=colour, label=words)
            for noise, some in zip(sizes, shares, strict=True):
                axes.plot([noise] * len(some), some, "o", color=colour, markersize=3.5)
        axes.set_xscale("log")
        axes.set_xlabel("noise σ, in units of the root mean square of a matrix's entries")
        axes.set_ylabel("exact match, unseen sums")
        axes.legend(frameon=False, loc="center right")
        axes.spines[["top", "right"]].set_visible(False)
        figure.savefig(FIGURE, metadata={"Date": None})
        many = of_table_1()
        if varied(many):
            plot_best(many, FIGURES_3_AND_4)


if __name__ == "__main__":
    if sys.argv[1:2] == ["collect"]:
        collect(trained(Path(sys.argv[2])), sys.argv[3])
    elif sys.argv[1:2] == ["attention"]:
        collect(with_attention(Path(sys.argv[2])), sys.argv[3])
    elif sys.argv[1:2] == ["table"]:
        print(by_bits(trained(Path(sys.argv[2])), "regime", REGIMES))
    else:
        PAGE.write_text(page(PAGE.read_text(encoding="utf-8")), encoding="utf-8")
        draw()
