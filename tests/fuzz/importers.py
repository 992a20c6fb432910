"""The fuzzed importers: their inputs, and their allowed outcomes for damaged ones."""

import json
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
from tvm import relax

from frontends.mxnet import from_mxnet
from frontends.onnx import from_onnx
from frontends.tflite import from_tflite
from frontends.tflite.writer import ModelWriter
from legalize.passes.fold_qdq import FoldQdq
from qnn_ops.dialect.signature import signature_of
from qnn_ops.errors import QnnError
from tests.differential import growth  # noqa: F401 (registers the steps)
from tests.differential.graphs import INT16_STEPS, STEPS, Graph
from tests.differential.single import CODES, single
from tests.fuzz.mutations import changed_json, damaged
from tests.fuzz.rewrites import rewritten
from tests.fuzz.seeds import by_block, four_bits, sparse
from tests.support.recurrent import recurrent_writer

FIXTURES = Path(__file__).parents[1] / "fixtures" / "mxnet"

Files = dict[str, bytes]
"""The files of one model, by their role."""


@dataclass(frozen=True)
class Importer:
    """One importer.

    Attributes:
        draw: makes the files of one damaged model.
        load: imports them; a damaged model is a QnnError, anything else raised is a mistake.
    """

    draw: Callable[[np.random.Generator], Files]
    load: Callable[[Files], bool]


def _is_refused(load: Callable[[], tuple[Any, Any]]) -> bool:
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            mod, _ = load()
    except QnnError:
        return True
    relax.analysis.well_formed(mod)
    signature_of(mod)
    return False


@cache
def _tflite_seeds() -> tuple[tuple[ModelWriter, bytes], ...]:
    """Return a model of each step of random graphs, and others that these do not draw."""
    found = []
    for number, each in enumerate([*dict.fromkeys(STEPS), *map(single, CODES)]):
        is_narrow = each in STEPS and each not in INT16_STEPS
        for dtype in ("int8",) if is_narrow else ("int8", "int16"):
            file = Graph(np.random.default_rng(number))
            file.begin()
            value = next(
                filter(None, (each(file, file.input(shape, dtype)) for shape in _SHAPES)), None
            )
            if value is not None and file.codes:
                file.end()
                found.append((file.writer, file.writer.finish(file.inputs, file.outputs)))
    loop = recurrent_writer("gru", 3, sliced=False, known=False)
    for writer in (sparse(), four_bits(), by_block(), loop):
        found.append((writer, writer.finish(*writer._ends)))
    return tuple(found)


_SHAPES = ((1, 4, 4, 4), (2, 5), (3, 4), (1, 1, 3))


def _draw_tflite(rng: np.random.Generator) -> Files:
    seeds = _tflite_seeds()
    writer, content = seeds[int(rng.integers(len(seeds)))]
    if rng.random() < 0.4:
        return {"tflite": damaged(rng, content)}
    new = rewritten(rng, writer)
    return {"tflite": damaged(rng, content) if new is None else new}


def _load_tflite(files: Files) -> bool:
    return _is_refused(lambda: from_tflite(files["tflite"]))


@cache
def _mxnet_seeds() -> tuple[Files, ...]:
    return tuple(_mxnet_files(path) for path in sorted(FIXTURES.glob("*-symbol.json")))


def _mxnet_files(symbol: Path) -> Files:
    stem = symbol.name.removesuffix("-symbol.json")
    with np.load(symbol.with_name(f"{stem}.npz")) as arrays:
        shapes = {name: arrays[name].shape for name in arrays if not name.startswith("output")}
    return {
        "json": symbol.read_bytes(),
        "params": symbol.with_name(f"{stem}-0000.params").read_bytes(),
        "shapes": json.dumps(shapes).encode(),
    }


def _draw_mxnet(rng: np.random.Generator) -> Files:
    seeds = _mxnet_seeds()
    files = dict(seeds[int(rng.integers(len(seeds)))])
    kind = rng.random()
    if kind < 0.6:
        text = changed_json(rng, files["json"].decode())
        files["json"] = text.encode("utf-8", "surrogatepass")
    elif kind < 0.75:
        files["json"] = damaged(rng, files["json"])
    if kind > 0.65:
        files["params"] = damaged(rng, files["params"])
    return files


def _load_mxnet(files: Files) -> bool:
    shapes = json.loads(files["shapes"])
    return _is_refused(lambda: from_mxnet(files["json"], shapes, arg_params=files["params"]))


def _load_onnx(files: Files) -> bool:
    def load() -> tuple[Any, Any]:
        mod, params = from_onnx(files["onnx"])
        return FoldQdq()(mod), params  # what importing it promises

    return _is_refused(load)


IMPORTERS: dict[str, Importer] = {
    "tflite": Importer(_draw_tflite, _load_tflite),
    "mxnet": Importer(_draw_mxnet, _load_mxnet),
}
if find_spec("onnx") is not None:
    from tests.fuzz import onnx_models

    IMPORTERS["onnx"] = Importer(lambda rng: {"onnx": onnx_models.draw(rng)}, _load_onnx)
if find_spec("torch") is not None and find_spec("executorch") is not None:

    def _load_torch(files: Files) -> bool:
        from tests.fuzz import torch_files

        return _is_refused(lambda: torch_files.load(files["pt2"]))

    def _draw_torch(rng: np.random.Generator) -> Files:
        from tests.fuzz import torch_files  # takes seconds, which others need not wait

        return {"pt2": torch_files.draw(rng)}

    IMPORTERS["torch"] = Importer(_draw_torch, _load_torch)
