"""The script of the page in which any machine runs, in a worker of a browser, and the machines that it is given there."""

from __future__ import annotations

import random
from collections.abc import Iterable, Iterator, Sequence
from functools import cache
from itertools import islice
from pathlib import Path
from typing import Any, NamedTuple

import tm2tfr
from tests.sources.turing.universal.cases import SIZES, random_machine, random_word
from tests.web.explorer.reading import embedded
from tests.web.explorer.test_live_engine import in_a_worker
from tm2tfr.base.errors import ConversionError
from tm2tfr.sources.turing.formats import bbchallenge, native
from tm2tfr.sources.turing.library import load, shipped, shipped_text
from tm2tfr.sources.turing.spec import Machine
from tm2tfr.sources.turing.universal.names import size_of
from tm2tfr.web.explorer.document import Explorer

SCRIPT = (Path(tm2tfr.__file__).parent / "web" / "explorer" / "assets" / "anymachine.js").read_text(encoding="utf-8")
EVERY = tm2tfr.Universal(states=8, symbols=4)
FILE = "machine.yaml"

READ_ONE = """
((text, file, name) => {
  try {
    const { machine, warnings } = anymachine.read(text, file, name);
    const entries = machine.rules.entries;
    const rules = entries.map(({ state, symbol, rule }) => [state, symbol, rule.state, rule.write, rule.move]);
    const said = warnings.map(anymachine.written).join("\\n");
    return { machine: { ...machine, rules, haltingStates: [...machine.haltingStates].sort() }, said };
  } catch (error) {
    if (error.name !== "SpecError") throw error;
    return { machine: null, said: error.message };
  }
})
"""
READ = f"async ({{ texts, file, name }}) => texts.map((text) => {READ_ONE}(text, file, name))"
EDITABLE = f"""({{ texts, file, name }}) => texts.map((text) => {{
  const editable = anymachine.editable(text, name);
  return {{ ...{READ_ONE}(text, file, name), editable, edited: {READ_ONE}(editable, file, name).machine }};
}})"""
RUN = """
async ({ data, columns, cases }) => {
  const buffers = await anymachine.unpacked(columns);
  const template = new anymachine.Template(data, buffers);
  return cases.map(({ text, word, steps }) => {
    const { machine } = anymachine.read(text);
    const placed = anymachine.placed(machine, data.class);
    const { data: { runs: [spec] }, buffers: own } = template.named(machine, placed);
    const [right, about] = anymachine.weightsOf(spec, own);
    const order = { runs: [{ spec, decoder: right, right, about }], word: [...word], text: null, ends: null };
    Object.assign(order, { maxSteps: steps, gates: null, sequence: null });
    const { runs: [run], columns: made } = anymachine.carriedOut(order, () => undefined);
    const tokens = Array.from(made[-1 - run.rows.x.at], (n) => run.texts[n - 1]);
    const answers = Array.from(made[-1 - run.rows.y.at], (n) => run.texts[n - 1]);
    const { agrees, compared, answer, T } = run;
    return { tokens, answers, agrees, compared, answer, T, prompt: placed.canonical.join(" ") };
  });
}
"""
PLACED = """
async ({ texts, size }) => texts.map((text) => {
  try {
    return anymachine.placed(anymachine.read(text, "machine.yaml", "machine").machine, size).canonical.join(" ");
  } catch (error) {
    if (error.name !== "Refused") throw error;
    return error.message;
  }
})
"""


class Run(NamedTuple):
    """A machine as text, and what it is run on."""

    text: str
    machine: Machine
    word: str


@cache
def page(machine: Any = "chapter", word: str | None = None, **options: Any) -> Explorer:
    """Return the page for (8, 4), which opens with a machine."""
    return tm2tfr.explore(tm2tfr.Subject.of(machine, options={"universal": (8, 4), **options}), word, standalone=True)


def read_in_the_page(chromium: Any, texts: Iterable[str], script: str = SCRIPT, **called: str) -> list[Any]:
    """Return what the page's script reads of each text: the machine, None for none, and what is said of it."""
    return in_a_worker(chromium, READ, {"texts": list(texts), "file": FILE, "name": "machine", **called}, script)


def read_as_jflap(chromium: Any, texts: Iterable[str]) -> list[Any]:
    """Return what the page reads of JFLAP files, see `read_in_the_page`, the text for its editor, and what that is read as.

    No worker does this: the browser's reader of XML is only in a page.
    """
    page = chromium.new_page()
    try:
        page.add_script_tag(content=SCRIPT.replace("typeof document", "typeof nothing"))
        return page.evaluate(EDITABLE, {"texts": list(texts), "file": FILE, "name": "machine"})
    finally:
        page.close()


def run_in_the_page(chromium: Any, runs: Sequence[Run], steps: int, script: str = SCRIPT) -> list[Any]:
    """Return the tokens of each run, whether they agree with the simulator of the page, and the prompt."""
    html = page().html
    columns = html.split('id="columns">')[1].split("</script>")[0]
    cases = [{"text": run.text, "word": run.word, "steps": steps} for run in runs]
    return in_a_worker(chromium, RUN, {"data": embedded(html), "columns": columns, "cases": cases}, script)


def placed_in_the_page(chromium: Any, texts: Iterable[str], size: dict[str, Any]) -> list[str]:
    """Return the canonical prompt of each machine, or why it has none."""
    return in_a_worker(chromium, PLACED, {"texts": list(texts), "size": size}, SCRIPT)


def as_read(text: str) -> Machine:
    """Return the machine that Python reads in a file that is called as the page calls its text."""
    from tm2tfr.sources.turing.formats import registry

    return registry.read(text, file=FILE).machine


@cache
def machines() -> tuple[Run, ...]:
    """Return 200 machines that fit: all shipped ones that do, on their own inputs, then random ones in both notations."""
    return tuple(islice(_machines(random.Random(32)), 200))


def _machines(chance: random.Random) -> Iterator[Run]:
    for name in shipped():
        machine = load(name)
        if all(n <= most for n, most in zip(size_of(machine), (8, 4), strict=True)):
            words = dict.fromkeys([machine.input or "", *(example.input for example in machine.examples)])
            yield Run(shipped_text(name), machine, next(iter(words)))
    for n in range(1_000):
        machine = random_machine(chance, *SIZES[n % len(SIZES)], chance.choice(("one-way", "two-way")))
        if all(m <= most for m, most in zip(size_of(machine), (8, 4), strict=True)):
            text = native.write(machine)
            if n % 3 == 0:
                try:
                    text = bbchallenge.write(machine).text
                except ConversionError:  # it has verdicts, or a tape with an end
                    continue
            own = as_read(text)
            yield Run(text, own, random_word(chance, own))


def plain(machine: Machine) -> dict[str, Any]:
    """Return a machine as the page's script shows one."""
    rules = [[q, a, *rule] for (q, a), rule in machine.transitions.items()]
    many = ("states", "tape_alphabet", "accept", "reject", "accept_states", "reject_states")
    lists = {name: getattr(machine, name) for name in many}
    examples = [
        {"input": e.input, "outcome": e.outcome, "steps": e.steps, "tape": e.tape, "maxSteps": e.max_steps}
        for e in machine.examples
    ]
    one = ("start", "blank", "tape", "name", "description", "source", "input", "decides")
    return {
        **{name: getattr(machine, name) for name in one},
        **{_camel(name): None if value is None else list(value) for name, value in lists.items()},
        "inputAlphabet": list(machine.input_alphabet or ()),
        "aboutInput": machine.about_input,
        "haltingStates": sorted(machine.halting_states),
        "examples": examples,
        "rules": rules,
    }


def _camel(name: str) -> str:
    first, *rest = name.split("_")
    return first + "".join(map(str.capitalize, rest))
