import json
import re
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from click.testing import CliRunner

import tvm_qnn
from frontends.tflite.quantization import Quantization
from tests.support.commands import refused, said
from tests.support.errors import fails
from tests.support.linking import needs_linker
from tests.support.rpc import rpc_process
from tests.support.tflite_graphs import Subgraph, model_of
from tvm_qnn.cli import main
from tvm_qnn.cli.commands.compare import save_histogram
from tvm_qnn.compare import Comparison, TensorComparison, compare


def test_an_exact_model(model: Path) -> None:
    found = json.loads(said(main, ["compare", str(model), "--primitives", "--json"]))
    assert found["equal"]
    assert all(tensor["differing"] == 0 for tensor in found["tensors"])


def test_a_difference_is_shown_and_told_by_the_exit_code(
    model: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    tensors = (
        TensorComparison(3, "first", "CONV_2D", 100, 0, 0.0),
        TensorComparison(4, "second", "ADD", 100, 7, 2.0, {-2: 3, 1: 4}),
        TensorComparison(5, "third", "RESHAPE", 0, 0, np.inf, mismatch="shape (2,) here"),
    )

    def different(*_arguments: Any, **_options: Any) -> Comparison:
        return Comparison(tensors)

    monkeypatch.setattr(tvm_qnn, "compare", different)
    result = CliRunner().invoke(main, ["compare", str(model), "--histogram", "h.png"])
    assert result.exit_code == 1
    assert "1 of 3 tensors" in result.stdout
    assert "The first that differs: second, of ADD." in result.stdout
    assert "shape (2,) here" in result.stdout
    assert Path("h.png").read_bytes().startswith(b"\x89PNG")


@pytest.mark.usefixtures("no_build")
@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--target", "aarch64"], "cannot run here"),
        (["--histogram", "/proc/h.png"], "no file can be made"),
        (["--histogram", "h.docx"], "must end in"),
    ],
)
def test_what_does_not_work_is_told_at_first(model: Path, options: list[str], message: str) -> None:
    assert message in refused(main, ["compare", str(model), *options])


@pytest.mark.usefixtures("no_build")
@pytest.mark.parametrize("command", [["compare"], ["demo", "--model"]])
def test_missing_litert_is_told_before_the_work(
    model: Path, monkeypatch: pytest.MonkeyPatch, command: list[str]
) -> None:
    monkeypatch.setitem(sys.modules, "ai_edge_litert", None)
    assert "needs the package ai-edge-litert" in refused(main, [*command, str(model)])


@pytest.mark.usefixtures("no_build")
def test_inputs_of_a_wrong_shape_are_told_before_the_work(model: Path) -> None:
    fails("needs int8 of shape", compare, model, [np.zeros((2, 2), np.int8)])


def small(path: Path, dtype: str, scale: float | None) -> Path:
    """Write a model of one RELU."""
    kind = ((1, 4), dtype, None if scale is None else Quantization.per_tensor(scale, 0))
    path.write_bytes(model_of(Subgraph({"x y": kind}, [("RELU", "x", "y")], "x", "y")))
    return path


def test_other_shapes_than_the_file_s(tmp_path: Path) -> None:
    path = small(tmp_path / "relu.tflite", "int8", 1)
    text = said(main, ["compare", str(path), "--shape", "x=5,4", "--json"])
    assert [tensor["elements"] for tensor in json.loads(text)["tensors"]] == [20]


def found(exit_code: int, *words: str | Path) -> Any:
    result = CliRunner().invoke(main, ["compare", *map(str, words), "--json"])
    assert result.exit_code == exit_code, result.output
    return json.loads(result.stdout)


@needs_linker
def test_a_library_against_its_model_and_the_other_way(tmp_path: Path) -> None:
    file = small(tmp_path / "r.tflite", "int8", 0.5)
    mod, params = tvm_qnn.from_tflite(file)
    library = tmp_path / "r.so"
    tvm_qnn.build(mod, "host", params).export(library)
    answer = found(0, library, "--against", file)
    assert answer["reference"] == "r.tflite on LiteRT's reference kernels"
    assert [tensor["elements"] for tensor in answer["tensors"]] == [4]
    assert found(0, file, "--against", library)["reference"] == "r.so"


def test_two_models_where_floats_meet(tmp_path: Path) -> None:
    fine, coarse, real = (
        small(tmp_path / f"{name}.tflite", *encoding)
        for name, *encoding in (("a", "int8", 0.5), ("b", "int8", 0.75), ("c", "float32", None))
    )
    np.save(tmp_path / "x.npy", np.array([[-1, 0.5, 2, 3]], np.float32))
    (tensor,) = found(1, fine, "--against", coarse, "-i", tmp_path / "x.npy")["tensors"]
    # 0, 0.5, 2, 3 and 0, 0.75, 2.25, 3.
    assert (tensor["differing"], tensor["worst"]) == (2, 0.25)
    noise = 2 * 0.25**2
    assert tensor["sqnr"] == pytest.approx(10 * np.log10((0.75**2 + 2.25**2 + 9) / noise))
    (tensor,) = found(0, fine, "--against", real, "-i", tmp_path / "x.npy")["tensors"]
    assert (tensor["sqnr"], tensor["cosine"]) == (None, 1.0)
    assert found(0, fine, "--against", real)["equal"]  # noise: the same real numbers


def test_outputs_of_another_program(tmp_path: Path) -> None:
    fixtures = Path(__file__).parents[3] / "fixtures" / "mxnet_digits"
    recorded = np.load(fixtures / "digits.npz")
    picture, answer = recorded["data"], recorded["output0"]
    np.save(tmp_path / "x.npy", picture)
    np.savez(tmp_path / "known.npz", scores=answer)
    shape = ",".join(map(str, picture.shape))
    given = ("--shape", f"data={shape}", "-i", tmp_path / "x.npy", "--against")
    words = (fixtures / "digits-symbol.json", *given)
    assert found(0, *words, tmp_path / "known.npz")["equal"]
    np.savez(tmp_path / "known.npz", scores=answer + 1)
    assert found(1, *words, tmp_path / "known.npz")["tensors"][0]["differing"] == answer.size


def test_a_folder_of_inputs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "200")
    fine, coarse = (
        small(tmp_path / name, "int8", scale) for name, scale in (("a", 0.5), ("b", 1.0))
    )
    folder = tmp_path / "inputs"
    (folder / "inner").mkdir(parents=True)
    for name, value in (("1.npy", 2), ("inner/2.npy", 2.5), ("3.npy", 1)):
        np.save(folder / name, np.full((1, 4), value, np.float32))
    (folder / "notes.txt").write_text("no input")
    answer = found(0, fine, "-i", folder)
    assert (answer["runs"], answer["tensors"][0]["elements"]) == (3, 12)
    words = ["compare", str(fine), "-i", str(folder), "--against", str(coarse)]
    result = CliRunner().invoke(main, words)
    assert result.exit_code == 1
    assert "0 of 1 tensors, 8 of 12 elements in 3 runs." in result.stdout
    assert f"with {folder / 'inner' / '2.npy'}." in " ".join(result.stdout.split())


def test_a_page_with_the_differences(tmp_path: Path) -> None:
    fine, coarse = (
        small(tmp_path / name, "int8", scale) for name, scale in (("a", 0.5), ("b", 1.0))
    )
    np.save(tmp_path / "x.npy", np.array([[0.5, 1, 2, 3]], np.float32))
    page = tmp_path / "page.html"
    found(1, fine, "--against", coarse, "-i", tmp_path / "x.npy", "--html", page)
    assert (
        '"difference": {"index": 0, "name": "y", "operator": "", "elements": 4, "differing": 1'
        in (page.read_text("utf-8"))
    )
    assert "0 of 1 tensors equal to b on LiteRT's reference kernels (tvm-qnn" in page.read_text(
        "utf-8"
    )
    found(0, fine, "-i", tmp_path / "x.npy", "--html", page)
    text = page.read_text("utf-8")
    versions = r"\(tvm-qnn [\d.]+, ai-edge-litert [\d.]+\)"
    verdict = rf"1 of 1 tensors equal to LiteRT's reference kernels {versions}"
    assert re.search(verdict, text)


@needs_linker
def test_on_a_device(tmp_path: Path) -> None:
    file = small(tmp_path / "r.tflite", "int8", 0.5)
    with rpc_process("tvm.exec.rpc_server", tmp_path / "server.txt") as port:
        answer = found(0, file, "--device", f"127.0.0.1:{port}")
    assert answer["reference"] == "LiteRT's reference kernels"


@pytest.mark.usefixtures("no_build")
@pytest.mark.parametrize(
    ("words", "message"),
    [
        (
            ["digits.tflite", "--against", "nothing"],
            "'nothing' is none of litert, onnxruntime, xnnpack, nor a file",
        ),
        (["lib.so"], "name what to compare with by --against FILE"),
        (["lib.so", "--against", "digits.tflite", "--primitives"], "are for model files"),
        (["digits.tflite", "--against", "y.npz"], "are of one --input"),
        (["digits.tflite", "-i", "empty"], "empty has neither pictures nor arrays"),
        (["digits.tflite", "--device", "there"], "'there' is not of the form HOST:PORT"),
        (["digits-symbol.json"], "or against another model"),
    ],
)
def test_what_cannot_be_compared(model: Path, words: list[str], message: str) -> None:
    del model  # in the current folder
    Path("lib.so").touch()
    Path("empty").mkdir()
    np.savez("y.npz", y=np.zeros(1))
    fixtures = Path(__file__).parents[3] / "fixtures" / "mxnet_digits"
    for name in ("digits-symbol.json", "digits-0000.params"):
        Path(name).write_bytes((fixtures / name).read_bytes())
    result = CliRunner().invoke(main, ["compare", *words])
    assert result.exit_code in (1, 2)
    assert message in " ".join(result.stderr.replace("│", " ").split())


def test_a_picture_is_drawn_where_it_can_be_written(tmp_path: Path) -> None:
    found = Comparison((TensorComparison(3, "y", "ADD", 100, 7, 2.0, {-2: 3, 1: 4}),))
    path = tmp_path / "histogram.png"
    save_histogram(path, found, "model")
    assert path.read_bytes().startswith(b"\x89PNG")
    fails("cannot write", save_histogram, tmp_path / "nowhere" / "histogram.png", found, "model")
