"""The differences between two versions of a model: operators added, removed and changed.

Operators are paired in three steps. The first step goes along both models in order. It compares the
names of first outputs if each model has the name once, and otherwise kinds and shapes. The second
step compares only kinds, between two pairs. The third step pairs equal names, wherever they stand:
a file may order the same graph in another way.
"""

from collections import Counter
from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher
from itertools import zip_longest
from typing import NamedTuple

import numpy as np

from frontends.summary import OperatorInfo, Summary, TensorNote
from qnn_ops.errors import QnnError


class Described(NamedTuple):
    """A model to compare.

    Attributes:
        summary: the model's summary.
        constants: the constants that the file holds, by the index of the tensor.
    """

    summary: Summary
    constants: Mapping[int, np.ndarray]


class Change(NamedTuple):
    """One difference of an operator: a word for it, and a sentence."""

    what: str
    text: str


@dataclass(frozen=True)
class Changes:
    """The differences of a model from another.

    Attributes:
        other: the other model.
        partners: the operators that both have: an index in the model, and that in the other one.
        changes: the differences of such an operator by its index; none if it is equal.
        added: the indices of operators that the other model lacks.
        removed: the indices in the other model of operators that this model lacks.
    """

    other: Described
    partners: Mapping[int, int]
    changes: Mapping[int, tuple[Change, ...]]
    added: tuple[int, ...]
    removed: tuple[int, ...]

    @property
    def changed(self) -> tuple[int, ...]:
        """The indices of operators that both models have with differences."""
        return tuple(place for place, found in sorted(self.changes.items()) if found)


def changes_of(model: Described, other: Described) -> Changes:
    """Compare two models of one format.

    Raises:
        QnnError: their formats differ.
    """
    ours, theirs = model.summary, other.summary
    if ours.format != theirs.format:
        kinds = f"{ours.name} is of {ours.format}, {theirs.name} of {theirs.format}"
        raise QnnError(f"only models of one format have operators to compare: {kinds}")
    partners = _partners(ours.operators, theirs.operators)
    moves = _moves(ours, theirs, partners)
    changes = {
        place: (*_told(model, ours.operators[place], other, theirs.operators[their]), *moves[place])
        for place, their in partners.items()
    }
    found = set(partners.values())
    return Changes(
        other=other,
        partners=partners,
        changes=changes,
        added=tuple(n for n in range(len(ours.operators)) if n not in partners),
        removed=tuple(n for n in range(len(theirs.operators)) if n not in found),
    )


def makers_of(summary: Summary) -> dict[int, int]:
    """Return the index of the operator that computes a tensor, by the tensor's index."""
    return {
        note.index: place
        for place, operator in enumerate(summary.operators)
        for note in operator.outputs
    }


def _partners(ours: Sequence[OperatorInfo], theirs: Sequence[OperatorInfo]) -> dict[int, int]:
    shared = _single(ours) & _single(theirs)

    def key(operator: OperatorInfo) -> Hashable:
        shapes = tuple(note.shape for note in operator.outputs)
        return operator.name if operator.name in shared else (operator.code, shapes)

    pairs: dict[int, int] = {}
    for tag, a, b, c, d in _blocks([*map(key, ours)], [*map(key, theirs)]):
        if tag == "equal":
            pairs.update(zip(range(a, b), range(c, d), strict=True))
        elif tag == "replace":
            codes = [[op.code for op in part] for part in (ours[a:b], theirs[c:d])]
            for inner, i, j, k, m in _blocks(*codes):
                if inner == "equal":
                    pairs.update(zip(range(a + i, a + j), range(c + k, c + m), strict=True))
    taken = set(pairs.values())
    free = {op.name: n for n, op in enumerate(theirs) if n not in taken and op.name in shared}
    for place, operator in enumerate(ours):
        if place not in pairs and operator.name in free:
            pairs[place] = free[operator.name]
    return dict(sorted(pairs.items()))


def _blocks(
    ours: Sequence[Hashable], theirs: Sequence[Hashable]
) -> Sequence[tuple[str, int, int, int, int]]:
    return SequenceMatcher(None, ours, theirs, autojunk=False).get_opcodes()


def _single(operators: Iterable[OperatorInfo]) -> set[str]:
    counts = Counter(operator.name for operator in operators)
    return {name for name, count in counts.items() if count == 1 and name}


def _moves(ours: Summary, theirs: Summary, partners: Mapping[int, int]) -> dict[int, list[Change]]:
    """Describe operands that come from other operators now, if all of these have partners."""
    our_makers, their_makers = makers_of(ours), makers_of(theirs)
    paired = set(partners.values())
    found: dict[int, list[Change]] = {}
    for place, their in partners.items():
        found[place] = []
        inputs = zip(ours.operators[place].inputs, theirs.operators[their].inputs, strict=False)
        for number, (new, old) in enumerate(inputs):
            giver, given = our_makers.get(new.index), their_makers.get(old.index)
            if giver is None or giver not in partners or given not in paired:
                continue
            if partners[giver] != given:
                text = f"input {number} is {new.name}, was {old.name}"
                found[place].append(Change("operands", text))
    return found


def _told(
    model: Described, new: OperatorInfo, other: Described, old: OperatorInfo
) -> Iterator[Change]:
    """Describe the differences of an operator from its partner."""
    if new.code != old.code:
        yield Change("kind", f"{new.code}, was {old.code}")
    for key in dict.fromkeys((*old.options, *new.options)):
        values = [options.get(key, "nothing") for options in (new.options, old.options)]
        if repr(values[0]) != repr(values[1]):
            yield Change("attributes", f"{key} {values[0]}, was {values[1]}")
    for kind, pair in (("input", (new.inputs, old.inputs)), ("output", (new.outputs, old.outputs))):
        for number, (note, before) in enumerate(zip_longest(*pair)):
            where = f"{kind} {number}"
            if note is None or before is None:
                yield Change("operands", f"{where} is {'new' if before is None else 'gone'}")
                continue
            values = [model.constants.get(note.index), other.constants.get(before.index)]
            found = (*_tensor_told(note, before), *_values_told(*values))
            yield from (Change(what, f"{where}: {text}") for what, text in found)


def _tensor_told(note: TensorNote, before: TensorNote) -> Iterator[Change]:
    if note.dtype != before.dtype:
        yield Change("types", f"{note.dtype}, was {before.dtype}")
    if note.shape != before.shape:
        shapes = ["×".join(map(str, each.shape)) for each in (note, before)]
        yield Change("shapes", f"{shapes[0]}, was {shapes[1]}")
    if note.is_constant != before.is_constant:
        told = "is constant, was not" if note.is_constant else "is not constant, was"
        yield Change("values", told)
    if _numbers(note) != _numbers(before):
        texts = [each.quantization or "not quantized" for each in (note, before)]
        same = "it differs behind the digits that are shown"
        told = same if texts[0] == texts[1] else f"{texts[0]}, was {texts[1]}"
        yield Change("quantization", told)


def _numbers(note: TensorNote) -> tuple[object, ...]:
    axis = note.axis if len(note.scales) > 1 else 0
    return note.scales, note.zero_points, note.limits, axis


def _values_told(values: np.ndarray | None, before: np.ndarray | None) -> Iterator[Change]:
    if values is None or before is None or values.shape != before.shape:
        return
    are_nan = (values != values) & (before != before)
    differing = int(np.count_nonzero((values != before) & ~are_nan))
    if differing:
        yield Change("values", f"{differing:,} of {values.size:,} elements differ")
