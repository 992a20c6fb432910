"""The description of a model's inputs and outputs, which does not need TVM."""

from __future__ import annotations

import ast
import base64
import json
import math
import operator
import zlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any, TypeVar

import numpy as np

from qnn_ops.arrays import Array


class OpenSize(int):
    """A size that each run decides. As a number, it is the least size, or an example's.

    Attributes:
        name: the size's name; or its formula, such as "2 * batch".
        low: the least size.
        high: the largest size, or None if there is no bound.
    """

    name: str
    low: int
    high: int | None

    def __new__(
        cls, name: str, low: int = 1, high: int | None = None, example: int | None = None
    ) -> OpenSize:
        """Make an open size with a name and bounds."""
        size = super().__new__(cls, low if example is None else example)
        size.name, size.low, size.high = name, low, high
        return size

    def __repr__(self) -> str:
        return self.name

    def __str__(self) -> str:
        return self.name

    def __reduce__(self) -> tuple[Any, ...]:
        return OpenSize, (self.name, self.low, self.high, int(self))

    @property
    def bounds(self) -> str:
        """Describe the sizes that a run may have: "1 to 16", or "1 or more"."""
        return f"{self.low} or more" if self.high is None else f"{self.low} to {self.high}"

    def value(self, sizes: Mapping[str, int]) -> int | None:
        """Return the size in a run with these sizes by name; None if they do not determine it."""
        if self.name in sizes:
            return sizes[self.name]
        return _evaluated(ast.parse(self.name, mode="eval").body, sizes)


_OPERATORS: dict[type, Callable[[int, int], int]] = {
    ast.Add: operator.add,
    ast.FloorDiv: operator.floordiv,
    ast.Mod: operator.mod,
    ast.Mult: operator.mul,
    ast.Sub: operator.sub,
}


def _evaluated(node: ast.expr, sizes: Mapping[str, int]) -> int | None:
    if isinstance(node, ast.Constant) and isinstance(node.value, int):
        return node.value
    if isinstance(node, ast.Name):
        return sizes.get(node.id)
    if isinstance(node, ast.BinOp) and type(node.op) in _OPERATORS:
        left, right = (_evaluated(each, sizes) for each in (node.left, node.right))
        if left is not None and right is not None:
            return _OPERATORS[type(node.op)](left, right)
    return None


@dataclass(frozen=True)
class TensorInfo:
    """One input or output of a model.

    Attributes:
        name: as the model file spells it.
        shape: each size as a number; an ``OpenSize`` if runs decide it.
        dtype: numpy's name for it.
        scale: real value of one step, or None for a tensor that is not quantized per tensor.
        zero_point: the integer that means 0, or None for a tensor that is not quantized per tensor.
        role: the meaning of the values, if the model's operators leave no doubt; otherwise empty.
            "boxes", "classes", "scores" and "count" describe detections; there is one of each.
            "map" is the class of each pixel of a picture. "probabilities" are those of each
            pixel's classes, along the last axis.
        classes: the number of classes, for an output with a role; otherwise 0.
        low: for a float32 input that the model quantizes first, the real value of the lowest
            integer; otherwise None.
        high: the same for the highest integer.
    """

    name: str
    shape: tuple[int, ...]
    dtype: str
    scale: float | None = None
    zero_point: int | None = None
    role: str = ""
    classes: int = 0
    low: float | None = None
    high: float | None = None

    def takes(self, shape: Sequence[int]) -> bool:
        """Tell whether a shape differs from the tensor's in open sizes only."""
        return len(shape) == len(self.shape) and all(
            isinstance(size, OpenSize) or size == other
            for size, other in zip(self.shape, shape, strict=True)
        )

    def describe(self) -> str:
        """Describe the tensor in a line: "x  int8  1×8×8×1  scale 0.5, zero point 3"."""
        shape = "×".join(map(str, self.shape)) or "one number"
        text = f"{self.name}  {self.dtype}  {shape}"
        if self.scale is not None:
            text += f"  scale {self.scale:g}, zero point {self.zero_point}"
        return text


@dataclass(frozen=True)
class StateInfo(TensorInfo):
    """A tensor that a model keeps from one run to the next.

    Attributes:
        initial: the elements before the first run, as text: ``StateInfo.text_of`` makes it.
    """

    initial: str = ""

    @staticmethod
    def text_of(array: Array) -> str:
        """Return an array's elements as text."""
        return base64.b64encode(zlib.compress(array.tobytes())).decode()

    def array(self) -> Array:
        """Return the elements before the first run.

        Raises:
            ValueError: if the text has another number of elements.
        """
        size = math.prod(self.shape) * np.dtype(self.dtype).itemsize
        unpacked = zlib.decompressobj().decompress(base64.b64decode(self.initial), size + 1)
        if len(unpacked) != size:
            raise ValueError(f"the state {self.name!r} has {size} bytes, got {len(unpacked)}")
        return np.frombuffer(unpacked, self.dtype).reshape(self.shape)


@dataclass(frozen=True)
class Signature:
    """A model's inputs and outputs, in order, and its states, which it keeps from run to run.

    States are the last parameters of the model's function ``main`` before its constants, and
    their new values are its last results.
    """

    inputs: tuple[TensorInfo, ...]
    outputs: tuple[TensorInfo, ...]
    states: tuple[StateInfo, ...] = ()

    @property
    def open_sizes(self) -> list[str]:
        """The open sizes of inputs, as "batch of input 'x' (1 to 16)"."""
        return [
            f"{size} of input {info.name!r} ({size.bounds})"
            for info in self.inputs
            for size in info.shape
            if isinstance(size, OpenSize)
        ]

    def by_role(self) -> list[tuple[str, TensorInfo]]:
        """Return all tensors, each with "input", "output" or "state"."""
        roles = {"input": self.inputs, "output": self.outputs, "state": self.states}
        return [(role, info) for role, infos in roles.items() for info in infos]

    def to_json(self) -> str:
        """Return the signature as JSON text."""
        fields = asdict(self)
        if not self.states:
            del fields["states"]
        for info in (*fields["inputs"], *fields["outputs"], *fields.get("states", ())):
            info["shape"] = [
                [size.name, size.low, size.high] if isinstance(size, OpenSize) else size
                for size in info["shape"]
            ]
            if not info["role"]:
                del info["role"], info["classes"]
            if info["low"] is None:
                del info["low"], info["high"]
        return json.dumps(fields, sort_keys=True)

    @staticmethod
    def from_json(text: str) -> Signature:
        """Read what ``to_json`` wrote."""
        fields = json.loads(text)
        inputs, outputs = (_infos(TensorInfo, fields[key]) for key in ("inputs", "outputs"))
        return Signature(inputs, outputs, _infos(StateInfo, fields.get("states", ())))


def with_unique_names(signature: Signature) -> Signature:
    """Add a number to every name that an earlier input or output of the signature has.

    A file may give one tensor as two outputs, whose names must differ.
    """
    outputs, states = _unique(signature.outputs), _unique(signature.states)
    return Signature(_unique(signature.inputs), outputs, states)


_Info = TypeVar("_Info", bound=TensorInfo)


def _unique(infos: Sequence[_Info]) -> tuple[_Info, ...]:
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


def _infos(kind: type[_Info], fields: Sequence[dict[str, object]]) -> tuple[_Info, ...]:
    return tuple(
        kind(**{**field, "shape": tuple(map(_read, field["shape"]))})  # type: ignore[arg-type, call-overload]
        for field in fields
    )


def _read(size: Any) -> int:
    return OpenSize(*size) if isinstance(size, list) else size
