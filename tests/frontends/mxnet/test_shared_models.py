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
"""Where MXNet's own semantics gives other numbers than the corrected one."""


def tiny(network: str, kind: str) -> tuple[Path, dict[str, np.ndarray]]:
    return TINY / f"{network}-{kind}", {"data": np.load(TINY / f"{network}-input.npy")}


@needs_shared
@pytest.mark.parametrize(
    ("kind", "kernels"), [("sg-auto", True), ("sg-auto-chan", True), ("sg-auto-chan", False)]
)
@pytest.mark.parametrize("network", NETWORKS)
def test_tiny_networks_equal_mxnet(network: str, kind: str, kernels: bool) -> None:
    prefix, inputs = tiny(network, kind)
    (result,) = results_of(prefix, inputs, kernels=kernels)
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
    deviates = network in DEVIATING
    assert np.array_equal(result, np.load(f"{prefix}-output.npy")) != deviates


@needs_shared
@pytest.mark.parametrize("network", ["groupconv", "residual"])
def test_corrected_semantics_are_nearer_to_the_floats(network: str) -> None:
    prefix, inputs = tiny(network, "sg-auto-chan")
    real = np.load(TINY / f"{network}-float-output.npy").ravel()

    def cosine(semantics: str) -> float:
        (result,) = results_of(prefix, inputs, semantics=semantics)
        values = result.ravel()
        return float(values @ real / np.linalg.norm(values) / np.linalg.norm(real))

    assert cosine("corrected") > cosine("mxnet")
