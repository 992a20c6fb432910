import json
import re
import tarfile
import threading
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner

from frontends.tflite import from_tflite
from frontends.tflite.quantization import Quantization
from frontends.tflite.writer import ModelWriter
from qnn_ops.dialect.signature import signature_of
from tests.support.commands import refused, said
from tests.support.disks import small_disk
from tests.support.linking import needs_linker
from tvm_qnn import build, digits, load
from tvm_qnn.cli import main
from tvm_qnn.oracle import litert_tensors


@needs_linker
def test_the_library_runs_and_gives_litert_s_answer(model: Path) -> None:
    said(main, ["compile", str(model)])
    digit = digits.to_input(digits.held_out()[0][:1], "int8")
    expected = litert_tensors(model.read_bytes(), [digit])
    np.testing.assert_array_equal(load("digits.so").run(digit), expected[max(expected)])


@needs_linker
def test_a_build_that_lasts_says_its_steps(model: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    class UpAtOnce(threading.Timer):
        def start(self) -> None:
            self.function()

        def join(self, timeout: float | None = None) -> None:
            pass

    monkeypatch.setattr(threading, "Timer", UpAtOnce)
    monkeypatch.setenv("TVM_QNN_CACHE", "0")  # other tests compile its functions, too
    result = CliRunner().invoke(main, ["compile", str(model), "--no-cache"])
    assert result.exit_code == 0, result.output
    assert result.stdout.startswith("digits.so: ")
    lines = [re.sub(r"\d+ functions?", "n functions", line) for line in result.stderr.splitlines()]
    assert lines == [
        "  Import digits.tflite",
        "  Compile for host",
        "  Compile for host: lower the operators",
        "  Compile for host: compile n functions",
        "  Write digits.so",
        "  Write digits.so: write the machine code",
        "  Write digits.so: link",
    ]


def test_files_for_a_c_compiler(model: Path) -> None:
    runner = CliRunner()
    for output in ("bundle", "bundle.tar"):
        arguments = ["compile", str(model), "-o", output, "--target", "aarch64", "--json"]
        result = runner.invoke(main, arguments)
        assert result.exit_code == 0, result.output
    names = {path.name for path in Path("bundle").iterdir()}
    assert names == {"digits.o", "digits.h", "digits.hpp", "digits.c", "digits_main.c"}
    with tarfile.open("bundle.tar") as archive:
        assert set(archive.getnames()) == names
    assert json.loads(result.stdout)["files"] == ["bundle.tar"]


def test_microcontrollers_get_c_files(model: Path, capfd: pytest.CaptureFixture[str]) -> None:
    said(main, ["compile", str(model), "--target", "cortex-m4"])
    assert {path.name for path in Path("digits").iterdir()} == {
        *("digits.o", "digits.h", "digits.hpp", "digits.c", "digits_main.c")
    }
    header = Path("digits/digits.h").read_text()
    assert "#define DIGITS_ALIGNMENT 4 " in header
    assert "arm-none-eabi-gcc -mcpu=cortex-m4" in Path("digits/digits_main.c").read_text()
    assert "Warning" not in capfd.readouterr().err
    said(main, ["compile", str(model), "--target", "c"])
    (file,) = Path.cwd().rglob("digits.c")
    text = file.read_text("utf-8")
    assert " * CONV_2D stem: int8 [1, 8, 8, 1] scale 0.0625 zero point -128, int8" in text
    assert all(len(line) <= 100 for line in text.splitlines() if line.startswith(" * "))


def test_a_limit_is_for_c_files_alone(model: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tvm_qnn.standalone.ram_limit._TRIES", 1)  # each takes as long as a build
    arguments = ["compile", str(model), "--ram-limit", "1600"]
    said(main, [*arguments, "--target", "cortex-m4"])
    header = Path("digits/digits.h").read_text()
    assert "DIGITS_INPUT_0_OFFSET" in header
    assert int(header.split("WORKSPACE_SIZE ")[1].split()[0]) <= 1600
    assert "--ram-limit is for C files, which a library is not" in refused(main, arguments, code=2)


@pytest.mark.parametrize("limit", ["0", "64k", "-1", "1.5K", ""])
def test_a_limit_is_a_number_of_bytes(model: Path, limit: str) -> None:
    text = refused(main, ["compile", str(model), "--ram-limit", limit], code=2)
    assert "is no number of bytes, as 65536 or 64K" in text


def test_vectors_and_an_arena_are_for_c_files_alone(model: Path) -> None:
    arguments = ["compile", str(model), "--test-vectors", "2"]
    for output in ("bundle", "bundle.tar"):
        options = ["-o", output, "--target", "cortex-m4", "--arena", "--json"]
        said(main, [*arguments, *options])
    assert "DIGITS_INPUT_0_OFFSET" in Path("bundle/digits.h").read_text()
    text = Path("bundle/digits_test.c").read_text()
    assert "#define VECTORS 2\n" in text
    with tarfile.open("bundle.tar") as archive:
        assert set(archive.getnames()) == {path.name for path in Path("bundle").iterdir()}
        packed = archive.extractfile("digits_test.c")
        assert packed is not None
        assert packed.read().decode() == text
    for option in (["--test-vectors", "2"], ["--arena"]):
        written = refused(main, ["compile", str(model), *option], code=2)
        assert f"{option[0]} is for C files, which a library is not" in written
    assert not Path("digits.so").exists()


def test_packages_are_folders_or_archives(model: Path) -> None:
    arguments = ["compile", str(model), "--target", "cortex-m4", "--package", "arduino"]
    for output in ("bundle", "bundle.tar"):
        said(main, [*arguments, "-o", output])
    files = {str(path.relative_to("bundle")) for path in Path("bundle").rglob("*.*")}
    assert {"library.properties", "src/cortex-m4/libdigits_code.a"} <= files
    with tarfile.open("bundle.tar") as archive:
        assert set(archive.getnames()) == {name for name in files if Path("bundle", name).is_file()}
    text = refused(main, ["compile", str(model), "--package", "cmake"], code=2)
    assert "--package is for C files, which a library is not" in text
    written = refused(main, [*arguments[:-1], "esp-idf", "-o", "other"])
    assert "'esp-idf' is for 32-bit RISC-V" in written
    assert not Path("other").exists()


def test_what_makes_no_library_is_named(model: Path) -> None:
    arguments = ["compile", str(model), "--target", "cortex-m55", "-o", "digits.so"]
    assert "nothing loads libraries on cortex-m55: name a folder" in refused(main, arguments)
    text = refused(main, ["compile", str(model), "--cc", "/bin/true"])
    assert "/bin/true linked nothing: is it a linker?\n" in text
    Path("folder.so").mkdir()
    text = refused(main, ["compile", str(model), "-o", "folder.so"])
    assert text == "Error: cannot write folder.so: it is a folder\n"


def test_the_files_of_other_models_and_shapes_of_no_input(model: Path) -> None:
    for name in ("digits_i8.tflite", "digits.tflite"):
        model = model.rename(name)
        arguments = ["compile", name, "-o", "bundle", "--target", "aarch64", "--json"]
        text = said(main, arguments)
    files = json.loads(text)["files"]
    assert files == [f"bundle/digits{end}" for end in (".c", ".h", ".hpp", ".o", "_main.c")]
    assert len(list(Path("bundle").iterdir())) == 2 * len(files)
    text = refused(main, ["compile", str(model), "--shape", "pictures=1,2"])
    assert text.startswith("Error: --shape: no input is named 'pictures'; there are ")


@pytest.mark.parametrize("name", ["bundle", "bundle.tar"])
def test_a_full_disk_leaves_nothing_and_is_an_error_that_names_the_output(
    model: Path, tmp_path: Path, name: str
) -> None:
    with small_disk(tmp_path / "small", 64 << 10) as disk:
        text = refused(main, ["compile", str(model), "-o", str(disk / name)])
        assert text == f"Error: cannot write {disk / name}: No space left on device\n"
        assert list(disk.iterdir()) == []


@needs_linker
def test_another_batch_size_and_a_name_in_capitals(model: Path) -> None:
    (info,) = signature_of(from_tflite(model)[0]).inputs
    shape = ",".join(map(str, (3, *info.shape[1:])))
    arguments = ["compile", str(model), "--shape", f"{info.name}={shape}"]
    said(main, arguments)
    assert load("digits.so").inputs[0].shape[0] == 3
    model.rename("KWS.TFLITE")
    said(main, ["compile", "KWS.TFLITE"])
    assert load("KWS.so").inputs[0].shape == (1, 8, 8, 1)


@pytest.mark.parametrize("shape", ["1,2", "x=", "x=1,-", "x=0,3"])
def test_a_shape_that_is_none(model: Path, shape: str) -> None:
    assert "NAME=1,3,224,224" in refused(main, ["compile", str(model), "--shape", shape], code=2)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--target", "llvm -mcpu=abacus"], "abacus"),
        (["--output", "digits.dll"], "must end in .so"),
        (["--output", "nowhere/digits.so"], "there is no folder nowhere"),
        (["--cc", "no-such-linker"], "no linker 'no-such-linker' on the path"),
    ],
)
def test_what_does_not_work_is_one_line(model: Path, arguments: list[str], message: str) -> None:
    text = refused(main, ["compile", str(model), *arguments])
    assert message in text
    assert len(text.splitlines()) == 1
    assert not list(model.parent.glob("*.so"))


@pytest.mark.usefixtures("no_build")
@pytest.mark.parametrize("output", ["-", "/proc/digits.so", "/proc/digits", "/proc/digits.tar"])
def test_an_output_that_cannot_be_written_is_told_before_the_work(model: Path, output: str) -> None:
    assert f"cannot write {output}" in refused(main, ["compile", str(model), "-o", output])
    assert [path.name for path in model.parent.iterdir()] == [model.name]


@needs_linker
def test_a_model_of_no_operators(model: Path) -> None:
    writer = ModelWriter()
    x = writer.tensor("x", (1, 4), "int8", Quantization.per_tensor(0.5, 0))
    model.write_bytes(writer.finish([x], [x]))
    array = np.array([[1, -2, 3, 4]], np.int8)
    runner = CliRunner()
    for output, target in (("none.so", "host"), ("bundle", "host"), ("other", "aarch64")):
        result = runner.invoke(main, ["compile", str(model), "-o", output, "--target", target])
        assert result.exit_code == 0, result.output
    np.testing.assert_array_equal(load("none.so").run(array), array)
    build(*from_tflite(model)[:1]).export("tvm.so", format="tvm")


@needs_linker
def test_several_targets_are_one_library_for_a_fleet(model: Path) -> None:
    command = ["compile", str(model), "--no-cache", "--target", "x86-sse4.1,x86-avx2"]
    told = json.loads(said(main, [*command, "--json"]))
    assert ["nehalem" in told["target"][0], "haswell" in told["target"][1]] == [True, True]
    told = json.loads(CliRunner().invoke(main, ["info", *told["files"], "--json"]).stdout)
    assert {each["target"]["mcpu"] for each in told["variants"]} == {"nehalem", "haswell"}


@pytest.mark.parametrize(
    ("targets", "output", "message"),
    [
        ("x86-avx2,aarch64", "m.so", "the targets of a library are of one architecture"),
        ("x86-avx2,x86-avx2", "m.so", "would never be taken: leave it out"),
        ("x86-avx2,x86-amx", "m.tar", "C files are for one target"),
        ("x86-avx2,", "m.so", "the target is empty"),
    ],
)
def test_targets_that_make_no_library(model: Path, targets: str, output: str, message: str) -> None:
    text = refused(main, ["compile", str(model), "--target", targets, "--output", output])
    assert message in text
    assert not Path(output).exists()
