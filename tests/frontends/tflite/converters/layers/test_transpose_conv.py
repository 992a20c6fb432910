from typing import Any

import numpy as np
import pytest

from frontends.tflite import from_tflite
from frontends.tflite.quantization import Quantization
from tests.differential.layers import transposed
from tests.support.arrays import full_range
from tests.support.hybrid import scales
from tests.support.models import differing_tensors
from tests.support.steps import compiled, referred
from tests.support.tflite import ANY, Sheet, fixed, one, refused, x

test_transposed_convolutions_equal_litert = compiled(transposed)
test_phases_equal_litert = referred(transposed)

NARROW = Quantization.per_tensor(0.1, 0)


def of_squares(
    window: int,
    stride: int,
    padding: str = "SAME",
    *,
    dtype: str = "int8",
    depth: int = 3,
    channels: int = 2,
    encoding: Quantization = NARROW,
) -> Sheet:
    """Return a transposed convolution of 4 by 5 pixels, with a pixel more of a result of SAME."""
    sheet, rng = Sheet(seed=82), np.random.default_rng(82)
    end = 2 if padding == "SAME" else window
    shape = (2, 3 * stride + end, 4 * stride + end, channels)
    weights = fixed(full_range(rng, dtype, (channels, window, window, depth)), dtype, encoding)
    data = x(2, 4, 5, depth, dtype=dtype, encoding=Quantization.per_tensor(0.5, 90))
    operands = [shape, weights, data, fixed(rng.integers(-9000, 9000, channels), "int32")]
    result = (ANY, dtype, Quantization.per_tensor(20.0, 5))
    window_of = {"padding": padding, "stride_h": stride, "stride_w": stride}
    return sheet.add("TRANSPOSE_CONV", *operands, gives=result, version=4, **window_of)


@pytest.mark.parametrize("stride", [2, 5])
@pytest.mark.parametrize(
    ("dtype", "encoding"),
    [("int8", scales(np.random.default_rng(83), 24)), ("uint8", Quantization.per_tensor(0.1, 90))],
    ids=["int8", "uint8"],
)
def test_kernels_of_transposed_convolutions_equal_litert(
    dtype: str, encoding: Quantization, stride: int
) -> None:
    how: dict[str, Any] = {"dtype": dtype, "depth": 16, "channels": 24, "encoding": encoding}
    for window in (2, 3):
        sheet = of_squares(window, stride, **how)
        assert differing_tensors(sheet.model(), [sheet.arrays], "host", kernels=True) == []


def test_phases_alike_are_one_convolution_with_its_parameters_once() -> None:
    scripts = [from_tflite(of_squares(window, 2).model())[0].script() for window in (3, 4)]
    assert [each.count("R.qnn.quantized_conv2d(") for each in scripts] == [4, 1]
    _, params = from_tflite(of_squares(2, 2, "VALID").model())
    assert {name: value.shape for name, value in params.items()} == {
        "y5_bias": (8,),
        "y5_weights": (8, 1, 1, 3),
    }


_IMAGE, _WEIGHTS = x(1, 2, 2, 3), fixed(np.ones((2, 2, 2, 3)), "int8", NARROW)
_STEPS = {"padding": "SAME", "stride_h": 2, "stride_w": 2}

test_shapes_that_do_not_fit = refused(
    *(
        (
            f"operator 0 TRANSPOSE_CONV .*{message}",
            one("TRANSPOSE_CONV", shape, _WEIGHTS, _IMAGE, gives=(ANY, "int8", NARROW), **_STEPS),
        )
        for shape, message in (
            ((1, 4, 4), "must have 4 dimensions"),
            ((1, 4, 4, 7), "do not make an output of shape"),
            ((1, 0, 4, 2), "must have elements"),
            ((1, 4, 5, 2), "gives 2 x 3, the data has 2 x 2"),
        )
    ),
    (
        "operator 0 TRANSPOSE_CONV: tensor 0 'x1' must be constant",
        one(
            "TRANSPOSE_CONV",
            x(4, dtype="int32"),
            _WEIGHTS,
            _IMAGE,
            gives=(ANY, "int8", NARROW),
            **_STEPS,
        ),
    ),
    ("operator 0 PAD: tensor 1 'x2' must be constant", one("PAD", _IMAGE, x(4, 2, dtype="int32"))),
    ("operator 0 MEAN: tensor 1 'x2' must be constant", one("MEAN", _IMAGE, x(4, dtype="int32"))),
)
