import pytest

from frontends.tflite.quantization import Quantization
from tests.support.both_ways import Check, both_ways
from tests.support.tflite import ANY, Sheet, one, random_quantization, x


def add_pool(sheet: Sheet, code: str, dtype: str) -> None:
    rng = sheet.rng
    height, width = (int(size) for size in rng.integers(5, 11, 2))
    window = [int(size) for size in rng.integers(1, 5, 2)]
    stride = [int(step) for step in rng.integers(1, 4, 2)]
    padding = str(rng.choice(["SAME", "VALID"]))
    quantization = random_quantization(rng, dtype)
    data = sheet.random_input((2, height, width, 3), dtype, quantization)
    sheet.operator(
        code,
        [data],
        ((2, 1, 1, 3), dtype, quantization),  # LiteRT works the shape out by itself
        padding=padding,
        filter_height=window[0],
        filter_width=window[1],
        stride_h=stride[0],
        stride_w=stride[1],
        fused_activation_function=str(rng.choice(["NONE", "RELU", "RELU6", "RELU_N1_TO_1"])),
    )


@both_ways
@pytest.mark.parametrize("dtype", ["uint8", "int8"])
@pytest.mark.parametrize("code", ["AVERAGE_POOL_2D", "MAX_POOL_2D"])
def test_pooling_equals_litert(code: str, dtype: str, check: Check, count: int) -> None:
    sheet = Sheet(seed=5)
    for _ in range(count):
        add_pool(sheet, code, dtype)
    check(sheet)


@pytest.mark.parametrize("activation", ["NONE", "RELU"])
@pytest.mark.parametrize("code", ["MAX_POOL_2D", "AVERAGE_POOL_2D"])
def test_the_output_s_scale_is_taken_for_the_input_s(code: str, activation: str) -> None:
    options = {"stride_h": 2, "stride_w": 2, "fused_activation_function": activation}
    result = (ANY, "int8", Quantization.per_tensor(0.25, -7))
    one(code, x(1, 4, 4, 2), gives=result, **options).check()


@pytest.mark.parametrize("code", ["MAX_POOL_2D", "AVERAGE_POOL_2D"])
@pytest.mark.parametrize(
    ("window", "stride"),
    [
        *(((5, 2), 1), ((9, 9), 2), ((4, 1), 4), ((9, 1), 1)),
        *(((1, 7), 3), ((1, 9), 3), ((1, 10), 3), ((4, 10), 3)),
    ],
)
def test_windows_larger_than_the_image(code: str, window: tuple[int, int], stride: int) -> None:
    sizes = {"filter_height": window[0], "filter_width": window[1]}
    one(code, x(1, 3, 4, 2), stride_h=stride, stride_w=stride, **sizes).check()


@pytest.mark.parametrize("code", ["MAX_POOL_2D", "AVERAGE_POOL_2D"])
@pytest.mark.parametrize("padding", ["VALID", "SAME"])
@pytest.mark.parametrize("shape", [(0, 7, 0, 0), (1, 7, 0, 1), (1, 0, 9, 1), (1, 0, 1, 1)])
def test_images_without_pixels(code: str, padding: str, shape: tuple[int, ...]) -> None:
    steps = {"stride_h": 2, "stride_w": 2}
    one(code, x(*shape), padding=padding, filter_width=5, **steps).check()
