"""A message as one padded block of SHA-256, and the digest from 256 bits (FIPS 180-4, Sections 5.1.1 and 6.2.2)."""

from __future__ import annotations

import re

from tm2tfr.errors import InputError, counted

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
        what = f"the text has {counted(len(message), 'byte')}, and one block of SHA-256 takes {MOST_BYTES}"
        raise InputError(f"input: {what}: shorten it; a longer text would need a circuit of more blocks")
    block = (message + b"\x80").ljust(BLOCK_BYTES - 8, b"\0") + (8 * len(message)).to_bytes(8, "big")
    return "".join(f"{byte:08b}" for byte in block)


def hexadecimal(message: bytes) -> str:
    """Return the text that `padded` reads as the bytes of `message`."""
    return f"0x{message.hex()}" if message else ""


def _bytes(text: str) -> bytes:
    if (found := _HEXADECIMAL.fullmatch(text)) is not None:
        if len(found[1]) % 2:
            what = f"{text if len(text) <= 40 else text[:40] + '…'} has {counted(len(found[1]), 'digit')} after 0x"
            remedy = f"write two for each byte; the bytes of this text itself are {hexadecimal(text[:4].encode())}…"
            raise InputError(f"input: {what}: {remedy}")
        return bytes.fromhex(found[1])
    try:
        return text.encode("utf-8", "surrogateescape")  # as the command line decodes bytes that are not UTF-8
    except UnicodeEncodeError:
        raise InputError("input: the text is not Unicode: remove the surrogates from it") from None


def digest(bits: str) -> str:
    """Return `bits`, the outputs of SHA-256 in order, as the digest's hexadecimal digits."""
    return f"{int(bits, 2):0{len(bits) // 4}x}"
