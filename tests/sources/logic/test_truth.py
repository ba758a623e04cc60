"""The right run of a formula: rows, values, verdict; weights that answer something else are not compared."""

from __future__ import annotations

from dataclasses import replace

from tm2tfr.contract.source import ANY
from tm2tfr.runs.rows import columns_of
from tm2tfr.sources.logic.nodes import AllOf as Everywhere
from tm2tfr.sources.logic.nodes import And, Build, CountLeft, Input, OneOf, Previous, Retrieve
from tm2tfr.sources.logic.program import LogicProgram
from tm2tfr.sources.logic.truth import LogicTruth
from tm2tfr.transformer.claims import Output
from tm2tfr.transformer.matrix import Matrix
from tm2tfr.transformer.residual import Residual, Subspace
from tm2tfr.transformer.weights import Decoder

BITS = ("F", "T")


def formula(chosen: str = "f") -> LogicProgram:
    make = Build()
    a = make(OneOf, of=make(Input), values=("a",))
    before = make(Retrieve, choice="latest", sight="<", score=Everywhere(()), values=make(Input), default=make(Input))
    count = make(CountLeft, of=a)
    both = make(And, parts=(a, make(Previous, of=a)))
    definitions = {"before": before, "count": count, "f": both}
    return LogicProgram(name="x", text="", language="tl", definitions=definitions, chosen=chosen, alphabet=("a", "b", "cc"))


def answering(*outputs: Output, vocabulary: tuple[str, ...] = ("BOS", "a", "b", "cc")) -> Decoder:
    """Weights that answer 0 everywhere."""
    answers = sum(len(output.answers) for output in outputs) or len(vocabulary)
    size = len(vocabulary)
    return Decoder(
        layout=Residual((Subspace("token", vocabulary, holds="token"),)),
        vocabulary=vocabulary,
        bos=None,
        stop=(),
        features=(),
        token_embedding=Matrix.from_entries((size, size), {(n, n): 1.0 for n in range(size)}),
        position_embedding=Matrix.from_entries((size, 0), {}),
        layers=(),
        unembedding=Matrix.from_entries((answers, size), {}),
        unembedding_bias=Matrix.from_entries((answers, 1), {}),
        outputs=outputs,
    )


def test_rows_of_bits() -> None:
    decoder = answering(Output("f", BITS), Output("Q[a]", BITS), Output("in", ("⊥", "a", "b", "cc")))
    truth = LogicTruth(formula(), "baab", decoder)
    assert truth.prompt == ("BOS", "b", "a", "a", "b")
    assert (truth.result().outcome, truth.result().own) == ("reject", {"node": "f", "values": ["F", "F", "T", "F"]})
    assert LogicTruth(formula(), "baa", decoder).result().outcome == "accept"
    assert (truth.noun, truth.reference, truth.name, truth.blank) == ("formula", "evaluator", "x", "")
    assert truth.ending(decoder) is None
    program = replace(formula(), language="srasp")
    assert replace(truth, program=program, decoder=answering(Output("f", BITS))).noun == "program"


def test_numbers_at_the_ends_are_anything() -> None:
    decoder = answering(Output("count", None), vocabulary=("BOS", "a", "b", "cc", "EOS"))
    truth = LogicTruth(formula("count"), '["cc", "a"]', decoder)
    assert truth.prompt == ("BOS", "cc", "a", "EOS")
    cells = [row[2] for row in truth.rows(columns_of(decoder))]
    assert (cells[0] is ANY, cells[1:3], cells[3] is ANY) == (True, [0, 1], True)
    result = truth.result()
    assert (result.verdict, result.outcome, result.values) == (None, "0 1", ("0", "1"))


def test_labels_have_no_verdict() -> None:
    decoder = answering(Output("before", ("⊥", "a", "b", "cc")))
    result = LogicTruth(formula("before"), '["cc", "a"]', decoder).result()
    assert (result.node, result.verdict, result.outcome) == ("before", None, "cc cc")


def test_the_specification_is_of_the_word() -> None:
    decoder = answering(Output("f", BITS))
    specification = LogicTruth(formula(), "ab", decoder).specification(2)
    assert specification.tokens == ("BOS", "a", "b")
    assert specification.covers(decoder.layout)
    assert specification.stream(decoder.layout, 1, 0, "attention") == [0, 1, 0, 0]
