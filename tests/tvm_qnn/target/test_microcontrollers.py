from pathlib import Path

import pytest
import tvm

from frontends.tflite import from_tflite
from tests.support.dense_layers import dense_layers
from tests.support.errors import failing, fails
from tvm_qnn import digits
from tvm_qnn.build import export_c
from tvm_qnn.standalone.symbols import undefined_symbols
from tvm_qnn.target.microcontrollers import NAMES, alignment_of, is_bare, with_hard_floats
from tvm_qnn.target.target import parse_target, requirements

# Products and shifts of 64 bits, and quotients, for which it has no instruction.
_M0PLUS = {
    f"__aeabi_{name}" for name in ("lmul", "lasr", "llsl", "llsr", "idiv", "uidiv", "uidivmod")
}
_ALIGNMENTS = {"cortex-m55": 8, "cortex-m85": 8, "wasm32": 16, "c": 8}


@pytest.mark.parametrize("name", NAMES)
def test_a_name_sets_the_core_and_its_alignment(name: str) -> None:
    target = parse_target(name)
    assert is_bare(target)
    assert alignment_of(target) == _ALIGNMENTS.get(name, 4)
    if name.startswith("cortex"):
        assert target.attrs["mcpu"] == name


@pytest.mark.parametrize("model", [digits.model("int8"), digits.model("uint8"), dense_layers()])
# Others have the instructions of one of these, and get the same functions (tests.targets).
@pytest.mark.parametrize(
    "name", ["cortex-m0plus", "cortex-m4", "cortex-m4+hardfloat", "cortex-m55", "riscv32"]
)
def test_networks_of_integers_call_no_floats(name: str, model: bytes, tmp_path: Path) -> None:
    mod, params = from_tflite(model)
    export_c(mod, name, params, tmp_path / "m")
    needs = undefined_symbols((tmp_path / "m.o").read_bytes())
    assert needs is not None
    assert {*needs} <= {"memcpy", "memset", *(_M0PLUS if name == "cortex-m0plus" else ())}


def test_machines_with_a_system_keep_their_alignment() -> None:
    for name in ("x86-avx2", "aarch64", "armv7-neon", "llvm -mtriple=riscv64-linux-gnu"):
        assert not is_bare(parse_target(name))
        assert alignment_of(parse_target(name)) is None


def test_hard_floats_come_with_the_platform_that_passes_them() -> None:
    target = parse_target("cortex-m4+hardfloat")
    assert target.attrs["mtriple"] == "thumbv7em-unknown-none-gnueabihf"
    assert target.attrs["mfloat-abi"] == "hard"
    assert with_hard_floats("cortex-m4") is None
    fails(r"the target 'cortex-m3\+hardfloat'", parse_target, "cortex-m3+hardfloat")
    for name in ("cortex-m4", "cortex-m7", "cortex-m33"):
        floats = {
            end: "fpregs"
            in map(str, tvm.target.codegen.llvm_get_cpu_features(parse_target(name + end)))
            for end in ("", "+hardfloat")
        }
        assert floats == {"": False, "+hardfloat": True}
    for name in ("cortex-m55", "cortex-m85+hardfloat"):
        features = {*map(str, tvm.target.codegen.llvm_get_cpu_features(parse_target(name)))}
        assert "mve.fp" not in features >= {"mve", "fpregs"}


test_floats_passed_two_ways_are_errors = failing(
    parse_target,
    ("llvm -mtriple=thumbv7em-none-eabi -mcpu=cortex-m4 -mfloat-abi=hard", "eabihf"),
    ("llvm -mtriple=thumbv8.1m.main-none-eabi -mfloat-abi=hard", "eabihf"),
    ("cortex-m4 -mfloat-abi=hard", "eabihf"),
    ("llvm -mtriple=armv7l-linux-gnueabihf -mfloat-abi=soft", "gnueabi"),
    (
        tvm.target.Target({"kind": "llvm", "mtriple": "thumbv7em-none-eabi", "mfloat-abi": "hard"}),
        "eabihf",
    ),
    match=r"results would be wrong: take -mtriple=\S+{},",
)


def test_a_hand_written_target_gets_its_vectors_too(capfd: pytest.CaptureFixture[str]) -> None:
    target = parse_target("llvm -mtriple=thumbv7em-none-eabi -mcpu=cortex-m4")
    assert target.attrs["vector-width"] == 32
    assert requirements(target).platform == "thumbv7em-none-eabi"
    given = parse_target("llvm -mtriple=thumbv7em-none-eabi -vector-width=64")
    assert given.attrs["vector-width"] == 64
    assert "Warning" not in capfd.readouterr().err
