"""Renamed tokens, and inputs compared one and all."""

from __future__ import annotations

import dataclasses
import json
from pathlib import Path

import pytest

import tm2tfr
from tests.lab.hidden.cases import answers, perfect
from tests.lab.hidden.test_commands import said
from tm2tfr.base.errors import DisguiseError
from tm2tfr.engines.exact import Exact
from tm2tfr.lab.hidden.claim import answer
from tm2tfr.lab.hidden.disguise import MOST, every_prompt
from tm2tfr.lab.hidden.key import load_key
from tm2tfr.lab.hidden.score import score
from tm2tfr.lab.hidden.verify import verified
from tm2tfr.transformer.storage import save


@pytest.mark.parametrize("name", ["half-adder", "since-b"])
@pytest.mark.slow
def test_renamed_tokens_are_answered_as_their_own_names_were(name: str, tmp_path: Path) -> None:
    made = tm2tfr.disguise(name, grade=1, rename_tokens=True)
    names, original = made.key.tokens, made.key.original
    assert set(names) == set(original.vocabulary)
    assert made.decoder.vocabulary == tuple(f"t{n}" for n in range(len(names)))
    prompt = original.vocabulary[:2] if original.labeller else ("1", "0")
    right = answers(original, prompt, Exact(), 6)
    found = answers(made.decoder, [names[token] for token in prompt], Exact(), 6)
    pairs = list(zip(original.outputs, made.key.outputs, strict=True))
    labels = [dict(zip(own.labels or (), new.labels or (), strict=True)) for own, new in pairs]
    assert found == (
        [tuple(new[label] for new, label in zip(labels, each, strict=True)) for each in right]
        if original.labeller
        else [(names[token], None if out is None else names[out]) for token, out in right]
    )
    made.key.save(tmp_path / "key.json")
    assert verified(made.decoder, load_key(tmp_path / "key.json")).proved


@pytest.mark.slow
def test_outputs_and_labels_are_renamed_but_for_numbers(tmp_path: Path) -> None:
    made = tm2tfr.disguise("sort", grade=1, seed=7, rename_tokens=True)
    text, number = made.key.outputs
    assert (text.name, text.labels) == ("output-1", ("0", *(made.key.tokens[letter] for letter in "abc")))
    assert (number.name, number.labels) == ("output-2", None)
    hidden = made.decoder.outputs
    assert [output.name for output in hidden] == ["output-1", "output-2"]
    assert sorted(hidden[0].labels or ()) == sorted(text.labels or ())
    assert hidden[0].labels != text.labels
    made.key.save(tmp_path / "key.json")
    found = load_key(tmp_path / "key.json")
    assert (found.outputs, verified(made.decoder, found).proved) == (made.key.outputs, True)
    histogram = tm2tfr.disguise("histogram", grade=1, rename_tokens=True)
    assert [each.labels for each in histogram.decoder.outputs] == [each.labels for each in histogram.key.original.outputs]


def test_a_key_with_other_outputs_is_refused() -> None:
    made = tm2tfr.disguise("since-b", grade=1, rename_tokens=True)
    first, *others = made.key.outputs
    swapped = dataclasses.replace(first, labels=(first.labels or ())[::-1])
    named = dataclasses.replace(first, name="output-9")
    for outputs, words in (
        ((swapped, *others), "unembedding: entry"),
        ((named, *others), "the outputs that the key renames are not"),
        (tuple(others), "the outputs that the key renames are not"),
        ((), "outputs: "),
    ):
        assert words in verified(made.decoder, dataclasses.replace(made.key, outputs=outputs)).refusals[0]


def test_words_of_claims_on_renamed_weights_are_kinds_with_numbers() -> None:
    made = tm2tfr.disguise("since-b", grade=1, rename_tokens=True)
    words = json.loads(tm2tfr.claim_template(made.key))["words"]
    assert words["roles"] == {"since-1": "the latest position that decides a 'since' or a 'once'"}
    assert words["variables"] == {"1": 1, "1/(i+1)": 1, "at-1": 1, "i": 1, "is-1": 1, "is-2": 1, "token": 4}
    assert made.key.as_dict()["words"] == {
        "roles": {"since s5": "since-1"},
        "variables": {"is !s2 s3": "is-1", "at since s5: is s3": "at-1", "is s5": "is-2"},
    }
    truth = answer(made.key)
    measures = {kind: found.measure for kind, found in score(perfect(truth), truth).kinds.items()}
    assert (measures["heads"], measures["subspaces"], measures["surface"]) == (1.0, 1.0, 1.0)
    probed = tm2tfr.score_baseline(made.key, "probe", weights=made.decoder)
    assert {name: round(found.measure or 0.0, 3) for name, found in probed.variables.items()}["is-2"] > 0.9


def test_a_key_with_other_tokens_is_refused() -> None:
    made = tm2tfr.disguise("half-adder", grade=1, rename_tokens=True)
    one, other = made.key.tokens
    swapped = {one: made.key.tokens[other], other: made.key.tokens[one]}
    for tokens, words in ((swapped, "token_embedding: entry"), ({one: "t0"}, "the tokens that the key renames are not")):
        assert words in verified(made.decoder, dataclasses.replace(made.key, tokens=tokens)).refusals[0]


@pytest.mark.slow
def test_every_input_is_compared_in_both_dtypes(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    place = ("-o", str(tmp_path / "h.safetensors"), "--key", str(tmp_path / "k.json"))
    code, out, _ = said(capsys, "disguise", "half-adder", "--grade", "1", "--all-up-to", "2", "--rename-tokens", *place)
    assert code == 0
    assert (
        "  tokens                   2 renamed\nproved: in exact arithmetic, the same logits as the original for every input"
        in out
    )
    assert "of equal ones, the first token may be another\ncompared before the tokens were renamed:\n" in out
    for how in ("compared in float64", "found in float32 (dense engine; exports may round differently)"):
        assert f"{how}: all 4 inputs of up to 2 tokens, 12 positions: the same answers\n" in out
    code, out, _ = said(capsys, "disguise", place[1], "--verify", place[3])
    assert (
        code,
        out.endswith("the same logits as the original for every input; of equal ones, the first token may be another\n"),
    ) == (0, True)
    found = load_key(tmp_path / "k.json").equal["all_up_to"]
    assert (found["tokens"], [each["dtype"] for each in found["found"]]) == (2, ["float64", "float32"])
    code, _, err = said(capsys, "disguise", "half-adder", "--verify", "k.json", "--all-up-to", "2")
    assert (code, "--all-up-to is for weights that are being hidden: omit --all-up-to" in err) == (2, True)


@pytest.mark.slow
def test_all_inputs_are_all_words_up_to_a_length() -> None:
    parity, formula = tm2tfr.compile("parity"), tm2tfr.compile("since-b")
    assert len(set(every_prompt(parity, tm2tfr.load("parity"), 3))) == 1 + 2 + 4 + 8
    words = every_prompt(formula, tm2tfr.load("since-b"), 2)
    assert len(set(words)) == len(words) == 3 + 9
    with pytest.raises(DisguiseError, match=rf"more than {MOST:,}: use fewer tokens"):
        every_prompt(parity, tm2tfr.load("parity"), 20)
    with pytest.raises(DisguiseError, match="nothing says what the inputs of these weights are"):
        every_prompt(parity, None, 2)
    with pytest.raises(DisguiseError, match="use 1 or more"):
        tm2tfr.disguise("half-adder", all_up_to=0)


@pytest.mark.slow
def test_renamed_tokens_are_given_as_a_json_list(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    hidden = str(tmp_path / "h.safetensors")
    made = tm2tfr.disguise("parity", grade=1, seed=7, rename_tokens=True)
    names = made.key.tokens
    assert set(names.values()) == {f"t{n}" for n in range(12)}
    save(made.decoder, hidden)
    word = json.dumps([names["1"], names["1"]])
    for arguments in (("trace", hidden), ("table", hidden, "--format", "csv")):
        code, out, _ = said(capsys, *arguments, "--input", word)
        assert (code, names["ACC"] in out) == (0, True), out
    code, _, err = said(capsys, "trace", hidden, "--input", "11")
    assert (code, "'11': these weights have no tokens of one character, but t0, t1, t2" in err) == (2, True)
    assert """give a JSON list of them, such as '["t0", "t1"]'""" in err
    save(tm2tfr.disguise("half-adder", grade=1, rename_tokens=True).decoder, hidden)
    code, _, err = said(capsys, "export", hidden, "--to", "torch", "-o", str(tmp_path / "x"))
    assert (code, "no word of such is made up to try it on: export without running it: --no-verify" in err) == (2, True)
