"""What the entry of a GPT-2's tensor does, in words."""

from __future__ import annotations

import pytest

from tm2tfr.sources.turing.compiler import compile_machine
from tm2tfr.sources.turing.library import load
from tm2tfr.targets.gpt2.export import described
from tm2tfr.targets.gpt2.recipe import Gpt2Recipe
from tm2tfr.targets.gpt2.translated import translated

GPT2 = translated(compile_machine(load("chapter")), Gpt2Recipe(positions=32, max_head=31))
H = GPT2.directions.index("h")
D, HALF, SIZE = 192, 96, 64
LAST = len(GPT2.directions) - 1
SQUARE = GPT2.directions.index("(i-c)^2")


@pytest.mark.parametrize(
    ("name", "at", "words"),
    [
        ("transformer.wte.weight", (1, H), "embedding of BOS: h"),
        ("transformer.wte.weight", (16, HALF), "embedding of [PAD]: -e_x[1]"),
        ("transformer.wpe.weight", (31, HALF + H), "embedding of position 31: -h"),
        ("transformer.wpe.weight", (3, SQUARE), "embedding of position 3: (i-c)^2"),
        ("transformer.wpe.weight", (3, HALF + LAST), "embedding of position 3: -u(h_{i-1})^2+v(h_{i-1})^2"),
        ("transformer.wpe.weight", (3, LAST + 1), f"embedding of position 3: dimension {LAST + 1}, which is unused"),
        ("transformer.wpe.weight", (3, D - 1), "embedding of position 3: dimension 191, which is unused"),
        ("lm_head.weight", (2, HALF + H), "logit of ACC, reads -h"),
        ("transformer.ln_f.bias", (H,), "last layer norm, at h"),
        ("transformer.h.3.ln_2.bias", (HALF + H,), "layer 4 (read tape), ln_2.bias, at -h"),
        ("transformer.h.3.attn.c_attn.weight", (H, 0), "layer 4 (read tape), head 'latest write', query 0, reads h"),
        ("transformer.h.3.attn.c_attn.weight", (H, 3), "layer 4 (read tape), head 'latest write', query 3, reads h"),
        ("transformer.h.3.attn.c_attn.weight", (H, D + 1), "layer 4 (read tape), head 'latest write', key 1, reads h"),
        (
            "transformer.h.3.attn.c_attn.weight",
            (H, 2 * D + 2),
            "layer 4 (read tape), head 'latest write', value 2, reads h",
        ),
        ("transformer.h.3.attn.c_attn.bias", (D + 2,), "layer 4 (read tape), head 'latest write', key 2, bias"),
        ("transformer.h.2.attn.c_attn.weight", (H, SIZE), "layer 3 (read input), head 'cell h_{i-1}', query 0, reads h"),
        (
            "transformer.h.3.attn.c_attn.weight",
            (H, SIZE + 2),
            "layer 4 (read tape), head 1, which has no task, query 2, reads h",
        ),
        ("transformer.h.3.attn.c_proj.weight", (1, H), "layer 4 (read tape), head 'latest write', value 1, writes h"),
        ("transformer.h.3.attn.c_proj.bias", (H,), "layer 4 (read tape), attn.c_proj.bias, at h"),
        ("transformer.h.3.mlp.c_fc.weight", (H, 2), "layer 4 (read tape), unit 'h_{j*-1} = h: d-1', reads h"),
        ("transformer.h.3.mlp.c_fc.bias", (3,), "layer 4 (read tape), unit 3, which has no task, bias"),
        ("transformer.h.1.mlp.c_fc.bias", (0,), "layer 2 (head position), unit 0, which has no task, bias"),
        ("transformer.h.3.mlp.c_proj.weight", (1, HALF + H), "layer 4 (read tape), unit 'h_{j*-1} = h: d', writes -h"),
        ("transformer.h.3.mlp.c_proj.bias", (H,), "layer 4 (read tape), mlp.c_proj.bias, at h"),
    ],
)
def test_what_an_entry_does(name: str, at: tuple[int, ...], words: str) -> None:
    assert (GPT2.width, GPT2.mirror, GPT2.head_size) == (D, HALF, SIZE)
    assert described(GPT2, name, at) == words
