import pytest
import tvm

from legalize.kernels.isa.targets import has_feature, target_of
from tests.support.errors import giving
from tvm_qnn.target.target import NAMES, parse_target

test_has_feature = giving(
    lambda target, feature: has_feature(target, feature),
    ({"kind": "llvm", "mcpu": "cascadelake"}, "avx512vnni", True),
    ({"kind": "llvm", "mcpu": "skylake-avx512"}, "avx512vnni", False),
    ({"kind": "llvm", "mcpu": "skylake-avx512"}, "avx512bw", True),
    ({"kind": "llvm", "mcpu": "alderlake"}, "avx512vnni", False),
    ({"kind": "llvm", "mattr": ["+avx512vnni"]}, "avx512vnni", True),
    ({"kind": "llvm", "mcpu": "znver4", "mattr": ["-avx512vnni"]}, "avx512vnni", False),
    # The machine that compiles does not count.
    ("llvm", "avx512vnni", False),
    ({"kind": "c"}, "avx512vnni", False),
    ({"kind": "llvm", "mtriple": "aarch64-linux-gnu", "mattr": ["+dotprod"]}, "dotprod", True),
    ({"kind": "llvm", "mtriple": "aarch64-linux-gnu"}, "avx512vnni", False),
    ({"kind": "llvm", "mtriple": "aarch64-linux-gnu"}, "aarch64", True),
    ({"kind": "llvm", "mtriple": "arm64-apple-darwin"}, "aarch64", True),
    ({"kind": "llvm", "mtriple": "arm64-apple-darwin"}, "arm", False),
    ({"kind": "llvm", "mtriple": "armv7l-linux-gnueabihf"}, "arm", True),
    ({"kind": "llvm", "mtriple": "armv7l-linux-gnueabihf"}, "aarch64", False),
    ({"kind": "llvm", "mcpu": "cascadelake"}, "arm", False),
    ({"kind": "c"}, "aarch64", False),
    ({"kind": "llvm", "keys": ["c99", "cpu"]}, "c99", True),
    ({"kind": "llvm"}, "c99", False),
)


@pytest.mark.parametrize("name", NAMES)
def test_a_description_tells_all_of_a_target(name: str) -> None:
    target = tvm.target.Target(parse_target(name).export(), host="llvm")
    found = target_of(str(target))
    assert found.export() == target.export()
    assert found is target_of(str(found))
