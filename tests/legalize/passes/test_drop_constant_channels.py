from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import tvm
from tvm import relax

from frontends.tflite import from_tflite
from frontends.tflite.quantization import Quantization
from frontends.tflite.reader import read_model
from frontends.tflite.writer import ModelWriter
from legalize.passes.channels_last import ChannelsLast
from legalize.passes.drop_constant_channels import DropConstantChannels
from legalize.passes.live_channels import layer_of
from qnn_ops import quantized_dense
from qnn_ops.dialect.registry import constant_of, operator_of
from tests.support.arrays import full_range
from tests.support.modules import calls_of, module
from tests.support.operators import run
from tvm_qnn import build
from tvm_qnn.oracle import litert_tensors

_SIZE = 6
LOW = (1, 4, 5, 9, 12)  # of 16 channels: with one of these, there are 12


class Network:
    """A convolution some of whose channels are constant, and layers that read it."""

    def __init__(self, kind: str = "RELU") -> None:
        self.rng, self.writer, self.kind = np.random.default_rng(1), ModelWriter(), kind
        self.count = 0

    def tensor(self, *shape: int) -> int:
        self.count += 1
        encoding = Quantization.per_tensor(0.05, -128)
        return self.writer.tensor(f"t{self.count}", shape, "int8", encoding)

    def layer(
        self, code: str, data: int, weights: tuple[int, ...], out: tuple[int, ...], **options: Any
    ) -> int:
        """Add a layer; some channels have biases so low that their outputs are the lowest."""
        channels = out[-1]
        axis = 3 if code.startswith("DEPTH") else 0
        scales = np.linspace(0.001, 0.002, channels)
        kernel = full_range(self.rng, "int8", weights)
        bias = self.rng.integers(-100, 100, channels)
        bias[[c for c in LOW if c < channels]] = -(10**7)
        self.count += 1
        name = str(self.count)
        points = np.zeros(channels, np.int64)
        per_axis = Quantization(scales.astype(np.float32), points, axis)
        biases = Quantization((scales * 0.05).astype(np.float32), points, 0)
        operands = [
            data,
            self.writer.tensor(f"w{name}", weights, "int8", per_axis, kernel),
            self.writer.tensor(f"b{name}", (channels,), "int32", biases, bias.astype(np.int32)),
        ]
        into = self.tensor(*out)
        if code != "FULLY_CONNECTED":
            options = {"stride_h": 1, "stride_w": 1, "padding": "SAME", **options}
        self.writer.operator(code, operands, [into], fused_activation_function=self.kind, **options)
        return into

    def content(self, reader: str) -> bytes:
        n = _SIZE
        x = self.tensor(1, n, n, 3)
        conv = self.layer("CONV_2D", x, (16, 3, 3, 3), (1, n, n, 16))
        out = [conv]
        if reader == "conv":
            out = [self.layer("CONV_2D", conv, (7, 3, 3, 16), (1, n, n, 7))]
        elif reader == "depthwise":
            middle = self.layer(
                "DEPTHWISE_CONV_2D", conv, (1, 3, 3, 16), (1, n, n, 16), depth_multiplier=1
            )
            out = [self.layer("CONV_2D", middle, (7, 1, 1, 16), (1, n, n, 7))]
        elif reader == "pool":
            pooled = self.tensor(1, 1, 1, 16)
            window = {"filter_height": n, "filter_width": n, "stride_h": 1, "stride_w": 1}
            self.writer.operator("AVERAGE_POOL_2D", [conv], [pooled], padding="VALID", **window)
            self.count += 1
            shape = np.array([1, 16], np.int32)
            to = self.writer.tensor(f"s{self.count}", (2,), "int32", None, shape)
            flat = self.tensor(1, 16)
            self.writer.operator("RESHAPE", [pooled, to], [flat], new_shape=[1, 16])
            out = [self.layer("FULLY_CONNECTED", flat, (7, 16), (1, 7))]
        elif reader == "both":
            out = [conv, self.layer("CONV_2D", conv, (7, 3, 3, 16), (1, n, n, 7))]
        return self.writer.finish([x], out)


def weights_of(content: bytes) -> list[tuple[int, ...]]:
    """Return the shapes of the weights that are left."""
    mod, params = from_tflite(content)
    mod = relax.transform.BindParams("main", dict(params))(mod)
    mod = tvm.transform.Sequential([ChannelsLast(), DropConstantChannels()])(mod)
    shapes = []
    for call in calls_of(mod):
        if operator_of(call) is not None and len(call.args) > 1:
            weights = constant_of(call.args[1])
            assert weights is not None
            shapes.append(tuple(sorted(weights.shape)))
    return shapes


def check(content: bytes, target: str = "llvm") -> None:
    mod, params = from_tflite(content)
    library = build(mod, target, params)
    (info,) = library.inputs
    rng = np.random.default_rng(2)
    for how in range(3):
        array = full_range(rng, info.dtype, info.shape)
        if how:
            array[:] = (-128, 127)[how - 1]
        expected = litert_tensors(content, [array])
        result: Any = library.run(array)
        results = list(result.values()) if isinstance(result, dict) else [result]
        for index, one in zip(read_model(content).outputs, results, strict=True):
            np.testing.assert_array_equal(one, expected[index])


@pytest.mark.parametrize(
    ("reader", "shapes"),
    [
        ("conv", [(3, 3, 3, 12), (3, 3, 12, 7)]),
        ("depthwise", [(3, 3, 3, 12), (1, 3, 3, 12), (1, 1, 12, 7)]),
        ("pool", [(3, 3, 3, 12), (12, 7)]),
        ("both", [(3, 3, 3, 16), (3, 3, 7, 16)]),
    ],
)
def test_channels_that_no_input_changes_are_left_out(
    reader: str, shapes: list[tuple[int, ...]]
) -> None:
    content = Network().content(reader)
    # A reader of a tensor that is an output, too, may still do without its constants.
    found = weights_of(content)
    if reader == "both":
        assert found[0] == shapes[0]
    else:
        assert found == [tuple(sorted(shape)) for shape in shapes]
    check(content)


def test_a_constant_beside_padding_of_another_value_stays() -> None:
    # Without an activation the lowest value is not the value of padding.
    class Middle(Network):
        def tensor(self, *shape: int) -> int:
            self.count += 1
            encoding = Quantization.per_tensor(0.05, 4)
            return self.writer.tensor(f"t{self.count}", shape, "int8", encoding)

    content = Middle("NONE").content("conv")
    assert weights_of(content) == [(3, 3, 3, 16), (3, 3, 7, 16)]
    check(content)
    # Nor does one that a window without padding reads.
    content = Middle("NONE").content("pool")
    assert weights_of(content) == [(3, 3, 3, 12), (7, 12)]
    check(content)


def test_what_reads_a_tensor_as_another_type_needs_all_of_it() -> None:
    mod, params = from_tflite(Network().content("conv"))
    mod = tvm.transform.Sequential(
        [relax.transform.BindParams("main", dict(params)), ChannelsLast()]
    )(mod)
    first = mod["main"].body.blocks[0].bindings[0].value

    def body(x: relax.Expr) -> relax.Call:
        builder = relax.BlockBuilder.current()
        conv = builder.emit(relax.Call(first.op, [x, *first.args[1:]], first.attrs))
        seen = builder.match_cast(conv, relax.TensorType((1, _SIZE, _SIZE, 16), "int8"))
        return relax.op.nn.relu(seen)

    before = module({"x": mod["main"].params[0].ty}, body)
    tvm.ir.assert_structural_equal(DropConstantChannels()(before), before)


def test_layers_without_weights_stay() -> None:
    empty = relax.const(np.zeros((0, 4), np.int8), "int8")
    inputs = {"x": relax.TensorType((2, 4), "int8")}
    before = module(inputs, lambda x: quantized_dense(x, empty, 0.5, 0, 0.5, 0, 0.5, 0, "int8"))
    tvm.ir.assert_structural_equal(DropConstantChannels()(before), before)


def test_ends_follow_from_each_channel_of_the_data() -> None:
    ranges = [range(-3, 3), range(5, 6), range(-128, -120), range(90, 94)]
    data = np.array([*product(*ranges)], np.int8)
    weights = relax.const(full_range(np.random.default_rng(3), "int8", (6, len(ranges))), "int8")
    mod = module(
        {"x": relax.TensorType(data.shape, "int8")},
        lambda x: quantized_dense(x, weights, 0.05, 7, 0.004, 0, 0.05, -9, "int8"),
    )
    layer = layer_of(mod["main"].body.blocks[0].bindings[0].value)
    assert layer is not None
    low, high = np.array([(each[0], each[-1]) for each in ranges]).T
    found, values = layer.ends((low, high)), run(mod, [data], "llvm")
    np.testing.assert_array_equal(found, (values.min(axis=0), values.max(axis=0)))


def test_a_real_network_loses_most_of_its_weights(shared: Path) -> None:
    content = (shared / "models" / "tflite" / "vww_i8.tflite").read_bytes()
    sizes = [int(np.prod(shape)) for shape in weights_of(content)]
    assert sum(sizes) < 0.2 * 208_112
