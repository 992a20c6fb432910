"""MXNet models with MXNet's own outputs, and a separate evaluator."""

import importlib.util
import sys
from collections.abc import Mapping
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import tvm

from frontends.mxnet import from_mxnet
from tvm_qnn import build

SHARED = Path(__file__).parents[3] / "shared"
TINY = SHARED / "models" / "mxnet" / "tiny"


def fixture(prefix: Path) -> tuple[dict[str, np.ndarray], list[np.ndarray]]:
    """Return the inputs of a pair of files by name, and MXNet's outputs in order."""
    with np.load(f"{prefix}.npz") as file:
        arrays = dict(file)
    count = sum(name.startswith("output") for name in arrays)
    outputs = [arrays.pop(f"output{index}") for index in range(count)]
    return arrays, outputs


def imported(
    prefix: Path, inputs: Mapping[str, np.ndarray], **options: Any
) -> tuple[tvm.IRModule, dict[str, Any]]:
    """Import a pair of files for inputs of these shapes; ``options`` are those of from_mxnet."""
    shapes = {name: array.shape for name, array in inputs.items()}
    files = f"{prefix}-symbol.json", f"{prefix}-0000.params"
    return from_mxnet(files[0], shapes, arg_params=files[1], **options)


def results_of(
    prefix: Path,
    inputs: Mapping[str, np.ndarray],
    *,
    kernels: bool = True,
    semantics: str = "mxnet",
) -> list[np.ndarray]:
    """Run a pair of files, through kernels for this machine or portable primitives.

    Args:
        prefix: of the files' paths: up to "-symbol.json" and "-0000.params".
        inputs: by name.
        kernels: whether to use kernels.
        semantics: as ``from_mxnet`` takes it.
    """
    mod, params = imported(prefix, inputs, semantics=semantics)
    library = build(mod, "host" if kernels else "llvm", params, kernels=kernels)
    results = library.run(*(inputs[info.name] for info in library.inputs))
    return list(results.values()) if isinstance(results, dict) else [results]


def evaluator() -> ModuleType:
    """Load the numpy evaluator of graphs in the shared folder; it imports two modules by name."""
    names = {
        "sem": SHARED / "specs" / "mxnet_semantics.py",
        "mxreader": SHARED / "prototypes" / "mxnet_reader.py",
        "mxnet_graph_eval": SHARED / "prototypes" / "mxnet_graph_eval.py",
    }
    for name, path in names.items():
        if name not in sys.modules:
            spec = importlib.util.spec_from_file_location(name, path)
            assert spec is not None
            assert spec.loader is not None
            module = importlib.util.module_from_spec(spec)
            sys.modules[name] = module
            spec.loader.exec_module(module)
    return sys.modules["mxnet_graph_eval"]
