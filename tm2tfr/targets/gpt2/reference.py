"""What `transformers` loads from the right files, to compare with what it loads from the actual ones."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from tm2tfr.errors import ExportError, first_line
from tm2tfr.targets.common.reading import mapping
from tm2tfr.targets.common.settings import ANY
from tm2tfr.targets.gpt2.running import required

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
