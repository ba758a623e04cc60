"""What a class of machines looks like in a terminal and in a notebook."""

from __future__ import annotations

from tests.installed import needs_dot
from tm2tfr.sources.turing.library import load
from tm2tfr.sources.turing.spec import Machine, Rule
from tm2tfr.sources.turing.universal.program import Universal


def test_in_a_line() -> None:
    every = Universal(states=8, symbols=4)
    assert repr(every) == "<Universal 8,4: both tapes>"
    assert repr(Universal(states=1, symbols=1, tape="one-way")) == "<Universal 1,1: one-way tape>"
    shown = "<Universal 8,4: both tapes, in the prompt chapter: 15 rules in 31 tokens>"
    assert repr(every.holding(load("chapter"))) == shown


@needs_dot
def test_with_a_machine() -> None:
    shown = Universal(states=8, symbols=4).holding(load("chapter"))._repr_html_()
    about = "One decoder for all machines with at most 8 states and 4 symbols and a one-way or a two-way tape"
    assert shown.startswith(f"<p>{about}; in its prompt: <b>chapter</b>, 15 rules in 31 tokens:</p>\n<p><code ")
    assert '>one-way</code> <code style="white-space:nowrap">q0,1 →(q1,_,+1)</code> <code' in shown
    assert "<svg" in shown


def test_names_do_no_harm_and_many_rules_are_cut() -> None:
    states = [f"<b>{n}" for n in range(110)]
    rules = {(q, a): Rule(states[0], a, 0) for q in states for a in "01"}
    machine = Machine(name="<i>", transitions=rules, start=states[0], blank="0")
    shown = Universal(states=110, symbols=2, tape="two-way").holding(machine)._repr_html_()
    assert "<b>&lt;i&gt;</b>, 220 rules in 440 tokens" in shown
    assert " and 20 more rules</p>" in shown
    assert "<b>1" not in shown
