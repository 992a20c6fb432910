import numpy as np
import pytest
import tvm
from tvm import relax
from tvm.relax import op as R

from legalize.passes.stems import Stem, Window, stems_of
from tests.support.modules import module
from tests.support.stems import SHAPE, conv, network


def stems(mod: tvm.IRModule) -> list[Stem]:
    return stems_of(mod["main"])


def test_stems_end_where_one_image_is_all_that_is_read_later() -> None:
    # One operand of the sum is the first convolution, which is read twice.
    found = stems(network())
    assert [len(stem.layers) for stem in found] == [3, 4, 5, 6, 7]
    assert {stem.source.name for stem in found} == {"x"}
    assert [stem.height for stem in found] == [13, 6, 6, 6, 1]


def test_strips_depend_on_the_rows_around_them_inside_the_image() -> None:
    stem = stems(network())[1]
    strips = [
        [strip[variable] for variable in (stem.source, *stem.layers)] for strip in stem.strips(2)
    ]
    assert strips == [
        [(0, 6), (0, 5), (0, 4), (0, 4), (0, 2)],
        [(1, 10), (2, 9), (3, 8), (3, 8), (2, 4)],
        [(5, 13), (6, 13), (7, 12), (7, 12), (4, 6)],
    ]


@pytest.mark.parametrize("stride", [1, 2, 3])
@pytest.mark.parametrize("extent", [1, 3, 5])
def test_a_window_has_the_rows_that_the_whole_image_s_has(stride: int, extent: int) -> None:
    """Each row of the result reads the same rows of the data, and as much padding, as before."""
    height, top, bottom = 11, extent - 1, extent // 2
    count = (height + top + bottom - extent) // stride + 1
    whole = np.pad(np.arange(1, height + 1), (top, bottom))
    window = Window(height, extent, stride, (top, 0, bottom, 0))
    for first in range(count):
        for end in range(first + 1, count + 1):
            start, stop = window.read((first, end))
            above, _, below, _ = window.attributes((first, end))["padding"]
            part = np.pad(np.arange(1, height + 1)[start:stop], (above, below))
            expected = whole[first * stride : (end - 1) * stride + extent]
            np.testing.assert_array_equal(part, expected)


@pytest.mark.parametrize(
    "change",
    [{"data_layout": "NCHW", "out_layout": "NHWC"}, {"padding": (3, 1, 1, 1)}],
    ids=["another layout", "rows of padding alone"],
)
def test_what_has_no_rows_to_cut_is_in_no_stem(change: dict[str, object]) -> None:
    def body(x: relax.Var) -> relax.Expr:
        return conv(conv(x, (4, 3, 3, 4), **change), (4, 1, 1, 4))

    shape = (1, 4, 6, 13) if "data_layout" in change else SHAPE
    assert stems(module({"x": relax.TensorType(shape, "int8")}, body)) == []


def test_an_image_that_is_a_result_or_is_read_elsewhere_ends_a_stem() -> None:
    def body(x: relax.Var) -> list[relax.Expr]:
        first = conv(x, (4, 1, 1, 4))
        return [conv(conv(first, (4, 1, 1, 4)), (4, 3, 3, 4)), R.reshape(first, (-1,))]

    found = stems(module({"x": relax.TensorType(SHAPE, "int8")}, body))
    assert found == []


def test_batches_are_in_no_stem() -> None:
    def body(x: relax.Var) -> relax.Expr:
        return conv(conv(x, (4, 1, 1, 4)), (4, 1, 1, 4))

    assert stems(module({"x": relax.TensorType((2, *SHAPE[1:]), "int8")}, body)) == []
