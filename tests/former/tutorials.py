"""Runs TVM's tutorials on TFLite models, from a checkout, on the façade ``tvm_qnn.relay``.

Import lines change as ``tests.former.imports`` says, and what the tutorials download is made here:
a network of this project's zoo, or a small one of floats, a picture of noise, and labels.
"""

import io
import runpy
import sys
import tarfile
from collections.abc import Callable
from importlib.util import find_spec
from pathlib import Path
from types import SimpleNamespace
from typing import Any
from unittest.mock import MagicMock, patch

import ai_edge_litert.interpreter
import numpy as np
import tvm.contrib.download
from PIL import Image

from frontends.tflite.writer import ModelWriter
from tests.former import torchvision
from tests.former.imports import changed
from tvm_qnn.zoo import build as zoo

_CLASSES = 1001


def _float_network() -> bytes:
    writer, rng = ModelWriter(), np.random.default_rng(0)
    shapes = {"input": (1, 224, 224, 3), "pooled": (1, 7, 7, 3), "scores": (1, _CLASSES)}
    x, pooled, scores = (writer.tensor(n, s, "float32", None) for n, s in shapes.items())
    weights = rng.normal(0, 0.1, (_CLASSES, 7 * 7 * 3)).astype(np.float32)
    w = writer.tensor("weights", weights.shape, "float32", None, weights)
    window = {"filter_width": 32, "filter_height": 32, "stride_w": 32, "stride_h": 32}
    writer.operator("AVERAGE_POOL_2D", [x], [pooled], **window)
    writer.operator("FULLY_CONNECTED", [pooled, w, -1], [scores])
    return writer.finish([x], [scores])


TUTORIALS: dict[str, tuple[str, Callable[[], bytes]]] = {
    "deploy_models/deploy_prequantized_tflite.py": (
        "mobilenet_v2_1.0_224_quant.tflite",
        lambda: zoo("mobilenet_v2"),
    ),
    "compile_models/from_tflite.py": ("mobilenet_v1_1.0_224.tflite", _float_network),
}
"""The model's name and what makes one, by the tutorial's path in gallery/how_to."""

if find_spec("torch"):
    TUTORIALS["deploy_models/deploy_prequantized.py"] = ("", bytes)


def run(tutorial: Path, folder: Path) -> None:
    """Run a tutorial of ``TUTORIALS`` to its end.

    Args:
        tutorial: its file.
        folder: an empty one, for what the tutorial downloads.
    """
    name, model = TUTORIALS["/".join(tutorial.parts[-2:])]
    copy = folder / tutorial.name
    source = tutorial.read_text()
    copy.write_text(changed(source))

    def download(_url: str, file: str, **_options: Any) -> str:
        path = folder / file
        if file.endswith("gz"):
            with tarfile.open(path, "w:gz") as archive:
                content = model()
                member = tarfile.TarInfo(name)
                member.size = len(content)
                archive.addfile(member, io.BytesIO(content))
        elif file.endswith("txt"):
            labels = {number: str(number) for number in range(_CLASSES)}
            path.write_text(str(labels) if "clsid" in file else "\n".join(labels.values()))
        else:
            pixels = np.random.default_rng(0).integers(0, 256, (299, 299, 3), np.uint8)
            Image.fromarray(pixels).save(path)
        return str(path)

    modules: dict[str, Any] = {"matplotlib": MagicMock()}
    if "torch" in source:
        modules |= torchvision.modules()
    else:
        modules["tensorflow"] = SimpleNamespace(lite=ai_edge_litert.interpreter)
    with (
        patch.dict(sys.modules, modules),
        patch.object(tvm.contrib.download, "download_testdata", download),
    ):
        runpy.run_path(str(copy), run_name="__main__")
