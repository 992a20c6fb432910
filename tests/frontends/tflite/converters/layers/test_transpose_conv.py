import numpy as np
import pytest

from frontends.tflite import from_tflite
from frontends.tflite.quantization import Quantization
from tests.support.arrays import full_range
from tests.support.models import differing_tensors
from tests.support.tflite import ANY, Sheet, fixed, one, random_quantization, refused, x

ACTIVATIONS = ("NONE", "RELU", "RELU6", "RELU_N1_TO_1")
NARROW = Quantization.per_tensor(0.1, 0)
STYLES = ("uint8", "int8", "int8_per_axis")


def weights_of(sheet: Sheet, style: str, shape: tuple[int, ...]) -> tuple[int, Quantization]:
    """Return random weights, OHWI, and their encoding."""
    rng = sheet.rng
    if style == "uint8":
        encoding = random_quantization(rng, "uint8")
        return sheet.constant(full_range(rng, "uint8", shape), encoding), encoding
    count = shape[0] if style == "int8_per_axis" else 1
    scales = rng.uniform(0.005, 0.05, count).astype(np.float32)
    encoding = Quantization(scales, np.zeros(count, np.int64))
    return sheet.constant(np.maximum(full_range(rng, "int8", shape), -127), encoding), encoding


def add_transposed(
    sheet: Sheet,
    style: str,
    size: tuple[int, int],
    window: tuple[int, int],
    stride: tuple[int, int],
    padding: str,
    *,
    channels: tuple[int, int] = (3, 2),
    more: int = 0,
    with_bias: bool = True,
) -> None:
    """Add an operator whose output has its least size, or so many pixels more if that fits."""
    rng, dtype = sheet.rng, style.split("_")[0]
    grown = [
        (n - 1) * s + (1 if padding == "SAME" else k) + min(more, s - 1)
        for n, s, k in zip(size, stride, window, strict=True)
    ]
    shape = (2, *grown, channels[1])
    own = random_quantization(rng, dtype)
    data = sheet.random_input((2, *size, channels[0]), dtype, own)
    weights, encoding = weights_of(sheet, style, (channels[1], *window, channels[0]))
    operands = [sheet.constant(shape), weights, data]
    if with_bias:
        bias = rng.integers(-20_000, 20_000, channels[1]).astype(np.int32)
        scales = own.scale * encoding.scale
        points = np.zeros(scales.size, np.int64)
        operands.append(sheet.constant(bias, Quantization(scales, points)))
    taps = channels[0] * window[0] * window[1] / (stride[0] * stride[1])
    scale = 0.05 * 0.05 * 70 * np.sqrt(max(1, taps))
    sheet.operator(
        "TRANSPOSE_CONV",
        operands,
        (shape, dtype, random_quantization(rng, dtype, scale)),
        version=4,
        padding=padding,
        stride_h=stride[0],
        stride_w=stride[1],
        fused_activation_function=str(rng.choice(ACTIVATIONS)),
    )


@pytest.mark.parametrize("style", STYLES)
def test_transposed_convolutions_equal_litert(style: str) -> None:
    sheet = Sheet(seed=80)
    rng = sheet.rng
    for index in range(40):
        size, window, stride = (
            (int(a), int(b)) for a, b in rng.integers(1, [[6], [6], [5]], (3, 2))
        )
        more = int(rng.integers(5))
        padding = str(rng.choice(["SAME", "VALID"]))
        with_bias = index % 4 > 0
        add_transposed(sheet, style, size, window, stride, padding, more=more, with_bias=with_bias)
    sheet.check_reference()


@pytest.mark.parametrize("style", ["uint8", "int8_per_axis"])
@pytest.mark.parametrize("stride", [2, 5])
def test_compiled_transposed_convolutions_equal_litert(style: str, stride: int) -> None:
    sheet = Sheet(seed=81)
    for window in (2, 3):
        pixels, taps, strides = (4, 5), (window, window), (stride, stride)
        add_transposed(sheet, style, pixels, taps, strides, "SAME", channels=(16, 24), more=1)
    sheet.check()
    assert differing_tensors(sheet.model(), [sheet.arrays], "host", kernels=True) == []


def test_phases_alike_are_one_convolution_with_its_parameters_once() -> None:
    counts = []
    for window in (3, 4):
        sheet = Sheet(seed=82)
        add_transposed(sheet, "int8", (4, 5), (window, window), (2, 2), "SAME", more=1)
        counts.append(from_tflite(sheet.model())[0].script().count("R.qnn.quantized_conv2d("))
    assert counts == [4, 1]
    sheet = Sheet(seed=83)
    add_transposed(sheet, "int8", (4, 5), (2, 2), (2, 2), "VALID")
    _, params = from_tflite(sheet.model())
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
