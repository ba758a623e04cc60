"""Labels of RASP programs: the values of s-ops, and what subspaces and heads make of them, for many inputs at once.

See `tm2tfr.sources.rasp.model.specification`, which says the same of one position of one input after the other.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from fractions import Fraction
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tm2tfr.contract.labelling import (
    RESERVED,
    HeadLabels,
    HeldVariable,
    LabelledWords,
    LabelVariable,
    LookMatrix,
    Scheme,
    Seen,
    heads_of,
    sight_matrix,
)
from tm2tfr.sources.rasp.drawing.flow import expression, selector_text
from tm2tfr.sources.rasp.evaluate_many import ManyValues
from tm2tfr.sources.rasp.model.claims import look, s_ops
from tm2tfr.sources.rasp.program import Program, shown_atom
from tm2tfr.sources.rasp.sops import Aggregate, Selector, SOp
from tm2tfr.sources.rasp.truth import RaspLabels, answered
from tm2tfr.sources.rasp.values import number, numeric, shown_value
from tm2tfr.transformer.residual import Subspace
from tm2tfr.transformer.weights import Decoder

InputGrid = NDArray[Any]
"""(inputs, n)"""
_GIVEN = {
    "token": HeldVariable(column="token"),
    "position": HeldVariable(column="position"),
    "1": HeldVariable(),
    "i": HeldVariable(column="position"),
    "i^2": HeldVariable(column="position", function="square"),
}


class RaspVariables:
    """Finds the labels of inputs of one program.

    Args:
        decoder: the weights, of which only claims, labels and the names of outputs are read.

    Raises:
        CompileError: if the weights answer no s-ops of the program.
    """

    def __init__(self, program: Program, decoder: Decoder) -> None:
        self._program, self._decoder = program, decoder
        self._outputs, self.right = answered(program, decoder), RaspLabels(program, decoder)
        self._many = self.right.many
        self._sops = {node.number: node for node in self._many.nodes if isinstance(node, SOp)}
        self._selectors = {node.number: node for node in self._many.nodes if isinstance(node, Selector)}
        self._numeric = numeric(self._sops.values())

    # ── what there is ───────────────────────────────────────────────────────────────────────────────────────
    @cached_property
    def scheme(self) -> Scheme:
        """The scheme of the labels."""
        variables = [
            LabelVariable(name=name, kind="text", meaning=f"the value of the s-op {sop.name or name}")
            for sop, name in self._names.items()
        ]
        output = self._decoder.outputs[0]
        variables += [made for made, compute in self._own.values() if compute is not None]
        return Scheme(
            variables=tuple(variables),
            heads=self._heads,
            held={subspace.name: self._held(subspace) for subspace in self._decoder.layout.subspaces},
            answers=output.labels,
            nodes=self._nodes,
        )

    @cached_property
    def _nodes(self) -> Mapping[str, str]:
        """What each s-op and selector is, by its number: its name, or how it is made of what has one."""
        names = {node.number: node.name or self._names.get(node, "") for node in self._sops.values()}
        names = {number: name for number, name in names.items() if name and name != f"s{number}"}
        found = {f"s{n}": names.get(n) or expression(sop, names) for n, sop in self._sops.items()}
        return found | {f"c{n}": each.name or selector_text(each, names) for n, each in self._selectors.items()}

    @cached_property
    def _heads(self) -> tuple[HeadLabels, ...]:
        def seen(claim: str) -> Seen | None:
            gaze = look(claim)
            if gaze is None or not all(n in self._selectors for cluster in gaze.clusters for n, _ in cluster):
                return None
            return "several" if gaze.clusters else "all"

        return heads_of(self._decoder, seen)

    @cached_property
    def _head_of(self) -> Mapping[int, HeadLabels]:
        """Number of a selector -> the head that computes it."""
        found = {}
        for head in self._heads:
            gaze = look(head.claim)
            if gaze is not None:
                found[gaze.selector] = head
        return found

    @cached_property
    def _names(self) -> Mapping[SOp, str]:
        """Each s-op with a column of its own, and the name of the column."""
        names = {sop: output.name for sop, output in zip(self._outputs, self._decoder.outputs, strict=True)}
        for name, sop in self._program.sops.items():
            if sop.number in self._sops:
                names.setdefault(sop, name)
        for subspace in self._decoder.layout.subspaces:
            kind, _, rest = subspace.holds.partition(" ")
            found_there = self._sop(rest)
            if kind == "value" and found_there is not None:
                names.setdefault(found_there, subspace.name)
            if kind == "picked" and isinstance(found_there, Aggregate):
                names.setdefault(found_there.values, _named(found_there.values))
        taken, found = set(RESERVED), dict[SOp, str]()
        for sop, name in names.items():
            unique = name if name not in taken else f"{name} (s{sop.number})"
            taken.add(unique)
            found[sop] = unique
        return found

    @cached_property
    def _own(self) -> Mapping[str, tuple[LabelVariable, Any]]:
        """Of each subspace that is no s-op's value, by its name, the variable, and what computes it."""
        found = {}
        for subspace in self._decoder.layout.subspaces:
            kind, _, rest = subspace.holds.partition(" ")
            name = subspace.name if subspace.name not in self._names.values() else f"{subspace.name} (subspace)"
            if kind == "value" and self._sop(rest) is None:
                found[subspace.name] = self._joined(name, rest.partition(" of ")[2])
            elif kind == "share":
                made, compute = self._joined(f"{name}: here", rest.partition(" of ")[2])
                mean = f"what is averaged by {self._carrier(rest.partition(' ')[0])}: {made.meaning}"
                found[subspace.name] = replace(made, meaning=mean), compute
            elif kind == "mean":
                sop = self._sop(rest.partition(" ")[0])
                of = sop.values if isinstance(sop, Aggregate) else None
                carrier = self._carrier(f"c{sop.selector.number}") if isinstance(sop, Aggregate) else "a head"
                what = (
                    f"the mean that {carrier} carries: of the values of {'its s-op' if of is None else _named(of)}, scaled"
                )
                found[subspace.name] = LabelVariable(name=name, kind="number", meaning=what), self._mean(rest)
            elif kind == "found":
                what = f"whether the selector of {self._carrier(rest)} selects a position in sight: 1 or 0"
                found[subspace.name] = LabelVariable(name=name, kind="whole", meaning=what), self._found(rest)
        return found

    def _carrier(self, selector: str) -> str:
        """Return which head attends as a selector says, in words."""
        head = self._head_of.get(_number(selector))
        return "a head" if head is None else f"head {head.column}"

    def _held(self, subspace: Subspace) -> HeldVariable | None:
        kind, _, rest = subspace.holds.partition(" ")
        if subspace.holds in _GIVEN:
            return _GIVEN[subspace.holds]
        sop = self._sop(rest)
        if kind == "value" and sop is not None:
            return HeldVariable(column=self._names[sop])
        if kind == "picked" and isinstance(sop, Aggregate) and sop.selector.number in self._head_of:
            return HeldVariable(column=self._names[sop.values], mean=self._head_of[sop.selector.number].column)
        if kind == "steps":
            mean = next((s for s in self._decoder.layout.subspaces if s.holds.startswith(f"mean {rest} ")), None)
            return None if mean is None else HeldVariable(column=self._own[mean.name][0].name, function="steps")
        if subspace.name not in self._own or self._own[subspace.name][1] is None:
            return None
        column = self._own[subspace.name][0].name
        head = self._head_of.get(_number(rest.partition(" ")[0])) if kind == "share" else None
        grouped = subspace.groups if kind in ("value", "share") else ()
        return HeldVariable(column=column, groups=grouped, mean=None if head is None else head.column)

    def _sop(self, name: str) -> SOp | None:
        numbers = s_ops(name)
        return self._sops.get(numbers[0]) if numbers is not None and len(numbers) == 1 and numbers[0] is not None else None

    # ── on many inputs ──────────────────────────────────────────────────────────────────────────────────────
    def __call__(self, words: NDArray[np.int64]) -> LabelledWords:
        """Return the labels of inputs of one length, given as places of their tokens in the alphabet: (inputs, n)."""
        found = self._many.run(words, matrices=True)
        there = found.defined
        columns: dict[str, InputGrid] = {}
        texts: dict[str, list[str]] = {}
        for sop, name in self._names.items():
            columns[name], texts[name] = found.places[sop][there].astype(np.int32), self._shown(found, sop)
        looks = {head.column: self._looks(head, found) for head in self._heads}
        for made, compute in self._own.values():
            if made.kind == "text" and compute is not None:
                columns[made.name], texts[made.name] = compute(found, looks, words)
            elif compute is not None:
                columns[made.name] = compute(found, looks, words)
        return LabelledWords(there, columns, texts, looks, self.right.fed(words[there]), self.right.wanted(found))

    def _shown(self, found: ManyValues, sop: SOp) -> list[str]:
        return [shown_value(atom, self._numeric[sop]) for atom in found.atoms[sop]]

    def _looks(self, head: HeadLabels, found: ManyValues) -> LookMatrix:
        """Return the visible positions that satisfy the most clusters."""
        gaze = look(head.claim)
        many, n = int(found.defined.sum()), next(iter(found.places.values())).shape[1]
        sight = sight_matrix("none" if gaze is None or gaze.ahead else "future", n)
        counts = np.zeros((many, n, n), dtype=np.int16)
        for cluster in () if gaze is None else gaze.clusters:
            true = np.ones((many, n, n), dtype=bool)
            for selector, wanted in cluster:
                true &= found.matrices[self._selectors[selector]][found.defined] == wanted
            counts += true
        counts[:, ~sight] = -1
        best: LookMatrix = counts == counts.max(axis=-1, keepdims=True)
        return best & sight

    def _joined(self, name: str, of: str) -> tuple[LabelVariable, Any]:
        """Return the variable that is the values of listed s-ops as text, with commas between, and what computes it."""
        numbers = s_ops(of)
        shown = ", ".join("the token" if n is None else _named(self._sops[n]) for n in numbers or () if n in self._of)
        made = LabelVariable(name=name, kind="text", meaning=f"the values of {shown or 'nothing'}, separated by commas")
        if numbers is None or any(n not in self._of for n in numbers):
            return made, None
        known: dict[str, int] = {}

        def compute(found: ManyValues, _: Any, words: NDArray[np.int64]) -> tuple[InputGrid, list[str]]:
            given = words[found.defined]
            of_tokens = [shown_atom(token) for token in self._program.alphabet]
            shown = [of_tokens if n is None else self._shown(found, self._sops[n]) for n in numbers]
            places = [given if n is None else found.places[self._sops[n]][found.defined] for n in numbers]
            size = tuple(len(each) + 1 for each in shown)
            flat = np.ravel_multi_index(places, size) if numbers else np.zeros_like(given)
            kinds, which = np.unique(flat, return_inverse=True)
            each = (np.unravel_index(kind, size) if numbers else () for kind in kinds)
            texts = [",".join(of[k] for of, k in zip(shown, at, strict=True)) for at in each]
            table = [known.setdefault(text, len(known)) for text in texts]
            return np.asarray(np.array(table or [0], dtype=np.int32)[which]).reshape(flat.shape), list(known)

        return made, compute

    @cached_property
    def _of(self) -> frozenset[int | None]:
        return frozenset([None, *self._sops])

    def _mean(self, rest: str) -> Any:
        name, *numbers = rest.split(" ")
        node = self._sop(name)
        if not isinstance(node, Aggregate) or node.selector.number not in self._head_of or len(numbers) != 2:
            return None
        head, (scale, least) = self._head_of[node.selector.number], map(Fraction, numbers)

        def compute(found: ManyValues, looks: Mapping[str, LookMatrix], _: Any) -> InputGrid:
            atoms = [0.0 if isinstance(a, str) else float(scale * (number(a) - least)) for a in found.atoms[node.values]]
            values = np.array(atoms or [0.0])[found.places[node.values][found.defined]]
            seen = looks[head.column]
            return np.asarray(np.matmul(seen / seen.sum(axis=-1, keepdims=True), values[..., None])[..., 0])

        return compute

    def _found(self, rest: str) -> Any:
        selector = self._selectors.get(_number(rest))
        head = None if selector is None else self._head_of.get(selector.number)
        gaze = None if head is None else look(head.claim)
        if selector is None or gaze is None:
            return None

        def compute(found: ManyValues, _: Any, words: NDArray[np.int64]) -> InputGrid:
            sight = sight_matrix("none" if gaze.ahead else "future", words.shape[1])
            return np.asarray((found.matrices[selector][found.defined] & sight).any(axis=-1), dtype=np.int32)

        return compute


def _named(sop: SOp) -> str:
    return sop.name or f"s{sop.number}"


def _number(name: str) -> int:
    return int(name[1:]) if name[:1] == "c" and name[1:].isdecimal() else -1
