"""Networks that MXNet itself quantized, against its own results."""

from pathlib import Path

import numpy as np
import pytest

from tests.support.mxnet import results_of

FOLDER = Path(__file__).parents[2] / "fixtures" / "mxnet"
NAMES = sorted(path.name.removesuffix("-symbol.json") for path in FOLDER.glob("*-symbol.json"))
# What kernels give is held to the primitives operator by operator: a few of these will do.
PORTABLE = ("concatenation-auto", "dense-uint8-channels", "plain-uint8", "residual-auto")


def check(name: str, *, kernels: bool) -> None:
    with np.load(FOLDER / f"{name}.npz") as arrays:
        inputs = {key: arrays[key] for key in arrays if not key.startswith("output")}
        outputs = [arrays[key] for key in sorted(arrays) if key.startswith("output")]
    results = results_of(FOLDER / name, inputs, kernels=kernels)
    assert len(results) == len(outputs)
    for result, output in zip(results, outputs, strict=True):
        np.testing.assert_array_equal(result, output)


def test_there_are_fixtures() -> None:
    assert len(NAMES) > 20


@pytest.mark.parametrize("name", NAMES)
def test_kernels_equal_mxnet(name: str) -> None:
    check(name, kernels=True)


@pytest.mark.parametrize("name", PORTABLE)
def test_primitives_equal_mxnet(name: str) -> None:
    check(name, kernels=False)
