"""Every machine of a size, in plain PyTorch: ``python universal.py "two-way q0,0 →(q0,1,+1) 1 1"`` runs one of them.

It needs torch, safetensors, `model.py`, and two files next to it: `weights.safetensors`, the matrices, and `tm2tfr.json`,
the names of everything. Nothing here knows what it should compute: change a weight, and it computes something else.
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path

import torch
from safetensors.torch import load_file
from torch import Tensor

from tm2tfr.targets.torch.model import Decoder


class UniversalDecoder(Decoder):
    """The decoder; see `Decoder`. A prompt has the tokens of a machine, then the input, with spaces between them."""

    def encode(self, word: str) -> Tensor:
        """Return the prompt: its tokens, and BOS, which starts the run, if it is not there.

        Raises:
            ValueError: for a token that is not in the vocabulary.
        """
        tokens: list[str] = []
        for part in word.replace("->", "→").split():
            tokens += [part] if part in self.vocabulary else [*part]  # the symbols of the input need no spaces
        for token in tokens:
            if token not in self.vocabulary:
                raise ValueError(f"{token!r} is not in the vocabulary: write a machine as README.md says")
        tokens += [] if tokens[-1:] == [self.bos] else [self.bos]
        return torch.tensor([self.vocabulary.index(token) for token in tokens], device=self.token_embedding.device)


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
