"""Running the x86 kernels' epilogues by themselves."""

import numpy as np
from tvm.script.ir_builder import IRBuilder
from tvm.script.ir_builder import tirx as T

from legalize.kernels.conv2d.spec import ConvSpec
from legalize.kernels.conv2d.x86.epilogue.base import Chosen, Epilogue, Scales
from tests.support.definition import rescaled
from tests.support.x86 import run

CHANNELS = 64
LANES = np.arange(CHANNELS).reshape(-1, 16)


def check_epilogue(kind: type[Epilogue], spec: ConvSpec, scales: Scales, x: np.ndarray) -> None:
    """Check an epilogue's outputs for accumulators, int32 [CHANNELS, n], on AVX512."""
    chosen = kind.choose(spec.output, scales, LANES)
    assert chosen is not None
    expected = rescaled(spec, x.T, scales.multiplier, scales.shift)
    got = np.clip(_rescale(chosen, x), spec.output.low, spec.output.high).T
    np.testing.assert_array_equal(got, expected)


def offered(
    kind: type[Epilogue],
    spec: ConvSpec,
    rng: np.random.Generator,
    shifts: tuple[int, int],
    bound: int,
    factor: int = 1,
) -> tuple[Scales, float]:
    """Return scales of channels that an epilogue serves, and their share in random ones.

    One channel has multiplier 0.
    """
    multiplier = rng.integers(1 << 30, 1 << 31, 8 * CHANNELS, dtype=np.int64).astype(np.int32)
    multiplier[0] = 0
    shift = rng.integers(*shifts, len(multiplier), endpoint=True).astype(np.int32)

    def scales_of(channels: np.ndarray) -> Scales:
        own = np.resize(channels, CHANNELS)
        bias = np.zeros(CHANNELS, np.int32)
        return Scales(multiplier[own], shift[own], bias, bound, factor=factor)

    served = [
        channel
        for channel in range(len(multiplier))
        if kind.choose(spec.output, scales_of(np.array([channel])), LANES) is not None
    ]
    return scales_of(np.array(served or [0])), len(served) / len(multiplier)


def accumulators(spec: ConvSpec, scales: Scales, rng: np.random.Generator) -> np.ndarray:
    """Return accumulators around every step of the outputs, and elsewhere: int32 [CHANNELS, n]."""
    bound = scales.bound
    outputs = np.arange(-131, 132) - spec.output.zero_point + 0.5
    scale = np.maximum(scales.multiplier, 1) * 2.0 ** (scales.shift - 31.0)
    steps = np.rint(outputs / scale[:, None]).clip(-bound + 2, bound - 2).astype(np.int64)
    near = [steps + i for i in range(-2, 3)]
    far = rng.integers(-bound, bound, (CHANNELS, 100), endpoint=True)
    ends = np.broadcast_to(np.array([-bound, -1, 0, 1, bound]), (CHANNELS, 5))
    return np.concatenate([*near, far, ends], axis=1)


def _rescale(chosen: Chosen, x: np.ndarray) -> np.ndarray:
    """Run the sequence on x, int32 [CHANNELS, n], a factor too large where it wants that."""
    vectors, count = CHANNELS // 16, x.shape[1]
    shape = (vectors, count, 16)
    rows = [(str(array.dtype), array.shape[1]) for array in chosen.arrays]
    with IRBuilder() as builder, T.prim_func(s_tir=True):
        T.func_name("rescale")
        T.func_attr({"global_symbol": "rescale"})
        data = T.arg("data", T.buffer(shape, "int32"))
        tables = [
            T.arg(f"c{i}", T.buffer((vectors, number, 16), dtype))
            for i, (dtype, number) in enumerate(rows)
        ]
        output = T.arg("output", T.buffer(shape, "int32"))
        with T.serial(vectors) as v, T.serial(count) as i:
            readers = [lambda row, t=table: t[v, row, T.ramp(0, 1, 16)] for table in tables]
            value = chosen.epilogue.emit(data[v, i, T.ramp(0, 1, 16)], readers)
            T.buffer_store(output, value, [v, i, T.ramp(0, 1, 16)])
    offset = np.broadcast_to(chosen.offset, CHANNELS)
    factor = chosen.epilogue.factor
    moved = (factor * (x + offset[:, None].astype(np.int64))).astype(np.int32)
    dealt = moved.reshape(vectors, 16, count).transpose(0, 2, 1)
    result = run(builder.get(), [dealt, *chosen.arrays], shape, "int32")
    left = chosen.epilogue.zero_point_left
    return result.transpose(0, 2, 1).reshape(CHANNELS, count) + left
