from typing import Any

import pytest
import tvm
from tvm import relax
from tvm.relax import op as R
from tvm.target import codegen

from tests.support.errors import failing, fails
from tests.support.machine_code import assembly
from tests.support.modules import module
from tvm_qnn import build
from tvm_qnn.target import microcontrollers
from tvm_qnn.target.boards import BOARDS
from tvm_qnn.target.target import (
    EXTENSIONS,
    NAMES,
    host_target,
    parse_target,
    parse_targets,
    requirements,
    split_targets,
    why_not_here,
)

X86 = {"kind": "llvm", "mtriple": "x86_64-linux-gnu"}
ARM = {"kind": "llvm", "mtriple": "aarch64-linux-gnu"}


def test_extensions_and_texts_are_those_of_llvm() -> None:
    text = "llvm -mtriple=x86_64-linux-gnu -mcpu=znver4 -mattr=+avx512f,+avx512vnni -num-cores=4"
    fields = {**X86, "mcpu": "znver4", "mattr": ["+avx512f", "+avx512vnni"], "num-cores": 4}
    parsed = parse_target(text)
    assert parsed.attrs["mcpu"] == "znver4"
    assert str(parsed) == str(parse_target(fields)) == str(tvm.target.Target(fields))
    assert parse_target(parsed) is parsed
    for name in EXTENSIONS:
        base = ARM if name in ("neon", "dotprod", "i8mm", "sve", "sve2") else X86
        assert list(parse_target({**base, "mattr": [f"+{name}"]}).attrs["mattr"]) == [f"+{name}"]


def test_host_is_this_processor_which_runs_its_own_code() -> None:
    assert str(parse_target("host")) == str(host_target())
    assert host_target().attrs["mcpu"] == codegen.llvm_get_system_cpu()
    assert why_not_here(host_target()) is None
    assert why_not_here(parse_target("llvm")) is None


@pytest.mark.parametrize("name", [name for name in NAMES if name not in microcontrollers.NAMES])
def test_a_name_means_an_instruction_set(name: str) -> None:
    architecture, *extension = name.split("-", 1)
    parsed = parse_target(name)
    triples = {"x86": "x86_64", "aarch64": "aarch64", "armv7": "armv7l"}
    assert parsed.attrs["mtriple"].split("-")[0] == triples[architecture]
    features = {str(feature) for feature in codegen.llvm_get_cpu_features(parsed)}
    names = {"avx-vnni": "avxvnni", "avx512": "avx512bw", "avx512-vnni": "avx512vnni"}
    names["amx"] = "amx-int8"
    assert {names.get(part, part) for part in extension} <= features
    # And no later one.
    assert name == "aarch64-dotprod" or "dotprod" not in features or "i8mm" in features


@pytest.mark.parametrize("name", BOARDS)
def test_a_board_means_its_processor(name: str) -> None:
    assert str(parse_target(name)) == str(parse_target(BOARDS[name].target))
    assert str(parse_target(f"{name} -mcpu=generic").attrs["mcpu"]) == "generic"


def test_a_processor_means_its_platform_and_a_name_takes_options() -> None:
    wanted = {**ARM, "mcpu": "cortex-a72", "mattr": ["+neon"]}
    assert str(parse_target("cortex-a72")) == str(parse_target(wanted))
    assert str(parse_target("znver4").attrs["mtriple"]) == "x86_64-linux-gnu"
    assert "armv7" in str(parse_target("cortex-a7").attrs["mtriple"])
    parsed = parse_target("aarch64 -mcpu=cortex-a76")
    assert parsed.attrs["mcpu"] == "cortex-a76"
    assert parsed.attrs["mtriple"] == "aarch64-linux-gnu"
    assert bool(parsed.attrs["feature.has_dotprod"])
    assert list(parse_target("aarch64 -mattr=+neon,+sve").attrs["mattr"]) == ["+neon", "+sve"]
    fails("it knows it for 'aarch64 -mcpu=cortex-a72'", parse_target, {**X86, "mcpu": "cortex-a72"})


@pytest.mark.parametrize(
    "target",
    [
        "armv7-neon",
        "llvm -mtriple=armv7l-linux-gnueabihf",
        tvm.target.Target({"kind": "llvm", "mtriple": "armv7l-linux-gnueabihf"}),
    ],
    ids=str,
)
def test_a_platform_of_hard_floats_gets_them(target: Any) -> None:
    parsed = parse_target(target)
    assert parsed.attrs["mfloat-abi"] == "hard"
    assert parsed.attrs["mtriple"] == "armv7l-unknown-linux-gnueabihf"


test_what_is_not_a_target_is_an_error = failing(
    parse_target,
    ("", "the target is empty"),
    ("llvm mcpu=znver4", "'mcpu=znver4' is not of the form -name=value"),
    ("llvm -mcpu", "'-mcpu' is not of the form -name=value"),
    ("gcc -mcpu=znver4", "it begins with none of host, .*llvm"),
    ("llvm -speed=11", "Unknown config option 'speed'"),
    ({"mcpu": "znver4"}, 'Field "kind" is not found'),
    ("llvm -mtriple=x86-linux", "LLVM knows no architecture 'x86' of the target 'llvm -mtr"),
    (tvm.target.Target({"kind": "llvm", "mtriple": "z80"}), "LLVM knows no architecture 'z80'"),
    ("cuda", "a target is a processor, of kind llvm; 'cuda' is not"),
    ("x86-avx3", "cannot understand the target 'x86-avx3': .* x86-avx2, "),
    ("llvm -mattr=+avx512vnnni", "LLVM knows no extension '\\+avx512vnnni'"),
    ({**X86, "mattr": ["avx2"]}, "LLVM knows no extension 'avx2'"),
    ({**ARM, "mattr": ["+avx2"]}, "LLVM knows no extension '\\+avx2'"),
    (None, "a text, a dict or a tvm.target.Target, got None"),
)


@pytest.mark.parametrize(("base", "cpu"), [(X86, "pentium11"), (X86, ""), (ARM, "znver4")])
def test_a_processor_that_llvm_does_not_know_is_an_error(
    base: dict[str, Any], cpu: str, capfd: pytest.CaptureFixture[str]
) -> None:
    fails(f"LLVM knows no processor '{cpu}'", parse_target, {**base, "mcpu": cpu})
    assert capfd.readouterr().err == ""


@pytest.mark.parametrize("triple", ["armv7-linux-gnueabi", "i686-linux", "arm64-apple-darwin"])
def test_an_architecture_may_go_by_another_name(triple: str) -> None:
    assert parse_target({"kind": "llvm", "mtriple": triple}).attrs["mtriple"] == triple


def test_another_architecture_or_system_does_not_run_here() -> None:
    here = codegen.llvm_get_system_triple()
    other = "aarch64-linux-gnu" if "x86_64" in here else "x86_64-linux-gnu"
    for triple in (other, f"{here.split('-')[0]}-pc-windows-msvc"):
        reason = why_not_here(parse_target({"kind": "llvm", "mtriple": triple}))
        assert reason is not None
        assert reason.startswith(f"it is for {triple}, this machine is {here.split('-')[0]}-")


def test_a_missing_instruction_set_extension_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    old, new = ({**X86, "mcpu": cpu} for cpu in ("haswell", "cascadelake"))
    here = {*requirements(parse_target(old)).extensions}
    monkeypatch.setattr("tvm_qnn.target.processor.extensions_here", lambda asked: here)
    monkeypatch.setattr("tvm_qnn.target.processor.this_platform", lambda: "x86_64-linux")
    reason = why_not_here(parse_target(new))
    assert reason is not None
    assert "avx512f, " in reason
    assert "avx512vnni" in reason
    assert "avx2" not in reason
    assert why_not_here(parse_target({**X86, "mcpu": "sandybridge"})) is None


def test_targets_stand_between_commas() -> None:
    assert split_targets("host") == ["host"]
    assert split_targets("x86-avx2, x86-amx") == ["x86-avx2", "x86-amx"]
    both = "llvm -mcpu=haswell -mattr=+avx512f,-fma,aarch64 -mcpu=cortex-a72"
    assert split_targets(both) == [
        "llvm -mcpu=haswell -mattr=+avx512f,-fma",
        "aarch64 -mcpu=cortex-a72",
    ]
    names = ["x86-avx2", "x86-avx512-vnni"]
    assert [str(each) for each in parse_targets(names)] == [str(parse_target(n)) for n in names]


test_targets_that_make_no_library_are_errors = failing(
    parse_targets,
    ([], "for one target or several, got none"),
    (["x86-avx2", "x86"], "cannot understand the target 'x86'"),
    (["x86-avx2", "aarch64"], "'x86-avx2' is for x86_64-linux-gnu, 'aarch64' for aarch64"),
    (["x86-avx2", "x86-amx", "x86-avx2"], "'x86-avx2' and 'x86-avx2', which need the same"),
    (["aarch64", "aarch64 -mcpu=cortex-a72"], "'aarch64' and 'aarch64 -mcpu=cortex-a72'"),
)


@pytest.mark.parametrize("mcpu", ["cascadelake", "sapphirerapids"])
def test_loops_take_whole_registers_unless_told_otherwise(mcpu: str) -> None:
    parsed = parse_target(f"llvm -mcpu={mcpu}")
    assert list(parsed.attrs["mattr"]) == ["-prefer-256-bit"]
    assert parse_target(parsed).same_as(parsed)
    told = parse_target(f"llvm -mcpu={mcpu} -mattr=+prefer-256-bit")
    assert list(told.attrs["mattr"]) == ["+prefer-256-bit"]
    types = {name: relax.TensorType((64, 64), "float32") for name in "xy"}
    codes = [assembly(build(module(types, R.add), target)) for target in (parsed, told)]
    assert ["zmm" in code for code in codes] == [True, False]


@pytest.mark.parametrize("mcpu", ["haswell", "znver4"])
def test_other_processors_keep_their_options(mcpu: str) -> None:
    assert "mattr" not in parse_target(f"llvm -mcpu={mcpu}").attrs
