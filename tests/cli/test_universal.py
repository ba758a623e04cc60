"""The universal decoder on the command line: every way to put a machine into its prompt, and every way to get it wrong."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import tm2tfr as library
from tests.cli.test_commands import failed, tm2tfr
from tm2tfr.cli.output import warn_once
from tm2tfr.transformer.storage import load
from tm2tfr.transformer.weights import matrices


@pytest.fixture(scope="module")
def weights(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("universal") / "universal.safetensors"
    library.save_weights(library.Universal(states=8, symbols=4), path)
    return path


def test_the_decoder_alone_is_compiled_in_every_way_of_saying_so(tmp_path: Path, weights: Path) -> None:
    lines = (["--universal", "--states", "8", "--symbols", "4"], ["--universal", "8,4"], ["--universal", str(weights)])
    for line in lines:
        done = tm2tfr("compile", *line, "-o", "u.safetensors", cwd=tmp_path)
        assert done.returncode == 0, done.stderr
        heading = (
            "Universal decoder for all machines with at most 8 states with rules and 4 symbols, one-way or two-way tape: "
        )
        assert done.stdout.startswith(f"{heading}the machine is in the prompt (tm2tfr prompt)\n\n1  unpack: ")
        assert (tmp_path / "u.safetensors").read_bytes() == weights.read_bytes()
    one_way = tm2tfr("compile", "--universal", "--states", "2", "--symbols", "3", "--tape", "one-way", cwd=tmp_path)
    assert "at most 2 states with rules and 3 symbols, one-way tape: " in one_way.stdout


def test_a_machine_is_compiled_into_the_prompt(tmp_path: Path, weights: Path) -> None:
    done = tm2tfr("compile", "chapter", "--universal", str(weights), "--seed", "3", "-o", "c.safetensors", cwd=tmp_path)
    assert done.stdout.splitlines()[:2] == [
        "Machine chapter: 7 states, 15 rules, Σ={1} Γ={1, _, x}, blank '_', one-way tape, start q0, accept=q_accept, "
        "reject=q_reject",
        "in the prompt of a universal decoder for all machines with at most 8 states with rules and 4 symbols, one-way or "
        "two-way tape: 31 tokens, rules in the order of seed 3",
    ]
    found = load(tmp_path / "c.safetensors")
    assert list(matrices(found).values()) == list(matrices(load(weights)).values())
    assert found == library.compile("chapter", universal=(8, 4), seed=3)
    assert tm2tfr("trace", "c.safetensors", "-q", cwd=tmp_path).returncode == 0


@pytest.mark.parametrize("given", ["8,4", "weights"])
def test_verbs_run_the_machine_in_the_prompt(given: str, tmp_path: Path, weights: Path) -> None:
    universal = ["--universal", str(weights) if given == "weights" else given]
    trace = tm2tfr("trace", "chapter", *universal, "--input", "11", cwd=tmp_path)
    assert trace.stdout.splitlines()[-4:] == [
        "ACC: the machine accepts, after T = 6 intermediate steps",
        "simulator: accept after 6 steps, 3 cells visited, final tape '_x'",
        "engine: dense, float64, 40 positions",
        "check: 280 cells compared with the simulator, all agree",
    ]
    table = tm2tfr("table", *universal, "--input", "11", "--format", "csv", cwd=tmp_path)
    assert '\n36,"(q2,x,+1)",q2,x,+1,2,_,"(q4,_,-1)",_ x[_]…\n' in table.stdout.replace("\r", "")
    check = tm2tfr("check", "palindromes", *universal, "--seed", "7", cwd=tmp_path)
    assert check.stdout.splitlines() == [
        "ok    'abbabba'      accept  36 steps, 81 tokens, 567 cells agree",
        "ok    ''             accept  1 step, 39 tokens, 273 cells agree",
        "ok    'a'            accept  3 steps, 42 tokens, 294 cells agree",
        "ok    'abba'         accept  15 steps, 57 tokens, 399 cells agree",
        "ok    'ab'           reject  4 steps, 44 tokens, 308 cells agree",
        "ok    'ababba'       reject  26 steps, 70 tokens, 490 cells agree",
        "palindromes: 6 runs, 2,331 cells compared, all agree",
    ]


@pytest.mark.parametrize("name", ["chapter", "binary-increment", "busy-beaver-3"])
def test_examples_are_those_of_the_machine(name: str, tmp_path: Path, weights: Path) -> None:
    """Outcome, steps and tape are the machine's own, also where the prompt adds rules that reject."""
    done = tm2tfr("check", name, "--universal", str(weights), cwd=tmp_path)
    assert done.returncode == 0
    assert done.stdout.splitlines()[-1].startswith(f"{name}: {len(library.load(name).examples)} run")


def test_json_says_what_is_certified_and_whether_examples_are_met(tmp_path: Path) -> None:
    done = tm2tfr("check", "busy-beaver-2", "--universal", "2,2", "--format", "json", cwd=tmp_path)
    found = json.loads(done.stdout.splitlines()[0])
    assert (found["machine"], found["steps"], found["agrees"]) == ("busy-beaver-2", 6, True)
    assert found["example"] == {"met": True, "unmet": []}
    assert found["certified"] is True


RIGHT = "1RA1RA_1RA1RA"
"""A machine that goes right forever."""


@pytest.mark.slow
def test_a_run_beyond_the_certificate_of_the_class_is_warned_of(tmp_path: Path, weights: Path) -> None:
    (tmp_path / "u.safetensors").write_bytes(weights.read_bytes())
    library.save_weights(library.compile(RIGHT, universal=(8, 4)), tmp_path / "c.safetensors")
    line = ["--engine", "dense", "--dtype", "float32", "--max-steps", "180", "--format", "json"]
    for given, certify in (
        ([RIGHT, "--universal", "8,4"], "--universal 8,4"),
        ([RIGHT, "--universal", "8,4", "--tape", "two-way"], "--universal 8,4 --tape two-way"),
        ([RIGHT, "--universal", "u.safetensors"], "u.safetensors"),
        (["c.safetensors"], "c.safetensors"),
    ):
        warn_once.cache_clear()
        done = tm2tfr("check", *given, *line, cwd=tmp_path)
        assert json.loads(done.stdout)["certified"] is False
        assert "nothing proves that all such runs do: dense in float32 is certified for " in done.stderr
        assert done.stderr.endswith(f": see tm2tfr certify {certify}\n")


@pytest.mark.slow
def test_a_sweep_puts_every_machine_into_the_prompt(tmp_path: Path) -> None:
    spec = "name: few\nmachines: [chapter, busy-beaver-2]\ninputs: {up to: 1}\nmax steps: 60\n"
    (tmp_path / "few.yaml").write_text(spec, encoding="utf-8")
    line = ["sweep", "few.yaml", "--seed", "1", "--workers", "1", "--universal"]
    done = tm2tfr(*line, "5,3", cwd=tmp_path)
    assert (done.returncode, done.stdout.split(":")[0]) == (0, "few in the prompt of universal-5-3")
    assert done.stdout.endswith("all agree\n")
    assert "chapter: it has 5 states" in failed(2, tm2tfr(*line, "2,2", cwd=tmp_path))
    said = failed(2, tm2tfr("sweep", "few.yaml", "--tape", "one-way", cwd=tmp_path))
    assert said == "tm2tfr: --tape is for universal decoders: omit it, or add --universal\n"


# ── prompts ─────────────────────────────────────────────────────────────────────────────────────────────────
PROMPT = "two-way q0,0 →(q1,1,+1) q0,1 →(q1,1,-1) q1,0 →(q0,1,-1) q1,1 →(halt,1,+1) BOS"
NAMES = """\
        busy-beaver-2  in the prompt
state   A              q0
state   B              q1
state   Z              halt
symbol  0              0
symbol  1              1
for the decoder --universal 2,2
"""


def test_a_prompt_goes_to_standard_output_and_the_names_beside_it(tmp_path: Path) -> None:
    done = tm2tfr("prompt", "busy-beaver-2", cwd=tmp_path)
    assert (done.returncode, done.stdout, done.stderr) == (0, f"{PROMPT}\n", NAMES)
    ids = tm2tfr("prompt", "busy-beaver-2", "--format", "ids", cwd=tmp_path)
    assert (ids.stdout, ids.stderr) == ("48 23 38 24 36 25 30 26 44 1\n", NAMES)
    whole = tm2tfr("prompt", "busy-beaver-2", "--format", "json", cwd=tmp_path)
    assert json.loads(whole.stdout) == library.prompt_of("busy-beaver-2").as_dict()
    assert whole.stderr == ""
    written = tm2tfr("prompt", "busy-beaver-2", "-o", "p.txt", cwd=tmp_path)
    assert (written.stdout, (tmp_path / "p.txt").read_text(encoding="utf-8")) == ("", f"{PROMPT}\n")


def test_a_prompt_is_for_the_decoder_that_is_asked_for(tmp_path: Path, weights: Path) -> None:
    shuffled = library.prompt_of("chapter", "1", universal=(8, 4), seed=5)
    for universal in (["8,4"], [str(weights)], ["--states", "8", "--symbols", "4"]):
        done = tm2tfr(
            "prompt", "chapter", "-i", "1", "--seed", "5", "--format", "ids", "--universal", *universal, cwd=tmp_path
        )
        assert done.stdout.split() == [str(n) for n in shuffled.ids]
    alone = tm2tfr("prompt", "palindromes", "--universal", "8,4", "--tape", "two-way", "-i", "a", cwd=tmp_path)
    assert alone.stdout.startswith("q0,1 →(q1,0,+1) ")
    library.save_weights(library.compile("chapter", universal=(8, 4), seed=5), tmp_path / "c.safetensors")
    stored = tm2tfr("prompt", "c.safetensors", "-i", "1", cwd=tmp_path)
    assert stored.stdout == f"{shuffled.text}\n"


def test_a_prompt_is_read_from_an_option_a_pipe_or_a_file(tmp_path: Path, weights: Path) -> None:
    right = library.check("busy-beaver-2")
    (tmp_path / "p.txt").write_text(f"{PROMPT}\n", encoding="utf-8")
    for universal in ("2,2", "8,4", str(weights)):
        for given, stdin in ((PROMPT.replace("→", "->"), ""), ("-", PROMPT), ("@p.txt", "")):
            done = tm2tfr("trace", "-q", "--universal", universal, "--prompt", given, cwd=tmp_path, stdin=stdin)
            assert done.stdout.splitlines()[:3] == [
                "prompt on ''",
                f"HALT: the machine halts, after T = {right.T} intermediate steps",
                "simulator: halt after 6 steps, 4 cells visited, final tape '1111'",
            ]
    checked = tm2tfr("check", "--universal", "2,2", "--prompt", "@p.txt", "--input", "1", cwd=tmp_path)
    assert checked.stdout.splitlines()[-1] == "prompt: 1 run, 112 cells compared, all agree"


def test_a_prompt_in_place_of_a_machine_is_told_apart(tmp_path: Path) -> None:
    (tmp_path / "p.json").write_text(json.dumps(library.prompt_of("busy-beaver-2").as_dict()), encoding="utf-8")
    (tmp_path / "p.ids").write_text("48 23 38 24 36 25 30 26 44 1\n", encoding="utf-8")
    (tmp_path / "p.txt").write_text(f"\ufeff{PROMPT}\n", encoding="utf-8")
    for name in ("p.txt", "p.json", "p.ids"):
        for options, before in (["--universal", "2,2"], ""), ([], "for example --universal 8,4 "):
            said = failed(2, tm2tfr("check", name, *options, cwd=tmp_path))
            assert said == f"tm2tfr: {name}: this is a prompt, not a machine: use {before}--prompt @{name}\n"


def test_every_format_of_a_prompt_is_read_again(tmp_path: Path, weights: Path) -> None:
    for form in ("text", "json", "ids"):
        tm2tfr("prompt", "chapter", "--universal", "8,4", "-i", "11", "--format", form, "-o", f"p.{form}", cwd=tmp_path)
        for universal in ("8,4", str(weights)):
            done = tm2tfr("check", "--universal", universal, "--prompt", f"@p.{form}", cwd=tmp_path)
            assert done.stdout.splitlines()[-1] == "prompt: 1 run, 280 cells compared, all agree"
        line = ["prompt", "--universal", "8,4", "--prompt", f"@p.{form}", "--format"]
        again = tm2tfr(*line, "ids", cwd=tmp_path)
        assert again.stdout == f"{' '.join(map(str, library.prompt_of('chapter', '11', universal=(8, 4)).ids))}\n"
        assert again.stderr == "for the decoder --universal 8,4\n"
        other = tm2tfr(*line, "text", "-i", "1", cwd=tmp_path)
        assert other.stdout == f"{library.prompt_of('chapter', '1', universal=(8, 4)).text}\n"


MALFORMED = "one-way q0,1 →(q0,2,+1) q9,2 →(q0,1,+1) 1 7 BOS"


def test_a_malformed_prompt_is_refused_with_every_place(tmp_path: Path) -> None:
    (tmp_path / "p.txt").write_text(MALFORMED, encoding="utf-8")
    for given, file, stdin in ((MALFORMED, "<prompt>", ""), ("-", "<stdin>", MALFORMED), ("@p.txt", "p.txt", "")):
        for verb in ("trace", "table", "check", "explore"):
            done = tm2tfr(verb, "--universal", "2,3", "--prompt", given, cwd=tmp_path, stdin=stdin)
            complaints = failed(2, done)
            first, text, marks = complaints.splitlines()[:3]
            assert first.startswith(f"{file}:1:25: token 4: q9,2 is not a state and a symbol of this decoder (did you ")
            assert (text, marks) == (f"  {MALFORMED}", f"  {'':24}^~~~")
            assert f"\n{file}:1:43: token 7: " in complaints
