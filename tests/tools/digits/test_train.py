import sys

import numpy as np
import pytest

from tests.support.errors import fails
from tools.digits import network
from tools.digits.train import Digits, load_split, train
from tvm_qnn import digits


def test_the_split_shares_out_every_digit_once() -> None:
    from sklearn.datasets import load_digits

    training, held_out = load_split()

    def rows(pictures: np.ndarray, labels: np.ndarray) -> list[bytes]:
        table = np.column_stack([pictures.reshape(len(labels), -1), labels]).astype(np.uint8)
        return sorted(row.tobytes() for row in table)

    both = Digits(
        np.concatenate([training.pictures, held_out.pictures]),
        np.concatenate([training.labels, held_out.labels]),
    )
    bundled = load_digits()
    assert len(held_out) == 450
    assert rows(both.pictures, both.labels) == rows(bundled.images, bundled.target)


def test_the_bundled_pictures_are_the_held_out_ones() -> None:
    _, held_out = load_split()
    pictures, labels = digits.held_out()

    np.testing.assert_array_equal(pictures, held_out.pictures)
    np.testing.assert_array_equal(labels, held_out.labels)
    assert np.bincount(labels).min() >= 30  # each digit is there


def test_training_learns_and_does_so_the_same_way_each_time() -> None:
    training, _ = load_split()
    few = Digits(training.pictures[:256], training.labels[:256])

    first, second = train(few, epochs=8), train(few, epochs=8)

    for name, value in first.items():
        np.testing.assert_array_equal(value, second[name])
    # By chance it would be right one time in ten.
    assert network.accuracy(first, few.real(), few.labels) > 0.8


def test_without_scikit_learn_training_says_what_to_install(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setitem(sys.modules, "sklearn.datasets", None)
    fails("pip install scikit-learn", load_split)
