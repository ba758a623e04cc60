"""The authors' interpreter, from a checkout of their repository (tech-srl/RASP), asked from Python.

It wants ``antlr4-python3-runtime==4.9.1``, ``graphviz`` and ``termcolor``. Nothing of it is part of this project.
"""

from __future__ import annotations

import contextlib
import io
import os
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

Value = str | bool | int | float
Recorded = list[Value] | str
"""The values of an s-op, or the complaint where it has none."""


class RefusedError(Exception):
    """The interpreter does not take a program; with what it says."""


@contextlib.contextmanager
def inside(checkout: Path) -> Iterator[None]:
    """Work in the checkout, which is where the interpreter looks for its library."""
    before = Path.cwd()
    os.chdir(checkout)
    sys.path.insert(0, str(checkout))
    try:
        yield
    finally:
        sys.path.remove(str(checkout))
        os.chdir(before)


class Repl:
    """A fresh interpreter that has run a program.

    Raises:
        RefusedError: if it complains about a statement.
    """

    def __init__(self, text: str) -> None:
        from RASP_support.FunctionalSupport import UnfinishedSelect, UnfinishedSequence  # type: ignore[import-not-found]
        from RASP_support.REPL import REPL  # type: ignore[import-not-found]

        with contextlib.redirect_stdout(io.StringIO()):
            self._repl = REPL()
        said = io.StringIO()
        self._repl.show_sequence_examples = self._repl.show_selector_examples = False
        with contextlib.redirect_stdout(said):
            self._repl.run(fromfile=io.StringIO(text))
        for complaint in ("!!", "something went wrong", "EVALUATION FAILURE"):
            if complaint in said.getvalue():
                raise RefusedError(said.getvalue())
        variables = self._repl.env.variables
        last = {name: value for name, value in variables.items() if name not in {"out", "tokens"}}
        self._selects = {name: value for name, value in last.items() if isinstance(value, UnfinishedSelect)}
        self.sops: dict[str, Any] = {name: value for name, value in last.items() if isinstance(value, UnfinishedSequence)}

    def values(self, sop: str, word: Sequence[Any]) -> Recorded:
        """Return the values of an s-op on an input, or the first line of the complaint."""
        given = "".join(word) if all(isinstance(token, str) and len(token) == 1 for token in word) else list(word)
        try:
            return list(self.sops[sop].call(given, just_pass_exception_up=True).get_vals())
        except Exception as error:  # noqa: BLE001  (it raises whatever Python raises)
            return f"{type(error).__name__}: {error}".splitlines()[0].split(":\n")[0][:70]

    def analysis(self, sop: str) -> list[list[list[Any]]]:
        """Return the heads of each layer, each as [name of its selector, number of its aggregates, those with a name]."""
        target = self.sops[sop]
        heads, _ = target.get_all_ancestor_heads_and_ffs()
        depth = max((head.comp_depth for head in heads), default=0)
        layers: list[list[list[Any]]] = [[] for _ in range(depth)]
        for head in heads:
            named = sorted(name for name, value in self.sops.items() if any(value is s for s in head.sequences))
            selector = [name for name, value in self._selects.items() if value is head.select]
            layers[head.comp_depth - 1].append([(selector or [""])[-1], len(head.sequences), named])
        return [sorted(layer) for layer in layers]
