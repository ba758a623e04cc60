"""The value at the nearest position that a selector selects: B-RASP's and S-RASP's attention, ⊖, ⊕, since and until.

The score of a key is the number of conjuncts of the selector that it satisfies; equal scores differ by a term for the
distance of the key, of less than 1/2 in total: ``±j/(2(i+1))`` among earlier positions, ``±j/(2N)`` among others. So one
position has the best score. Its value is rounded (Lemma 9), and the bits of its key tell whether it is selected at all.

Strict sight needs no mask of its own: the head before brings each position what stands before (or behind) it, and then
position j stands for j - 1 (or j + 1).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from itertools import product

from tm2tfr.base.choices import Weighting
from tm2tfr.sources.sequence.compiler.codes import BitForm, Time, added
from tm2tfr.sources.sequence.compiler.framed.bits import Bit, BitPlan, Finite, literal
from tm2tfr.sources.sequence.compiler.framed.counting import Counting, Timed
from tm2tfr.sources.sequence.compiler.framed.heads import Aim, Conjunct, FramedHead, HeadPlan, neighbour
from tm2tfr.sources.sequence.compiler.framed.matching import Matched, equal_there, steadied
from tm2tfr.sources.sequence.graph import Item, Nearest, text_of
from tm2tfr.transformer.claims import Over
from tm2tfr.transformer.gadgets import TieBreak, tie_break
from tm2tfr.transformer.residual import at
from tm2tfr.transformer.weights import Mask

NEARER, FARTHER = 4.0, 16.0
"""The margins of ties that are broken by ±j/(2n), whose rivals are at distances 1, 2, …, and by -1/j (Lemma 8a)."""
MOST_WAYS = 64
"""A value has at most this many conjunctions; with more, whether anything is selected becomes a bit of its own."""


@dataclass(frozen=True)
class Sought:
    """An attention whose parts are there.

    Args:
        conjuncts: those of its selector, each a sum of products of bits, or two numbers that are to be equal.
        values, default: what it brings, and otherwise is.
    """

    node: Nearest
    conjuncts: tuple[Conjunct | Matched, ...]
    values: Finite
    default: Finite

    @property
    def boolean(self) -> bool:
        """Whether it is a truth value."""
        return all(isinstance(value, bool) for value in (*self.values.bits, *self.default.bits))


@dataclass
class Attending:
    """The attention of a plan to the nearest positions.

    Args:
        steep: with queries that grow with the position, or with the length.
        printed: with what the paper has for ⊖ and ⊕ (Theorems 12 and 13), since and until (Theorems 15 and 16).
        unique: with leftmost and rightmost heads, whose scores need no term for ties; otherwise as printed.
        ahead: whether the whole word is seen, so that features may depend on its length.
        refused: (attention, what is wrong with it, remedy) -> the error.
    """

    bits: BitPlan
    heads: HeadPlan
    counting: Counting
    steep: bool
    printed: bool
    unique: bool
    ahead: bool
    refused: Callable[[Nearest, str, str], Exception]

    def nearest(self, asked: Sought) -> Finite:
        """Return the value that an attention fetches."""
        node = asked.node
        if asked.boolean and not asked.values.truth.form and not asked.default.truth.form:
            return Finite({False: self.bits.inside})
        if any(isinstance(each, Conjunct) and not each.pairs for each in asked.conjuncts):
            return self._chosen(asked, [], Finite({}))
        if not asked.conjuncts and (node.choice, node.sight) in (("latest", "<"), ("earliest", ">")):
            return self._neighbour(asked)
        if self._is_marked(asked):
            return self._marked(asked)
        return self._searched(asked)

    # ── the position before, or behind ──────────────────────────────────────────────────────────────────────
    def _neighbour(self, asked: Sought) -> Finite:
        if self.printed and self._alone(asked):
            return self._by_parity(asked)
        gaze = self.neighbour(ahead=asked.node.sight == ">")
        head = self.heads.add(gaze, [asked.values.time])
        head.needs(7.0)
        brought = self._brought(head, asked, lambda bit: bit.form)
        if asked.boolean and asked.default.truth.form == {}:
            return brought
        there = self._whether(head, self.bits.inside, lambda bit: bit.form)
        return self._chosen(asked, [[there]], brought)

    def _by_parity(self, asked: Sought) -> Finite:
        """Return ⊖ or ⊕ as printed: of the nearest even and odd positions, the one of the other parity than i's."""
        node, truth = asked.node, asked.values.truth
        behind = node.sight == ">"
        self.bits.stream.embedded("(-1)^i")
        brought: list[tuple[BitForm, float]] = []
        for parity, sign in ((0, 0.5), (1, -0.5)):
            tie, margin = self._tie_break(behind=behind)
            gaze = Aim(
                attends=f"parity {parity} ahead" if behind else f"parity {parity}",
                scores=[(tie.query, added([{"(-1)^i": sign}, tie.key]))],
                mask="past" if behind else "future",
                gap=2 * tie.gap if margin == NEARER else tie.gap,  # the next one of a parity is 2 away
                over=tie.over,
                source="Theorem 12, as printed" if self.ahead else "Theorem 13, as printed",
                weighting=self._weighting(behind=behind),
            )
            head = self.heads.add(gaze, [truth.time])
            head.needs(margin)
            brought.append((self.heads.carry(head, truth.text, truth.form), sign))
        time = Time(head.depth, 1)
        space = self.bits.stream.space(f"is {node.key}", holds=f"is {node.key}", time=time)
        for n, (raw, sign) in enumerate(brought):
            other = {"1": -0.5, "(-1)^i": -sign}  # 0 where i has the other parity, otherwise -1
            self.bits.rounded(f"{space}: {n}", added([raw, other]), space, time, within=True)
        found = Bit({space: 1}, time, ((literal(node.key, True),),))
        return Finite({True: found, False: self.bits.negated(found, literal(node.key, False))})

    def _tie_break(self, *, behind: bool) -> tuple[TieBreak, float]:
        """Return the printed tie-break, with the paper's γ = 3, and the margin that it needs.

        Args:
            behind: whether the earliest of equal keys is wanted, instead of the latest.
        """
        if self.unique:
            return TieBreak({"1": 1}, {}, 1.0, "constant"), FARTHER
        if not self.ahead:
            return tie_break("a", scaled=self.steep), FARTHER
        for name in ("n", "i/n") if self.steep else ("i/n",):
            self.bits.stream.embedded(name)
        return tie_break("c" if behind else "b", scaled=self.steep), NEARER

    def _weighting(self, *, behind: bool) -> Weighting:
        """Return how a head attends to the latest of equal keys, or to the earliest."""
        return "average-hard" if not self.unique else "leftmost" if behind else "rightmost"

    # ── truth values that are false where nothing is selected, by a key that is also selected at the end ────
    def _is_marked(self, asked: Sought) -> bool:
        node = asked.node
        towards_end = (node.choice, node.sight) in (("latest", "<="), ("earliest", ">="))
        local = len(asked.conjuncts) == 1 and isinstance(asked.conjuncts[0], Conjunct) and asked.conjuncts[0].local
        return towards_end and local and asked.boolean and asked.default.truth.form == {} and bool(asked.values.truth.form)

    def _marked(self, asked: Sought) -> Finite:
        """Return ``▶_j [j ≤ i, marked(j)] V(j) : ⊥``: BOS counts as marked, and brings 0 (Theorem 15)."""
        node, (conjunct,) = asked.node, asked.conjuncts
        ((_, marked),) = conjunct.pairs  # type: ignore[union-attr]
        mark = added([marked.form, self.bits.ends])
        scores: list[tuple[BitForm, BitForm]]
        over: Over
        margin = NEARER
        if self.printed:
            tie_broken, margin = self._tie_break(behind=node.sight == ">=")
            scores, time = [(tie_broken.query, added([mark, tie_broken.key]))], Time()
            gap, over = tie_broken.gap, tie_broken.over
        elif self.steep:
            back = node.sight == "<="
            slope: BitForm = {"i": 2, "1": 2} if back else {self.bits.stream.embedded("n"): 2}
            scores, gap, over, time = [(slope, mark), ({"1": 1 if back else -1}, {"i": 1})], 1.0, "constant", Time()
        else:
            tie, time = self._tie(node)
            scores, gap, over = [({"1": 1}, mark), (tie, {"i": 1})], 0.5, _over(node)
        word = "since" if node.sight == "<=" else "until"
        gaze = Aim(
            attends=f"{word} {node.key}",
            scores=scores,
            mask="future" if node.sight == "<=" else "past",
            gap=gap,
            over=over,
            source="Theorems 15 and 16",
            weighting=self._weighting(behind=node.sight == ">="),
        )
        head = self.heads.add(gaze, [marked.time, asked.values.time, time])
        head.needs(margin)
        return self._brought(head, asked, lambda bit: bit.form)

    # ── in general ──────────────────────────────────────────────────────────────────────────────────────────
    def _searched(self, asked: Sought) -> Finite:
        node = asked.node
        if self.steep:
            remedy = "omit --steep, which is for since, until, neighbours and, in an encoder, counts"
            raise self.refused(node, "has queries that depend on the position in another way", remedy)
        shift = {"<": "back", ">": "ahead"}.get(node.sight)
        stood = _Stood(self, shift, max(self._times(asked)))
        scores: list[tuple[BitForm, BitForm]] = []
        times: list[Time] = []
        if not self.unique:
            tie, time = self._tie(node)
            scores, times = [(tie, {"i": 1})], [time]
        elif not all(isinstance(each, Conjunct) for each in asked.conjuncts):
            raise self.refused(node, "compares numbers, which takes counting", "omit --variant unique")
        for conjunct in asked.conjuncts:
            pairs = _pairs(conjunct, stood) if isinstance(conjunct, Conjunct) else conjunct.scores(stood)
            scores += [(query, key) for query, key, _ in pairs]
            times += [when for _, _, when in pairs]
        groups = [str(n) if isinstance(each, Conjunct) else each.group(n) for n, each in enumerate(asked.conjuncts)]
        if _ends_may_win(asked):
            scores.append(({"1": 1}, stood.bit(self.bits.inside).form))
            groups.append("-")
        times += [stood.bit(bit).time for bit in self._keys(asked)]
        head = self.heads.add(self._gaze(node, scores, "|".join(groups), shift), times)
        head.needs(max(4.0, steadied([each for each in asked.conjuncts if not isinstance(each, Conjunct)])))
        ways = self._ways(asked, head, stood)
        brought = self._brought(head, asked, stood.form)
        if len(ways) * len(brought.bits) > MOST_WAYS:
            ways = [[self.bits.either(ways, f"found {node.key}", f"found {node.key}")]]
        return self._chosen(asked, ways, brought)

    def _times(self, asked: Sought) -> list[Time]:
        """Return when what is read at keys is there."""
        found = [bit.time for bit in self._keys(asked)]
        for each in asked.conjuncts:
            found += [] if isinstance(each, Conjunct) else each.times
        return found or [Time()]

    def _keys(self, asked: Sought) -> list[Bit]:
        """Return the bits that are read at keys."""
        found = [key for each in asked.conjuncts if isinstance(each, Conjunct) for _, key in each.pairs]
        where = [self.bits.inside] if _only_numbers(asked) else []
        return [*found, *asked.values.bits.values(), *where]

    def _gaze(self, node: Nearest, scores: Sequence[tuple[BitForm, BitForm]], groups: str, shift: str | None) -> Aim:
        mask: Mask = {"<=": "future", "<": "future", ">=": "past", ">": "past", "any": "none"}[node.sight]  # type: ignore[assignment]
        behind = "" if shift is None else f" shifted {shift}"
        return Aim(
            attends=f"{node.choice} {mask} {node.key} {groups}{behind}",
            scores=scores,
            mask=mask,
            gap=1.0 if self.unique else 0.5,
            over="constant" if self.unique else _over(node),
            source="Definition 2" if self.unique else "Lemma 8, with 1/(2(i+1)) or 1/(2N)",
            weighting=self._weighting(behind=node.choice == "earliest"),
        )

    def _tie(self, node: Nearest) -> tuple[BitForm, Time]:
        """Return what multiplies j in the score, so that the nearest of equal keys is ahead, and when it is there."""
        sign = 0.5 if node.choice == "latest" else -0.5
        if node.sight in ("<=", "<"):
            return {"1/(i+1)": sign}, Time()
        share = self.counting.share_of_end(whole=True)
        return {direction: sign * c for direction, c in share.form.items()}, share.time

    def _ways(self, asked: Sought, head: FramedHead, stood: _Stood) -> list[list[Bit]]:
        """Return the conjunctions of which one is true where the position attended to is selected."""
        choices: list[list[list[Bit]]] = []
        for place, conjunct in enumerate(asked.conjuncts):
            if not isinstance(conjunct, Conjunct):
                of = f"{asked.node.key} {place}"
                choices.append([[equal_there(conjunct, head, of, self.bits, self.heads, stood)]])
            else:
                choices.append([[query, self._whether(head, key, stood.form)] for query, key in conjunct.pairs])
        if _only_numbers(asked):
            choices.append([[self._whether(head, self.bits.inside, stood.form)]])
        return [[bit for bits in chosen for bit in bits] for chosen in product(*choices)]

    # ── what a head brings ──────────────────────────────────────────────────────────────────────────────────
    def _brought(self, head: FramedHead, asked: Sought, form: Callable[[Bit], BitForm]) -> Finite:
        """Return the value at the position attended to, rounded, 0 outside the word."""
        if asked.boolean:
            truth = asked.values.truth
            if not self._alone(asked) and (not truth.form or truth.form == self.bits.inside.form):
                return Finite({bool(truth.form): self.bits.inside})
            found = self._whether(head, truth, form, asked.node.key if self._alone(asked) else "")
            negated = self.bits.negated(found, *(f"not {words}" for words in found.said[0]))
            if self._alone(asked):
                negated = self.bits.negated(found, literal(asked.node.key, False))
            return Finite({True: found, False: negated})
        key = asked.node.values.key
        if len(asked.values.bits) == 1:
            ((value, _),) = asked.values.bits.items()
            return Finite({value: self.bits.inside})
        forms = {text_of(value): form(bit) for value, bit in asked.values.bits.items()}
        raw = self.heads.carry_labels(head, f"label {key}", forms)
        holds, time = f"within rounded at {head.gaze.attends}: label {key}", Time(head.depth, 1)
        space = self.bits.stream.space(holds, holds=holds, time=time, labels=list(forms))
        found_bits: dict[Item, Bit] = {}
        for value in asked.values.bits:
            direction = at(space, text_of(value))
            self.bits.rounded(direction, raw[text_of(value)], direction, time, within=True)
            found_bits[value] = Bit({direction: 1}, time, ((direction,),))
        return Finite(found_bits)

    def _alone(self, asked: Sought) -> bool:
        """Return whether what the head brings is the whole value: it is false where nothing is selected."""
        gone = asked.boolean and asked.default.truth.form == {}
        strict = not asked.conjuncts and (asked.node.choice, asked.node.sight) in (("latest", "<"), ("earliest", ">"))
        return gone and (strict or self._is_marked(asked))

    def _whether(self, head: FramedHead, bit: Bit, form: Callable[[Bit], BitForm], key: str = "") -> Bit:
        """Return whether a bit is 1 at the position attended to, rounded, 0 outside the word.

        Args:
            key: that of the node that it is the value of, if it is.
        """
        raw = self.heads.carry(head, bit.text, form(bit))
        holds = f"is {key}" if key else f"within rounded at {head.gaze.attends}: {bit.text}"
        time = Time(head.depth, 1)
        if holds not in head.carried:
            space = self.bits.stream.space(holds, holds=holds, time=time)
            head.carried[holds] = space
            self.bits.rounded(holds, raw, space, time, within=True)
        said = literal(key, True) if key else holds
        return Bit({head.carried[holds]: 1}, time, ((said,),))

    def _chosen(self, asked: Sought, ways: Sequence[Sequence[Bit]], brought: Finite) -> Finite:
        """Return what is brought where one of `ways` is true, otherwise the default."""
        key, holds = asked.node.key, f"found {asked.node.key}"
        alternatives: dict[Item, list[list[Bit]]] = {}
        for value, bit in brought.bits.items():
            alternatives[value] = [[*way, bit] for way in ways]
        if not (asked.boolean and asked.default.truth.form == {}):
            found = self.bits.either(ways, holds, holds)
            missed = self.bits.negated(found, f"not {holds}")
            for value, bit in asked.default.bits.items():
                alternatives.setdefault(value, []).append([missed, bit])
        if not asked.boolean:
            return self.bits.labelled(alternatives, key)
        truth = self.bits.either(alternatives.get(True, []), f"is {key}", literal(key, True))
        return Finite({True: truth, False: self.bits.negated(truth, literal(key, False))})

    # ── strict sight ────────────────────────────────────────────────────────────────────────────────────────
    def neighbour(self, *, ahead: bool) -> Aim:
        """Return the head that attends to the position before, or behind."""
        return replace(neighbour(ahead=ahead), weighting=self._weighting(behind=ahead))

    def moved(self, bit: Bit, shift: str, since: Time) -> Bit:
        """Return what a bit is at the position before (``back``), or behind (``ahead``), by a head after `since`."""
        head = self.heads.add(self.neighbour(ahead=shift == "ahead"), [since])
        holds = f"rounded at {shift}: {bit.text}"
        if holds not in head.carried:
            head.needs(7.0)
            raw, time = self.heads.carry(head, bit.text, bit.form), Time(head.depth, 1)
            space = self.bits.stream.space(holds, holds=holds, time=time)
            self.bits.rounded(holds, raw, space, time, within=False)
            head.carried[holds] = space
        return Bit({head.carried[holds]: 1}, Time(head.depth, 1), ((holds,),))

    def moved_number(self, number: Timed, what: str, shift: str, since: Time, margin: float) -> Timed:
        """Return what a number is there; `margin` times N² is what it needs under softmax."""
        head = self.heads.add(self.neighbour(ahead=shift == "ahead"), [since])
        head.needs(margin, 2)
        return Timed(self.heads.carry(head, what, number.form), Time(head.depth))


def _ends_may_win(asked: Sought) -> bool:
    """Return whether BOS or EOS, which satisfy no conjunct of bits, might be attended to though something is selected.

    They do have numbers; BOS is attended to as the latest position only where no other one has the same.
    """
    backwards = asked.node.choice == "latest" and asked.node.sight in ("<=", "<")
    return _only_numbers(asked) and not (asked.conjuncts and backwards)


def _only_numbers(asked: Sought) -> bool:
    """Return whether no conjunct compares bits at the key."""
    return not any(isinstance(each, Conjunct) for each in asked.conjuncts)


def _over(node: Nearest) -> Over:
    """Return what the term that tells equal keys apart is divided by."""
    return "position" if node.sight in ("<=", "<") else "length"


@dataclass(frozen=True)
class _Stood:
    """The values of keys: their own, or that of the position that they represent, all by one head after `since`."""

    plan: Attending
    shift: str | None
    since: Time

    def bit(self, bit: Bit) -> Bit:
        return bit if self.shift is None else self.plan.moved(bit, self.shift, self.since)

    def form(self, bit: Bit) -> BitForm:
        return self.bit(bit).form

    def number(self, number: Timed, what: str, margin: float) -> Timed:
        return number if self.shift is None else self.plan.moved_number(number, what, self.shift, self.since, margin)

    def labels(self, forms: dict[str, BitForm], time: Time, what: str, margin: float) -> tuple[dict[str, BitForm], Time]:
        if self.shift is None:
            return forms, time
        head = self.plan.heads.add(self.plan.neighbour(ahead=self.shift == "ahead"), [self.since])
        head.needs(margin, 2)
        return self.plan.heads.carry_labels(head, what, forms), Time(head.depth)


def _pairs(conjunct: Conjunct, stood: _Stood) -> list[tuple[BitForm, BitForm, Time]]:
    one: BitForm = {"1": 1}
    return [(one if conjunct.local else query.form, stood.form(key), query.time) for query, key in conjunct.pairs]
