import re

import pytest

from tests.support.errors import failing
from tvm_qnn.cli.commands.compile import compile_model
from tvm_qnn.standalone.packages import PACKAGES, package_for
from tvm_qnn.target.target import parse_target


def test_the_command_offers_every_package() -> None:
    (option,) = (each for each in compile_model.params if each.name == "package")
    assert list(option.type.choices) == list(PACKAGES)  # type: ignore[attr-defined]


test_a_package_is_for_some_targets = failing(
    lambda name, target: package_for(name, parse_target(target)),
    ("arduino", "riscv32", "'arduino' is for Cortex-M, not for riscv32-unknown-none-elf"),
    ("esp-idf", "cortex-m4", "'esp-idf' is for 32-bit RISC-V, not for thumbv7em-none-eabi"),
    ("zephyr", "x86-avx2", "'zephyr' is for Cortex-M and 32-bit RISC-V, not for"),
    ("make", "cortex-m4", "package must be one of cmake, arduino, .*, got 'make'"),
)


@pytest.mark.parametrize("target", ["cortex-m0plus", "cortex-m4+hardfloat", "riscv32", "wasm32"])
def test_cmake_is_for_all(target: str) -> None:
    parsed = parse_target(target)
    assert package_for("cmake", parsed) is PACKAGES["cmake"]
    takers = {
        name
        for name, package in PACKAGES.items()
        if re.match(package.triples, str(parsed.attrs["mtriple"]))
    }
    assert ("arduino" in takers) == ("cmsis" in takers) == target.startswith("cortex")
