import pytest

from tests.support.both_ways import Check, both_ways
from tests.support.tflite import Sheet, one, random_quantization, refused, x

MODES: list[dict[str, bool]] = [{}, {"align_corners": True}, {"half_pixel_centers": True}]


@both_ways
@pytest.mark.parametrize("dtype", ["uint8", "int8"])
@pytest.mark.parametrize("code", ["RESIZE_BILINEAR", "RESIZE_NEAREST_NEIGHBOR"])
def test_resizing_equals_litert(code: str, dtype: str, check: Check, count: int) -> None:
    sheet = Sheet(seed=20)
    for index in range(count):
        height, width, *size = (int(n) for n in sheet.rng.integers(1, 12, 4))
        quantization = random_quantization(sheet.rng, dtype)
        data = sheet.random_input((2, height, width, 3), dtype, quantization)
        result = ((2, *size, 3), dtype, quantization)
        sheet.operator(code, [data, sheet.constant(size)], result, **MODES[index % 3])
    check(sheet)


test_a_size_that_does_not_fit = refused(
    (
        r"must be height and width, .* each way, got \(7,\)",
        one("RESIZE_BILINEAR", x(1, 4, 5, 3), [7]),
    )
)
