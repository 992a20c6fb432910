"""The models that are fingerprinted, by name, each made or read only when it is asked for."""

import warnings
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import tvm
from tvm import relax

from benchmarks import tflite_zoo
from frontends.tflite import from_tflite
from tests.differential.graphs import Graph
from tests.differential.growth import grow
from tests.support.mxnet import SHARED, fixture, imported
from tvm_qnn import digits

RANDOM_FILES = 25
PER_FILE = 8
"""Graphs of a file: some files become one function, and some do not."""

FIXTURES = Path(__file__).parents[1] / "fixtures" / "mxnet"
_SYMBOL = "-symbol.json"


def models() -> dict[str, Callable[[], tvm.IRModule]]:
    """Return the maker of each model, as a module with its constants bound.

    Those of ../shared are left out where there is no such folder.
    """
    folder = SHARED / "models"
    found: dict[str, Callable[[], tvm.IRModule]] = {}
    for name, style in tflite_zoo.MODELS:
        found[f"zoo/{name}:{style}"] = partial(_zoo, name, style)
    for style in digits.STYLES:
        found[f"digits/{style}"] = partial(_digits, style)
    for path in sorted(FIXTURES.glob(f"*{_SYMBOL}")):
        found[f"fixtures/{path.name.removesuffix(_SYMBOL)}"] = partial(_fixture, path)
    for path in sorted((folder / "tflite").glob("*.tflite")):
        found[f"tflite/{path.stem}"] = partial(_tflite, path)
    for path in sorted((folder / "mxnet").rglob(f"*{_SYMBOL}")):
        name = path.relative_to(folder).as_posix().removesuffix(_SYMBOL)
        found[name] = partial(_shared_mxnet, path)
    for seed in range(RANDOM_FILES):
        found[f"random/{seed:02}"] = partial(_random, seed)
    return found


def _bound(imported: tuple[tvm.IRModule, Mapping[str, Any]]) -> tvm.IRModule:
    mod, params = imported
    return relax.transform.BindParams("main", params)(mod)


def _from_tflite(content: bytes) -> tvm.IRModule:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of operators that fall back to float32
        return _bound(from_tflite(content))


def _tflite(path: Path) -> tvm.IRModule:
    return _from_tflite(path.read_bytes())


def _zoo(name: str, style: str) -> tvm.IRModule:
    return _from_tflite(tflite_zoo.build(name, style, tiny=True))


def _digits(style: str) -> tvm.IRModule:
    return _from_tflite(digits.model(style))


def _random(seed: int) -> tvm.IRModule:
    file = Graph(np.random.default_rng(seed))
    for _ in range(PER_FILE):
        grow(file)
    return _from_tflite(file.writer.finish(file.inputs, file.outputs))


def _from_mxnet(symbol: Path, inputs: Mapping[str, np.ndarray]) -> tvm.IRModule:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return _bound(imported(_prefix(symbol), inputs))


def _prefix(symbol: Path) -> Path:
    return symbol.with_name(symbol.name.removesuffix(_SYMBOL))


def _fixture(symbol: Path) -> tvm.IRModule:
    return _from_mxnet(symbol, fixture(_prefix(symbol))[0])


def _shared_mxnet(symbol: Path) -> tvm.IRModule:
    network = symbol.name.split("-")[0]
    return _from_mxnet(symbol, {"data": np.load(symbol.with_name(f"{network}-input.npy"))})
