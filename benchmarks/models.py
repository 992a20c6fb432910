"""Models that a benchmark's arguments name, and inputs for them."""

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks import layers, onnx_zoo, tflite_zoo
from frontends.onnx.format import FORMAT
from frontends.tflite.reader import read_model
from qnn_ops.dialect.signature import TensorInfo
from qnn_ops.errors import QnnError
from tvm_qnn.io.images import noise

Array = np.ndarray[Any, Any]

_ONNX = "onnx/"
_NETWORKS = (*tflite_zoo.NAMES, *(_ONNX + name for name in onnx_zoo.NAMES), *layers.NAMES)


def models(arguments: Sequence[str]) -> Iterator[tuple[str, bytes]]:
    """Yield name and contents of each requested model.

    An argument names a .tflite or .onnx file; a network of the zoo in one style, as
    "inception_v3:int8", or in all its styles, as "inception_v3"; a network of the ONNX zoo, as
    "onnx/resnet50:s8s8"; or a layer of rows, inputs and units, as "hybrid_dense:16x768x768".

    Raises:
        QnnError: an argument is none of these; raised before any model is made.
    """
    for argument in arguments:
        if argument.partition(":")[0] not in _NETWORKS and not Path(argument).is_file():
            raise QnnError(
                f"{argument} is neither a file nor a network of the zoo ({', '.join(_NETWORKS)})"
            )
    return (each for argument in arguments for each in _of_argument(argument))


def suffix_of(model: bytes) -> str:
    """Return the suffix of a model's file, by its content."""
    if model.startswith(b"PK"):  # an archive of torch.export.save
        return ".pt2"
    return ".onnx" if FORMAT.recognises(model) else ".tflite"


def _tensor_info(onnx: Any, value: Any) -> TensorInfo:
    tensor = value.type.tensor_type
    dtype = onnx.helper.tensor_dtype_to_np_dtype(tensor.elem_type).name
    return TensorInfo(value.name, tuple(dim.dim_value for dim in tensor.shape.dim), dtype)


def _of_argument(argument: str) -> Iterator[tuple[str, bytes]]:
    name, _, style = argument.partition(":")
    if name not in _NETWORKS:
        yield Path(argument).stem, Path(argument).read_bytes()
        return
    if name in layers.NAMES:
        yield f"{name} {style}", layers.build(name, style)
        return
    if name not in tflite_zoo.NAMES:
        for one in [style] if style else onnx_zoo.STYLES:
            yield f"{name} {one}", onnx_zoo.build(name.removeprefix(_ONNX), one)
        return
    for one in [style] if style else [each for model, each in tflite_zoo.MODELS if model == name]:
        yield f"{name} {one}", tflite_zoo.build(name, one)


def inputs_of(model: bytes) -> list[Array]:
    """Make noise for each input of a model."""
    if suffix_of(model) == ".onnx":
        import onnx

        values = onnx.load_from_string(model).graph.input
        return [noise(_tensor_info(onnx, value)) for value in values]
    graph = read_model(model)
    tensors = [graph.tensors[index] for index in graph.inputs]
    return [noise(TensorInfo(t.name, tuple(t.shape), t.dtype)) for t in tensors]
