"""The paper's own task: the sum of two numbers of n bits, in three regimes.

The numbers are written with the least significant bit first, one after the other; what follows is, by regime,

    weak:    e₁ … eₙ
    medium:  d₁ … dₙ f₁ … fₙ c₁ g₁ c₂ … gₙ cₙ₊₁ e₁ … eₙ, of which e₁ … eₙ are scored
    strong:  the same, all of which is scored

with 4n + 1 intermediates; the overflow cₙ₊₁ is an intermediate, and no part of the answer. This is representation 2, the
order ``paper-2`` of the shipped circuit ``binary-adder``, gate by gate; representation 1, ``paper-1``, has
c₁ d₁ e₁ f₁ g₁ c₂ …, with the sum among the intermediates. The data set of the circuit itself (``tm2tfr dataset
binary-adder``) differs in one thing: there cₙ₊₁ is an output, and so is scored with the answer, or stands behind eₙ.
With ``intermediates="carries"`` the intermediates are c₁ … cₙ alone: the carry bits before the sum, as in Section 6.

Source: *Guiding Transformers to Process in Steps*, Sections 4 to 6.
"""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence
from typing import Literal, get_args

import numpy as np

from tm2tfr.base.errors import TrainingError
from tm2tfr.lab.training.examples import Examples, TokenExample, examples_of
from tm2tfr.lab.training.options import REGIMES, Regime, one_of
from tm2tfr.sources.circuit.evaluate import Bits, evaluate_cases
from tm2tfr.sources.circuit.library.arithmetic import ORDERS, Order, binary_adder
from tm2tfr.sources.circuit.netlist import Circuit

TASK = "binary-adder"
Intermediates = Literal["gates", "carries"]
INTERMEDIATES: tuple[Intermediates, ...] = get_args(Intermediates)
MOST_BITS = 512
TRAINED, TESTED = 10_000, 1_000
TEST_SHARE = 4
"""Where there are fewer pairs than asked for, one in this many is kept for the test."""


def adder_examples(
    *,
    bits: int = 8,
    order: Order = "paper-2",
    regime: Regime = "strong",
    intermediates: Intermediates = "gates",
    examples: int = TRAINED,
    test_examples: int = TESTED,
    data_seed: int = 0,
) -> Examples:
    """Return pairs of numbers of `bits` bits with their sums; all pairs are equally likely, and each is there once.

    Args:
        bits: n; the sum is modulo 2^n.
        order: the paper's representation 1 or 2.
        intermediates: the bits of all gates, or the carries alone; there are none in the regime ``weak``.
        examples, test_examples: their numbers; where there are fewer pairs, a quarter of all of them is tested at most.
        data_seed: of the choice of pairs; the same for all regimes and orders.

    Raises:
        TrainingError: if there is no such task.
    """
    one_of("order", order, ORDERS)
    one_of("regime", regime, REGIMES)
    one_of("intermediates", intermediates, INTERMEDIATES)
    numbers = ("bits", bits, MOST_BITS), ("examples", examples, 10**7), ("test examples", test_examples, 10**7)
    for name, number, most in numbers:
        if isinstance(number, bool) or not isinstance(number, int) or not 1 <= number <= most:
            raise TrainingError(f"the number of {name} must be from 1 to {most:,}, not {number!r}: use another one")
    circuit = binary_adder(bits=bits, order=order)
    train, test = _pairs(bits, examples, test_examples, data_seed)
    nets = _generated(circuit, bits, regime, intermediates)
    found = (list(_examples(circuit, nets, some, bits, regime)) for some in (train, test))
    about = {
        "task": TASK,
        "bits": bits,
        "order": order,
        "regime": regime,
        "intermediates": intermediates,
        "examples": examples,
        "test_examples": test_examples,
        "data_seed": data_seed,
    }
    return examples_of(f"{TASK} of {bits} bits, {regime}", *found, vocabulary="01", about=about)


def _pairs(bits: int, train: int, test: int, seed: int) -> tuple[Bits, Bits]:
    """Return the inputs of the training and of the test examples, all different: (examples, 2 · bits)."""
    every = 4**bits
    tested = min(test, max(1, every // TEST_SHARE)) if train + test > every else test
    wanted = min(train, every - tested) + tested
    chance = random.Random(f"pairs of {bits} bits, seed {seed}")
    if 2 * wanted > every:
        numbers = list(range(every))
        chance.shuffle(numbers)
    else:
        met = dict[int, None]()
        while len(met) < wanted:
            met[chance.getrandbits(2 * bits)] = None
        numbers = list(met)
    text = "".join(f"{number:0{2 * bits}b}" for number in numbers[:wanted])
    both = np.frombuffer(text.encode(), dtype=np.uint8).reshape(wanted, 2 * bits) - ord("0")
    return both[tested:], both[:tested]


def _generated(circuit: Circuit, bits: int, regime: Regime, intermediates: Intermediates) -> Sequence[str]:
    """Return the nets whose bits follow the inputs, in their order."""
    answer = [f"e{i}" for i in range(1, bits + 1)]
    if regime == "weak":
        return answer
    if intermediates == "carries":
        return [*(f"c{i}" for i in range(1, bits + 1)), *answer]
    return [gate.net for gate in circuit.gates]


def _examples(circuit: Circuit, nets: Sequence[str], cases: Bits, bits: int, regime: Regime) -> Iterator[TokenExample]:
    values = evaluate_cases(circuit, cases)
    at = [circuit.numbers[net] for net in nets]
    sums = [net.startswith("e") for net in nets]
    scored = [True] * len(nets) if regime == "strong" else sums
    for row in values:
        signs = ["01"[bit] for bit in row.tolist()]
        yield TokenExample(signs[: 2 * bits], [signs[place] for place in at], scored, sums)
