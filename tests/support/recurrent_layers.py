"""TFLite models of recurrent layers: LSTMs, plain ones, and pairs of which one runs backwards."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields, replace
from typing import Any, TypeAlias

import numpy as np

from frontends.tflite.quantization import Quantization
from frontends.tflite.writer import ModelWriter
from tests.support.arrays import full_range
from tests.support.tflite import Operand, Output, fixed, state

Q = Quantization.per_tensor

CODE = "UNIDIRECTIONAL_SEQUENCE_LSTM"
GATES = ("input", "forget", "cell", "output")


@dataclass(frozen=True)
class _Layer:
    """A layer whose text names only the attributes that are not the default."""

    def __str__(self) -> str:
        values = [(field, getattr(self, field.name)) for field in fields(self)]
        special = [f"{field.name}={value}" for field, value in values if value != field.default]
        return f"{type(self).__name__}({', '.join(special)})"


@dataclass(frozen=True)
class Rnn(_Layer):
    """A plain recurrent layer, and what other layers have in common with it.

    Attributes:
        weights: their dtype.
        batch: of the data.
        steps: likewise; None for the operator of one step, whose data has no axis of steps.
        size: values of a step.
        units: of the layer; an LSTM's cells.
        activation: as the option.
        time_major: whether steps come first.
        asymmetric: whether data that a run quantizes has a zero point.
    """

    weights: str = "float32"
    batch: int = 1
    steps: int | None = 5
    size: int = 6
    units: int = 7
    activation: str = "TANH"
    time_major: bool = False
    asymmetric: bool = False

    @property
    def code(self) -> str:
        """The operator."""
        name = type(self).__name__.upper()
        return name if self.steps is None else f"UNIDIRECTIONAL_SEQUENCE_{name}"

    def rows(self, size: int) -> tuple[int, ...]:
        """Return the shape of data of so many values a step."""
        if self.steps is None:
            return self.batch, size
        first = (self.steps, self.batch) if self.time_major else (self.batch, self.steps)
        return *first, size

    @property
    def takes(self) -> list[Output]:
        """The kinds of its data."""
        return [(self.rows(self.size), "float32", None)]

    @property
    def gives(self) -> list[Output]:
        """The kinds of its results."""
        return [(self.rows(self.units), "float32", None)]

    @property
    def options(self) -> dict[str, Any]:
        return {
            "fused_activation_function": self.activation,
            "asymmetric_quantize_inputs": self.asymmetric,
            **({} if self.steps is None else {"time_major": self.time_major}),
        }

    def operands(self, rng: np.random.Generator, data: Any, *_others: Any) -> list[Any]:
        """Draw constants and states; return all operands, None for one that is missing."""
        weights = [self.drawn(rng, self.units, columns) for columns in (self.size, self.units)]
        bias = self.drawn(rng, self.units, real=True)
        return [data, *weights, bias, state(self.batch, self.units)]

    def drawn(self, rng: np.random.Generator, *shape: int, real: bool = False) -> Operand:
        """Draw weights, or numbers that are float32 beside weights of bytes, too."""
        if real or self.weights == "float32":
            return fixed(rng.normal(0, 0.4, shape), "float32")
        array = rng.integers(-127, 128, shape).astype(np.int8).view(self.weights)
        return fixed(array, self.weights, Q(float(rng.uniform(0.003, 0.008)), 0))


_KINDS = {
    "weights": ("int8", 0.005),
    "recurrent": ("int8", 0.01),
    "peepholes": ("int16", 2.0**-16),
    "bias": ("int32", 1e-4),
    "projection": ("int8", 0.01),
    "norm": ("int16", 2.0**-15),
}
"""The dtypes and scales of constants beside data of int8; a bias and a norm are never bytes."""


@dataclass(frozen=True)
class Lstm(Rnn):
    """An LSTM of float32 data, or of int8.

    Attributes:
        outputs: of a step, if there is a projection; 0 for none.
        coupled: whether there is no input gate.
        peepholes: whether there are.
        norm: whether gates are normalized.
        cell_clip: as the option.
        proj_clip: as the option.
        cell_scale: a step of the cells of int16, as a power of two; None if the data is float32.
        shift: how far weights beside int8 are scaled up, as a power of two.
    """

    outputs: int = 0
    coupled: bool = False
    peepholes: bool = False
    norm: bool = False
    cell_clip: float = 0.0
    proj_clip: float = 0.0
    cell_scale: int | None = None
    shift: int = 0

    def _kind(self, dtype: str, encoding: Quantization) -> tuple[str, Quantization | None]:
        return ("float32", None) if self.cell_scale is None else (dtype, encoding)

    @property
    def takes(self) -> list[Output]:
        return [(self.rows(self.size), *self._kind("int8", Q(0.05, 5 * self.size % 99 - 50)))]

    @property
    def _inner(self) -> Quantization:
        return Q(1 / 120, self.size % 19 - 9)

    @property
    def gives(self) -> list[Output]:
        encoding = Q(1 / 128, self.units % 11 - 5) if self.outputs else self._inner
        return [(self.rows(self.outputs or self.units), *self._kind("int8", encoding))]

    @property
    def options(self) -> dict[str, Any]:
        known = {**super().options, "cell_clip": self.cell_clip, "proj_clip": self.proj_clip}
        if self.cell_scale is None:
            return known
        gates = [fixed([], "int16", Q(0.003 * 2.0**self.shift, 0)) for _ in GATES]
        return {**known, "intermediates": [*gates, fixed([], "int8", self._inner)]}

    def operands(self, rng: np.random.Generator, data: Any, *_others: Any) -> list[Any]:
        outputs, gates = self.outputs or self.units, GATES[self.coupled :]

        def constant(name: str, *shape: int, most: int = 2**15) -> Operand:
            if self.cell_scale is None:
                return self.drawn(rng, *shape, real=name in ("bias", "norm"))
            dtype, scale = _KINDS[name]
            whole = rng.integers(-most, most, shape), full_range(rng, "int16", shape)
            array = whole[0] if dtype == "int32" else whole[1] >> (8 if dtype == "int8" else 0)
            up = 2.0**self.shift if name in ("weights", "recurrent", "peepholes") else 1.0
            return fixed(array, dtype, Q(up * scale * float(rng.uniform(0.5, 2)), 0))

        def by_gate(name: str, *shape: int, exists: bool = True) -> list[Operand | None]:
            return [constant(name, *shape) if exists and gate in gates else None for gate in GATES]

        weights = by_gate("weights", self.units, self.size)
        recurrent = by_gate("recurrent", self.units, outputs)
        peepholes = by_gate("peepholes", self.units, exists=self.peepholes)
        peepholes.pop(GATES.index("cell"))
        bias, norm = by_gate("bias", self.units), by_gate("norm", self.units, exists=self.norm)
        projection: list[Operand | None] = [None, None]
        if self.outputs:
            projection = [constant("projection", outputs, self.units)]
            projection.append(constant("bias", outputs, most=2000))
        kinds = self.gives[0][1:], self._kind("int16", Q(2.0 ** (self.cell_scale or 0), 0))
        states = [
            state(self.batch, size, dtype=dtype, encoding=encoding)
            for size, (dtype, encoding) in zip((outputs, self.units), kinds, strict=True)
        ]
        return [data, *weights, *recurrent, *peepholes, *bias, *projection, *states, *norm]


@dataclass(frozen=True)
class BothWays(_Layer):
    """Two layers; what is not of the backward one alone is the forward one's.

    Attributes:
        layer: the forward one.
        units: of a backward Rnn; LiteRT wants as many cells of both LSTMs.
        merged: whether there is one result.
        beside: the size of a second sequence, 0 without one.
        crossed: whether both layers read it; otherwise the backward one alone.
    """

    layer: Lstm | Rnn
    units: int = 5
    merged: bool = True
    beside: int = 0
    crossed: bool = True

    @property
    def code(self) -> str:
        """The operator."""
        return f"BIDIRECTIONAL_SEQUENCE_{type(self.layer).__name__.upper()}"

    @property
    def _layers(self) -> tuple[Lstm | Rnn, Lstm | Rnn]:
        size = self.beside if self.beside and not self.crossed else self.layer.size
        units = self.layer.units if isinstance(self.layer, Lstm) else self.units
        return self.layer, replace(self.layer, size=size, units=units)

    @property
    def takes(self) -> list[Output]:
        """The kinds of its data."""
        beside = (self.layer.rows(self.beside), "float32", None)
        return [*self.layer.takes, *[beside] * bool(self.beside)]

    @property
    def gives(self) -> list[Output]:
        """The kinds of its results."""
        results = [result for each in self._layers for result in each.gives]
        whole = self.layer.rows(sum(shape[-1] for shape, *_ in results))
        return [(whole, "float32", None)] if self.merged else results

    @property
    def options(self) -> dict[str, Any]:
        return {**self.layer.options, "merge_outputs": self.merged}

    def operands(self, rng: np.random.Generator, *data: Any) -> list[Any]:
        first, second = (each.operands(rng, *data) for each in self._layers)
        aux = data[1] if self.beside else None
        more = [self._weights(rng, each) for each in self._layers]
        if isinstance(self.layer, Lstm):
            states = [*first[18:20], *second[18:20]]
            return [*first[:18], *second[1:18], *states, aux, *more[0], *more[1]]
        return [*first, *second[1:], aux, more[0][-1], more[1][-1]]

    def _weights(self, rng: np.random.Generator, layer: Lstm | Rnn) -> list[Operand | None]:
        """Draw weights of a second sequence for each gate, or for none."""
        first = isinstance(layer, Lstm) and layer.coupled
        count = range(first if self.beside and self.crossed else len(GATES), len(GATES))
        drawn = [layer.drawn(rng, layer.units, self.beside) for _ in count]
        return [*[None] * (len(GATES) - len(drawn)), *drawn]


DATA = Q(1 / 128, 128)


@dataclass(frozen=True)
class BasicLstm(_Layer):
    """A step of an LSTM by LiteRT's basic kernel, with one tensor of weights for all gates.

    Attributes:
        batch: of the data.
        size: of the data.
        units: of the result.
        scale: of the weights.
        keeps: whether hidden values and cells are states, or else inputs.
        cell_scale: of the cells.
        real: whether it is of float32; otherwise of uint8.
    """

    batch: int = 2
    size: int = 5
    units: int = 6
    scale: float = 0.02
    keeps: bool = True
    cell_scale: float = 2.0**-11
    real: bool = False
    code = "LSTM"

    @property
    def options(self) -> dict[str, Any]:
        return {"fused_activation_function": "TANH", "kernel_type": 1, "version": 2}

    def _kind(self, size: int, dtype: str, encoding: Quantization) -> Output:
        return ((self.batch, size), *(("float32", None) if self.real else (dtype, encoding)))

    @property
    def takes(self) -> list[Output]:
        """The kinds of its data, and of states that it does not keep."""
        return [self._kind(self.size, "uint8", DATA), *self.gives[: 0 if self.keeps else 2]]

    @property
    def gives(self) -> list[Output]:
        """The kinds of its results: hidden values, cells, the gates' data, and their sums."""
        encodings = DATA, Q(self.cell_scale, 0), DATA, Q(2.0**-12, 0)
        sizes = self.units, self.units, self.size + self.units, 4 * self.units
        kinds = zip(sizes, ("uint8", "int16") * 2, encodings, strict=True)
        return [self._kind(*each) for each in kinds]

    def operands(self, rng: np.random.Generator, data: Any, *states: Any) -> list[Any]:
        """Draw constants and states; return all operands."""
        shape = 4 * self.units, self.size + self.units
        if self.real:
            constants = [fixed(rng.normal(0, 0.4, each), "float32") for each in (shape, shape[:1])]
        else:
            weights, bias = full_range(rng, "uint8", shape), rng.integers(-20_000, 20_000, shape[0])
            constants = [fixed(weights, "uint8", Q(self.scale, 120))]
            constants.append(fixed(bias, "int32", Q(self.scale / 128, 0)))
        hidden, cells = states or (Operand(kind, is_state=True) for kind in self.gives[:2])
        return [data, hidden, *constants, cells]


AnyLayer: TypeAlias = "Rnn | BothWays | BasicLstm"


def placed(writer: ModelWriter, operands: Sequence[Any]) -> list[int]:
    """Add constants and states to a file; indices of tensors stay, and None becomes -1."""
    found = []
    for each in operands:
        if isinstance(each, Operand):
            name, kept = f"placed{len(writer._tensors)}", each.is_state
            each = writer.tensor(name, *each.kind, each.array, is_variable=kept)
        found.append(-1 if each is None else each)
    return found


def parts(
    layer: AnyLayer, writer: ModelWriter, rng: np.random.Generator, *data: int
) -> tuple[list[int], dict[str, Any]]:
    """Add a layer's constants and states to a file; return its operands and options."""
    operands, options = placed(writer, layer.operands(rng, *data)), dict(layer.options)
    if "intermediates" in options:
        options["intermediates"] = placed(writer, options["intermediates"])
    return operands, options


def layer_model(
    layer: AnyLayer,
    changes: Mapping[int, Any] | None = None,
    inputs: int | None = None,
    outputs: int | None = None,
    **options: Any,
) -> bytes:
    """Write a model of a layer alone.

    Args:
        layer: what it is.
        changes: what takes the place of an operand: another one, by index, None or an `Operand`.
        inputs: the number of operands, if it is not the layer's own.
        outputs: likewise.
        options: in place of the layer's own.
    """
    writer = ModelWriter()
    data = [writer.tensor(f"x{index}", *kind) for index, kind in enumerate(layer.takes)]
    operands, own = parts(layer, writer, np.random.default_rng(layer.units), *data)
    for place, other in (changes or {}).items():
        operands[place] = operands[other] if isinstance(other, int) else placed(writer, [other])[0]
    made = [writer.tensor(f"y{index}", *kind) for index, kind in enumerate(layer.gives)][:outputs]
    writer.operator(layer.code, operands[:inputs], made, **{**own, **options})
    return writer.finish(data, made[:2])  # the basic kernel's others are steps on the way
