"""Models whose int32 sums reach the end of int32, and one step beyond it."""

import warnings
from typing import Any

import numpy as np
import pytest

from frontends.tflite import from_tflite
from frontends.tflite.notes import WrappingSumsWarning
from frontends.tflite.quantization import Quantization
from tests.support.arrays import full_range
from tests.support.models import differing_tensors
from tests.support.tflite import ANY, Operand, Sheet, fixed, given, one, refused, x

HIGHEST, LOWEST = 2**31 - 1, -(2**31)

# So coarse that the ends of int32 are in the middle of the result's range.
RESULT = Quantization.per_tensor(2.0**26, 0)


def unit(zero_point: int = 0) -> Quantization:
    return Quantization.per_tensor(1.0, zero_point)


def sheet_of(code: str, dtype: str, room: int) -> Sheet:
    """Two channels whose sums stay ``room`` steps within int32, up and down, or leave it by -room.

    The data contains values that make either of them largest and smallest.
    """
    sheet = Sheet(seed=70)
    info = np.iinfo(dtype)
    low, high = int(info.min), int(info.max)
    zero_point = 3 if dtype == "uint8" else -5
    # int8 kernels have zero point 0.
    kernel_point = 2 if dtype == "uint8" else 0
    is_depthwise = code == "DEPTHWISE_CONV_2D"
    window, depth = (3, 3), 2
    count = 9 if is_depthwise else 18 if code == "CONV_2D" else depth
    kernel: np.ndarray = np.full((2, count), high, dtype)
    most = (high - zero_point) * (high - kernel_point) * count
    least = (low - zero_point) * (high - kernel_point) * count
    bias = np.array([HIGHEST - room - most, LOWEST + room - least], np.int32)
    result = Quantization.per_tensor(2.0**26, 128 if dtype == "uint8" else 0)
    options: dict[str, Any] = {}
    if code == "FULLY_CONNECTED":
        data = np.array([[high] * depth, [low] * depth], dtype)
        shape: tuple[int, ...] = (2, 2)
    else:
        data = np.stack([np.full((*window, depth), end, dtype) for end in (high, low)])
        kernel = kernel.reshape((1, *window, 2) if is_depthwise else (2, *window, depth))
        shape = (2, 1, 1, 2)
        options = {"padding": "VALID", "stride_h": 1, "stride_w": 1}
        if is_depthwise:
            options["depth_multiplier"] = 1
    operands = [
        sheet.input(data, unit(zero_point)),
        sheet.constant(kernel, unit(kernel_point)),
        sheet.constant(bias, unit()),
    ]
    sheet.operator(code, operands, (shape, dtype, result), **options)
    return sheet


CODES = ["CONV_2D", "DEPTHWISE_CONV_2D", "FULLY_CONNECTED"]


@pytest.mark.parametrize("dtype", ["int8", "uint8"])
@pytest.mark.parametrize("code", CODES)
def test_sums_up_to_the_ends_of_int32_equal_litert(code: str, dtype: str) -> None:
    sheet = sheet_of(code, dtype, 0)
    sheet.check_reference()
    # On the way there what kernels sum instead (raw bytes, folded zero points) leaves int32.
    assert differing_tensors(sheet.model(), [sheet.arrays], "host", kernels=True) == []


@pytest.mark.parametrize("dtype", ["int8", "uint8"])
@pytest.mark.parametrize("code", CODES)
def test_sums_beyond_int32_wrap_as_litert(code: str, dtype: str) -> None:
    operator = "dense" if code == "FULLY_CONNECTED" else "conv2d"
    for room in (-1, -1000):
        sheet = sheet_of(code, dtype, room)
        with pytest.warns(WrappingSumsWarning) as caught:
            sheet.check_reference()
        assert str(caught[0].message) == (
            f"operator 0 {code} ('x1', 'c2', 'c3', 'y4'): quantized_{operator}: the accumulator of "
            f"output channel 0, bias included, can reach {HIGHEST - room}, which int32 does not "
            "hold: it wraps, as in LiteRT's builds, where data is that extreme"
        )
        assert len(caught) == 1
        if room == -1:
            continue
        for kernels in (True, False):
            model, runs = sheet.model(), [sheet.arrays]
            with pytest.warns(WrappingSumsWarning):
                differing = differing_tensors(model, runs, "host", kernels=kernels)
            assert differing == []


def test_one_warning_tells_of_every_operator_that_wraps() -> None:
    sheet, data = Sheet(seed=76), x(2, 3, encoding=unit())
    bias = fixed([LOWEST, HIGHEST], "int32", unit())
    for _ in range(3):
        weights = fixed([[1, 2, 3], [-9, 9, 0]], "int8", unit())
        sheet.add("FULLY_CONNECTED", data, weights, bias, gives=(ANY, "int8", RESULT))
    with pytest.warns(WrappingSumsWarning, match="; 2 more operators have such sums$") as caught:
        from_tflite(sheet.model())
    assert len(caught) == 1
    assert caught[0].filename == __file__


@pytest.mark.filterwarnings("ignore::frontends.tflite.notes.WrappingSumsWarning")
@pytest.mark.parametrize(("depth", "fits"), [(65_536, True), (67_000, False)])
def test_sums_of_many_products(depth: int, fits: bool) -> None:
    # 255 * 127 a product: int32 holds 66,311 of them.
    most = np.full((1, depth), 127)
    data, weights = given(most, "int8", unit(-128)), fixed(most, "int8", unit())
    sheet = one("FULLY_CONNECTED", data, weights, gives=(ANY, "int8", RESULT))
    sheet.check_reference()
    assert differing_tensors(sheet.model(), [sheet.arrays], "host", kernels=True) == []
    if not fits:
        with pytest.warns(match=f"the accumulator can reach {depth * 255 * 127},"):
            from_tflite(sheet.model())


def elementwise(code: str, scale: float) -> Sheet:
    """ADD, SUB or MUL of every pair of some values of scale 1, to a result of this scale."""
    operands = [
        given(each, "int8", unit()) for each in np.meshgrid(*[np.arange(-128, 128, 15)] * 2)
    ]
    return one(code, *operands, gives=(ANY, "int8", Quantization.per_tensor(scale, 0)))


def unary(code: str, scale: float, own: float = 1.0, **options: Any) -> Sheet:
    """Return an operator on all values of int8 of some scale, to a result of this scale."""
    data = given(np.arange(-128, 128), "int8", Quantization.per_tensor(own, 0))
    options |= {"alpha": 0.5} if code == "LEAKY_RELU" else {}
    return one(code, data, gives=(ANY, "int8", Quantization.per_tensor(scale, 0)), **options)


@pytest.mark.parametrize(
    ("make", "code", "scale"),
    [
        (elementwise, "ADD", 2.0**-19),
        (elementwise, "SUB", 2.0**-19),
        (unary, "QUANTIZE", 2.0**-23),
        (unary, "RELU", 2.0**-23),
        (unary, "LEAKY_RELU", 2.0**-23),
    ],
)
def test_the_finest_results_equal_litert_s(make: Any, code: str, scale: float) -> None:
    make(code, scale * 1.001).check_reference()
    make(code, scale * 0.499).check_refused(f"operator 0 {code}")


@pytest.mark.filterwarnings("ignore::frontends.tflite.notes.WrappingSumsWarning")
@pytest.mark.parametrize("bits", [0, 3, 9, 13])
def test_products_that_are_shifted_beyond_int32_wrap_as_in_litert(bits: int) -> None:
    sheet = elementwise("MUL", 2.0**-16 * 1.001)
    assert "shifted left" not in warnings_of(sheet)
    sheet = elementwise("MUL", 2.0 ** -(16 + bits) * 0.499)
    assert f"shifted left by {17 + bits + 1} bits" in warnings_of(sheet)
    sheet.check_reference()
    assert differing_tensors(sheet.model(), [sheet.arrays], "host", kernels=True) == []


def warnings_of(sheet: Sheet) -> str:
    """Import a model, and return the importer's warnings."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        from_tflite(sheet.model())
    return " ".join(str(each.message) for each in caught)


def test_hard_swish_beyond_its_shifts() -> None:
    unary("HARD_SWISH", 2.5e7, 2.5e7).check_reference()


_TINY = x(3, encoding=Quantization.per_tensor(2.7e-9, 0))

test_what_leaves_int32_is_refused = refused(
    (r"needs input_scale < 2\.5e7", unary("HARD_SWISH", 2.52e7, 2.52e7)),
    (r"2\.7e-09 is too small", one("ADD", _TINY, _TINY, fused_activation_function="RELU6")),
    (
        "scaled, can reach 2386093004",
        one(
            "FULLY_CONNECTED",
            x(2, 1, encoding=unit()),
            fixed([[1]], "int8", unit()),
            fixed([LOWEST], "int32", unit()),
            gives=(ANY, "int8", Quantization.per_tensor(0.9, 0)),
        ),
    ),
)


@pytest.mark.filterwarnings("ignore::frontends.tflite.notes.WrappingSumsWarning")
def test_wrapping_sums_before_operators_that_kernels_join_to_convolutions() -> None:
    sheet, result = Sheet(seed=78), (ANY, "int8", RESULT)

    def convolution(source: Operand, size: int, scale: float = 1.0) -> Operand:
        numbers = full_range(sheet.rng, "int8", (16, size, size, 16))
        weights = fixed(numbers, "int8", Quantization.per_tensor(scale, 0))
        bias = fixed(sheet.rng.choice([LOWEST, HIGHEST, 7], 16), "int32", unit())
        made: Operand = sheet.made("CONV_2D", source, weights, bias, gives=result, padding="SAME")
        return made

    data = x(1, 5, 6, 16, encoding=unit(3))
    first, second = convolution(data, 1), convolution(data, 3)
    again = convolution(sheet.made("ADD", first, second), 3, 2.0**-26)
    sheet.add("CONCATENATION", first, again, axis=3)
    assert differing_tensors(sheet.model(), [sheet.arrays], "host", kernels=True) == []
