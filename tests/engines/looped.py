"""A decoder with a loop, made by hand: every position counts down from its token, and they stop together."""

from __future__ import annotations

from tests.handmade import turned
from tm2tfr.transformer.claims import Output
from tm2tfr.transformer.gadgets import Unit, feed_forward, head, stacked
from tm2tfr.transformer.layers import LayerLoop
from tm2tfr.transformer.matrix import Matrix
from tm2tfr.transformer.residual import Residual, Subspace
from tm2tfr.transformer.weights import Decoder, Layer

TOKENS = ("1", "2", "3", "5")


def counting(*, times: int | None = None, until: bool = True) -> Decoder:
    """Answers at every position the passes made, the sum over passes of the mean of what was left, and twice the passes.

    Layers 2 and 3 are the loop. In a pass layer 2 adds the mean of what is left everywhere, and layer 3 takes 1 away.
    """
    layout = Residual(tuple(map(Subspace, ("1", "left", "sum", "passes", "twice"))))
    everywhere = head(layout, "all", "", query=[], key=[], carries=[({"left": 1.0}, {"sum": 1.0})], mask="none")
    down = [
        Unit("left", {"left": 1.0}, {"left": -1.0}),
        Unit("less", {"left": 1.0}, {"left": 1.0}, bias=-1.0),
        Unit("pass", {"1": 1.0}, {"passes": 1.0}),
    ]
    made = ("made by hand",) * 2
    layers = (
        Layer(name="before", meaning=made[0], source="", feed_forward=feed_forward(layout, [])),
        Layer(name="mean", meaning=made[0], source="", heads=(everywhere,)),
        Layer(name="down", meaning=made[0], source="", feed_forward=feed_forward(layout, down)),
        Layer(
            name="after",
            meaning=made[0],
            source="",
            feed_forward=feed_forward(layout, [Unit("twice", {"passes": 1.0}, {"twice": 2.0})]),
        ),
    )
    ended = stacked(layout, [{"1": 1.0, "left": -1.0}])
    return Decoder(
        layout=layout,
        vocabulary=TOKENS,
        bos=None,
        stop=(),
        features=("1",),
        token_embedding=turned(stacked(layout, [{"left": float(token)} for token in TOKENS])),
        position_embedding=turned(stacked(layout, [{"1": 1.0}])),
        layers=layers,
        loops=(LayerLoop(first=2, last=3, times=times, until=ended if until else None),),
        unembedding=stacked(layout, [{"passes": 1.0}, {"sum": 1.0}, {"twice": 1.0}]),
        unembedding_bias=Matrix.from_entries((3, 1), {}),
        outputs=tuple(Output(name, None) for name in ("passes", "sum", "twice")),
        provenance={"name": "counting"},
    )
