"""SHA-256 of one block (FIPS 180-4, Section 6.2), in few gates: XOR, MAJ and MUX over three operands.

A word is 32 signals, the least significant first. The bits of the inputs and outputs come as the standard writes them, the
most significant bit of each word first, so that the message's and the digest's bits are in their usual order.
"""

from __future__ import annotations

import re
from itertools import count
from math import isqrt

from tm2tfr.base.errors import InputError, counted
from tm2tfr.sources.circuit.building import Builder, Signal
from tm2tfr.sources.circuit.netlist import Circuit

WORD, ROUNDS, WORDS = 32, 64, 16
REGISTERS = "abcdefgh"
Word = list[Signal]


def sha256() -> Circuit:
    """Return the compression of one block, ``w0`` to ``w15``, from the initial hash value: the digest, ``h0`` to ``h7``."""
    inputs = tuple(f"w{t}[{bit}]" for t in range(WORDS) for bit in _falling())
    build = Builder(inputs)
    schedule = [_input(f"w{t}") for t in range(WORDS)]
    initial = [_constant(word) for word in ([isqrt(prime << 2 * WORD) % 2**WORD for prime in _primes(8)])]
    state = initial
    for t, constant in enumerate(_round_constants()):
        if t >= WORDS:
            schedule.append(_scheduled(build, t, schedule))
        state = _round(build, f"r{t}_", state, schedule[t], constant)
    digest = [_sum(build, f"h{k}", *pair) for k, pair in enumerate(zip(state, initial, strict=True))]
    gates, outputs = build.finished({f"h{k}[{bit}]": word[bit] for k, word in enumerate(digest) for bit in _falling()})
    return Circuit(name="sha256", inputs=inputs, gates=gates, outputs=outputs, encoding="sha-256")


def sha256_round(*, number: int) -> Circuit:
    """Return round `number`, with its constant: the registers a to h and the word w give ``next_a`` to ``next_h``."""
    inputs = tuple(f"{name}[{bit}]" for name in (*REGISTERS, "w") for bit in _falling())
    build = Builder(inputs)
    state = [_input(name) for name in REGISTERS]
    after = _round(build, "next_", state, _input("w"), _round_constants()[number])
    named = dict(zip(REGISTERS, after, strict=True))
    gates, outputs = build.finished(
        {f"next_{name}[{bit}]": word[bit] for name, word in named.items() for bit in _falling()}
    )
    return Circuit(name="sha256-round", inputs=inputs, gates=gates, outputs=outputs)


def _round(build: Builder, stem: str, state: list[Word], word: Word, constant: int) -> list[Word]:
    """One round (Section 6.2.2, step 3); Ch is MUX, as ``g if e = 0 else f``."""
    a, b, c, d, e, f, g, h = state
    upper1 = _xor(build, f"{stem}S1", _rotated(e, 6), _rotated(e, 11), _rotated(e, 25))
    upper0 = _xor(build, f"{stem}S0", _rotated(a, 2), _rotated(a, 13), _rotated(a, 22))
    choice = [build.gate(f"{stem}ch[{k}]", "MUX", e[k], g[k], f[k]) for k in range(WORD)]
    majority = [build.gate(f"{stem}maj[{k}]", "MAJ", a[k], b[k], c[k]) for k in range(WORD)]
    first = _sum(build, f"{stem}h", h, _constant(constant))  # in the first rounds all but the word is constant
    for name, term in ((f"{stem}hS", upper1), (f"{stem}hSch", choice), (f"{stem}t1", word)):
        first = _sum(build, name, first, term)
    second = _sum(build, f"{stem}t2", upper0, majority)
    return [_sum(build, f"{stem}a", first, second), a, b, c, _sum(build, f"{stem}e", d, first), e, f, g]


def _scheduled(build: Builder, t: int, schedule: list[Word]) -> Word:
    """Word t of the message schedule, t ≥ 16 (Section 6.2.2, step 1)."""
    early, late = schedule[t - 15], schedule[t - 2]
    lower0 = _xor(build, f"w{t}_s0", _rotated(early, 7), _rotated(early, 18), _shifted(early, 3))
    lower1 = _xor(build, f"w{t}_s1", _rotated(late, 17), _rotated(late, 19), _shifted(late, 10))
    partial = _sum(build, f"w{t}_p", lower1, schedule[t - 7])
    return _sum(build, f"w{t}", _sum(build, f"w{t}_q", partial, lower0), schedule[t - 16])


def _sum(build: Builder, name: str, x: Word, y: Word) -> Word:
    """The sum modulo 2^32, two gates a bit."""
    carry: Signal = 0
    total: Word = []
    for k in range(WORD):
        total.append(build.gate(f"{name}[{k}]", "XOR", x[k], y[k], carry))
        carry = build.gate(f"{name}_c[{k + 1}]", "MAJ", x[k], y[k], carry)
    return total


def _xor(build: Builder, name: str, x: Word, y: Word, z: Word) -> Word:
    return [build.gate(f"{name}[{k}]", "XOR", x[k], y[k], z[k]) for k in range(WORD)]


def _rotated(word: Word, places: int) -> Word:
    """To the right."""
    return word[places:] + word[:places]


def _shifted(word: Word, places: int) -> Word:
    """To the right, with zeros from the left."""
    return [*word[places:], *[0] * places]


def _input(name: str) -> Word:
    return [f"{name}[{k}]" for k in range(WORD)]


def _constant(number: int) -> Word:
    return [number >> k & 1 for k in range(WORD)]


def _falling() -> range:
    return range(WORD - 1, -1, -1)


# ── the constants of Sections 4.2.2 and 5.3.3 ───────────────────────────────────────────────────────────


def _round_constants() -> list[int]:
    """The first 32 bits of the fractional parts of the cube roots of the first 64 primes."""
    return [_cube_root(prime << 3 * WORD) % 2**WORD for prime in _primes(ROUNDS)]


def _cube_root(number: int) -> int:
    """The largest integer whose cube is at most `number`."""
    root = 0
    for bit in reversed(range(number.bit_length() // 3 + 1)):
        if (root | 1 << bit) ** 3 <= number:
            root |= 1 << bit
    return root


def _primes(number: int) -> list[int]:
    found: list[int] = []
    for candidate in count(2):
        if all(candidate % prime for prime in found):
            found.append(candidate)
        if len(found) == number:
            return found
    return found


# ── A message as one padded block of SHA-256, and the digest from 256 bits (FIPS 180-4, Sections 5.1.1 and 6.2.2).
BLOCK_BYTES = 64
MOST_BYTES = BLOCK_BYTES - 9
"""The message in one block: after it come a 1, zeros, and its length in eight bytes."""


_HEXADECIMAL = re.compile("0x([0-9a-fA-F]+)")


def padded(text: str) -> str:
    """Return the 512 bits of the only block of a message: the bytes of ``0x616263``, otherwise `text` as UTF-8.

    Raises:
        InputError: if it takes more than one block, has an odd number of hexadecimal digits, or contains half a surrogate
            pair.
    """
    message = _bytes(text)
    if len(message) > MOST_BYTES:
        problem = f"the text has {counted(len(message), 'byte')}, and one block of SHA-256 takes {MOST_BYTES}"
        raise InputError(f"input: {problem}: shorten it; a longer text would need a circuit of more blocks")
    block = (message + b"\x80").ljust(BLOCK_BYTES - 8, b"\0") + (8 * len(message)).to_bytes(8, "big")
    return "".join(f"{byte:08b}" for byte in block)


def hexadecimal(message: bytes) -> str:
    """Return the text that `padded` reads as the bytes of `message`."""
    return f"0x{message.hex()}" if message else ""


def _bytes(text: str) -> bytes:
    if (match := _HEXADECIMAL.fullmatch(text)) is not None:
        if len(match[1]) % 2:
            problem = f"{text if len(text) <= 40 else text[:40] + '…'} has {counted(len(match[1]), 'digit')} after 0x"
            remedy = f"write two for each byte; the bytes of this text itself are {hexadecimal(text[:4].encode())}…"
            raise InputError(f"input: {problem}: {remedy}")
        return bytes.fromhex(match[1])
    try:
        return text.encode("utf-8", "surrogateescape")  # as the command line decodes bytes that are not UTF-8
    except UnicodeEncodeError:
        raise InputError("input: the text is not Unicode: remove the surrogates from it") from None


def digest(bits: str) -> str:
    """Return `bits`, the outputs of SHA-256 in order, as the digest's hexadecimal digits."""
    return f"{int(bits, 2):0{len(bits) // 4}x}"
