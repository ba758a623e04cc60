"""The shipped circuits by name, with the parameters that each takes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from importlib import import_module
from typing import TYPE_CHECKING, NamedTuple

from tm2tfr.base.choices import ADDER_ORDERS, GATE_KINDS
from tm2tfr.base.errors import NotFoundError, UsageError, did_you_mean

if TYPE_CHECKING:
    from tm2tfr.sources.circuit.netlist import Circuit

_FIPS = "FIPS 180-4, Section 6.2"
_MOST_DIGITS = 12


class Parameter(NamedTuple):
    """A parameter of a generator: a whole number within bounds, or one of some words.

    Args:
        name: the option of the command line, without its dashes.
        help: a few words.
        default: its value by default.
        least, most: the bounds of a number, inclusive.
        choices: the words to choose from, for a parameter that is not a number.
    """

    name: str
    help: str
    default: int | str
    least: int = 0
    most: int = 0
    choices: tuple[str, ...] = ()

    def value(self, circuit: str, given: object) -> int | str:
        """Return the argument for the circuit `circuit`, as a number if the parameter is one.

        Raises:
            UsageError: if it is not one of the words, not a number, or out of bounds.
        """
        text = str(given)
        if self.choices:
            if text not in self.choices:
                problem = f"{text!r} is not a value{did_you_mean(text, self.choices)}"
                raise UsageError(f"{circuit}: --{self.name}: {problem}: use one of {', '.join(self.choices)}")
            return text
        if not (text.isascii() and text.isdecimal() and len(text) <= _MOST_DIGITS and self.least <= int(text) <= self.most):
            within = f"use a whole number from {self.least} to {self.most}"
            raise UsageError(f"{circuit}: --{self.name}: {text[:40]!r} is not possible: {within}")
        return int(text)


class Generator(NamedTuple):
    """A shipped circuit: a function that builds it, and what that can be told.

    Args:
        name: of the circuit.
        function: its module in this package and its name; the module is imported when the circuit is built.
        description: one line for people.
        source: where it comes from.
    """

    name: str
    function: str
    description: str
    source: str = ""
    parameters: tuple[Parameter, ...] = ()

    def build(self, **values: int | str) -> Circuit:
        """Return the circuit with these parameters."""
        module, _, function = self.function.partition(":")
        found: Circuit = getattr(import_module(f"{__package__}.{module}"), function)(**values)
        return found


def _bits(default: int, least: int, most: int, help: str = "bits of each number") -> Parameter:
    return Parameter(name="bits", help=help, default=default, least=least, most=most)


GENERATORS: Mapping[str, Generator] = {
    generator.name: generator
    for generator in (
        Generator(name="half-adder", function="arithmetic:half_adder", description="the sum and the carry of two bits"),
        Generator(name="full-adder", function="arithmetic:full_adder", description="the sum and the carry of three bits"),
        Generator(
            name="binary-adder",
            function="arithmetic:binary_adder",
            description="the sum of two numbers, with the carry rippling through",
            source="Guiding Transformers to Process in Steps, Section 4, representations 1 and 2",
            parameters=(
                _bits(8, 1, 4096),
                Parameter(
                    name="order",
                    help="the order of the gates: the paper's representation 1 or 2",
                    default="paper-2",
                    choices=ADDER_ORDERS,
                ),
            ),
        ),
        Generator(
            name="multiplier",
            function="arithmetic:multiplier",
            description="the product of two numbers, by rows of full adders",
            parameters=(_bits(4, 2, 128),),
        ),
        Generator(
            name="comparator",
            function="arithmetic:comparator",
            description="whether a number is less than, equal to or greater than another",
            parameters=(_bits(4, 1, 4096),),
        ),
        Generator(
            name="multiplexer",
            function="arithmetic:multiplexer",
            description="one of 2^k bits, selected by a number of k bits",
            parameters=(Parameter(name="select", help="bits of the number that selects", default=2, least=1, most=12),),
        ),
        Generator(
            name="parity",
            function="arithmetic:parity",
            description="whether the number of ones is odd",
            parameters=(_bits(8, 2, 65536, "number of inputs"),),
        ),
        Generator(
            name="majority",
            function="arithmetic:majority",
            description="whether more than half of the bits are ones",
            parameters=(_bits(5, 2, 16384, "number of inputs"),),
        ),
        Generator(
            name="c17",
            function="arithmetic:c17",
            description="the smallest of the ISCAS-85 benchmarks: six NAND gates",
            source="F. Brglez, H. Fujiwara: A neutral netlist of 10 combinational benchmark circuits, ISCAS 1985",
        ),
        Generator(
            name="sha256-round",
            function="sha256:sha256_round",
            description="one round of SHA-256, with its constant folded in",
            source=f"{_FIPS}.2, step 3",
            parameters=(Parameter(name="number", help="which of the 64 rounds, from 0", default=0, least=0, most=63),),
        ),
        Generator(
            name="sha256",
            function="sha256:sha256",
            description="SHA-256 of one block: 512 bits of a padded message give the 256 bits of its digest",
            source=f"{_FIPS}.2",
        ),
        Generator(
            name="random",
            function="arithmetic:random_circuit",
            description="random gates that read random nets before them",
            parameters=(
                Parameter(name="inputs", help="number of inputs", default=8, least=1, most=100_000),
                Parameter(name="gates", help="number of gates", default=40, least=1, most=1_000_000),
                Parameter(name="seed", help="another number, another circuit", default=0, least=0, most=10**9),
                Parameter(
                    name="kinds",
                    help="any: one to three operands; two: any table over two; paper: NOR, AND, XOR; nor",
                    default="any",
                    choices=GATE_KINDS,
                ),
            ),
        ),
    )
}
"""The name of each shipped circuit -> what builds it."""


def generator(name: str) -> Generator:
    """Return the generator called `name`.

    Raises:
        NotFoundError: if none is.
    """
    if name not in GENERATORS:
        problem = f"{name!r}: no circuit of this name is shipped{did_you_mean(name, GENERATORS)}"
        raise NotFoundError(f"{problem}: name one of {', '.join(GENERATORS)}")
    return GENERATORS[name]


def load(name: str, **parameters: object) -> Circuit:
    """Return the shipped circuit called `name`, with `parameters` as numbers, words, or text from a command line.

    Raises:
        NotFoundError: if there is none of this name.
        UsageError: if it has no such parameter, or not this value.
    """
    found = generator(name)
    known = [parameter.name for parameter in found.parameters]
    for given in parameters:
        if given not in known:
            remedy = f"use --{', --'.join(known)}" if known else "omit it, this circuit has no parameters"
            raise UsageError(f"{name}: unknown parameter --{given}{did_you_mean(given, known)}: {remedy}")
    values = {p.name: p.value(name, parameters.get(p.name, p.default)) for p in found.parameters}
    return replace(found.build(**values), description=found.description, source=found.source)
