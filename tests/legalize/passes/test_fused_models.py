"""Networks whose operators become parts of others' kernels, against LiteRT."""

import numpy as np
import pytest
import tvm
from tvm import relax

from frontends.tflite import from_tflite
from frontends.tflite.quantization import Quantization
from frontends.tflite.writer import ModelWriter
from legalize import lower, relax_pipeline
from tests.support.arrays import full_range
from tests.support.tiles import use_soft_tiles, use_tiles_always
from tests.support.x86 import TARGET, needs_native_vnni
from tvm_qnn import build
from tvm_qnn.oracle import litert_tensors

CHANNELS = 24
PIXELS = (1, 7, 9)
VNNI = tvm.target.Target(TARGET)


class Network:
    """A residual block and an inception block."""

    def __init__(self, dtype: str, channels: int = CHANNELS) -> None:
        self.dtype = dtype
        self.channels = channels
        self.rng = np.random.default_rng(5)
        self.zero_point = 3 if dtype == "int8" else 131
        self.writer = ModelWriter()
        self.count = 0

    def tensor(self, channels: int, scale: float) -> int:
        self.count += 1
        quantization = Quantization.per_tensor(scale, self.zero_point)
        return self.writer.tensor(f"t{self.count}", (*PIXELS, channels), self.dtype, quantization)

    def conv(self, data: int, into: int, size: int, scale: float, channels: int) -> int:
        self.count += 1
        kernel = full_range(self.rng, self.dtype, (channels, size, size, self.channels))
        steps = Quantization.per_tensor(0.004, 0 if self.dtype == "int8" else 120)
        bias = self.rng.integers(-3000, 3000, channels).astype(np.int32)
        total = Quantization.per_tensor(0.004 * scale, 0)
        name = f"w{self.count}"
        weights = self.writer.tensor(name, kernel.shape, self.dtype, steps, kernel)
        biases = self.writer.tensor(f"b{self.count}", bias.shape, "int32", total, bias)
        self.writer.operator(
            "CONV_2D", [data, weights, biases], [into], padding="SAME", stride_h=1, stride_w=1
        )
        return into

    def content(self) -> bytes:
        channels = self.channels
        x = self.tensor(channels, 0.5)
        y = self.conv(x, self.tensor(channels, 9.5), 3, 0.5, channels)
        total = self.tensor(channels, 8.0)
        self.writer.operator("ADD", [y, x], [total], fused_activation_function="RELU")
        parts = [
            self.conv(total, self.tensor(count, 8.0), size, 8.0, count)
            for count, size in ((40, 1), (9, 3), (16, 1))
        ]
        joined = self.tensor(40 + 9 + 16, 8.0)
        self.writer.operator("CONCATENATION", parts, [joined], axis=3)
        return self.writer.finish([x], [joined])


@pytest.mark.parametrize("dtype", ["int8", "uint8"])
def test_a_network_equals_litert(dtype: str) -> None:
    content = Network(dtype).content()
    mod, params = from_tflite(content)
    library = build(mod, "host", params)
    data = full_range(np.random.default_rng(1), dtype, (*PIXELS, CHANNELS))
    expected = list(litert_tensors(content, [data]).values())[-1]
    assert np.unique(expected).size > 150
    np.testing.assert_array_equal(library.run(data), expected)


@needs_native_vnni
@pytest.mark.parametrize(("dtype", "channels"), [("int8", 24), ("uint8", 64), ("int8", 80)])
def test_a_network_in_emulated_tiles_equals_litert(
    dtype: str, channels: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    use_soft_tiles(monkeypatch)
    use_tiles_always(monkeypatch)
    content = Network(dtype, channels).content()
    mod, params = from_tflite(content)
    mod = relax.transform.BindParams("main", params)(mod)
    with_tiles = tvm.target.Target({**TARGET, "mattr": ["+amx-int8", "+amx-tile"]})
    lowered = lower(mod, with_tiles)
    assert lowered.script().count("soft_ldtilecfg") == 4
    assert "soft_tdpbusd" in lowered.script()
    library = tvm.compile(lowered, target=VNNI, relax_pipeline=relax_pipeline(VNNI))
    data = full_range(np.random.default_rng(1), dtype, (*PIXELS, channels))
    found = relax.VirtualMachine(library, tvm.cpu())["main"](tvm.runtime.tensor(data)).numpy()
    expected = list(litert_tensors(content, [data]).values())[-1]
    assert np.unique(expected).size > 150
    np.testing.assert_array_equal(found, expected)
