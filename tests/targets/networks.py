"""Networks of every kind that microcontrollers run, each with one input and one output."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import numpy as np

from benchmarks import layers
from frontends.tflite.reader import read_model
from tests.support.arrays import full_range
from tests.support.int16 import symmetric
from tests.support.tflite import Sheet
from tvm_qnn import digits
from tvm_qnn.oracle import litert_tensors

_SHARED = Path(__file__).parents[3] / "shared" / "models" / "tflite"
_FILES = {
    "ad": "ad_i8",
    "kws": "kws_i8",
    "ic": "ic_resnet_i8",
    "vww": "vww_i8",
    "micro_speech": "micro_speech_i8",
    "deeplab": "deeplab_dm05_u8",
    "lstm": "lstm_i8",
}


@dataclass(frozen=True)
class Network:
    """A network.

    Attributes:
        name: in tables.
        content: gives the contents of its .tflite file.
    """

    name: str
    content: Callable[[], bytes]


def networks() -> list[Network]:
    """Every network that is here, the real ones where the folder of them is."""
    files = {name: _SHARED / f"{file}.tflite" for name, file in _FILES.items()}
    return [
        Network("digits int8", partial(digits.model, "int8")),
        Network("digits uint8", partial(digits.model, "uint8")),
        Network("int16", _int16),
        Network("hybrid", partial(layers.build, "hybrid_dense", "4x64x32")),
        *(Network(name, file.read_bytes) for name, file in files.items() if file.exists()),
    ]


def runs_of(content: bytes, count: int) -> tuple[list[np.ndarray], list[bytes]]:
    """Draw inputs of a network.

    Args:
        content: of its .tflite file.
        count: how many inputs.

    Returns:
        The inputs, and LiteRT's output of each.
    """
    graph, rng = read_model(content), np.random.default_rng(0)
    tensor, (output,) = graph.tensors[graph.inputs[0]], graph.outputs
    shape = tuple(tensor.shape)
    inputs = [
        rng.normal(0, 1, shape).astype(np.float32)
        if tensor.dtype == "float32"
        else full_range(rng, tensor.dtype, shape)
        for _ in range(count)
    ]
    return inputs, [litert_tensors(content, [array])[output].tobytes() for array in inputs]


def _int16() -> bytes:
    """Return a convolution, a pool and a dense layer of int16."""
    sheet, channels = Sheet(seed=1), 8
    rng = sheet.rng
    scales = rng.uniform(0.005, 0.02, channels).astype(np.float32)
    weights = rng.integers(-127, 128, (channels, 3, 3, 4)).astype(np.int8)
    operands = [
        sheet.random_input((1, 12, 12, 4), "int16", symmetric(1e-3)),
        sheet.constant(weights, symmetric(*scales)),
        sheet.bias(rng.integers(-(2**22), 2**22, channels).astype(np.int64)),
    ]
    window = {"padding": "SAME", "stride_h": 2, "stride_w": 2}
    convolution = {"dilation_h_factor": 1, "dilation_w_factor": 1}
    result = ((1, 6, 6, channels), "int16", symmetric(5e-3))
    taken = {**window, **convolution, "fused_activation_function": "RELU"}
    x = sheet.inside(sheet.operator("CONV_2D", operands, result, **taken))
    result = ((1, 3, 3, channels), "int16", symmetric(5e-3))
    taken = {**window, "filter_height": 2, "filter_width": 2}
    x = sheet.inside(sheet.operator("MAX_POOL_2D", [x], result, **taken))
    weights = rng.integers(-127, 128, (10, 9 * channels)).astype(np.int8)
    operands = [x, sheet.constant(weights, symmetric(0.01))]
    operands.append(sheet.bias(rng.integers(-(2**22), 2**22, 10).astype(np.int64)))
    sheet.operator("FULLY_CONNECTED", operands, ((1, 10), "int16", symmetric(0.02)))
    return sheet.model()
