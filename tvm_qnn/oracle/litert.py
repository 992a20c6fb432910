"""LiteRT: its reference kernels as the oracle, and its other kernels for comparisons of speed."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import chain
from typing import Any

import numpy as np
import tflite

from qnn_ops.dialect.tensor_info import TensorInfo
from qnn_ops.errors import QnnError, needed

_WITHOUT_ELEMENTS = (tflite.TensorType.RESOURCE, tflite.TensorType.VARIANT)
_BY_BLOCK = 2  # a kind of quantization that the package's old schema does not have


def litert_tensors(
    model: bytes, inputs: Sequence[np.ndarray], num_threads: int = 1, *, resize: bool = False
) -> dict[int, np.ndarray]:
    """Run a TFLite model on LiteRT's reference kernels, and return every computed tensor.

    This project reproduces the integers of the reference kernels (resolver BUILTIN_REF); the
    default kernels round differently. The reference kernels are slow, and their SOFTMAX aborts the
    process if 512 or more logits are nearly equal. They read scales by block as 0: a model with
    such weights runs on the default kernels, without XNNPACK.

    Args:
        model: the contents of a .tflite file.
        inputs: one array for each input of the model, in the model's order, with its exact
            shape and dtype.
        num_threads: how many threads LiteRT may use.
        resize: whether inputs may have other shapes than in the file; the model is resized.

    Returns:
        The outputs of all operators of the main subgraph: tensor index to array.

    Raises:
        QnnError: if ai-edge-litert is not installed, LiteRT rejects the model, or an input
            does not fit.
    """
    return next(litert_runs(model, [inputs], num_threads, resize=resize))


def litert_runs(
    model: bytes,
    runs: Iterable[Sequence[np.ndarray]],
    num_threads: int = 1,
    *,
    resize: bool = False,
) -> Iterator[dict[int, np.ndarray]]:
    """Run a TFLite model on LiteRT's reference kernels several times; it keeps its state.

    Args:
        model: as for ``litert_tensors``.
        runs: the inputs of each run, at least one; each is read when its run begins.
        num_threads: as for ``litert_tensors``.
        resize: as for ``litert_tensors``, by the inputs of the first run.

    Yields:
        The result of ``litert_tensors`` for each run, without tensors that LiteRT did not compute.

    Raises:
        QnnError: as ``litert_tensors`` raises it.
    """
    turns = iter(runs)
    first = next(turns)
    shapes = [np.shape(each) for each in first] if resize else []
    session = LiteRtSession(model, num_threads, shapes=shapes, reference=True)
    graph = tflite.Model.GetRootAs(model).Subgraphs(0)  # LiteRT has checked that there is one
    if _is_by_block(graph):
        session = LiteRtSession(model, num_threads, xnnpack=False, shapes=shapes, keep=True)
    operators = [graph.Operators(i) for i in range(graph.OperatorsLength())]
    computed = sorted({op.Outputs(j) for op in operators for j in range(op.OutputsLength())})
    known = [
        index
        for index in computed
        if index >= 0 and graph.Tensors(index).Type() not in _WITHOUT_ELEMENTS
    ]
    for inputs in chain([first], turns):
        session.prepare(inputs)()
        found = {index: session.tensor(index) for index in known}
        yield {index: array for index, array in found.items() if array is not None}


def _is_by_block(graph: tflite.SubGraph) -> bool:
    """Tell whether weights have scales by block, which the reference kernels read as 0."""
    tensors = [graph.Tensors(index) for index in range(graph.TensorsLength())]
    known = [each.Quantization() for each in tensors]
    return any(each is not None and each.DetailsType() == _BY_BLOCK for each in known)


def check_litert() -> Any:
    """Check that LiteRT is installed, and return its module of interpreters.

    Raises:
        QnnError: if it cannot be imported.
    """
    with needed("comparing with LiteRT", "ai-edge-litert", "'tvm-qnn[demo]'"):
        from ai_edge_litert import interpreter
    return interpreter


class LiteRtSession:
    """A model on LiteRT, run as LiteRT's users run it.

    It is made once and run many times, as a comparison of speed needs it.
    """

    def __init__(
        self,
        model: bytes,
        num_threads: int = 1,
        xnnpack: bool = True,
        *,
        batch: int = 1,
        shapes: Sequence[Sequence[int]] = (),
        reference: bool = False,
        keep: bool = False,
    ) -> None:
        """Load a model.

        Args:
            model: the contents of a .tflite file.
            num_threads: how many threads LiteRT may use.
            xnnpack: whether to use XNNPACK's kernels, as LiteRT does by default, or only LiteRT's
                own optimized kernels.
            batch: the number of images in a run, for a model that takes single images.
            shapes: shapes of the inputs, in place of the file's.
            reference: whether to use the reference kernels, whatever ``xnnpack`` says.
            keep: whether to keep the tensors between the operators; reference kernels always do.

        Raises:
            QnnError: if ai-edge-litert is not installed, or LiteRT rejects the model or the batch.
        """
        resolver = "AUTO" if xnnpack else "BUILTIN_WITHOUT_DEFAULT_DELEGATES"
        resolver = "BUILTIN_REF" if reference else resolver
        litert = check_litert()
        try:
            self._interpreter = litert.Interpreter(
                model_content=model,
                num_threads=num_threads,
                experimental_op_resolver_type=litert.OpResolverType[resolver],
                experimental_preserve_all_tensors=keep or reference,
            )
            details = self._interpreter.get_input_details()
            if batch > 1:
                shapes = [[batch, *detail["shape"][1:].tolist()] for detail in details]
            for detail, given in zip(details, shapes, strict=False):
                if tuple(detail["shape"].tolist()) != tuple(given):
                    self._interpreter.resize_tensor_input(detail["index"], list(given))
            self._interpreter.allocate_tensors()
        except (RuntimeError, ValueError) as error:
            raise QnnError(f"LiteRT rejects the model: {error}") from error
        self._outputs = [detail["index"] for detail in self._interpreter.get_output_details()]

    @property
    def inputs(self) -> list[TensorInfo]:
        """Name, shape, dtype and quantization of each input, in the model's order."""
        return [_info(each) for each in self._interpreter.get_input_details()]

    @property
    def outputs(self) -> list[TensorInfo]:
        """Name, shape, dtype and quantization of each output, in the model's order."""
        return [_info(each) for each in self._interpreter.get_output_details()]

    def prepare(self, inputs: Sequence[np.ndarray]) -> Callable[[], None]:
        """Return a function that runs the model on these inputs at each call, for timing.

        Args:
            inputs: one array for each input of the model, in the model's order, with its exact
                shape and dtype. They are copied once, here.

        Raises:
            QnnError: if an input does not fit.
        """
        details = self._interpreter.get_input_details()
        if len(inputs) != len(details):
            raise QnnError(f"LiteRT: number of inputs: needs {len(details)}, got {len(inputs)}")
        for position, (detail, value) in enumerate(zip(details, inputs, strict=True)):
            array = np.asarray(value)
            shape, dtype = tuple(detail["shape"].tolist()), np.dtype(detail["dtype"])
            if array.shape != shape or array.dtype != dtype:
                raise QnnError(
                    f"LiteRT: input {position} ({detail['name']!r}) needs {dtype} of shape "
                    f"{shape}, got {array.dtype} of shape {array.shape}"
                )
            self._interpreter.set_tensor(detail["index"], array)
        return self._invoke

    def _invoke(self) -> None:
        try:
            self._interpreter.invoke()
        except (RuntimeError, ValueError) as error:
            raise QnnError(f"LiteRT cannot run the model: {error}") from error

    def run(self, inputs: Sequence[np.ndarray]) -> list[np.ndarray]:
        """Run the model once.

        Args:
            inputs: as for `prepare`.

        Returns:
            The model's outputs in its order.

        Raises:
            QnnError: if an input does not fit.
        """
        self.prepare(inputs)()
        return [self._interpreter.get_tensor(index) for index in self._outputs]

    def tensor(self, index: int) -> np.ndarray | None:
        """Return a tensor; None if it has no data, as results of loops that nothing reads."""
        try:
            return np.asarray(self._interpreter.get_tensor(index))
        except ValueError:
            return None


def _info(detail: Any) -> TensorInfo:
    shape, dtype = tuple(detail["shape"].tolist()), np.dtype(detail["dtype"]).name
    scales = detail["quantization_parameters"]["scales"].tolist()
    zero_points = detail["quantization_parameters"]["zero_points"].tolist()
    pair = (scales[0], zero_points[0]) if len(scales) == len(zero_points) == 1 else (None, None)
    return TensorInfo(detail["name"], shape, dtype, *pair)
