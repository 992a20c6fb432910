"""RFFT2D, and the operators that read its result."""

from typing import Any

import numpy as np
import pytest

from frontends.tflite.writer import ModelWriter
from tests.support.tflite import check_refused, library_of
from tvm_qnn.oracle import litert_tensors

CODES = ("COMPLEX_ABS", "REAL", "IMAG")


def spectrum(
    shape: tuple[int, ...], lengths: tuple[int, int], codes: tuple[str, ...] = CODES
) -> bytes:
    """Return a transform, and parts of it; without parts the transform."""
    writer = ModelWriter()
    x = writer.tensor("x", shape, "float32")
    sizes = writer.tensor("lengths", (2,), "int32", None, np.array(lengths, np.int32))
    made = (*shape[:-2], lengths[0], lengths[1] // 2 + 1)
    y = writer.tensor("y", made, "complex64")
    writer.operator("RFFT2D", [x, sizes], [y])
    parts = [writer.tensor(f"part{i}", made, "float32") for i in range(len(codes))]
    for code, part in zip(codes, parts, strict=True):
        writer.operator(code, [y], [part])
    return writer.finish([x], parts or [y])


@pytest.mark.parametrize(
    ("shape", "lengths"),
    [((2, 3, 1, 400), (1, 512)), ((2, 6, 5), (8, 8)), ((9, 20), (4, 16)), ((3, 1), (2, 2))],
)
def test_transforms_are_near_litert_s(shape: tuple[int, ...], lengths: tuple[int, int]) -> None:
    model = spectrum(shape, lengths)
    data = np.random.default_rng(0).normal(size=shape).astype(np.float32)
    expected = [*litert_tensors(model, [data]).values()][-3:]
    results = library_of(model).run(data).values()
    # Both sum in float64. LiteRT rounds to float32 once more before it takes the size.
    bound = 2.0**-22 * np.abs(data).sum(axis=(-2, -1)).max()
    for result, wanted in zip(results, expected, strict=True):
        assert result.shape == wanted.shape
        assert result.dtype == wanted.dtype
        np.testing.assert_allclose(result, wanted, rtol=0, atol=bound)


Step = tuple[str, tuple[int, ...], Any, dict[str, Any]]


def reshaped(*steps: Step, last: str) -> bytes:
    """Return the size of a transform that operators give other shapes: code, shape, operand."""
    writer = ModelWriter()
    x = writer.tensor("x", (3, 1, 30), "float32")
    sizes = writer.tensor("lengths", (2,), "int32", None, np.array([1, 32], np.int32))
    made = writer.tensor("made", (3, 1, 17), "complex64")
    writer.operator("RFFT2D", [x, sizes], [made])
    shape: tuple[int, ...] = (3, 1, 17)
    for number, (code, shape, operand, options) in enumerate(steps):
        others = (
            [] if operand is None else [writer.tensor("", operand.shape, "int32", None, operand)]
        )
        result = writer.tensor(
            f"y{number}", shape, last if number == len(steps) - 1 else "complex64"
        )
        writer.operator(code, [made, *others], [result], **options)
        made = result
    if last == "complex64":
        writer.operator("COMPLEX_ABS", [made], [writer.tensor("size", shape, "float32")])
        made += 1
    return writer.finish([x], [made])


def test_complex_tensors_take_other_shapes() -> None:
    shape = np.array([-1, 17], np.int32)
    model = reshaped(
        ("SQUEEZE", (3, 17), None, {"squeeze_dims": [1]}),
        ("EXPAND_DIMS", (3, 17, 1), np.array(-1, np.int32), {}),
        ("SQUEEZE", (3, 17), None, {}),
        ("RESHAPE", (3, 17), shape, {}),
        last="complex64",
    )
    data = np.random.default_rng(1).normal(size=(3, 1, 30)).astype(np.float32)
    (expected,) = [*litert_tensors(model, [data]).values()][-1:]
    result = library_of(model).run(data)
    assert result.shape == expected.shape == (3, 17)
    bound = 2.0**-22 * np.abs(data).sum(axis=-1).max()
    np.testing.assert_allclose(result, expected, rtol=0, atol=bound)


def test_a_shape_is_that_of_whole_complex_numbers() -> None:
    step: Step = ("RESHAPE", (3, 34), np.array([3, 34], np.int32), {})
    check_refused(reshaped(step, last="complex64"), r"of shape \(3, 1, 17\) to \[3, 34\]")
    step = ("RESHAPE", (3, 17), np.array([3, 17], np.int32), {})
    check_refused(reshaped(step, last="float32"), r"is complex64, .* is float32")


@pytest.mark.parametrize(
    ("lengths", "codes", "message"),
    [
        ((1, 6), CODES, "no powers of two"),
        ((2, 1), CODES, "rows of one value"),
        ((1, 8), (), "complex, and an output"),
        ((1, 8), ("CAST",), "is complex"),
    ],
)
def test_what_is_refused(lengths: tuple[int, int], codes: tuple[str, ...], message: str) -> None:
    check_refused(spectrum((2, 8), lengths, codes), message)
