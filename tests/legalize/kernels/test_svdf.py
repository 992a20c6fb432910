import numpy as np

from qnn_ops import quantized_svdf, quantized_svdf_state
from tests.support.arrays import full_range
from tests.support.kernels import Call, Place, check_calls, each_register, kernels_of, lowered

# batch, units, rank, steps: rows shorter than a vector, of several, and of odd lengths.
SHAPES = [
    (1, 64, 1, 8),
    (2, 33, 2, 5),
    (1, 5, 1, 40),
    (3, 7, 3, 11),
    (1, 17, 1, 1),
    (1, 2, 4, 2),
]


def weighed(shape: tuple[int, ...], dtype: str, seed: int) -> Call:
    batch, units, rank, steps = shape
    rng, filters = np.random.default_rng(seed), units * rank
    # Sums of int16 are larger than int32, and wrap.
    operands = [full_range(rng, dtype, (batch, filters * steps))]
    weights = full_range(rng, dtype, (filters, steps))
    bias = full_range(rng, "int32", (units,)) if seed % 2 else None
    attrs = {
        "rank": rank,
        "state_scale": 0.5,
        "state_zero_point": 0 if dtype == "int16" else -7,
        "weights_scale": 1 / 64,
        "output_scale": float(np.exp2(rng.uniform(*((14, 20) if bias is not None else (1, 9))))),
        "output_zero_point": int(full_range(rng, "int8", ())),
    }
    return Call(quantized_svdf, [*operands, weights, bias], attrs)


def remembered(shape: tuple[int, ...], dtype: str, seed: int) -> Call:
    batch, units, rank, steps = shape
    rng, filters = np.random.default_rng(seed), units * rank
    sums = np.where(
        rng.random((batch, filters)) < 0.2,
        full_range(rng, "int32", (batch, filters)),
        rng.integers(-90_000, 90_000, (batch, filters)),
    )
    operands = [sums.astype(np.int32), full_range(rng, dtype, (batch, filters * steps))]
    attrs = {
        "input_scale": 0.5,
        "weights_scale": 0.25,
        "state_scale": float(rng.choice([0.03, 0.3])) * (1 if dtype == "int16" else 900),
        "state_zero_point": 0 if dtype == "int16" else 9,
    }
    return Call(quantized_svdf_state, operands, attrs)


@each_register
def test_states_and_results_are_the_references(place: Place) -> None:
    calls = []
    for seed, shape in enumerate(SHAPES):
        for dtype in ("int16", "int8"):
            calls.append(remembered(shape, dtype, seed))
            calls.append(weighed(shape, dtype, seed))
    check_calls(place, calls, constants=("weights_time", "bias"))


def test_what_is_smaller_than_a_vector_or_varies_is_left_to_the_primitives() -> None:
    target = {"kind": "llvm", "mcpu": "haswell"}
    assert not kernels_of(lowered(weighed((1, 3, 1, 2), "int16", 0), target, ("weights_time",)))
    call = weighed((1, 16, 1, 8), "int16", 1)
    assert not kernels_of(lowered(call, target))
    assert not kernels_of(lowered(call, target, ("weights_time",)))
    assert kernels_of(lowered(call, target, ("weights_time", "bias")))
