"""RESHAPE, SQUEEZE, EXPAND_DIMS, TRANSPOSE, TILE, BROADCAST_TO and FILL."""

from dataclasses import replace

import numpy as np
import pytest

from frontends.tflite import from_tflite
from frontends.tflite.reader import read_model
from qnn_ops.dialect.signature import signature_of
from qnn_ops.errors import QnnError
from tests.support.tflite import Q, Sheet, fixed, given, one, refused, x
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


def test_copies_equal_litert() -> None:
    sheet, data = Sheet(seed=3), x(2, 1, 3, dtype="uint8")
    sheet.add("TILE", data, [1, 3, 2])
    sheet.add("TILE", data, [1, 1, 1])
    sheet.add("BROADCAST_TO", data, [4, 2, 5, 3])
    sheet.add("FILL", [2, 3], given(7, "uint8", Q))
    sheet.check()


test_what_is_refused = refused(
    ("cannot broadcast", one("BROADCAST_TO", x(2, 3), [4, 3])),
    ("must be constant", one("FILL", given([2, 3], "int32"), fixed(1, "float32"), gives="float32")),
)
