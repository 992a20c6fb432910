"""Random calls of Relay's quantized operators, for whichever Relay is there.

The module imports nothing of this project: a Python that has TVM's Relay runs it as a program,
``calls.py FIRST COUNT FILE.npz``, and so writes what Relay computes for the seeds from FIRST on.
"""

import sys
from collections.abc import Iterable
from typing import Any

import numpy as np

_UNARY = ("sigmoid", "tanh", "hardswish", "exp", "log", "sqrt", "rsqrt", "abs")
_NARROW = ("int8", "uint8")


class Draw:
    """What one seed draws."""

    def __init__(self, relay: Any, seed: int) -> None:
        """Draw for a Relay; RandomState's numbers are the same in every version of numpy."""
        self.relay, self.state = relay, np.random.RandomState(seed)
        self.inputs: list[Any] = []
        self.exact: Any = None  # the real numbers that an approximation is of

    def choice(self, *values: Any) -> Any:
        """Choose one of some values."""
        return values[self.state.randint(len(values))]

    def array(self, dtype: str, shape: tuple[int, ...]) -> Any:
        """Return integers of a dtype; int32 ones as sums of products are."""
        info = np.iinfo(dtype)
        low, high = (info.min, info.max) if dtype in _NARROW else (-30000, 30000)
        return self.state.randint(low, high + 1, shape).astype(dtype)

    def input(self, array: Any) -> Any:
        """Return a variable whose value is an array."""
        name = f"x{len(self.inputs)}"
        self.inputs.append(array)
        return self.relay.var(name, shape=array.shape, dtype=str(array.dtype))

    def scale(self, channels: int | None = None) -> Any:
        """Return one scale, or one for each channel."""
        values = np.exp(self.state.uniform(-4, 0, channels)).astype("float32")
        return self.relay.const(values if channels else float(values), "float32")

    def point(self, dtype: str, channels: int | None = None) -> Any:
        """Return one zero point, or one for each channel."""
        low, high = (-100, 100) if dtype != "uint8" else (0, 200)
        values = self.state.randint(low, high, channels)
        values = values * (self.state.randint(4) > 0)
        return self.relay.const(np.asarray(values, "int32"), "int32")

    def quantization(self, dtype: str, channels: int | None = None) -> tuple[Any, Any]:
        """Return scale and zero point."""
        return self.scale(channels), self.point(dtype, channels)


def _channels(draw: Draw, shape: tuple[int, ...], axis: int) -> int | None:
    return draw.choice(None, None, shape[axis])


def _shape(draw: Draw) -> tuple[int, ...]:
    return tuple(draw.state.randint(1, 6, draw.choice(1, 2, 3, 4)))


def quantize(draw: Draw) -> Any:
    shape, dtype = _shape(draw), draw.choice("int8", "uint8", "int16", "uint16", "int32")
    axis = draw.state.randint(len(shape))
    data = draw.input((draw.state.normal(0, 40, shape)).astype("float32"))
    quantization = draw.quantization(dtype, _channels(draw, shape, axis))
    return draw.relay.qnn.op.quantize(data, *quantization, axis=axis, out_dtype=dtype)


def dequantize(draw: Draw) -> Any:
    shape, dtype = _shape(draw), draw.choice("int8", "uint8", "int16", "int32")
    axis = draw.state.randint(len(shape))
    data = draw.input(draw.array(dtype, shape))
    quantization = draw.quantization(dtype, _channels(draw, shape, axis))
    out = draw.choice("float32", "float32", "float16")
    return draw.relay.qnn.op.dequantize(data, *quantization, axis=axis, out_dtype=out)


def requantize(draw: Draw) -> Any:
    shape = _shape(draw)
    dtype, out = (
        draw.choice("int8", "uint8", "int16", "int32"),
        draw.choice("int8", "uint8", "int32"),
    )
    axis = draw.state.randint(len(shape))
    have, want = draw.quantization(dtype, _channels(draw, shape, axis)), draw.quantization(out)
    rounding = draw.choice("None", "UPWARD", "TONEAREST")
    compute = draw.choice("None", "int64", "float32", "float64")
    settings = {"axis": axis, "rounding": rounding, "compute_dtype": compute, "out_dtype": out}
    data = draw.input(draw.array(dtype, shape))
    return draw.relay.qnn.op.requantize(data, *have, *want, **settings)


def binary(draw: Draw) -> Any:
    name, dtype = draw.choice("add", "subtract", "mul"), draw.choice(*_NARROW)
    shape = _shape(draw)
    axis = draw.state.randint(len(shape))
    channels = _channels(draw, shape, axis)
    operands = [draw.input(draw.array(dtype, shape)) for _ in range(2)]
    quantization = [*draw.quantization(dtype, channels), *draw.quantization(dtype, channels)]
    quantization += draw.quantization(dtype)
    axes = {"lhs_axis": axis, "rhs_axis": axis}
    return getattr(draw.relay.qnn.op, name)(*operands, *quantization, **axes)


def concatenate(draw: Draw) -> Any:
    dtype, shape, axis = draw.choice(*_NARROW), (2, 3, 4), draw.state.randint(3)
    count = draw.choice(2, 3)
    parts = [draw.input(draw.array(dtype, shape)) for _ in range(count)]
    pairs = [draw.quantization(dtype) for _ in parts]
    scales, points = ([pair[i] for pair in pairs] for i in (0, 1))
    want = draw.choice((scales[0], points[0]), draw.quantization(dtype))
    op = draw.relay.qnn.op.concatenate
    return op(
        draw.relay.Tuple(parts),
        draw.relay.Tuple(scales),
        draw.relay.Tuple(points),
        *want,
        axis=axis,
    )


def conv2d(draw: Draw) -> Any:
    groups, layout = draw.choice((1, 4), (2, 4), (4, 4)), draw.choice("NCHW", "NHWC")
    count, channels = groups
    outputs, size = 4 * draw.choice(1, 2), draw.choice(1, 3)
    data_dtype, kernel_dtype = draw.choice(*_NARROW), draw.choice(*_NARROW)
    if count == channels:
        outputs = 4
    data = draw.array(data_dtype, (1, channels, 7, 6))
    kernel = draw.array(kernel_dtype, (outputs, channels // count, size, size))
    kernel_layout = "OIHW"
    if layout == "NHWC":
        data = np.ascontiguousarray(data.transpose(0, 2, 3, 1))
        kernel_layout = "HWOI" if count == channels else "HWIO"
        order = (2, 3, 0, 1) if count == channels else (2, 3, 1, 0)
        kernel = np.ascontiguousarray(kernel.transpose(order))
    strides, dilation = draw.choice((1, 1), (2, 1)), draw.choice((1, 1), (2, 2))
    padding = draw.choice((0, 0), (1, 1), (1, 0, 2, 1))
    return draw.relay.qnn.op.conv2d(
        draw.input(data),
        draw.relay.const(kernel),
        draw.point(data_dtype),
        draw.point(kernel_dtype),
        draw.scale(),
        draw.scale(draw.choice(None, outputs)),
        kernel_size=(size, size),
        channels=outputs,
        strides=strides,
        padding=padding,
        dilation=dilation,
        groups=count,
        data_layout=layout,
        kernel_layout=kernel_layout,
    )


def conv2d_transpose(draw: Draw) -> Any:
    size, dtypes = draw.choice(1, 2, 3), (draw.choice(*_NARROW), draw.choice(*_NARROW))
    data, kernel = draw.array(dtypes[0], (1, 3, 5, 4)), draw.array(dtypes[1], (3, 2, size, size))
    return draw.relay.qnn.op.conv2d_transpose(
        draw.input(data),
        draw.relay.const(kernel),
        draw.point(dtypes[0]),
        draw.point(dtypes[1]),
        draw.scale(),
        draw.scale(),
        kernel_size=(size, size),
        channels=2,
        strides=draw.choice((1, 1), (2, 2)),
        padding=draw.choice((0, 0), (1, 1)) if size > 1 else (0, 0),
    )


def dense(draw: Draw) -> Any:
    dtypes = draw.choice(*_NARROW), draw.choice(*_NARROW)
    data, weight = draw.array(dtypes[0], (3, 20)), draw.array(dtypes[1], (5, 20))
    points = draw.point(dtypes[0]), draw.point(dtypes[1])
    scales = draw.scale(), draw.scale(draw.choice(None, 5))
    return draw.relay.qnn.op.dense(
        draw.input(data), draw.relay.const(weight), *points, *scales, units=5
    )


def batch_matmul(draw: Draw) -> Any:
    dtypes = draw.choice(*_NARROW), draw.choice(*_NARROW)
    operands = [draw.input(draw.array(dtypes[0], (2, 3, 9)))]
    operands.append(draw.input(draw.array(dtypes[1], (2, 4, 9))))
    points = draw.point(dtypes[0]), draw.point(dtypes[1])
    return draw.relay.qnn.op.batch_matmul(*operands, *points, draw.scale(), draw.scale())


def unary(draw: Draw) -> Any:
    name, dtype = draw.choice(*_UNARY), draw.choice(*_NARROW)
    data = draw.input(np.arange(256, dtype="uint8").view(dtype))
    have, want = draw.quantization(dtype), draw.quantization(dtype)
    if name in ("log", "sqrt", "rsqrt"):  # numbers above 0 alone
        have = have[0], draw.relay.const(-129 if dtype == "int8" else -1, "int32")
    return getattr(draw.relay.qnn.op, name)(data, *have, *want)


def leaky_relu(draw: Draw) -> Any:
    dtype = draw.choice(*_NARROW)
    data = draw.input(np.arange(256, dtype="uint8").view(dtype))
    have, want = draw.quantization(dtype), draw.quantization(dtype)
    return draw.relay.qnn.op.leaky_relu(data, float(draw.state.uniform(0.01, 0.9)), *have, *want)


def avg_pool2d(draw: Draw) -> Any:
    dtype = draw.choice(*_NARROW)
    data = draw.input(draw.array(dtype, (1, 6, 5, 3)))
    have = draw.quantization(dtype)
    want = draw.choice(have, draw.quantization(dtype))
    window = {"pool_size": (2, 3), "strides": draw.choice((1, 1), (2, 2)), "padding": (0, 0)}
    return draw.relay.qnn.op.avg_pool2d(data, *have, *want, dilation=(1, 1), **window)


def softmax(draw: Draw) -> Any:
    data = draw.array("int8", (4, draw.state.randint(2, 20)))
    scale = float(np.float32(draw.state.uniform(0.01, 0.2)))
    point = int(draw.state.randint(-20, 20))
    real = np.exp((data.astype("float64") - point) * scale)
    # In steps of 1 / 256 from -128.
    draw.exact = 256 * real / real.sum(axis=-1, keepdims=True) - 128
    quantization = map(draw.relay.const, (scale, point, 1 / 256, -128))
    return draw.relay.qnn.op.softmax(draw.input(data), *quantization, axis=-1)


KINDS = (
    quantize, dequantize, requantize, binary, concatenate, conv2d, conv2d_transpose, dense,
    batch_matmul, unary, leaky_relu, avg_pool2d, softmax,
)  # fmt: skip
"""The functions that draw a call; a seed has the kind of its remainder."""


def results(tvm: Any, relay: Any, seeds: Iterable[int]) -> dict[str, Any]:
    """Return a Relay's results, or its errors' texts, by seed."""
    found = {}
    for seed in seeds:
        draw = Draw(relay, seed)
        try:
            expr = KINDS[seed % len(KINDS)](draw)
            names = [f"x{i}" for i in range(len(draw.inputs))]
            free = {str(each.name_hint): each for each in relay.analysis.free_vars(expr)}
            function = relay.Function([free[name] for name in names], expr)
            mod = tvm.IRModule.from_expr(function)
            executor = relay.create_executor("graph", mod, tvm.cpu(0), "llvm")
            found[str(seed)] = executor.evaluate()(*draw.inputs).numpy()
            if draw.exact is not None:
                found[f"{seed}.exact"] = draw.exact
        except Exception as error:  # its text is the result
            found[str(seed)] = np.array(f"{type(error).__name__}: {error}"[:400])
    return found


if __name__ == "__main__":
    import tvm
    from tvm import relay

    first, count = map(int, sys.argv[1:3])
    np.savez(sys.argv[3], **results(tvm, relay, range(first, first + count)))
