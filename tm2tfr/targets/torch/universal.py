"""Every machine of a size, in plain PyTorch: ``python universal.py "two-way q0,0 →(q0,1,+1) 1 1"`` runs one of them.

It needs torch, safetensors, `model.py`, and two files next to it: `weights.safetensors`, the matrices, and `tm2tfr.json`,
the names of everything. Nothing here knows what it should compute: change a weight, and it computes something else.
"""

from __future__ import annotations

import argparse
import difflib
import json
from pathlib import Path

import torch
from safetensors.torch import load_file
from torch import Tensor

from tm2tfr.targets.torch.model import Decoder

TAPES = ("one-way", "two-way")
RULE = "write rules as a state and a symbol, then what is answered; then the input"
AFTER = {
    "": (("tape",), f"begin with {TAPES[0]} or {TAPES[1]}"),
    "tape": (("key", "symbol", "end"), RULE),
    "key": (("value",), "write after a state and a symbol what its rule answers, such as →(q0,0,+1)"),
    "value": (("key", "symbol", "end"), RULE),
    "symbol": (("symbol", "end"), "write all rules before the input, and no blank in it"),
    "end": ((), "a prompt ends with its first BOS"),
}
"""What a token of a prompt is; "" before the first -> what may come after it, and what to do about anything else."""


class UniversalDecoder(Decoder):
    """The decoder; see `Decoder`. A prompt has the tokens of a machine, then the input, with spaces between them."""

    def encode(self, word: str) -> Tensor:
        """Return the prompt: its tokens, and BOS, which starts the run, if it is not there.

        Raises:
            ValueError: for a token that is not in the vocabulary, or is not where it may be, and for two rules for the same
                state and symbol.
        """
        found: list[tuple[int, str]] = []  # the number of each token from 1, as they are separated by white space
        for number, part in enumerate(word.replace("->", "→").replace("→", " →").split(), start=1):
            tokens = [part] if part in self.vocabulary else [*part]  # the symbols of the input need no spaces
            if len(tokens) > 1 and not all(self._kind(token) == "symbol" for token in tokens):
                tokens = [part]
            if tokens[0] not in self.vocabulary:
                near = part.replace(",1)", ",+1)").replace("\N{MINUS SIGN}", "-")  # a move as it is often written
                close = difflib.get_close_matches(near, self.vocabulary, n=1) if "," in part else []
                meant = f" (did you mean {close[0]!r}?)" if close else ""
                what = f"token {number}: {part!r} is not in the vocabulary{meant}"
                raise ValueError(f"{what}: write a machine as README.md says")
            found += [(number, token) for token in tokens]
        if not found or found[-1][1] != self.bos:
            found.append((found[-1][0] + 1 if found else 1, str(self.bos)))
        self._check(found)
        tokens = [token for _, token in found]
        return torch.tensor([self.vocabulary.index(token) for token in tokens], device=self.token_embedding.device)

    def _kind(self, token: str) -> str:
        """Return what a token of the vocabulary is in a prompt; "answer" is one that only a run has."""
        if token in (self.bos, *TAPES):
            return "tape" if token in TAPES else "end"
        if token.startswith("→"):
            return "value"
        if "," in token:
            return "answer" if token.startswith("(") else "key"
        return "symbol" if token in self.vocabulary and token not in self.stop else "answer"

    def _check(self, tokens: list[tuple[int, str]]) -> None:
        """Raise ValueError if the tokens, each with its number in the text, are not a prompt."""
        begin = set(TAPES) & set(self.vocabulary)
        kind, seen = "" if begin else "tape", dict[str, int]()
        for number, token in tokens:
            allowed, remedy = AFTER[kind]
            kind = self._kind(token)
            if kind not in allowed:
                raise ValueError(f"token {number}: {token!r} cannot be here: {remedy}")
            if token in seen and kind == "key":
                what = f"token {number}: there is already a rule for {token}, at token {seen[token]}"
                raise ValueError(f"{what}: remove one of them, since a machine is deterministic")
            seen[token] = number


def load(folder: str | Path = ".", attention: str = "average-hard", temperature: float = 0) -> UniversalDecoder:
    """Return the decoder whose files are in `folder`; see `UniversalDecoder`."""
    names = json.loads((Path(folder) / "tm2tfr.json").read_text(encoding="utf-8"))
    return UniversalDecoder(names, load_file(Path(folder) / "weights.safetensors"), attention, temperature)


def main() -> None:
    """Print the prompt and the run of the machine in it."""
    parser = argparse.ArgumentParser(description="Run the Turing machine in a prompt.")
    parser.add_argument("prompt", help="the tokens of the machine and of its input, as README.md says")
    parser.add_argument("--attention", choices=["average-hard", "softmax"], default="average-hard")
    parser.add_argument("--temperature", type=float, default=0, help="of softmax; by default the recommended one")
    given = parser.parse_args()
    try:
        decoder = load(Path(__file__).parent, given.attention, given.temperature)
        print(*(decoder.vocabulary[n] for n in decoder.encode(given.prompt)), end="", flush=True)
        for token in decoder.generate(given.prompt):
            print("", token, end="", flush=True)
        print()
    except ValueError as error:
        raise SystemExit(f"\n{error}") from error


if __name__ == "__main__":
    main()
