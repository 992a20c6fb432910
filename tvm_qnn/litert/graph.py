"""A subgraph of an interpreter: the memory of its tensors, and a library for each shape."""

import json
import warnings
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from frontends.tflite.model import Model, Tensor
from frontends.tflite.states import states_of
from qnn_ops.errors import QnnError
from tvm_qnn.library.arrays import results_of
from tvm_qnn.library.known import library_of
from tvm_qnn.library.last import Last
from tvm_qnn.library.library import Library
from tvm_qnn.library.session import Session
from tvm_qnn.litert.details import Stored, details, litert_name, read_stored
from tvm_qnn.litert.errors import CallError
from tvm_qnn.litert.variables import Variables

Shape = tuple[int, ...]

_READERS = ("tflite", "flatbuffers")
NOT_READY = "Invoke called on model that is not ready."
_NO_MEMORY = "Tensor data is null. Run allocate_tensors() first"


@dataclass
class _Built:
    """The library for some shapes of the inputs, and the memory of its results.

    Attributes:
        library: the library.
        session: a session that holds the state, if the model has one.
        outputs: the memory of each result, by the tensor's index.
        results: the same memory, in the library's order; a file may name a tensor twice.
    """

    library: Library
    session: Session | None
    outputs: dict[int, np.ndarray]
    results: list[np.ndarray]


class Graph:
    """One subgraph: ``Interpreter``'s calls, for the tensors of this subgraph."""

    def __init__(
        self,
        content: bytes,
        model: Model,
        variables: Variables,
        *,
        number: int = 0,
        num_threads: int | None = None,
        keep: bool = False,
    ) -> None:
        """Take a subgraph.

        Args:
            content: the contents of the file.
            model: the subgraph, read as a main one, without signatures.
            variables: the interpreter's variables.
            number: the subgraph's index in the file.
            num_threads: how many threads a run uses.
            keep: whether the values of all tensors are kept.
        """
        self._content, self._number = content, number
        self._model = model
        self._variables = variables
        self._num_threads, self._keep = num_threads, keep
        self._shapes: dict[int, Shape] = {each.index: each.shape for each in model.tensors}
        self._input_indices = tuple(dict.fromkeys(model.inputs))
        self._inputs: dict[int, np.ndarray] = {}
        self._built: Last[tuple[Shape, ...], _Built] = Last()
        self._now: _Built | None = None
        self._is_ready = False
        self._is_exact = False

    @property
    def model(self) -> Model:
        """The subgraph, as in the file."""
        return self._model

    @cached_property
    def _stored(self) -> list[Stored]:
        return read_stored(self._content, self._number)

    def details(self, index: int) -> dict[str, Any]:
        """Return the description of a tensor."""
        tensor = self.tensor(index)
        return details(tensor, self._stored[index], self._shapes[index])

    def all_details(self) -> list[dict[str, Any]]:
        """Return the description of every tensor of the file."""
        tensors = self._model.tensors
        inputs = self._input_indices
        if self._is_ready and any(self._shapes[i] != tensors[i].shape for i in inputs):
            self._find_shapes()
        return [self.details(each.index) for each in tensors]

    def tensor(self, index: int) -> Tensor:
        """Return the tensor of an index.

        Raises:
            QnnError: the index is out of range.
        """
        count = len(self._model.tensors)
        if not 0 <= index < count:
            raise QnnError(f"Invalid tensor index {index} exceeds max tensor index {count}")
        return self._model.tensors[index]

    def resize(self, index: int, shape: Shape, *, strict: bool = False) -> None:
        """Give an input another shape; the shapes of other tensors depend on the inputs'.

        Raises:
            QnnError: the tensor cannot have this shape.
        """
        count = len(self._model.tensors)
        if not 0 <= index < count:
            raise CallError(f"Invalid tensor index {index} exceeds max tensor index {count}")
        tensor, before = self._model.tensors[index], self._shapes[index]
        if tensor.is_constant:
            raise CallError("Attempting to resize a fixed-size tensor.")
        if strict:
            _check_strictly(tensor, before, shape)
        is_odd = len(shape) != len(tensor.shape) or min(shape, default=1) < 1
        if is_odd and index in self._model.inputs:
            raise CallError(
                f"{tensor.label} cannot have the shape {list(shape)}: it has {len(tensor.shape)} "
                "dimensions, each of at least 1"
            )
        if shape == before:
            return
        self._shapes[index] = shape
        self._inputs.pop(index, None)
        self._is_ready = False

    def allocate(self) -> None:
        """Compile the model for the present shapes, unless this was done before.

        Raises:
            CallError: the model cannot be compiled for these shapes.
        """
        if self._is_ready:
            return
        shapes = tuple(self._shapes[index] for index in self._input_indices)
        try:
            now = self._built.get(shapes) or self._build()
        except QnnError as error:
            raise CallError(str(error)) from error
        self._built[shapes] = self._now = now
        if now.session is not None:
            now.session.reset()
        infos = now.library.inputs
        for index, info in zip(self._input_indices, infos, strict=True):
            if index not in self._inputs:
                self._inputs[index] = np.zeros(info.shape, info.dtype)
        others = (t for t in self._model.tensors if t.index not in self._input_indices)
        self._shapes |= {tensor.index: tensor.shape for tensor in others}
        self._shapes |= {index: array.shape for index, array in now.outputs.items()}
        self._is_ready, self._is_exact = True, self._keep

    def _build(self) -> _Built:
        model = self._model
        shapes = [self._shapes[index] for index in self._input_indices]
        told = json.dumps(["tflite", self._number, shapes, self._outputs]).encode()
        library = library_of(_READERS, [told, self._content], self._compiled, self._num_threads)
        indices = model.computed if self._keep else model.outputs
        outputs: dict[int, np.ndarray] = {}
        results = [
            outputs.setdefault(index, np.zeros(info.shape, info.dtype))
            for index, info in zip(indices, library.outputs, strict=True)
        ]
        session = None
        if library.signature.states:
            session = library.session()
            self._variables.add(self._state_keys, library.signature.states, self._number)
        return _Built(library, session, outputs, results)

    @property
    def _outputs(self) -> str | None:
        """The argument ``outputs`` of ``from_tflite``."""
        return "all" if self._keep else None

    def _compiled(self) -> Library:
        from tvm_qnn.build import build

        mod, params = self._imported(self._outputs)
        return build(mod, "host", params, num_threads=self._num_threads)

    @cached_property
    def _state_keys(self) -> list[int | tuple[str, str]]:
        return [state.key for state in states_of(self._model)]

    def _imported(self, outputs: str | None) -> tuple[Any, Any]:
        from frontends.tflite import from_tflite
        from frontends.tflite.interface.ends import tensor_names

        names = tensor_names(self._model.tensors)
        shapes = {names[index]: self._shapes[index] for index in self._input_indices}
        return from_tflite(self._model, shapes, outputs=outputs)

    def _find_shapes(self) -> None:
        """Find the shapes of tensors between operators for the inputs' present shapes."""
        if self._is_exact:
            return
        from qnn_ops.dialect.signature import signature_of

        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # the compilation gave these warnings before
            infos = signature_of(self._imported("all")[0]).outputs
        found = zip(self._model.computed, infos, strict=True)
        self._shapes |= {index: info.shape for index, info in found}
        self._is_exact = True

    def set(self, index: int, value: Any) -> None:
        """Copy a value into a tensor's memory.

        Raises:
            QnnError: the value does not fit, or the tensor has no memory to write to.
        """
        memory = self._inputs.get(index)
        if memory is None:
            memory = self._settable(index)
        array = np.asarray(value)
        if array.dtype != memory.dtype or array.shape != memory.shape:
            self._check_fit(index, array, memory)
        if memory.flags.writeable:
            memory[...] = array
        else:
            self._set_state(index, array)

    def _settable(self, index: int) -> np.ndarray:
        tensor = self.tensor(index)
        if self._now is None or index in self._model.inputs:
            raise QnnError(
                "Cannot set tensor: Tensor is unallocated. Try calling allocate_tensors() first"
            )
        if tensor.is_constant:
            raise QnnError(f"Cannot set tensor: {tensor.label} is a constant of the file")
        return self.view(index)

    def _check_fit(self, index: int, array: np.ndarray, memory: np.ndarray) -> None:
        needed, got = litert_name(memory.dtype), litert_name(array.dtype)
        if needed != got:
            raise QnnError(
                f"Cannot set tensor: Got value of type {got} but expected type {needed} for input "
                f"{index}, name: {self._model.tensors[index].name} "
            )
        if array.ndim != memory.ndim:
            raise QnnError(
                f"Cannot set tensor: Dimension mismatch. Got {array.ndim} but expected "
                f"{memory.ndim} for input {index}."
            )
        for axis, (size, expected) in enumerate(zip(array.shape, memory.shape, strict=True)):
            if size != expected:
                raise QnnError(
                    f"Cannot set tensor: Dimension mismatch. Got {size} but expected {expected} "
                    f"for dimension {axis} of input {index}."
                )

    def invoke(self) -> None:
        """Run the model on the inputs' memory.

        Raises:
            CallError: the tensors are not allocated, or the run fails.
        """
        now = self._now
        if not self._is_ready or now is None:
            raise CallError(NOT_READY)
        inputs = [self._inputs[index] for index in self._input_indices]
        try:
            if now.session is None:
                found = now.library.run(*inputs)
            else:
                found = self._variables.run(now.session, self._state_keys, inputs)
        except QnnError as error:
            raise CallError(str(error)) from error
        for memory, array in zip(now.results, results_of(found), strict=True):
            np.copyto(memory, array)

    def view(self, index: int) -> np.ndarray:
        """Return a tensor's memory. Later runs read that of an input, and write that of an output.

        Raises:
            QnnError: the tensor has no memory, or keeps no value.
        """
        if (array := self._inputs.get(index)) is not None:
            return array
        if self._now is not None and (array := self._now.outputs.get(index)) is not None:
            return array
        tensor = self.tensor(index)
        if tensor.data is not None:
            return tensor.data
        if self._now is None or index in self._model.inputs:
            raise QnnError(_NO_MEMORY)
        if tensor.is_constant:
            return np.zeros(tensor.shape, tensor.dtype)
        if self._now.session is not None and index in self._state_keys:
            kept = self._now.session.kept()[self._state_keys.index(index)].view()
            kept.flags.writeable = False
            return kept
        raise QnnError(
            f"{tensor.label} is none of the model's outputs, and a compiled model keeps no other "
            "tensors: make the interpreter with experimental_preserve_all_tensors=True"
        )

    def _set_state(self, index: int, array: np.ndarray) -> None:
        session = self._now and self._now.session
        if session:
            kept = session.kept()
            kept[self._state_keys.index(index)] = array.copy()
            session.restore(kept)

    def reset_variables(self) -> None:
        """Give variable tensors their first values; variables with a name keep theirs."""
        if self._now is not None and self._now.session is not None:
            self._now.session.reset()


def _check_strictly(tensor: Tensor, before: Shape, shape: Shape) -> None:
    """Check that only dimensions change that are open in the file."""
    if len(shape) != len(before):
        raise CallError(
            f"tensor {tensor.index} has {len(before)} dimensions, cannot have {len(shape)}"
        )
    known: Iterable[int] = tensor.shape_signature or before
    for axis, (old, new, size) in enumerate(zip(before, shape, known, strict=True)):
        if old != new and size != -1:
            raise CallError(
                f"Attempting to resize dimension {axis} of tensor {tensor.index} with value {old} "
                f"to {new}. ResizeInputTensorStrict only allows mutating unknown dimensions "
                "identified by -1."
            )
