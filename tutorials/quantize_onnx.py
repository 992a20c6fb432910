"""Your quantize_static model, in integers
=======================================

ONNX Runtime's ``quantize_static`` gives activations of int8 by default. On x86 ONNX Runtime
computes much of such a model in float. tvm-qnn computes all its quantized operators in integers,
and gives the integers that ONNX Runtime computes with the right setting. This script makes a small
residual network, quantizes it with the defaults, compiles it, compares every tensor with ONNX
Runtime's, and times both.

Run it with ``python tutorials/quantize_onnx.py``; it needs ``pip install '.[onnx]' onnxruntime``.
"""  # noqa: D205, D415

import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import matplotlib.pyplot as plt
import numpy as np
import onnxruntime
from onnx import TensorProto, helper, numpy_helper
from onnxruntime.quantization import CalibrationDataReader, quantize_static

import tvm_qnn as qnn
from tvm_qnn.oracle import onnxruntime_tensors
from tvm_qnn.timing import alternate, one_core

rng = np.random.default_rng(0)
folder = Path(tempfile.mkdtemp())

# %%
# A float network
# ---------------
# The network has three residual blocks of 64 channels, a mean and a dense layer. Its weights are
# random: put your own model in its place.

CHANNELS, SIZE = 64, 56
nodes: list[Any] = []
constants: list[Any] = []


def constant(array: Any) -> str:
    """Add a constant, and return its name."""
    name = f"constant{len(constants)}"
    constants.append(numpy_helper.from_array(array.astype(np.float32), name))
    return name


def layer(op: str, *inputs: str, **attributes: Any) -> str:
    """Add an operator, and return the name of its output."""
    name = f"{op.lower()}{len(nodes)}"
    nodes.append(helper.make_node(op, list(inputs), [name], **attributes))
    return name


def conv(x: str, depth: int) -> str:
    """Add a convolution of 3 x 3 pixels."""
    weights = rng.normal(0, (2 / (9 * depth)) ** 0.5, (CHANNELS, depth, 3, 3))
    bias = rng.normal(0, 0.1, CHANNELS)
    return layer("Conv", x, constant(weights), constant(bias), pads=[1] * 4)


x = layer("Relu", conv("image", 3))
for _ in range(3):
    y = layer("Relu", conv(x, CHANNELS))
    x = layer("Relu", layer("Add", conv(y, CHANNELS), x))
flat = layer("Flatten", layer("GlobalAveragePool", x))
scores = layer("Gemm", flat, constant(rng.normal(0, 0.1, (10, CHANNELS))), transB=1)

values = [
    helper.make_tensor_value_info(name, TensorProto.FLOAT, shape)
    for name, shape in (("image", (1, 3, SIZE, SIZE)), (scores, (1, 10)))
]
graph = helper.make_graph(nodes, "small", values[:1], values[1:], constants)
float_model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)

# %%
# Quantize it
# -----------
# The defaults, except for one scale for each output channel.


class Noise(CalibrationDataReader):
    """Four pictures of noise, in place of your own data."""

    def __init__(self) -> None:
        """Draw them."""
        pictures = rng.normal(size=(4, 1, 3, SIZE, SIZE)).astype(np.float32)
        self.pictures: Iterator[Any] = iter(pictures)

    def get_next(self) -> dict[str, Any] | None:
        """Return the next one."""
        picture = next(self.pictures, None)
        return None if picture is None else {"image": picture}


path = folder / "small.onnx"
quantize_static(float_model, path, Noise(), per_channel=True)
print(f"{path.name}: {path.stat().st_size / 1e3:.0f} kB")

# %%
# Import and compile
# ------------------
# The importer keeps groups of DequantizeLinear, an operator and QuantizeLinear. ``build`` turns
# each group into one integer operator, under ONNX Runtime's own conditions.

mod, params = qnn.from_onnx(path)
lib = qnn.build(mod, target="host", params=params)
image = rng.normal(size=(1, 3, SIZE, SIZE)).astype(np.float32)
print("scores:", np.round(lib.run(image), 3))

# %%
# Is it right?
# ------------
# ``onnxruntime_tensors`` runs ONNX Runtime with the setting that makes it compute int8 in integers,
# and returns every tensor that the model quantizes. With ``outputs="all"`` the library returns the
# same tensors.

everything, params = qnn.from_onnx(path, outputs="all")
found = qnn.build(everything, target="host", params=params).run(image)
wanted = onnxruntime_tensors(path, [image])
for name, array in wanted.items():
    np.testing.assert_array_equal(found[name], array, err_msg=name)
print(f"{len(wanted)} tensors equal, {sum(array.size for array in wanted.values()):,} elements")

# %%
# How fast is it?
# ---------------
# Each program has one thread on one core; they run in turn. ONNX Runtime runs the same file twice:
# with its defaults, and in the integers that were just compared.


def runtime(**settings: str) -> Any:
    """Return a function that runs the model on ONNX Runtime."""
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1
    for name, value in settings.items():
        options.add_session_config_entry(f"session.{name}", value)
    session = onnxruntime.InferenceSession(path, options, providers=["CPUExecutionProvider"])
    return lambda: session.run(None, {"image": image})


with one_core():
    timings = alternate(
        {
            "tvm-qnn": lib.prepare(image),
            "ONNX Runtime": runtime(),
            "ONNX Runtime, all in integers": runtime(qdqisint8allowed="1"),
        },
        rounds=20,
    )
ours = timings["tvm-qnn"].median
for name, timing in timings.items():
    print(f"{name}: {1e3 * timing.median:.2f} ms, {timing.median / ours:.1f} times tvm-qnn's")

figure, axes = plt.subplots(figsize=(7, 2.2), layout="constrained")
axes.barh(list(timings), [1e3 * timing.median for timing in timings.values()])
axes.invert_yaxis()
axes.set_xlabel("milliseconds a run")
plt.show()
