"""``Interpreter``: sets tensors, invokes the model, gets tensors."""

import enum
import operator
import os
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from frontends.errors import ModelFormatError
from frontends.tflite.file_names import IDENTIFIER
from frontends.tflite.model import Entry, Model
from frontends.tflite.reader import read_model
from qnn_ops.errors import QnnError
from tvm_qnn.library.threads import MOST_THREADS
from tvm_qnn.litert.delegates import REASON, Delegate, load_delegate
from tvm_qnn.litert.details import numpy_type
from tvm_qnn.litert.errors import ArgumentError
from tvm_qnn.litert.graph import Graph
from tvm_qnn.litert.signatures import SignatureRunner
from tvm_qnn.litert.variables import Variables

__all__ = [
    "Delegate",
    "Interpreter",
    "InterpreterWithCustomOps",
    "OpResolverType",
    "SignatureRunner",
    "load_delegate",
]

_COMPRESS = "experimental_compress_quantization_zero_points"
_OPTIONS = (
    "experimental_disable_delegate_clustering",
    "experimental_default_delegate_latest_features",
    _COMPRESS,
    "experimental_disable_delegate_node_fusion",
    "experimental_force_delegate_node_profiling",
)
"""Options of delegates and of memory, which have no effect here."""


class OpResolverType(enum.Enum):
    """LiteRT's sets of kernels. With each of them, the integers are those of BUILTIN_REF."""

    AUTO = 0
    BUILTIN = 1
    BUILTIN_REF = 2
    BUILTIN_WITHOUT_DEFAULT_DELEGATES = 3


class Interpreter:
    """A model with memory for its tensors; it has the calls of LiteRT's class of this name.

    A tensor's index is that in the file. Only one thread at a time may use an interpreter.
    """

    def __init__(
        self,
        model_path: str | bytes | os.PathLike[str] | None = None,
        model_content: bytes | None = None,
        experimental_delegates: Sequence[Any] | None = None,
        num_threads: int | None = None,
        experimental_op_resolver_type: OpResolverType = OpResolverType.AUTO,
        experimental_preserve_all_tensors: bool = False,
        **kwargs: Any,
    ) -> None:
        """Read a model. It is compiled by ``allocate_tensors``.

        Args:
            model_path: the path of a .tflite file.
            model_content: the contents of such a file, in place of a path.
            experimental_delegates: refused.
            num_threads: how many threads a run uses; None: as ``tvm_qnn.build`` chooses.
            experimental_op_resolver_type: accepted without effect: the integers are those of the
                reference kernels.
            experimental_preserve_all_tensors: whether ``get_tensor`` returns the tensors between
                the operators, too. This takes time and memory.
            **kwargs: LiteRT's other options, accepted without effect.

        Raises:
            QnnError: an argument does not fit, a delegate is given, or the file is no TFLite file.
        """
        for name in kwargs:
            if name not in _OPTIONS:
                raise ArgumentError(
                    f"Interpreter.__init__() got an unexpected keyword argument {name!r}"
                )
        self._compresses = kwargs.get(_COMPRESS, False)
        if not isinstance(experimental_op_resolver_type, OpResolverType):
            raise QnnError(
                f"Unrecognized passed in op resolver type: {experimental_op_resolver_type}"
            )
        if experimental_delegates:
            raise QnnError(f"experimental_delegates: {REASON}")
        self._num_threads = _threads(num_threads)
        self._keep = bool(experimental_preserve_all_tensors)
        self._content = _content(model_path, model_content)
        main = _read(self._content)
        self._entries: dict[str, Entry] = {each.key: each for each in main.entries}
        self._variables = Variables()
        self._models = (main, *main.subgraphs)
        self._graphs: dict[int, Graph] = {}
        self._main = self._graph(0)

    def allocate_tensors(self) -> None:
        """Compile the model for the present shapes of its inputs.

        Libraries for earlier shapes are kept, and other processes find them in the user's cache.

        Raises:
            QnnError: the model cannot be compiled: it has operators that are not supported, or does
                not take these shapes. The error is a RuntimeError, too.
        """
        self._main.allocate()

    def resize_tensor_input(self, input_index: int, tensor_size: Any, strict: bool = False) -> None:
        """Give an input another shape; ``allocate_tensors`` then compiles the model for it.

        Args:
            input_index: the tensor's index.
            tensor_size: the new shape.
            strict: whether only dimensions may change that are open in the file.

        Raises:
            QnnError: the shape does not fit.
        """
        shape = np.array(tensor_size, np.int32)
        if shape.ndim != 1:
            raise QnnError(f"Shape should be 1D instead of {shape.ndim}.")
        self._main.resize(_index(input_index), tuple(shape.tolist()), strict=strict)

    def get_input_details(self) -> list[dict[str, Any]]:
        """Return a description of each input.

        Each is a dict of ``name``, ``index``, ``shape``, ``shape_signature`` (-1 for dimensions
        that the file leaves open), ``dtype``, ``quantization`` (scale and zero point of a tensor
        that has one of each), ``quantization_parameters`` (``scales``, ``zero_points``,
        ``quantized_dimension``, ``block_size``) and ``sparsity_parameters``.
        """
        return [self._main.details(index) for index in self._main.model.inputs]

    def get_output_details(self) -> list[dict[str, Any]]:
        """Return a description of each output, with the keys of ``get_input_details``."""
        return [self._main.details(index) for index in self._main.model.outputs]

    def get_tensor_details(self, subgraph_index: int = 0) -> list[dict[str, Any]]:
        """Return a description of each tensor of a subgraph in the file.

        Raises:
            QnnError: there is no such subgraph.
        """
        count = self.num_subgraphs()
        if not 0 <= subgraph_index < count:
            raise QnnError(
                f"subgraph_index is out of range: {subgraph_index} for the model, which has {count}"
                " subgraphs."
            )
        return self._graph(subgraph_index).all_details()

    def set_tensor(self, tensor_index: int, value: Any) -> None:
        """Copy a value into an input.

        Args:
            tensor_index: the tensor's index.
            value: a value with the tensor's shape and dtype.

        Raises:
            QnnError: the value does not fit, or the tensors are not allocated.
        """
        self._main.set(_index(tensor_index), value)

    def invoke(self) -> None:
        """Run the model.

        Raises:
            QnnError: the tensors are not allocated, or the run fails. It is a RuntimeError, too.
        """
        self._main.invoke()

    def get_tensor(self, tensor_index: int, subgraph_index: int = 0) -> np.ndarray:
        """Return a copy of a tensor: an input, an output, a constant or a variable.

        Raises:
            QnnError: there is no such tensor, or its value was not kept: this needs
                ``experimental_preserve_all_tensors``.
        """
        graph = self._main
        if subgraph_index:
            count = self.num_subgraphs()
            if not 0 <= subgraph_index < count:
                raise QnnError(
                    f"Invalid subgraph index {subgraph_index} exceeds max subgraph index {count}"
                )
            graph = self._graph(subgraph_index)
        return graph.view(_index(tensor_index)).copy()

    def tensor(self, tensor_index: int) -> Callable[[], np.ndarray]:
        """Return a function that returns a tensor's memory.

        The next run reads what the program writes to an input; an output holds the last run's
        result. The array stays valid across runs. After an input was resized, call the function
        again. Constants and variables can only be read; ``set_tensor`` changes a variable.
        """
        return lambda: self._main.view(_index(tensor_index))

    def get_signature_list(self) -> dict[str, dict[str, list[str]]]:
        """Return the signatures by name, each with the names of its inputs and outputs."""
        return {
            key: {role: list(names) for role, names in each.items()}
            for key, each in self._get_full_signature_list().items()
        }

    def get_signature_runner(self, signature_key: str | None = None) -> SignatureRunner:
        """Return a function that runs a signature.

        Args:
            signature_key: the signature's name; None if there is only one.

        Raises:
            QnnError: there is no such signature.
        """
        if signature_key is None:
            if len(self._entries) != 1:
                raise QnnError(
                    f"SignatureDef signature_key is None and model has {len(self._entries)} "
                    "Signatures. None is only allowed when the model has 1 SignatureDef"
                )
            signature_key = next(iter(self._entries))
        return SignatureRunner(self, signature_key)

    def _graph_of(self, key: str) -> Graph:
        """Return the subgraph of a signature.

        Raises:
            QnnError: the file does not have the subgraph.
        """
        number = self._entries[key].subgraph
        if not 0 <= number < self.num_subgraphs():
            raise QnnError(
                f"signature {key!r} is of subgraph {number}, there are {self.num_subgraphs()}"
            )
        return self._graph(number)

    def num_subgraphs(self) -> int:
        """Return the number of the file's subgraphs."""
        return len(self._models)

    def reset_all_variables(self) -> None:
        """Give variable tensors their first values.

        Variables that operators name (VAR_HANDLE) keep their values, as in LiteRT.
        """
        for graph in self._graphs.values():
            graph.reset_variables()

    @property
    def experimental_compress_quantization_zero_points(self) -> bool:
        """The option of this name, which has no effect here."""
        return bool(self._compresses)

    def _get_full_signature_list(self) -> dict[str, dict[str, dict[str, int]]]:
        """Return the signatures by name, with the indices of their inputs and outputs."""
        return {
            key: {"inputs": dict(sorted(each.inputs)), "outputs": dict(sorted(each.outputs))}
            for key, each in self._entries.items()
        }

    def _get_tensor_details(self, tensor_index: int, subgraph_index: int) -> dict[str, Any]:
        """Return the description of a tensor."""
        return self._graph(subgraph_index).details(tensor_index)

    def _get_ops_details(self) -> list[dict[str, Any]]:
        """Return a description of each operator."""
        return [self._get_op_details(each.index) for each in self._main.model.operators]

    def _get_op_details(self, op_index: int) -> dict[str, Any]:
        """Return a description of an operator."""
        model = self._main.model
        if not 0 <= op_index < len(model.operators):
            raise QnnError("Invalid node index")
        found = model.operators[op_index]
        ends = {"inputs": found.inputs, "outputs": found.outputs}
        types = (
            [numpy_type(model.tensors[index].dtype) for index in indices if index >= 0]
            for indices in ends.values()
        )
        return {
            "index": op_index,
            "op_name": found.code.removeprefix("CUSTOM:"),
            **{role: np.array(indices, np.int32) for role, indices in ends.items()},
            **dict(zip(("operand_types", "result_types"), types, strict=True)),
        }

    def _safe_to_run(self) -> bool:
        """Return True: arrays of ``tensor`` never keep the model from running."""
        return True

    def _graph(self, number: int) -> Graph:
        """Return a subgraph."""
        if number not in self._graphs:
            self._graphs[number] = Graph(
                self._content,
                replace(self._models[number], subgraphs=self._models[1:], entries=()),
                self._variables,
                number=number,
                num_threads=self._num_threads,
                keep=self._keep,
            )
        return self._graphs[number]


class InterpreterWithCustomOps(Interpreter):
    """An interpreter that takes the caller's own operators, which are refused here."""

    def __init__(self, custom_op_registerers: Sequence[Any] | None = None, **kwargs: Any) -> None:
        """Read a model.

        Args:
            custom_op_registerers: refused.
            **kwargs: as ``Interpreter`` takes them.

        Raises:
            QnnError: as ``Interpreter``, or an operator is given.
        """
        if custom_op_registerers:
            raise QnnError(
                "custom_op_registerers: tvm_qnn compiles operators and calls none of LiteRT's "
                "kernels; leave them out"
            )
        super().__init__(**kwargs)


def _threads(count: Any) -> int | None:
    if count is None:
        return None
    if not isinstance(count, int):
        raise QnnError("type of num_threads should be int")
    if count < 1:
        raise QnnError("num_threads should >= 1")
    return min(int(count), MOST_THREADS)


def _content(path: Any, content: Any) -> bytes:
    if path and content:
        raise QnnError("Can't both provide `model_path` and `model_content`")
    if content:
        if isinstance(content, bytes | bytearray | memoryview):
            return bytes(content)
        raise ArgumentError(f"model_content: needs bytes, got {type(content).__name__}")
    if not path:
        raise QnnError("`model_path` or `model_content` must be specified.")
    if not isinstance(path, str | bytes | os.PathLike):
        raise ArgumentError(f"expected str, bytes or os.PathLike object, not {type(path).__name__}")
    name = os.fsdecode(path)
    try:
        return Path(name).read_bytes()
    except OSError as error:
        raise QnnError(f"Could not open {name!r}.{error.strerror}") from error


def _read(content: bytes) -> Model:
    if content[4:8] != IDENTIFIER:
        raise ModelFormatError("The model is not a valid Flatbuffer buffer")
    return read_model(content)


def _index(value: Any) -> int:
    try:
        return operator.index(value)
    except TypeError as error:
        raise ArgumentError(f"a tensor's index is an integer, got {value!r}") from error
