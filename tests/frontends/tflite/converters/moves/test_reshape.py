"""RESHAPE and other operators that move data, and ARG_MAX."""

from dataclasses import replace

import numpy as np
import pytest

from frontends.tflite import from_tflite
from frontends.tflite.quantization import Quantization
from frontends.tflite.reader import read_model
from qnn_ops.dialect.signature import signature_of
from qnn_ops.errors import QnnError
from tests.differential.single import single
from tests.support.steps import compiled
from tests.support.tflite import ANY, Q, Sheet, fixed, given, one, refused, x
from tvm_qnn.compare import compare

Steps = list[list[int]]


def reshaped(shape: tuple[int, ...], steps: Steps) -> bytes:
    """Return a file of batch 1 whose first axis is open."""
    sheet, data = Sheet(), x(*shape)
    for step in steps:
        data = sheet.made("RESHAPE", data, step, gives=(tuple(map(abs, step)), "int8", Q))
    return sheet.model()


@pytest.mark.parametrize("batch", [1, 3])
@pytest.mark.parametrize(
    ("shape", "steps"),
    [
        # Frames are the open axis: one sequence of them stays one.
        ((1, 4), [[1, -1, 4]]),
        ((1, 4), [[1, -1], [-1, 2]]),
        # Rows of all sequences, and back.
        ((1, 6, 4), [[-1, 4], [-1, 6, 4]]),
        ((1, 6, 4), [[-1, 4], [1, -1, 4]]),
        ((1, 2, 6), [[1, -1, 4]]),
    ],
)
def test_an_open_axis_goes_where_litert_puts_it(
    shape: tuple[int, ...], steps: Steps, batch: int
) -> None:
    given = (batch, *shape[1:])
    data = np.arange(np.prod(given)).reshape(given).astype(np.int8)
    found = compare(
        reshaped(shape, steps), [data], target="llvm", kernels=False, shape_dict={"x1": given}
    )
    assert found.is_equal, found


@pytest.mark.parametrize(
    ("steps", "expected"),
    [
        ([[1, 8, 3]], (5, 8, 3)),
        ([[-1, 4], [1, 6, 4]], (5, 6, 4)),
        ([[1, 7, -1]], None),
        ([[6, 4]], None),
        ([[1, 5, 4]], None),
    ],
)
def test_another_batch_than_the_constants(steps: Steps, expected: tuple[int, ...] | None) -> None:
    model = reshaped((1, 6, 4), steps)
    if expected is None:
        with pytest.raises(QnnError, match=rf"cannot reshape .* to \[{steps[-1][0]}, "):
            from_tflite(model, {"x1": (5, 6, 4)})
    else:
        mod, _ = from_tflite(model, {"x1": (5, 6, 4)})
        assert signature_of(mod).outputs[-1].shape == expected


def test_shapes_that_are_computed() -> None:
    sheet, data = Sheet(), x(1, 6)
    shape = sheet.made("SHAPE", data, gives="int32", out_type="int32")
    half = sheet.made("MUL", [1, 0], shape)
    sizes = sheet.made("MINIMUM", sheet.made("ADD", half, [0, 6]), [1, 6])
    sheet.add("RESHAPE", data, sizes, gives=((1, 4), "int8", Q))
    with pytest.raises(QnnError, match=r"cannot reshape .* of shape \(2, 6\) to \[1, 6\]"):
        from_tflite(sheet.model(), {"x1": (2, 6)})
    by_a_run((3, 4)).check()
    graph = read_model(by_a_run((1, 4)).model())
    *others, result = graph.tensors
    result = replace(result, shape_signature=(-1, 4))
    mod, _ = from_tflite(replace(graph, tensors=(*others, result)))
    assert signature_of(mod).outputs[0].shape == (3, 4)


def by_a_run(stated: tuple[int, ...], count: int = 2) -> Sheet:
    return one("RESHAPE", x(2, 6), given([3, 4, 1][:count], "int32"), gives=(stated, "int8", Q))


@pytest.mark.parametrize(("stated", "count"), [((1, 4), 2), ((12,), 2), ((3, 4), 3)])
def test_a_shape_that_nobody_states_is_refused(stated: tuple[int, ...], count: int) -> None:
    message = r"tensor 1 'x2', the new shape of tensor 0 'x1' of shape \(2, 6\), must be constant"
    by_a_run(stated, count).check_refused(message)


test_moves_equal_litert = compiled(
    single("EXPAND_DIMS", "RESHAPE", "SPLIT", "SPLIT_V", "SQUEEZE", "TRANSPOSE"),
    single("BROADCAST_TO", "FILL", "TILE"),
    count=20,
)

test_what_is_refused = refused(
    ("cannot broadcast", one("BROADCAST_TO", x(2, 3), [4, 3])),
    ("must be constant", one("FILL", given([2, 3], "int32"), fixed(1, "float32"), gives="float32")),
)


def test_blocks_equal_litert() -> None:
    sheet, data = Sheet(seed=5), x(4, 4, 6, 8, dtype="uint8")
    sheet.add("DEPTH_TO_SPACE", data, block_size=2)
    sheet.add("SPACE_TO_DEPTH", data, block_size=2)
    sheet.add("SPACE_TO_BATCH_ND", data, [2, 3], [[1, 1], [0, 3]])
    sheet.add("BATCH_TO_SPACE_ND", data, [1, 2], [[1, 0], [0, 2]])
    sheet.add("SPACE_TO_BATCH_ND", x(2, 4, 3), [2], [[1, 1]])
    sheet.add("SPACE_TO_BATCH_ND", x(1, 2, 2, 3, dtype="int32"), [3, 1], [[0, 1], [0, 0]])
    sheet.check()


test_blocks_must_fit = refused(
    ("blocks of 2 of shape", one("DEPTH_TO_SPACE", x(1, 3, 3, 3), block_size=2)),
    ("blocks of 2 of shape", one("SPACE_TO_DEPTH", x(1, 3, 3, 3), block_size=2)),
)


# begin, end, strides, masks: the cases of a Python slice, and of the masks together.
STRIDED_SLICES: list[tuple[list[int], list[int], list[int], dict[str, int]]] = [
    ([0, 1, 0], [2, 3, 4], [1, 1, 1], {}),
    ([0, 4, 1], [2, 0, 5], [1, -2, 3], {}),
    ([1, -2, -3], [2, -1, -1], [1, 1, 1], {}),
    ([1, 2, 3], [0, 1, 1], [1, 1, 1], {"begin_mask": 6, "end_mask": 3}),
    ([0, 3, 4], [1, 0, 0], [1, -1, -1], {"end_mask": 6, "begin_mask": 4}),
    ([1, 2, 3], [2, 3, 4], [1, 1, 1], {"shrink_axis_mask": 5}),
    ([0, -1], [2, 0], [1, 1], {"shrink_axis_mask": 2}),
    ([0, 1], [0, 3], [1, 2], {"ellipsis_mask": 1}),
    ([1, 0, 1], [2, 0, 3], [1, 1, 2], {"ellipsis_mask": 2}),
    ([0, 0, 1], [0, 1, 3], [1, 1, 1], {"new_axis_mask": 1}),
    ([0, 0, 0, 1], [0, 4, 0, 3], [1, 1, 1, 1], {"ellipsis_mask": 1, "new_axis_mask": 4}),
    ([0, 2, 0, 1], [9, 9, 9, 9], [1, 1, 1, 2], {"new_axis_mask": 2, "shrink_axis_mask": 4}),
    ([-9, 1, 0], [9, 9, 9], [1, 1, 1], {}),
]


def test_slices_equal_litert() -> None:
    sheet, data = Sheet(seed=28), x(2, 5, 6)
    for begin, end, strides, masks in STRIDED_SLICES:
        sheet.add("STRIDED_SLICE", data, begin, end, strides, **masks)
    sheet.add("SLICE", data, [0, 1, 2], [2, 3, -1], gives=((2, 3, 4), "int8", Q))
    sheet.add("SLICE", data, [1, 0, 0], [1, 5, 6], gives=((1, 5, 6), "int8", Q))
    sheet.check()


def test_arg_max_equals_litert() -> None:
    sheet = Sheet(seed=29)
    # Few values, so that many elements are the largest: the first of them counts.
    data = given(sheet.rng.integers(-2, 3, (4, 5, 6)), "int8", Q)
    real = given(sheet.rng.integers(-2, 3, (4, 5)), "float32")
    for axis in (0, 1, -1):
        sheet.add("ARG_MAX", data, axis, gives="int32", output_type="int32")
    index = sheet.made("ARG_MAX", data, 2, gives="int64", output_type="int64")
    sheet.add("ARG_MIN", real, 1, gives="int32", output_type="int32")
    sheet.add("RESHAPE", index, [2, 10])  # what it gives may flow on
    sheet.check()


@pytest.mark.parametrize("dtype", ["int8", "uint8"])
def test_arg_max_of_nothing_but_the_worst_value_equals_litert(dtype: str) -> None:
    sheet, info = Sheet(), np.iinfo(dtype)
    for code, worst in (("ARG_MAX", info.min), ("ARG_MIN", info.max)):
        data = given(np.full((2, 5), worst), dtype, Q)
        sheet.add(code, data, 1, gives="int32", output_type="int32")
    sheet.check()


DATA = x(2, 6)
PARTS = [(ANY, "int8", Q)] * 4


test_arguments_that_do_not_fit = refused(
    (r"cannot reshape tensor 0 'x1' of shape \(2, 6\) to", one("RESHAPE", DATA, [5, -1])),
    (r"cannot reshape .* to \[-1, -1\]", one("RESHAPE", DATA, [-1, -1])),
    (r"cannot reshape .* to \[\]", one("RESHAPE", DATA)),
    (r"cannot squeeze axes \[0\] out of shape", one("SQUEEZE", DATA, squeeze_dims=[0])),
    ("axis 3 is outside a tensor of 3 dimensions", one("EXPAND_DIMS", DATA, 3)),
    (
        "must have the same scale and zero point",
        one("EXPAND_DIMS", DATA, 2, gives=(ANY, "int8", Quantization.per_tensor(0.25, 3))),
    ),
    (r"'x2', the new shape of .* must be constant", one("RESHAPE", DATA, given([12], "int32"))),
    (r"\[0, 0\] is no permutation of 2 axes", one("TRANSPOSE", DATA, [0, 0])),
    ("must be int32 or int64, is int16", one("TRANSPOSE", DATA, fixed([1, 0], "int16"))),
    ("cannot split 6 along axis 1 into 4", one("SPLIT", 1, DATA, gives=PARTS, num_splits=4)),
    ("splits into 2, has 1 outputs", one("SPLIT", 1, DATA, num_splits=2)),
    (
        r"cannot split 6 along axis 1 into \[1, 2\]",
        one("SPLIT_V", DATA, [1, 2], 1, gives=PARTS[:2], num_splits=2),
    ),
    ("elements 3 to 7 are outside a dimension of 6", one("SLICE", DATA, [0, 3], [1, 4])),
    (r"do not fit shape \(2, 6\)", one("SLICE", DATA, [0], [1])),
    ("strides must not be 0", one("STRIDED_SLICE", DATA, [0], [1], [0])),
    ("differ in length", one("STRIDED_SLICE", DATA, [0], [1], [1, 1])),
    (
        "element 2 by steps of 1 is outside a dimension of 2",
        one("STRIDED_SLICE", DATA, [2], [3], [1], shrink_axis_mask=1),
    ),
    ("1 by steps of -1 is outside", one("STRIDED_SLICE", DATA, [1], [0], [-1], shrink_axis_mask=1)),
    (
        "masks name 1 axes to insert, 0 of them among the 1 entries",
        one("STRIDED_SLICE", DATA, [0], [1], [1], new_axis_mask=2),
    ),
    ("a result of type float32", one("ARG_MAX", DATA, 1)),
    ("must be one integer, got 2", one("ARG_MAX", DATA, [0, 1], output_type="int32")),
)


def test_a_scalar_that_the_file_calls_an_image() -> None:
    sheet, data = Sheet(), given(3, "int8", Q)
    real = sheet.made("DEQUANTIZE", data, gives=((1, 4), "float32", None))
    sheet.add("RESHAPE", real, [1, 4])
    sheet.check_refused(r"cannot reshape .* of shape \(\) to \[1, 4\]")
