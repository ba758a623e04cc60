"""``--probabilities``, ``--sample`` and ``--output-temperature`` of trace, table and plot; ``--epsilon-star``."""

from __future__ import annotations

import json

import pytest

from tests.cli.lines import said
from tests.cli.test_commands import tm2tfr_here

RUN = ("chapter", "--input", "11")


def printed(capsys: pytest.CaptureFixture[str], *line: str) -> tuple[int, str]:
    """The exit code of a command, and what it prints."""
    code, lines = tm2tfr_here(capsys, *line)
    return code, "".join(f"{each}\n" for each in lines)


def test_a_table_has_three_more_columns_and_the_run_its_probability(capsys: pytest.CaptureFixture[str]) -> None:
    code, out = printed(capsys, "trace", *RUN, "--probabilities")
    assert code == 0
    assert out.splitlines()[0].split()[-3:] == ["p(y)", "other", "p(other)"]
    assert "output layer: softmax at temperature 1\n" in out
    assert "probability of the simulator's run: 2e-06, the product of 7 tokens, the least 0.153 at position 2\n" in out
    assert out.rstrip().endswith("all agree")


def test_a_sampled_run_that_departs_by_chance_is_no_failed_check(capsys: pytest.CaptureFixture[str]) -> None:
    code, out = printed(capsys, "trace", *RUN, "--sample", "--seed", "2", "--max-steps", "30")
    assert code == 0
    assert "tokens drawn with seed 2\n" in out
    assert "departs by chance from the simulator at position 3: (q0,_,0) for (q1,_,+1)\n" in out
    assert "check: none of a sampled run; 28 cells compared up to where it departs" in out
    assert "FAILED" not in out


def test_a_sampled_run_of_wrong_weights_is_a_failed_check(capsys: pytest.CaptureFixture[str]) -> None:
    change = ("--set", "layers.4.heads.0.query[1,1]=1")
    code, out = printed(capsys, "trace", *RUN, "--sample", "--output-temperature", "0.01", "--max-steps", "30", *change)
    assert code == 1
    assert "check: FAILED" in out
    assert "by chance" not in out


def test_without_a_seed_it_is_0_and_the_same_seed_prints_the_same(capsys: pytest.CaptureFixture[str]) -> None:
    line = ("table", *RUN, "--sample", "--max-steps", "30", "--format", "json")
    outs = [printed(capsys, *line, *seed)[1] for seed in ((), ("--seed", "0"), ("--seed", "1"))]
    assert outs[0] == outs[1] != outs[2]
    assert json.loads(outs[0])["seed"] == 0


def test_a_plot_without_a_file_is_text(capsys: pytest.CaptureFixture[str]) -> None:
    code, out = printed(capsys, "plot", "full-adder", "--input", "101", "--probabilities")
    assert code == 0
    assert out.splitlines()[1:3] == ["0  ▆*▂", "1  ▂ ▆*"]


@pytest.mark.parametrize(
    ("line", "message"),
    [
        (
            "trace chapter --output-temperature 2",
            "add --probabilities or --sample, or omit it; attention has",
        ),
        ("trace chapter --sample --output-temperature 0", "must be a positive number, not 0.0"),
        ("trace chapter --sample --at 3", "--at shows a run of the largest logits, and --sample draws: omit one of them"),
        ("trace chapter --sample --seed -1", "--seed: '-1' is not a seed: use a whole number from 0 to 1e18"),
        ("trace parity --seed 3", "--seed is for --sample, which is missing: add --sample, or omit --seed"),
        ("trace chapter --seed 3", "omit it, or add --sample or --universal"),
        ("trace chapter --probabilities -o rows.csv", "write its table with tm2tfr table --format json"),
        ("trace reverse --sample", "generate no tokens to sample: omit --sample, or use --probabilities"),
        ("plot reverse --sample", "generate no next token: use tm2tfr trace --probabilities"),
        ("plot chapter --sample --head 2", "--head is about a head, and --sample about tokens: omit one of them"),
        ("plot chapter --sample --position 2", "--position is about a head, and --sample about tokens"),
        ("compile full-adder --epsilon-star 0.1", "omit --epsilon-star, or use the variant paper"),
        ("compile full-adder --variant paper --epsilon-star 2", "must be a number above 0 and below 1, not 2.0"),
        ("compile full-adder --variant paper --epsilon-star tiny", "'tiny' is not a number: write for example 0.003"),
        ("compile chapter --epsilon-star 0.1", "ε* is that of the bits that a circuit's decoder answers"),
    ],
)
def test_what_makes_no_sense_is_refused_by_name(line: str, message: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert message in said(capsys, *line.split())
