"""An export in the program that it is for: loaded by `transformers`, and run.

The only module that imports torch and transformers, and only when it is used.
"""

from __future__ import annotations

import importlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tm2tfr.base import errors
from tm2tfr.base.errors import ExportError, first_line
from tm2tfr.targets.common.card import typed
from tm2tfr.targets.common.comparison import ByLogits
from tm2tfr.targets.common.directory import ANY, mapping

LOCAL = {"local_files_only": True, "trust_remote_code": False}
"""How everything is loaded: nothing is downloaded, no code that came with an export is run, and nobody is asked."""


def required(otherwise: str = "") -> tuple[Any, Any]:
    """Return the modules torch and transformers; `otherwise`: how the command does without them, if it does.

    Raises:
        ExportError: if they are not installed.
    """
    torch, transformers = errors.required(
        "running a GPT-2 needs torch and transformers", ["torch", "transformers"], "hf", otherwise=otherwise
    )
    return torch, transformers


class LoadedModel(ByLogits):
    """A model and a tokenizer loaded from a directory, by one of the classes that find out what it is.

    Raises:
        ExportError: if torch or transformers is missing, or cannot load the directory.
    """

    auto = "AutoModelForCausalLM"

    def __init__(self, folder: Path) -> None:
        self._torch, transformers = required()
        transformers.utils.logging.set_verbosity_error()
        transformers.utils.logging.disable_progress_bar()
        self._torch.set_num_threads(1)  # models this small are slower with more
        try:
            self.model = getattr(transformers, self.auto).from_pretrained(str(folder), use_safetensors=True, **LOCAL)
            self.tokenizer = transformers.AutoTokenizer.from_pretrained(str(folder), **LOCAL)
        except Exception as error:  # what it was given may be anything, and so is what it raises
            raise ExportError(f"{folder}: transformers cannot load it ({first_line(error)}): export it again") from error
        self.model.eval()

    @property
    def versions(self) -> str:
        """What runs the model."""
        return f"transformers {importlib.import_module('transformers').__version__}, torch {self._torch.__version__}"

    @property
    def settings(self) -> dict[str, Any]:
        """What was loaded beside the tensors, by file."""
        return {"config.json": self.model.config, "tokenizer_config.json": self.tokenizer}

    def tensors(self) -> dict[str, NDArray[Any]]:
        """Return the tensors that were loaded, by name."""
        return {name: tensor.numpy() for name, tensor in self.model.state_dict().items()}

    def logits(self, tokens: Sequence[int]) -> NDArray[Any]:
        """Return the logits at every position."""
        found: NDArray[Any] = self._run(tokens).logits[0].numpy()
        return found

    def streams(self, tokens: Sequence[int]) -> NDArray[np.float64]:
        """Return the residual stream before the first layer and after each: (layers + 1, positions, width)."""
        states = self._run(tokens, output_hidden_states=True).hidden_states
        return np.array([state[0].double().numpy() for state in states])

    def _run(self, tokens: Sequence[int], **options: bool) -> Any:
        with self._torch.inference_mode():
            return self.model(self._torch.tensor([list(tokens)]), **options)


class Gpt2Running(LoadedModel):
    """A GPT-2 loaded from a directory, see `LoadedModel`."""

    longest_generated = 2048

    @property
    def settings(self) -> dict[str, Any]:
        """What was loaded beside the tensors, by file."""
        return {**super().settings, "generation_config.json": self.model.generation_config}

    def prompt(self, word: str) -> list[int]:
        """Return the token numbers of `word` and BOS, as the tokenizer has them."""
        return list(self.tokenizer(typed(word, self.tokenizer.get_vocab()))["input_ids"])

    def generated(self, prompt: Sequence[int], *, most: int) -> list[int]:
        """Return the prompt and the model's greedy continuation, at most `most` tokens in all."""
        given = self._torch.tensor([list(prompt)])
        made = self.model.generate(given, attention_mask=self._torch.ones_like(given), max_length=most)
        return [int(n) for n in made[0]]


# ── What `transformers` loads from the right files, to compare with what it loads from the actual ones.
_PLACES = {"init_kwargs", "name_or_path", "_tokenizer", "vocab_file", "init_inputs"}
"""Attributes of a tokenizer that say where it comes from, or that are compared in another form."""


@dataclass(frozen=True)
class Reference:
    """The right configuration, generation settings and tokenizer, as loaded and as saved again.

    Args:
        texts: the files that they are loaded from, by name: as they are exported.
    """

    texts: Mapping[str, str]

    @cached_property
    def _made(self) -> tuple[dict[str, Any], dict[str, dict[str, Any]], dict[str, dict[str, Any]]]:
        """Return the loaded objects, the files that they are saved to, and the defaults of each class of settings."""
        _, transformers = required()
        loaders = {
            "config.json": transformers.AutoConfig,
            "generation_config.json": transformers.GenerationConfig,
            "tokenizer_config.json": transformers.AutoTokenizer,
        }
        with TemporaryDirectory() as place:
            folder = Path(place)
            for name, text in self.texts.items():
                (folder / name).write_text(text, encoding="utf-8")
            try:
                found = {
                    name: loader.from_pretrained(place, local_files_only=True)
                    for name, loader in loaders.items()
                    if name in self.texts
                }
                for each in found.values():
                    each.save_pretrained(str(folder / "saved"))
            except Exception as error:
                what = f"transformers {transformers.__version__} cannot load the correct settings ({first_line(error)})"
                raise ExportError(f"{what}: use another version of it") from error
            saved = {path.name: mapping(path) for path in (folder / "saved").glob("*.json")}
        kinds = {name: type(each) for name, each in found.items() if name != "tokenizer_config.json"}
        return found, saved, {name: kind().to_dict() for name, kind in kinds.items()}

    @property
    def saved(self) -> dict[str, dict[str, Any]]:
        """The files written by saving the right model again, by name: all are JSON."""
        return self._made[1]

    @property
    def neutral(self) -> dict[str, dict[str, Any]]:
        """The default settings, by file."""
        return self._made[2]

    def unlike(self, given: Mapping[str, Any]) -> tuple[str, ...]:
        """Return the parts of the loaded objects, by file, that are not as loaded from the right files.

        They must be unused: a tokenizer changes when it is used.
        """
        return tuple(self._unlike(given))

    def _unlike(self, given: Mapping[str, Any]) -> Iterator[str]:
        for name, right in self._made[0].items():
            want, have = _state(right), _state(given[name])
            for part in sorted({*want, *have}):
                if want.get(part) != have.get(part):
                    yield f"{name}: as loaded, {part} is {have.get(part)!s:.80}, should be {want.get(part)!s:.80}"


def _state(loaded: Any) -> dict[str, str]:
    """Return the whole state of a loaded object, as text."""
    kind = {"class": f"{type(loaded).__module__}.{type(loaded).__qualname__}"}
    if not hasattr(loaded, "get_vocab"):
        held = loaded.to_dict()
        return kind | {name: _text(value) for name, value in held.items() if name not in ANY}
    held = {name: value for name, value in vars(loaded).items() if name not in _PLACES}
    held |= {f"init.{name}": value for name, value in loaded.init_kwargs.items() if name not in ANY | _PLACES}
    return kind | {name: _text(value) for name, value in held.items()} | {"tokenizer": loaded.backend_tokenizer.to_str()}


def _text(value: Any) -> str:
    """Return a value as text, in which the order of a dictionary does not matter."""
    if isinstance(value, dict):
        return f"{{{', '.join(sorted(f'{name!r}: {_text(entry)}' for name, entry in value.items()))}}}"
    return repr(value)
