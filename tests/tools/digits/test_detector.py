"""The detector's network, its training and its model."""

import numpy as np
import pytest

from frontends.tflite.reader import read_model
from tools.digits import detector
from tools.digits.detector import BOX, CELLS, CENTRE_SCALE, SIZE_SCALE, anchors, targets
from tools.digits.network import Parameters
from tools.digits.train import AdamW, Digits
from tvm_qnn import digits
from tvm_qnn.digits.scenes import EXTENT, Scene


def few() -> Digits:
    return Digits(*digits.held_out())


def test_offsets_move_the_cell_s_box_to_the_digit() -> None:
    box = np.array([[10, 30, 24, 40]]) / EXTENT
    page = Scene(np.zeros((EXTENT, EXTENT), np.uint8), box, np.array([7]))
    classes, offsets, is_digit = targets([page])
    row, column = 17 // 4, 35 // 4
    assert np.argwhere(is_digit).tolist() == [[0, row, column]]
    assert classes[0, row, column].argmax() == 7
    # As TFLite_Detection_PostProcess decodes them.
    y, x, height, width = anchors()[row * CELLS + column]
    moved = offsets[0, row, column]
    centre = moved[:2] / CENTRE_SCALE * (height, width) + (y, x)
    size = np.exp(moved[2:] / SIZE_SCALE) * (height, width)
    np.testing.assert_allclose(np.concatenate([centre - size / 2, centre + size / 2]), box[0])
    assert (height, width) == (BOX, BOX)


@pytest.fixture(scope="module")
def parameters() -> Parameters:
    return detector.train(few(), steps=2)


def test_gradients_are_those_of_the_loss(parameters: Parameters) -> None:
    scenes = detector.random_scenes(few(), np.random.default_rng(1), 1)
    _, gradients = detector.loss_and_gradients(parameters, scenes)
    assert gradients.keys() == parameters.keys()
    for name, place in {"first/kernel": 5, "third/kernel": 99, "offsets/bias": 2}.items():
        losses = []
        for step in (1e-5, -1e-5):
            moved = {**parameters, name: parameters[name].copy()}
            moved[name].ravel()[place] += step
            losses.append(detector.loss_and_gradients(moved, scenes)[0])
        slope = (losses[0] - losses[1]) / 2e-5
        np.testing.assert_allclose(gradients[name].ravel()[place], slope, rtol=1e-3, atol=1e-6)


def test_training_lowers_the_loss() -> None:
    parameters = detector.train(few(), steps=1)
    scenes = detector.random_scenes(few(), np.random.default_rng(1), 2)
    optimizer = AdamW(parameters)
    losses = []
    for _ in range(8):
        loss, gradients = detector.loss_and_gradients(parameters, scenes)
        optimizer.step(gradients, 4e-3)
        losses.append(loss)
    assert losses[-1] < losses[0] / 2


def test_the_model_has_the_form_of_the_one_that_is_kept(parameters: Parameters) -> None:
    scenes = detector.random_scenes(few(), np.random.default_rng(1), 2)
    made, kept = read_model(detector.quantize(parameters, scenes)), read_model(digits.detector())
    assert [each.code for each in made.operators] == [each.code for each in kept.operators]
    assert [each.shape for each in made.tensors] == [each.shape for each in kept.tensors]
