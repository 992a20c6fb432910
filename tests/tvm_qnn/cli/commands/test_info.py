import json
from pathlib import Path

import pytest

import tvm_qnn
from tests.support.commands import refused, said
from tests.support.linking import needs_linker
from tests.support.modules import adder
from tvm_qnn.cli import main
from tvm_qnn.cli.commands import info

pytestmark = needs_linker


@pytest.fixture(scope="module")
def file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("info") / "adder.so"
    tvm_qnn.build(adder(), "host").export(path)
    return path


def answer(*arguments: str) -> str:
    return said(main, ["info", *arguments])


def test_it_tells_tensors_needs_versions_and_digest(file: Path) -> None:
    library = tvm_qnn.load(file)
    said = answer(str(file))
    assert library.digest in said
    assert "input x  int8  2×3\n" in said
    assert "output output0  int8  2×3\n" in said
    assert f"  for {library.target.attrs['mcpu']}: " in said
    assert said.count("(taken here)") == 1
    assert f"tvm {library.metadata.versions['tvm']}" in said


def test_needs_are_in_words() -> None:
    for architecture, extensions, words in [
        ("x86_64", "", "Linux on x86_64"),
        ("x86_64", "sse3 sse4.1", "Linux on x86_64: Intel from Nehalem, AMD from Jaguar"),
        ("x86_64", "avx2 avxvnni", "Linux on x86_64: Intel from Alder Lake, AMD from Zen 5"),
        (
            "x86_64",
            "avx512f avx512vnni",
            "Linux on x86_64: Intel Xeon from Cascade Lake, AMD from Zen 4",
        ),
        ("x86_64", "amx-int8 amx-tile", "Linux on x86_64: Intel Xeon from Sapphire Rapids"),
        ("x86_64", "avx2 fma4", "Linux on x86_64, needs avx2, fma4"),
        ("aarch64", "neon dotprod", "Linux on aarch64: ARM from Cortex-A75 and Neoverse N1"),
        ("armv7l", "neon", "Linux on arm, needs neon"),
    ]:
        assert info._in_words(f"{architecture}-conda-linux-gnu", extensions.split()) == words


def test_its_json_has_the_same(file: Path) -> None:
    library = tvm_qnn.load(file)
    said = json.loads(answer(str(file), "--json"))
    assert (said["sha256"], said["bytes"]) == (library.digest, file.stat().st_size)
    assert [each["name"] for each in said["inputs"]] == ["x", "w"]
    assert [each["taken"] for each in said["variants"]] == [True]
    assert said["variants"][0]["needs"] == list(library.metadata.requirements.extensions)
    assert said["why_not_here"] is None


def test_one_for_another_machine_is_told_of_and_why_it_does_not_run(tmp_path: Path) -> None:
    target = "llvm -mtriple=x86_64-linux-gnu -mcpu=sapphirerapids"
    library = tvm_qnn.build(adder(), [target, "x86-avx2 -mcpu=skylake"])
    path = tmp_path / "other.so"
    try:
        library.export(path)
    except tvm_qnn.QnnError:
        pytest.skip("there is no linker for x86-64")
    said = json.loads(answer(str(path), "--json"))
    assert {each["target"]["mcpu"] for each in said["variants"]} == {"sapphirerapids", "skylake"}
    reason = library.metadata.why_not_here()
    assert said["why_not_here"] == reason
    assert ("cannot run here" in answer(str(path))) == (reason is not None)


def test_what_is_no_library_is_one_line() -> None:
    text = refused(main, ["info", __file__])
    assert text.startswith("Error: the name of a library must end in .so")
    assert len(text.splitlines()) == 1
