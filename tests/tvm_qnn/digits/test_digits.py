"""The committed models, on LiteRT's reference kernels."""

import numpy as np
import pytest

from frontends.tflite.model import Model, Tensor
from frontends.tflite.reader import read_model
from tests.support.digits import predictions, probabilities
from tests.support.errors import failing, fails
from tvm_qnn import digits
from tvm_qnn.digits.scenes import scene
from tvm_qnn.oracle import litert_tensors

styles = pytest.mark.parametrize("style", digits.STYLES)


def tensors(model: Model) -> dict[str, Tensor]:
    return {tensor.name: tensor for tensor in model.tensors}


@styles
def test_held_out_digits_are_recognised(style: str) -> None:
    pictures, labels = digits.held_out()
    accuracy = np.mean(predictions(digits.model(style), pictures, style) == labels)

    # Cross-validation in the training set promised 98.8 %, give or take 0.5 (three folds of
    # 449); the floor is what quantization may cost on top of an unlucky split.
    assert accuracy >= 0.975


@styles
def test_a_batch_is_its_pictures_one_by_one(style: str) -> None:
    pictures = digits.held_out()[0][:20]
    model, inputs = digits.model(style), digits.to_input(pictures, style)

    together = probabilities(model, inputs)
    alone = np.concatenate([probabilities(model, picture[None]) for picture in inputs])

    assert together.shape == (20, 10)
    np.testing.assert_array_equal(together, alone)


@styles
def test_a_file_is_small_and_takes_one_picture(style: str) -> None:
    content = digits.model(style)
    model = read_model(content)
    (source,), (target,) = model.inputs, model.outputs

    assert len(content) < 100_000
    assert model.tensors[source].shape == (1, 8, 8, 1)
    assert model.tensors[target].shape == (1, 10)
    assert [operator.code for operator in model.operators] == [
        "CONV_2D",
        "DEPTHWISE_CONV_2D",
        "CONV_2D",
        "ADD",
        "MAX_POOL_2D",
        "CONV_2D",
        "AVERAGE_POOL_2D",
        "RESHAPE",
        "FULLY_CONNECTED",
        "SOFTMAX",
    ]


def test_styles_are_quantized_as_they_say() -> None:
    by_name = tensors(read_model(digits.model("int8")))
    channels = {"stem": (16, 0), "depthwise": (16, 3), "pointwise": (16, 0), "conv": (32, 0)}

    for name, (count, axis) in channels.items():
        for part in ("kernel", "bias"):
            quantization = by_name[f"{name}/{part}"].quantization
            assert quantization is not None
            assert np.unique(quantization.scale).size == count  # a scale of each channel's own
            assert not quantization.zero_point.any()
        kernel = by_name[f"{name}/kernel"]
        assert kernel.data is not None
        assert kernel.quantization is not None
        assert kernel.quantization.axis == axis
        largest = np.abs(kernel.data.astype(int)).max(tuple({0, 1, 2, 3} - {axis}))
        assert (largest == 127).all()  # each channel uses its whole range, and never -128
    by_name = tensors(read_model(digits.model("uint8")))

    for name in ("stem", "depthwise", "pointwise", "conv", "logits"):
        kernel = by_name[f"{name}/kernel"]
        assert kernel.dtype == "uint8"
        assert kernel.quantization is not None
        assert kernel.quantization.scale.size == 1
        assert 0 < kernel.quantization.zero_point[0] < 255
        assert kernel.quantization.zero_point[0] != 128  # not a symmetric one, shifted
    for name in ("pointwise", "logits"):
        activation = by_name[name].quantization
        assert activation is not None
        assert 0 < activation.zero_point[0] < 255


@styles
def test_the_scale_of_a_bias_is_that_of_its_products(style: str) -> None:
    model = read_model(digits.model(style))

    for operator in model.operators:
        if len(operator.inputs) == 3:
            data, kernel, bias = (model.tensors[index].quantization for index in operator.inputs)
            assert data is not None
            assert kernel is not None
            assert bias is not None
            np.testing.assert_array_equal(bias.scale, data.scale * kernel.scale)


@styles
def test_a_picture_enters_the_model_exactly(style: str) -> None:
    values = np.arange(17, dtype=np.uint8)
    picture = np.zeros((1, 8, 8), np.uint8)
    picture.ravel()[:17] = values
    quantization = tensors(read_model(digits.model(style)))["input"].quantization
    assert quantization is not None

    inputs = digits.to_input(picture, style)

    assert inputs.dtype == style
    assert inputs.shape == (1, 8, 8, 1)
    real = quantization.scale * (inputs.astype(int) - quantization.zero_point)
    np.testing.assert_array_equal(real.ravel()[:17], values / 16)


test_pictures_that_do_not_fit_are_an_error = failing(
    lambda pictures: digits.to_input(pictures, "int8"),
    (np.zeros((8, 8), np.uint8), r"shape \(N, 8, 8\), got \(8, 8\)"),
    (np.zeros((1, 28, 28), np.uint8), r"got \(1, 28, 28\)"),
    (np.zeros((1, 8, 8)), "integer dtype, got float64"),
    (np.full((1, 8, 8), 17), "from 0 to 16, got 17 to 17"),
    (np.full((1, 8, 8), -1), "from 0 to 16, got -1 to -1"),
)


def test_no_pictures_and_unknown_styles() -> None:
    assert digits.to_input(np.zeros((0, 8, 8), np.uint8), "uint8").shape == (0, 8, 8, 1)
    needs = "style must be one of int8, uint8, got 'int4'"
    fails(needs, digits.model, "int4")
    fails(needs, digits.to_input, digits.held_out()[0], "int4")


def test_the_detector_finds_held_out_digits_where_they_are() -> None:
    pictures, labels = digits.held_out()
    generator = np.random.default_rng(7)
    model = digits.detector()
    outputs = read_model(model).outputs
    digit_count = found = wrong = 0
    for _ in range(40):
        page = scene(pictures, labels, generator)
        image = (page.pixels ^ 128).view(np.int8)[None, :, :, None]
        tensors = litert_tensors(model, [image])
        boxes, classes, scores, count = (tensors[index] for index in outputs)
        # By their centres, and their sizes by a fifth.
        for box, label in zip(page.boxes, page.labels, strict=True):
            near = np.abs(boxes[0] - box).max(1) < 0.07
            is_found = near & (classes[0] == label) & (scores[0] >= 0.3)
            found += bool(is_found[: int(count[0])].any())
        digit_count += len(page.labels)
        kept = boxes[0][(scores[0] >= 0.3) & (np.arange(10) < count[0])]
        wrong += sum(np.abs(page.boxes - box).max(1).min() > 0.1 for box in kept)
    # It found 89 % of other pages at 0.5, and nothing where there is none.
    assert found / digit_count > 0.85
    assert wrong / digit_count < 0.05
