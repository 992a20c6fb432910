"""The description of a model's inputs and outputs, without TVM."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace


@dataclass(frozen=True)
class TensorInfo:
    """One input or output of a model.

    Attributes:
        name: as the model file spells it.
        shape: static.
        dtype: numpy's name for it.
        scale: real value of one step, or None for a tensor that is not quantized per tensor.
        zero_point: the integer that means 0, or None likewise.
    """

    name: str
    shape: tuple[int, ...]
    dtype: str
    scale: float | None = None
    zero_point: int | None = None


@dataclass(frozen=True)
class Signature:
    """A model's inputs and outputs, in order."""

    inputs: tuple[TensorInfo, ...]
    outputs: tuple[TensorInfo, ...]

    def to_json(self) -> str:
        """Return the signature as JSON text."""
        return json.dumps(asdict(self), sort_keys=True)

    @staticmethod
    def from_json(text: str) -> Signature:
        """Read what ``to_json`` wrote."""
        fields = json.loads(text)
        return Signature(*(_infos(fields[key]) for key in ("inputs", "outputs")))


def with_unique_names(signature: Signature) -> Signature:
    """Add a number to every name of the signature that an earlier input or output has.

    A file may give one tensor as two outputs; by name they must be told apart.
    """
    return Signature(_unique(signature.inputs), _unique(signature.outputs))


def _unique(infos: Sequence[TensorInfo]) -> tuple[TensorInfo, ...]:
    taken = {info.name for info in infos}
    seen: set[str] = set()
    result = []
    for info in infos:
        name, number = info.name, 2
        while name in seen or (name != info.name and name in taken):
            name, number = f"{info.name}_{number}", number + 1
        seen.add(name)
        result.append(replace(info, name=name))
    return tuple(result)


def _infos(fields: Sequence[dict[str, object]]) -> tuple[TensorInfo, ...]:
    return tuple(
        TensorInfo(**{**field, "shape": tuple(field["shape"])})  # type: ignore[arg-type]
        for field in fields
    )
