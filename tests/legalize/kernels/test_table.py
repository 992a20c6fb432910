from collections.abc import Sequence
from typing import Any

import pytest
import tvm
from tvm import relax

from legalize.kernels.kernel import Kernel
from legalize.kernels.table import KERNELS, kernel
from qnn_ops import quantized_pad
from qnn_ops.dialect.registry import OPERATORS, Attrs, attrs_of
from tests.support.errors import giving
from tvm_qnn.target.target import parse_target


def target(mcpu: str) -> tvm.target.Target:
    return tvm.target.Target({"kind": "llvm", "mcpu": mcpu})


@pytest.fixture
def own_table(monkeypatch: pytest.MonkeyPatch) -> dict[str, list[Kernel]]:
    """Return the table without the project's kernels."""
    table: dict[str, list[Kernel]] = {}
    monkeypatch.setattr("legalize.kernels.table.KERNELS", table)
    return table


def nothing(
    builder: relax.BlockBuilder, attrs: Attrs, operands: Sequence[relax.Expr]
) -> relax.Expr | None:
    return None


def test_kernels_are_listed_by_operator_in_order(own_table: dict[str, list[Kernel]]) -> None:
    def other(*_: Any) -> None:
        return None

    assert kernel(quantized_pad, "avx512vnni", "avx512bw")(nothing) is nothing
    kernel(quantized_pad, "avx2")(other)
    assert own_table == {
        "relax.qnn.quantized_pad": [
            Kernel(("avx512vnni", "avx512bw"), nothing),
            Kernel(("avx2",), other),
        ]
    }


test_a_kernel_serves_targets_with_all_its_features = giving(
    lambda features, mcpu: Kernel(features, nothing).serves(target(mcpu)),
    (("avx512vnni", "avx512bw"), "cascadelake", True),
    (("avx512vnni", "avx512bw"), "skylake-avx512", False),
    (("avx512bw",), "skylake-avx512", True),
    (("avx2",), "x86-64", False),
    ((), "x86-64", True),
)


def test_a_rule_gets_plain_attributes_and_all_operands() -> None:
    data = relax.Var("data", relax.TensorType((3,), "int8"))
    builder = relax.BlockBuilder()
    got: list[Any] = []

    def rule(*arguments: Any) -> relax.Expr:
        got.extend(arguments)
        return data

    call = quantized_pad(data, [1, 2], 3)
    assert Kernel((), rule).lower(builder, call) is data
    assert got == [builder, attrs_of(call), [data]]
    assert got[1].pad_width == (1, 2)


def test_the_projects_kernels_belong_to_operators_of_the_dialect() -> None:
    assert {"relax.qnn.quantized_conv2d", "relax.qnn.quantized_dense"} <= set(KERNELS)
    assert set(KERNELS) <= set(OPERATORS)
    assert all(kernels for kernels in KERNELS.values())
    features = {feature for kernels in KERNELS.values() for k in kernels for feature in k.features}
    arm = {"aarch64", "arm", "neon", "dotprod", "i8mm", "mclass", "dsp", "mve"}
    others = arm | {"32bit", "c99"}
    x86 = {"kind": "llvm", "mattr": [f"+{name}" for name in features - others]}
    names = ("aarch64-i8mm", "armv7-neon", "cortex-m4", "cortex-m55", "riscv32", "c")
    targets = [tvm.target.Target(x86), *map(parse_target, names)]
    for kernels in KERNELS.values():
        assert all(any(k.serves(target) for target in targets) for k in kernels)
