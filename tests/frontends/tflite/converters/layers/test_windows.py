import pytest

from frontends.tflite.quantization import Quantization
from tests.differential.layers import pool
from tests.support.steps import compiled
from tests.support.tflite import ANY, one, x

test_pooling_equals_litert = compiled(pool, count=6)


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
