"""ONNX Runtime, with the settings for the integers that this project reproduces."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np

from qnn_ops.dialect.tensor_info import TensorInfo
from qnn_ops.errors import QnnError, needed


def onnxruntime_tensors(model: Any, inputs: Sequence[np.ndarray]) -> dict[str, np.ndarray]:
    """Run an ONNX model on ONNX Runtime, and return every tensor that it quantizes.

    See ``onnxruntime_outputs``.

    Args:
        model: a path, a file's contents, or an ``onnx.ModelProto``.
        inputs: one array for each input of the model, in the model's order, of its shape and dtype.

    Returns:
        The quantized tensors, in the order of the nodes, and the model's outputs, by name.

    Raises:
        ModelFormatError: as ``onnxruntime_outputs``.
        QnnError: as ``onnxruntime_outputs``.
    """
    from frontends.onnx.importer import with_all_outputs
    from frontends.onnx.read.reader import read_proto

    return _run(with_all_outputs(read_proto(model)), inputs)


def onnxruntime_outputs(model: Any, inputs: Sequence[np.ndarray]) -> dict[str, np.ndarray]:
    """Run an ONNX model on ONNX Runtime.

    The settings are: all optimizations, ``session.qdqisint8allowed=1``, and for models of uint8
    activations ``session.x64quantprecision=1``. This project reproduces the resulting integers; see
    the documentation's page on numbers of ONNX models.

    Args:
        model: as for ``onnxruntime_tensors``.
        inputs: as for ``onnxruntime_tensors``.

    Returns:
        The model's outputs, by name.

    Raises:
        ModelFormatError: the model is malformed.
        QnnError: if onnx or onnxruntime is not installed, ONNX Runtime rejects the model, or an
            input does not fit.
    """
    from frontends.onnx.read.reader import read_proto

    return _run(read_proto(model), inputs)


def check_onnxruntime() -> Any:
    """Check that ONNX Runtime is installed, and return the package.

    Raises:
        QnnError: if it cannot be imported.
    """
    with needed("comparing with ONNX Runtime", "onnxruntime", "onnxruntime"):
        import onnxruntime
    return onnxruntime


class OnnxRuntimeSession:
    """An ONNX model on ONNX Runtime, made once and run many times; see ``onnxruntime_outputs``."""

    def __init__(self, proto: Any, num_threads: int = 0, *, by_default: bool = False) -> None:
        """Load an ``onnx.ModelProto``.

        Args:
            proto: the model.
            num_threads: how many threads it uses; 0: ONNX Runtime decides.
            by_default: whether to use ONNX Runtime's default settings, as most users do, and not
                those of ``onnxruntime_outputs``.

        Raises:
            QnnError: if onnxruntime is not installed, or ONNX Runtime rejects the model.
        """
        from frontends.onnx.read.mapped import is_mapped, mapped_array, with_data

        onnxruntime = check_onnxruntime()
        options = onnxruntime.SessionOptions()
        options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_ENABLE_ALL
        options.intra_op_num_threads = num_threads
        options.log_severity_level = 3  # otherwise it warns of constants that nothing reads
        if not by_default:
            options.add_session_config_entry("session.qdqisint8allowed", "1")
        if not by_default and not _has_int8_activations(proto):
            # It would turn int8 weights into uint8 ones, for which int8 activations have no kernel.
            options.add_session_config_entry("session.x64quantprecision", "1")
        providers = ["CPUExecutionProvider"]
        proto = with_data(proto)
        mapped = list(filter(is_mapped, proto.graph.initializer))
        arrays = [onnxruntime.OrtValue.ortvalue_from_numpy(mapped_array(each)) for each in mapped]
        options.add_external_initializers([each.name for each in mapped], arrays)
        with _told():
            content = proto.SerializeToString()
            self._session = onnxruntime.InferenceSession(content, options, providers=providers)
        self.inputs = [_info(each) for each in self._session.get_inputs()]
        self.outputs = [_info(each) for each in self._session.get_outputs()]

    def run(self, inputs: Sequence[np.ndarray]) -> dict[str, np.ndarray]:
        """Run the model once, and return its outputs by name.

        Raises:
            QnnError: if an input does not fit.
        """
        with _told():
            results = self.prepare(inputs)()
        return dict(zip([info.name for info in self.outputs], results, strict=True))

    def prepare(self, inputs: Sequence[np.ndarray]) -> Callable[[], list[Any]]:
        """Return a function that runs the model on these inputs at each call, for timing.

        Raises:
            QnnError: if the number of inputs is wrong.
        """
        names = [info.name for info in self.inputs]
        if len(names) != len(inputs):
            raise QnnError(f"ONNX Runtime: number of inputs: needs {len(names)}, got {len(inputs)}")
        # ONNX Runtime takes no numpy scalars, such as an element of an array.
        given = {name: np.asarray(array) for name, array in zip(names, inputs, strict=True)}
        return lambda: list(self._session.run(None, given))


def _run(proto: Any, inputs: Sequence[np.ndarray]) -> dict[str, np.ndarray]:
    return OnnxRuntimeSession(proto).run(inputs)


@contextmanager
def _told() -> Iterator[None]:
    try:
        yield
    except Exception as error:  # onnxruntime.capi has a dozen classes
        raise QnnError(f"ONNX Runtime rejects the model: {error}") from error


def _info(each: Any) -> TensorInfo:
    """Return ONNX Runtime's description of an input or output; an open size becomes 1."""
    dtype = each.type.removeprefix("tensor(").removesuffix(")")
    shape = tuple(size if isinstance(size, int) else 1 for size in each.shape)
    return TensorInfo(each.name, shape, {"float": "float32", "double": "float64"}.get(dtype, dtype))


def _has_int8_activations(proto: Any) -> bool:
    """Tell whether the result of a node has an int8 zero point."""
    int8 = {tensor.name for tensor in proto.graph.initializer if tensor.data_type == tensor.INT8}
    nodes = (node for node in proto.graph.node if node.op_type != "DequantizeLinear")
    # Weights have a zero point, too, so look only at the result's or a data operand's.
    places = {"QuantizeLinear": 2, "QLinearConv": 7, "QLinearMatMul": 7, "QLinearConcat": 1}
    return any(
        len(node.input) > places.get(node.op_type, 2)
        and node.input[places.get(node.op_type, 2)] in int8
        for node in nodes
        if node.op_type.startswith("Q")
    )
