"""`python -m tools.digits.detector`: trains and quantizes the detector of digits, in some minutes.

One box for each cell of 4×4 pixels, as in SSD (Liu et al., arXiv:1512.02325), and a probability of
each of the ten digits for it. TFLite_Detection_PostProcess chooses among them.
"""

from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt

from qnn_ops.arithmetic.encoding import Encoding
from tools.digits import layers
from tools.digits.layers import Array
from tools.digits.network import CLASSES, Activations, Parameters
from tools.digits.quantize import Graph
from tools.digits.train import SEED, AdamW, Digits, load_split
from tvm_qnn.digits import DATA
from tvm_qnn.digits.scenes import EXTENT, Scene, scene
from tvm_qnn.io.outputs import replacing

STEPS = 1500
BATCH = 12
LEARNING_RATE = 4e-3

CELLS = EXTENT // 4
BOX = 13 / EXTENT
"""Height and width of the box that the network begins with, as part of the picture's."""
CENTRE_SCALE, SIZE_SCALE = 10.0, 5.0
"""How many steps the network counts where a box moves or grows by its own size."""

_PRIOR = 0.01  # probability of a digit before training
_SHAPES = {
    "first": (12, 3, 3, 1),
    "second": (24, 3, 3, 12),
    "third": (40, 3, 3, 24),
    "fourth": (40, 3, 3, 40),
    "logits": (CLASSES, 3, 3, 40),
    "offsets": (4, 3, 3, 40),
}
_POOLED = ("first", "second")
_HEADS = ("logits", "offsets")


def anchors() -> Array:
    """Return the boxes of all cells, [144, 4]: centre y and x, height, width."""
    centres = (np.indices((CELLS, CELLS)).reshape(2, -1).T + 0.5) / CELLS
    return np.concatenate([centres, np.full_like(centres, BOX)], 1)


def run(parameters: Parameters, data: Array) -> tuple[Activations, Callable[..., Parameters]]:
    """Return every activation, and the function from the heads' gradients to all gradients.

    Args:
        parameters: by name.
        data: pictures [N, 48, 48, 1], values from 0 to 1.
    """
    activations: Activations = {"input": data}
    steps: list[tuple[str, layers.Backward]] = []
    value = data
    for name in _SHAPES:
        weights = parameters[f"{name}/kernel"], parameters[f"{name}/bias"]
        result, back = layers.conv2d(value, *weights)
        steps.append((name, back))
        if name in _HEADS:
            activations[name] = result
            continue
        value, back = layers.relu(result)
        steps.append(("", back))
        activations[name] = value
        if name in _POOLED:
            value, back = layers.max_pool2d(value)
            steps.append(("", back))
            activations[f"{name}_pool"] = value

    def backward(to_logits: Array, to_offsets: Array) -> Parameters:
        gradients: Parameters = {}
        gradient: Array = np.zeros(1)
        to_heads = {"logits": to_logits, "offsets": to_offsets}
        for name, back in reversed(steps):
            parts = back(to_heads.get(name, gradient))
            gradient = gradient + parts[0] if name in _HEADS else parts[0]
            if name:
                gradients[f"{name}/kernel"], gradients[f"{name}/bias"] = parts[1:]
        return gradients

    return activations, backward


def targets(scenes: list[Scene]) -> tuple[Array, Array, npt.NDArray[np.bool_]]:
    """Return what the heads should say of scenes.

    Returns:
        Probabilities [N, 12, 12, 10], offsets [N, 12, 12, 4], and which cells have a digit's
        centre [N, 12, 12].
    """
    shape = len(scenes), CELLS, CELLS
    classes, offsets = np.zeros((*shape, CLASSES)), np.zeros((*shape, 4))
    known = anchors().reshape(CELLS, CELLS, 4)
    for number, each in enumerate(scenes):
        centres = (each.boxes[:, :2] + each.boxes[:, 2:]) / 2
        sizes = each.boxes[:, 2:] - each.boxes[:, :2]
        rows, columns = np.minimum(centres * CELLS, CELLS - 1).astype(int).T
        classes[number, rows, columns, each.labels] = 1
        moved = (centres - known[rows, columns, :2]) / BOX * CENTRE_SCALE
        offsets[number, rows, columns] = np.concatenate(
            [moved, np.log(sizes / BOX) * SIZE_SCALE], 1
        )
    return classes, offsets, classes.max(-1) > 0


def loss_and_gradients(parameters: Parameters, scenes: list[Scene]) -> tuple[float, Parameters]:
    """Return the loss, a digit, and its gradient for every parameter.

    It is the cross entropy of every cell's and digit's probability, and for cells with a digit
    half the squared error of its offsets, up to an error of 1 and linear beyond.
    """
    activations, backward = run(parameters, inputs(scenes))
    classes, offsets, is_digit = targets(scenes)
    logits = activations["logits"]
    count = max(1, int(is_digit.sum()))
    entropy = np.logaddexp(0, logits) - classes * logits
    error = (activations["offsets"] - offsets) * is_digit[..., None]
    size = np.abs(error)
    distance = np.where(size < 1, error**2 / 2, size - 0.5)
    loss = float(entropy.sum() + distance.sum()) / count
    probabilities = 1 / (1 + np.exp(-logits))
    return loss, backward((probabilities - classes) / count, np.clip(error, -1, 1) / count)


def inputs(scenes: list[Scene]) -> Array:
    """Return scenes as the network takes them."""
    return np.stack([each.pixels for each in scenes])[..., None] / 255.0


def train(digits: Digits, steps: int = STEPS) -> Parameters:
    """Train the network on scenes, each of which is seen once.

    Args:
        digits: the training set, from which the scenes are made.
        steps: how many batches of scenes.
    """
    generator = np.random.default_rng(SEED)
    parameters: Parameters = {}
    for name, shape in _SHAPES.items():
        spread = 0.01 if name in _HEADS else np.sqrt(2.0 / np.prod(shape[1:]))
        parameters[f"{name}/kernel"] = generator.normal(0.0, spread, shape)
        parameters[f"{name}/bias"] = np.zeros(shape[0])
    parameters["logits/bias"] += np.log(_PRIOR / (1 - _PRIOR))
    optimizer = AdamW(parameters)
    for step in range(steps):
        scenes = random_scenes(digits, generator, BATCH)
        _, gradients = loss_and_gradients(parameters, scenes)
        rate = LEARNING_RATE * (1 + np.cos(np.pi * step / steps)) / 2
        optimizer.step(gradients, rate * min(1.0, (step + 1) / 50))
    return parameters


def random_scenes(digits: Digits, generator: np.random.Generator, count: int) -> list[Scene]:
    """Make scenes of two to seven digits."""
    numbers = generator.integers(2, 7, count, endpoint=True).tolist()
    return [scene(digits.pictures, digits.labels, generator, number) for number in numbers]


def quantize(parameters: Parameters, calibration: list[Scene]) -> bytes:
    """Write the detector as a TFLite model of int8, which takes one picture.

    Args:
        parameters: as ``train`` gives them.
        calibration: scenes that give the activations' ranges.
    """
    activations, _ = run(parameters, inputs(calibration))
    graph = Graph(parameters, activations, "int8")
    writer = graph.writer
    unit: dict[str, Any] = {"padding": "SAME", "stride_h": 1, "stride_w": 1}
    block = {**unit, "stride_h": 2, "stride_w": 2, "filter_height": 2, "filter_width": 2}
    data = value = graph.activation("input", Encoding(1 / 255, -128, "int8"))
    real = []
    for name in _SHAPES:
        if name in _HEADS:
            head = graph.weighted("CONV_2D", name, value, **unit)
            if name == "logits":
                head = graph.logistic(head, (CELLS, CELLS, CLASSES))
            real.append(graph.real(head, (CELLS * CELLS, _SHAPES[name][0])))
            continue
        value = graph.weighted("CONV_2D", name, value, fused_activation_function="RELU", **unit)
        if name in _POOLED:
            value = graph.operator("MAX_POOL_2D", f"{name}_pool", [value], like=value, **block)
    scores, offsets = real
    fixed = anchors().astype(np.float32)
    places = writer.tensor("anchors", fixed.shape, "float32", data=fixed)
    most = 10
    shapes = {"boxes": (1, most, 4), "classes": (1, most), "scores": (1, most), "count": (1,)}
    results = [writer.tensor(name, shape, "float32") for name, shape in shapes.items()]
    writer.operator(
        "CUSTOM:TFLite_Detection_PostProcess",
        [offsets, scores, places],
        results,
        max_detections=most,
        max_classes_per_detection=1,
        nms_score_threshold=0.05,
        nms_iou_threshold=0.3,
        num_classes=CLASSES,
        y_scale=CENTRE_SCALE,
        x_scale=CENTRE_SCALE,
        h_scale=SIZE_SCALE,
        w_scale=SIZE_SCALE,
    )
    return writer.finish([data], results, "Handwritten digits in pictures of 48x48 pixels")


def main() -> None:
    """Train the detector, and write its file."""
    digits, _ = load_split()
    parameters = train(digits)
    calibration = random_scenes(digits, np.random.default_rng(SEED + 1), 60)
    with replacing(DATA / "detector.tflite") as part:
        part.write_bytes(quantize(parameters, calibration))


if __name__ == "__main__":
    main()
