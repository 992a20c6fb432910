"""Models of the shared folder against MXNet's stored outputs, and against its evaluator."""

from pathlib import Path

import numpy as np
import pytest

from tests.support.mxnet import SHARED, TINY, evaluator, results_of

needs_shared = pytest.mark.skipif(not TINY.exists(), reason="no folder ../shared beside this one")

NETWORKS = (
    *("concat_aligned", "concat_mixed", "concat_pool", "conv_bn_relu", "depthwise", "dilated"),
    *("groupconv", "mlp", "preact", "residual", "residual_linear"),
)
DEVIATING = ("groupconv", "residual", "residual_linear")
"""The networks for which MXNet's own semantics gives other numbers than the corrected one."""
NEARER = ("groupconv", "residual")
"""The networks whose corrected numbers have a smaller angle to the real ones than MXNet's have."""


def tiny(network: str, kind: str) -> tuple[Path, dict[str, np.ndarray]]:
    return TINY / f"{network}-{kind}", {"data": np.load(TINY / f"{network}-input.npy")}


@needs_shared
@pytest.mark.parametrize("kind", ["sg-auto", "sg-auto-chan"])
@pytest.mark.parametrize("network", NETWORKS)
def test_tiny_networks_equal_mxnet(network: str, kind: str) -> None:
    prefix, inputs = tiny(network, kind)
    (result,) = results_of(prefix, inputs)
    np.testing.assert_array_equal(result, np.load(f"{prefix}-output.npy"))


@needs_shared
@pytest.mark.parametrize("kernels", [True, False])
def test_mobilenet_equals_mxnet(kernels: bool) -> None:
    prefix = SHARED / "models" / "mxnet" / "mobilenet0_25"
    inputs = {"data": np.load(f"{prefix}-input.npy")}
    (result,) = results_of(Path(f"{prefix}-sg-auto"), inputs, kernels=kernels)
    np.testing.assert_array_equal(result, np.load(f"{prefix}-sg-auto-output.npy"))


@needs_shared
@pytest.mark.parametrize("network", NETWORKS)
def test_corrected_semantics_equal_the_evaluator(network: str) -> None:
    prefix, inputs = tiny(network, "sg-auto-chan")
    (expected,) = evaluator().run(prefix.name, inputs["data"], bug=False, out=str(TINY))
    (result,) = results_of(prefix, inputs, semantics="corrected")
    np.testing.assert_array_equal(result, expected)
    theirs = np.load(f"{prefix}-output.npy")
    assert np.array_equal(result, theirs) != (network in DEVIATING)
    if network in NEARER:
        real = np.load(TINY / f"{network}-float-output.npy").ravel()
        ours, other = (
            float(each.ravel() @ real / np.linalg.norm(each)) for each in (result, theirs)
        )
        assert ours > other


@pytest.mark.skipif(not TINY.exists(), reason="no folder ../shared beside this one")
@pytest.mark.parametrize("network", ["concat_aligned", "groupconv", "mlp", "preact", "residual"])
def test_tiny_networks_are_near_to_mxnet(network: str) -> None:
    prefix = TINY / f"{network}-float"
    data = np.load(TINY / f"{network}-input.npy")
    (result,) = results_of(prefix, {"data": data}, kernels=False)
    expected = np.load(f"{prefix}-output.npy")
    # Sums of products in another order, in each layer.
    limit = 1e-6 * float(np.abs(expected).max())
    np.testing.assert_allclose(result, expected, rtol=0, atol=limit)


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
