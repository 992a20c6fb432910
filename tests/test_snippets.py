"""Every snippet of README and documentation runs here, unless a table says why it cannot."""

import multiprocessing
import os
import re
import shutil
from collections import deque
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import tvm_qnn
from frontends.tflite.quantization import Quantization
from frontends.tflite.writer import ModelWriter
from tests.frontends.mxnet.files import array_list, dense, symbol_json
from tests.frontends.tflite.converters.test_variables import inputs, ring
from tests.support.linking import needs_linker
from tests.support.pictures import write_digits, write_picture
from tests.support.plain_c import needs_gcc
from tests.support.snippets import PAGES, ROOT, run_command, run_python, snippets
from tvm_qnn import digits, prose

pytestmark = [
    needs_linker,
    needs_gcc,
    pytest.mark.filterwarnings("ignore::tvm_qnn.LeftInFloatWarning"),
    pytest.mark.filterwarnings("ignore::tvm_qnn.NotQuantizedWarning"),
]

NAMES = {page: page.relative_to(ROOT).as_posix() for page in PAGES}

NOT_RUN = {
    r"^(python3(\.12)? -m venv|(\S+/)?pip (install|download))": "needs a network",
    r"^make ": "continuous integration runs it, as CONTRIBUTING.md says",
    r"^(\S+/)?python -m (benchmarks|tests)\.": "takes minutes; the modules have tests",
    r"^python -m tools\.runtime_wheel|^tvm-qnn-runtime": "tests/tools/test_runtime_wheel.py",
    r"^tvm-qnn --rules": "tests/frontends/tflite/test_custom.py runs it",
    r"^python-zig|^python -m http\.server": "tests/examples/test_browser.py runs the page",
    r"^arm-none-eabi-gcc": "make test-mcu links and runs such programs",
    r"^docker ": "needs Docker",
    r"^(\S+/)?tvm-qnn serve|^curl |tritonclient": "tests/tvm_qnn/serving/test_server.py",
    r"= client\.InferInput": "tests/tvm_qnn/serving/test_server.py sends pictures",
    r"serve\.deployment|^ray |--ray|^cmp out": "needs Ray",
    r"tvm_qnn\.remote": "needs a device; tests/tvm_qnn/library/test_remote.py",
    r"out=\{\"scores": "tests/tvm_qnn/library/test_library.py",
    r"deeplab_dm05_u8": "needs a model that is not part of the repository",
    r"from transformers": "needs a tokenizer that is not part of the repository",
}
"""Why lines of shells and Python snippets do not run here, by what they have."""

ELSEWHERE = {
    "docs/guides/custom_operators.md": "tests/frontends/tflite/test_custom.py",
    "docs/guides/onnx.md": "tests/frontends/onnx/test_guide.py",
    "docs/guides/pytorch.md": "tests/frontends/torch/test_importer.py",
    "docs/guides/text.md": "tests/tvm_qnn/text/test_prose.py",
}
"""The tests that run all Python snippets of a page."""


TOOLS = {
    "docs/guides/devices.md": (pytest.mark.arm, "aarch64-linux-gnu-gcc"),
    "docs/guides/plain_c.md": (pytest.mark.mcu, "xtensa-lx106-elf-gcc"),
}
"""The pages whose snippets need a cross compiler, and the tests for which one is installed."""


def reason(text: str) -> str:
    return next((why for part, why in NOT_RUN.items() if re.search(part, text, re.M)), "")


def case(page: Path) -> Any:
    """Return a page as a parameter of a test, with the marks of its compiler."""
    name, marks = NAMES[page], []
    if name in TOOLS:
        mark, tool = TOOLS[name]
        is_missing = shutil.which(tool) is None
        marks = [mark, pytest.mark.skipif(is_missing, reason=f"{tool} is not on the path")]
    return pytest.param(page, marks=marks, id=name)


def write_digits_model(folder: Path, name: str) -> None:
    (folder / f"{name}.tflite").write_bytes(digits.model("int8"))
    (folder / "labels.txt").write_text("\n".join(f"digit {each}" for each in range(10)))
    (folder / "names.txt").write_text("\n".join(f"digit {each}" for each in range(10)))
    write_picture(folder / "cat.jpg", digits.held_out()[0][0] * 15)


def write_pooled(folder: Path) -> None:
    """Write model.tflite: the mean of each channel of a picture."""
    writer, q = ModelWriter(), Quantization.per_tensor(0.5, 0)
    x = writer.tensor("input", (1, 224, 224, 3), "int8", q)
    axes = writer.tensor("axes", (2,), "int32", None, np.array([1, 2], np.int32))
    y = writer.tensor("y", (1, 3), "int8", q)
    writer.operator("MEAN", [x, axes], [y])
    (folder / "model.tflite").write_bytes(writer.finish([x], [y]))


def write_mxnet(folder: Path) -> None:
    """Write net-symbol.json and net-0000.params: the mean of each channel, then a dense layer."""
    nodes: list[dict[str, Any]] = [
        {"op": "null", "name": "data"},
        {
            "op": "Pooling",
            "name": "pool",
            "attrs": {"global_pool": "True", "pool_type": "avg", "kernel": "(1, 1)"},
            "inputs": [[0, 0, 0]],
        },
        {"op": "null", "name": "weight"},
        {
            "op": "FullyConnected",
            "name": "dense",
            "attrs": {"num_hidden": "10", "no_bias": "True"},
            "inputs": [[1, 0, 0], [2, 0, 0]],
        },
    ]
    (folder / "net-symbol.json").write_text(symbol_json(nodes))
    weights = array_list([dense(np.ones((10, 3), np.float32))], ["arg:weight"])
    (folder / "net-0000.params").write_bytes(weights)


def write_onnx(folder: Path, name: str, signature: str, body: str) -> Path:
    onnx = pytest.importorskip("onnx")
    text = f'<ir_version: 8, opset_import: ["" : 17]> agraph {signature} {{ {body} }}'
    onnx.save(onnx.parser.parse_model(text), folder / name)
    return folder / name


def write_encoder(folder: Path) -> None:
    """Write encoder.onnx, whose batch and length are open, and text.npz."""
    onnx = pytest.importorskip("onnx")
    quantization = pytest.importorskip("onnxruntime.quantization")
    path = write_onnx(
        folder,
        "float.onnx",
        "(int64[batch, length] input_ids, int64[batch, length] attention_mask) "
        "=> (float[B, L, 4] y)",
        "words = Gather(table, input_ids) keep = Cast<to = 1>(attention_mask) "
        "axis = Constant<value_ints = [2]>() wide = Unsqueeze(keep, axis) "
        "kept = Mul(words, wide) y = MatMul(kept, weights)",
    )
    model, rng = onnx.load(path), np.random.default_rng(0)
    for name, shape in (("table", (64, 8)), ("weights", (8, 4))):
        array = rng.normal(size=shape).astype(np.float32)
        model.graph.initializer.append(onnx.numpy_helper.from_array(array, name))
    onnx.save(model, path)
    quantization.quantize_dynamic(path, folder / "encoder.onnx")
    ids = np.zeros((1, 128), np.int64)
    np.savez(folder / "text.npz", input_ids=ids, attention_mask=ids + 1)


def readme(folder: Path) -> dict[str, Any]:
    write_digits_model(folder, "inception_v3_quant")
    return {}


def start(folder: Path) -> dict[str, Any]:
    write_digits_model(folder, "model")
    write_mxnet(folder)
    return {}


def numerics_mxnet(folder: Path) -> dict[str, Any]:
    write_mxnet(folder)
    return {"qnn": tvm_qnn}


def keywords(folder: Path) -> dict[str, Any]:
    write_digits_model(folder, "keywords")
    mod, params = tvm_qnn.from_tflite(digits.model("int8"))
    return {"qnn": tvm_qnn, "mod": mod, "params": params}


def evaluate(folder: Path) -> dict[str, Any]:
    for name, style in (("digits", "int8"), ("digits_uint8", "uint8")):
        (folder / f"{name}.tflite").write_bytes(digits.model(style))
        (folder / f"{name}.toml").write_text("mean = 0\nstd = 255\n")
    write_digits(folder / "digits", 30)
    return {}


def commands(folder: Path) -> dict[str, Any]:
    (folder / "new.tflite").write_bytes(digits.model("int8"))
    (folder / "old.tflite").write_bytes(digits.model("uint8"))
    return {}


def former_scripts(folder: Path) -> dict[str, Any]:
    return {
        "tflite_model": digits.model("int8"),
        "shape_dict": {"input": (1, 8, 8, 1)},
        "dtype_dict": {"input": "int8"},
        "data": np.zeros((1, 8, 8, 1), np.int8),
    }


def libraries(folder: Path) -> dict[str, Any]:
    write_digits_model(folder, "model")
    tvm_qnn.build(*_swapped(digits.model("int8"))).export(folder / "model.so")
    tvm_qnn.build(*_swapped(ring())).export(folder / "keywords.so")
    (frames,) = zip(*inputs(4), strict=True)
    return {
        "tvm_qnn": tvm_qnn,
        "ProcessPoolExecutor": ProcessPoolExecutor,
        "multiprocessing": multiprocessing,
        "frames": frames,
        "images": frames,
    }


def _swapped(model: bytes) -> tuple[Any, str, Any]:
    mod, params = tvm_qnn.from_tflite(model)
    return mod, "host", params


def one_line(folder: Path) -> dict[str, Any]:
    pytest.importorskip("onnxruntime")
    write_digits_model(folder, "mobilenet_v2_quant")
    return {"image": np.zeros((1, 8, 8, 1), np.int8)}


def onnx_guide(folder: Path) -> dict[str, Any]:
    write_encoder(folder)
    names: dict[str, Any] = {}
    deque(run_python("docs/guides/onnx.md", names))
    np.save(folder / "image.npy", names["image"])
    return {}


def serving(folder: Path) -> dict[str, Any]:
    write_onnx(
        folder,
        "model.onnx",
        "(float[batch, 3, 224, 224] x) => (float[B, 3, 1, 1] y)",
        "y = GlobalAveragePool(x)",
    )
    return {}


def sizes(folder: Path) -> dict[str, Any]:
    torch = pytest.importorskip("torch")
    write_pooled(folder)

    class Scores(torch.nn.Module):  # type: ignore[name-defined]
        def forward(self, x: Any) -> Any:
            return x.mean((2, 3))

    image = np.zeros((8, 3, 224, 224), np.float32)
    return {
        "torch": torch,
        "qnn": tvm_qnn,
        "np": np,
        "network": Scores(),
        "example": torch.zeros(2, 3, 224, 224),
        "images": image,
    }


def text(folder: Path) -> dict[str, Any]:
    pytest.importorskip("onnx")
    (folder / "decoder.onnx").write_bytes(prose.model("int4").read_bytes())
    return {}


FILES: dict[str, Callable[[Path], dict[str, Any]]] = {
    "README.md": readme,
    "docs/start.md": start,
    "docs/numerics_mxnet.md": numerics_mxnet,
    "docs/guides/browser.md": keywords,
    "docs/guides/commands.md": commands,
    "docs/guides/devices.md": keywords,
    "docs/guides/evaluate.md": evaluate,
    "docs/guides/former_scripts.md": former_scripts,
    "docs/guides/libraries.md": libraries,
    "docs/guides/microcontrollers.md": keywords,
    "docs/guides/one_line.md": one_line,
    "docs/guides/onnx.md": onnx_guide,
    "docs/guides/plain_c.md": keywords,
    "docs/guides/serving.md": serving,
    "docs/guides/sizes.md": sizes,
    "docs/guides/text.md": text,
}
"""What writes the files that the snippets of a page read, and returns the names of earlier code."""


@pytest.mark.usefixtures("builds")
@pytest.mark.parametrize("page", [case(page) for page in PAGES])
def test_snippets_run(page: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    name = NAMES[page]
    kinds = ("py",) if name in ELSEWHERE else ("py", "python")
    found = snippets(page)
    code = [each.text for each in found if each.kind in kinds and not reason(each.text)]
    lines = [[line for line in each.lines if not reason(line)] for each in found]
    if not (code or any(lines)):
        return
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("TVM_NUM_THREADS", "1")  # the other tests have the other processors
    names = FILES[name](tmp_path)
    for block in lines:
        os.chdir(tmp_path)
        for line in block:
            run_command(line)
    for each in code:
        exec(each, names)


def test_what_does_not_run_is_there() -> None:
    found = [each for page in PAGES for each in snippets(page)]
    parts = [line for each in found for line in each.lines]
    parts += [each.text for each in found if each.kind in ("python", "py")]
    assert [
        part for part in NOT_RUN if not any(re.search(part, each, re.M) for each in parts)
    ] == []
    for page, test in ELSEWHERE.items():
        assert snippets(page, "python")
        content = (ROOT / test).read_text(encoding="utf-8")
        assert f'run_python("{page}"' in content
