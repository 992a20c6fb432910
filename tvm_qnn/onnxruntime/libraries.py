"""The libraries of one model, by the shapes of a run's inputs."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from frontends.errors import ModelFormatError
from qnn_ops.errors import QnnError
from tvm_qnn.library.last import Last
from tvm_qnn.onnxruntime.errors import Fail, Unsupported
from tvm_qnn.onnxruntime.model import Model

if TYPE_CHECKING:
    from tvm_qnn.library.library import Library

Shape = tuple[int, ...]
Key = tuple[Shape, ...] | tuple[tuple[Any, ...], tuple[Shape, ...]]
"""The key of a library: the inputs' shapes, and before them the rest that decides on the library.

The rest is usually empty. It has the names of all values if a run gives more than the inputs, and
the elements of inputs that become constants.
"""


class Cut(NamedTuple):
    """An output whose length depends on the data.

    Attributes:
        output: the output's index.
        axis: the axis to cut.
        counted_by: the index of the output with the length.
    """

    output: int
    axis: int
    counted_by: int


class Runner:
    """Runs a library for a session."""

    def __init__(
        self,
        library: Library,
        cuts: Sequence[Cut],
        outputs: int,
        inputs: Sequence[int] | None = None,
    ) -> None:
        """Wrap a library.

        Args:
            library: compiled for one list of shapes.
            cuts: the outputs whose length depends on the data.
            outputs: the number of the model's own outputs; counts follow them.
            inputs: the indices of the inputs that the library takes; None for all.
        """
        self._inputs = inputs
        self.library = library
        self._run = library.run
        self._is_single = len(library.outputs) == 1
        self._cuts = cuts
        self._outputs = outputs

    def __call__(self, arrays: Sequence[np.ndarray]) -> list[np.ndarray]:
        """Run on the inputs in order; return the outputs in order."""
        if self._inputs is not None:
            arrays = [arrays[number] for number in self._inputs]
        found = self._run(*arrays)
        if self._is_single:
            return [found]
        results = list(found.values())
        for output, axis, count in self._cuts:
            rows = slice(int(results[count][0]))
            results[output] = results[output][(slice(None),) * axis + (rows,)].copy()
        return results[: self._outputs]


class Libraries:
    """The libraries that a session built and used last; threads may share it."""

    def __init__(self, model: Model, num_threads: int | None) -> None:
        """Begin without libraries.

        Args:
            model: the session's model.
            num_threads: as ``tvm_qnn.build`` takes it.
        """
        self._model = model
        self._num_threads = num_threads
        self._lock = threading.Lock()
        self.runners: Last[Key, Runner] = Last()

    def runner_for(self, arrays: dict[str, np.ndarray]) -> Runner:
        """Return the runner for inputs of these names; build it if it is missing.

        Args:
            arrays: the model's inputs in order, then constants.

        Raises:
            QnnError: as ``runner_of``.
        """
        values = {name: arrays[name] for name in self._model.deciding if name in arrays}
        return self.runner_of({name: each.shape for name, each in arrays.items()}, values)

    def runner_of(
        self, given: dict[str, Shape], values: Mapping[str, np.ndarray] = MappingProxyType({})
    ) -> Runner:
        """Return the runner for inputs of these names and shapes; build it if it is missing.

        Args:
            given: shapes of the model's inputs in order, then of constants.
            values: the elements of inputs that become constants.

        Raises:
            Unsupported: the model has something that cannot be imported.
            Fail: the shapes do not fit the model.
        """
        shapes = tuple(given.values())
        key: Key = shapes
        if values or len(given) > len(self._model.inputs):
            elements = [(name, each.tobytes()) for name, each in values.items()]
            key = (*given, *elements), shapes
        with self._lock:
            if (found := self.runners.get(key)) is None:
                found = self.runners[key] = self._build(given, values)
            return found

    def _build(self, given: dict[str, Shape], values: Mapping[str, np.ndarray]) -> Runner:
        from frontends.onnx.read.constants import with_values
        from tvm_qnn.library.known import library_of

        proto = with_values(self._with_inputs(given), values)
        shapes = {name: shape for name, shape in given.items() if name not in values}
        inputs = [number for number, name in enumerate(given) if name not in values]
        compiled = partial(self._compiled, proto, shapes)
        library = library_of(["onnx"], _parts(proto, shapes), compiled, self._num_threads)
        cuts = self._cuts(library, proto, shapes)
        return Runner(library, cuts, len(self._model.outputs), inputs if values else None)

    def _compiled(self, proto: Any, shapes: dict[str, Shape]) -> Library:
        from frontends.onnx.importer import import_proto
        from tvm_qnn.build import build

        try:
            imported = import_proto(proto, shapes)
            return build(imported.mod, "host", imported.params, num_threads=self._num_threads)
        except ModelFormatError as error:
            raise Fail(str(error)) from error
        except QnnError as error:
            raise Unsupported(str(error)) from error

    def _cuts(self, library: Library, proto: Any, shapes: dict[str, Shape]) -> list[Cut]:
        """Return the cuts of outputs whose length depends on the data."""
        if len(library.outputs) == len(self._model.outputs):
            return []
        from frontends.onnx.graph.shapes import with_shapes
        from frontends.onnx.normalize.bounded import COUNT

        names = [f"{each.name}{COUNT}" for each in self._model.outputs]
        counts = [(k, info.name.rstrip("_")) for k, info in enumerate(library.outputs)]
        counts = [(k, name) for k, name in counts[len(names) :] if name in names]
        bare = type(proto)()
        bare.CopyFrom(proto)
        for value in bare.graph.output:  # a file may state the shape of one run
            value.type.tensor_type.ClearField("shape")
        sized = with_shapes(bare, shapes).output
        return [
            Cut(number := names.index(name), _open_axis(sized[number]), k) for k, name in counts
        ]

    def _with_inputs(self, shapes: dict[str, Shape]) -> Any:
        """Return the model; constants that a run gives become inputs of it."""
        known = {arg.name for arg in self._model.inputs}
        given = [name for name in shapes if name not in known]
        if not given:
            return self._model.proto
        result = type(self._model.proto)()
        result.CopyFrom(self._model.proto)
        kept = [each for each in result.graph.initializer if each.name not in given]
        del result.graph.initializer[:]
        result.graph.initializer.extend(kept)
        return result


def _parts(proto: Any, shapes: dict[str, Shape]) -> Iterator[Any]:
    """Yield all that decides on a model's library: shapes, the model, data in other files."""
    from frontends.onnx.read.mapped import is_mapped, mapped_array, without_mapped

    mapped = list(filter(is_mapped, proto.graph.initializer))
    yield json.dumps(["onnx", list(shapes.items())]).encode()
    yield (without_mapped(proto) if mapped else proto).SerializeToString(deterministic=True)
    for tensor in mapped:
        array = mapped_array(tensor)
        yield f"{tensor.name} {array.dtype} {array.shape}".encode()
        yield np.ascontiguousarray(array).data


def _open_axis(value: Any) -> int:
    """Return the axis of an output whose length only a run tells."""
    dims = value.type.tensor_type.shape.dim
    return next((axis for axis, dim in enumerate(dims) if not dim.HasField("dim_value")), 0)
