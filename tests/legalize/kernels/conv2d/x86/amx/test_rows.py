"""Dense layers of open rows in tiles."""

from typing import Any

import numpy as np
import pytest
import tvm
from tvm import relax, tirx

import tvm_qnn
from legalize import lower, relax_pipeline
from qnn_ops import quantized_dense
from qnn_ops.arrays import Array
from tests.support.encodings import encodings
from tests.support.modules import module
from tests.support.tiles import use_soft_tiles
from tests.support.x86 import TARGET, host_has, needs_native_vnni
from tvm_qnn.target.target import parse_target

RNG = np.random.default_rng(3)
ATTRS = encodings(input=(0.5, 7), kernel=(0.0078125, 0), output=(20.0, 3), out_dtype="uint8")
SAPPHIRE_RAPIDS = parse_target("llvm -mcpu=sapphirerapids")


class Layer:
    """A layer with random weights.

    Attributes:
        depth: the values of a row.
    """

    def __init__(self, depth: int, units: int) -> None:
        self.depth = depth
        self._kernel = RNG.integers(-128, 128, (units, depth)).astype(np.int8)
        self._bias = RNG.integers(-9000, 9000, units).astype(np.int32)

    def module(self, rows: Any) -> tvm.IRModule:
        def body(x: relax.Expr) -> relax.Expr:
            kernel, bias = relax.const(self._kernel), relax.const(self._bias)
            return quantized_dense(x, kernel, bias=bias, **ATTRS)

        return module({"x": relax.TensorType((rows, self.depth), "uint8")}, body)

    def evaluate(self, data: Array) -> Array:
        return quantized_dense.evaluate(data, self._kernel, bias=self._bias, **ATTRS)


def open_rows() -> tirx.Var:
    return tirx.Var("rows", "int64")


def test_a_large_layer_takes_tiles_and_a_small_one_vectors() -> None:
    assert "tdpbusd" in lower(Layer(768, 768).module(open_rows()), SAPPHIRE_RAPIDS).script()
    assert "tdpbusd" not in lower(Layer(16, 8).module(open_rows()), SAPPHIRE_RAPIDS).script()


def test_other_processors_take_vectors() -> None:
    text = lower(Layer(768, 768).module(open_rows()), parse_target("llvm -mcpu=cascadelake"))
    assert "tdpbusd" not in text.script()


@needs_native_vnni
def test_rows_in_emulated_tiles_are_the_reference(monkeypatch: pytest.MonkeyPatch) -> None:
    use_soft_tiles(monkeypatch)
    layer, vectors = Layer(512, 203), parse_target(TARGET)
    tiles = parse_target({**TARGET, "mattr": ["+amx-int8", "+amx-tile"]})
    lowered = lower(layer.module(open_rows()), tiles)
    assert "soft_tdpbusd" in lowered.script()
    library = tvm.compile(lowered, target=vectors, relax_pipeline=relax_pipeline(vectors))
    run = relax.VirtualMachine(library, tvm.cpu())["main"]
    for rows in (1, 3, 4, 5, 16, 17, 40):
        data = RNG.integers(0, 256, (rows, layer.depth), np.uint8)
        found = run(tvm.runtime.tensor(data)).numpy()
        np.testing.assert_array_equal(found, layer.evaluate(data))


@pytest.mark.skipif(not host_has("amx_int8", "amx_tile"), reason="the processor has no AMX")
@pytest.mark.parametrize(("depth", "units"), [(64, 1024), (768, 336), (1000, 200), (512, 1003)])
def test_any_number_of_rows_is_the_reference(depth: int, units: int) -> None:
    layer = Layer(depth, units)
    mod = layer.module(open_rows())
    assert "tdpbusd" in lower(mod, SAPPHIRE_RAPIDS).script()
    for threads in (1, 2):
        library = tvm_qnn.build(mod, "host", num_threads=threads)
        for rows in (*range(1, 18), 31, 33, 240, 1001):
            data = RNG.integers(0, 256, (rows, depth), np.uint8)
            np.testing.assert_array_equal(library.run(data), layer.evaluate(data))
