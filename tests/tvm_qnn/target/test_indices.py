from collections.abc import Callable

import numpy as np
import pytest
import tvm
from tvm import relax
from tvm.relax import op as R

from qnn_ops import quantized_lookup
from tests.support.arm import ARMV7, CORTEX_A15, Core
from tests.support.arm_models import lowered_module, run_lowered
from tests.support.arrays import full_range
from tests.support.machine_code import write_objects
from tests.support.modules import module
from tvm_qnn import build
from tvm_qnn.target.indices import wide_indices
from tvm_qnn.target.target import parse_target

WITHOUT_VECTORS = Core("cortex-a15", ARMV7, "llvm -mtriple=armv7l-linux-gnueabihf -mattr=-neon")
X = full_range(np.random.default_rng(0), "uint8", (3, 9, 11, 8))


def tiled(x: relax.Expr) -> relax.Expr:
    return R.tile(R.permute_dims(x, [2, 1, 3, 0]), [2, 1, 2, 1])


TABLE = full_range(np.random.default_rng(1), "uint8", (256,))
EXPECTED = TABLE[np.tile(X.transpose(2, 1, 3, 0), [2, 1, 2, 1])]


def looked_up() -> tvm.IRModule:
    return module(
        {"x": relax.TensorType(X.shape, "uint8")},
        lambda x: quantized_lookup(tiled(x), relax.const(TABLE)),
    )


@pytest.mark.parametrize("target", ["host", "x86-sse4.1"])
@pytest.mark.parametrize("kernels", [True, False])
def test_tiles_of_powers_of_two_are_right(target: str, kernels: bool) -> None:
    np.testing.assert_array_equal(build(looked_up(), target, kernels=kernels).run(X), EXPECTED)


@pytest.mark.parametrize("core", [WITHOUT_VECTORS, CORTEX_A15], ids=["plain", "neon"])
def test_they_are_right_with_addresses_of_32_bits(core: Core) -> None:
    if core.machine.missing is not None:
        pytest.skip(core.machine.missing)
    mod, metadata = lowered_module(looked_up(), core)
    np.testing.assert_array_equal(run_lowered(mod, metadata, core, [X])[0], EXPECTED)


@pytest.mark.parametrize("target", ["armv7-neon", WITHOUT_VECTORS.target_name])
def test_they_are_compiled_for_addresses_of_32_bits(target: str) -> None:
    write_objects(build(looked_up(), target))


@pytest.mark.parametrize(
    ("body", "target", "is_wide"),
    [
        (tiled, "aarch64", True),
        (tiled, "armv7-neon", False),  # LLVM did not end
        (lambda x: R.permute_dims(x, [2, 1, 3, 0]), "aarch64", False),
        (lambda x: R.add(x, x), "aarch64", False),
    ],
)
def test_only_remainders_by_powers_of_two_widen(
    body: Callable[[relax.Expr], relax.Expr], target: str, is_wide: bool
) -> None:
    mod = relax.transform.LegalizeOps()(module({"x": relax.TensorType(X.shape, "uint8")}, body))
    functions = [function for name, function in mod.functions.items() if name.name_hint != "main"]
    assert bool(wide_indices(functions, parse_target(target))) is is_wide
