"""The models of the matrix, with their frameworks' results for an input.

A model of LiteRT's is held to its reference kernels, one in ONNX to ONNX Runtime, one of MXNet's to
the fixture beside it.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import tvm

from benchmarks import tflite_zoo
from frontends.errors import UnsupportedOperatorError
from frontends.onnx import from_onnx
from frontends.tflite import from_tflite
from frontends.tflite.reader import read_model
from qnn_ops.arrays import Array
from tests.differential.tflite_file import tflite_file
from tests.legalize.passes.test_fused_models import Network
from tests.support.arrays import full_range
from tests.support.mxnet import fixture, imported
from tests.support.onnx_networks import NETWORKS, Style
from tests.targets.families import every_family
from tvm_qnn import digits
from tvm_qnn.oracle import litert_tensors, onnxruntime_tensors

_TESTS = Path(__file__).parents[1]
_SHARED = _TESTS.parents[1] / "shared" / "models"
_GRAPHS = 12  # in a file of random ones
_FEW = 29  # every one of so many targets, of a model that takes seconds: one of them all
# LiteRT reads its int8 state as int16, and writes beyond it.
_NOT_FOR_LITERT = "keyword_svdf_i8"


@dataclass(frozen=True)
class Loaded:
    """A model that was imported.

    Attributes:
        mod: of the dialect.
        params: its constants.
        inputs: by name, or in order.
        expected: the outputs, in order.
        tolerance: of the outputs, as a share of the largest element; 0 for the same bits.
        bounds: how far each output may lie off, instead of the tolerance; 0 for the same bits.
    """

    mod: tvm.IRModule
    params: Mapping[str, Any]
    inputs: Mapping[str, Array] | Sequence[Array]
    expected: Sequence[Array]
    tolerance: float = 0.0
    bounds: Sequence[float] = ()

    def differs(self, results: Sequence[Array]) -> str | None:
        """Describe how results differ from the expected ones; None if they do not."""
        for number, (result, wanted) in enumerate(zip(results, self.expected, strict=True)):
            if (result.shape, result.dtype) != (wanted.shape, wanted.dtype):
                return f"output {number} is {result.dtype}{result.shape}"
            limit = self._limit(number, wanted)
            if limit:
                # NaN has the same indices.
                same = np.isclose(result, wanted, rtol=0, atol=limit, equal_nan=True)
            else:
                same = (result == wanted) | ((result != result) & (wanted != wanted))
            if not same.all():
                return f"{np.count_nonzero(~same)} elements of output {number} differ"
        return None

    def _limit(self, number: int, wanted: Array) -> float:
        """Return how far an output may lie off."""
        if self.bounds:
            return self.bounds[number]
        if not self.tolerance or wanted.dtype.kind != "f":
            return 0.0
        return self.tolerance * float(np.abs(wanted[np.isfinite(wanted)]).max(initial=0))


@dataclass(frozen=True)
class Model:
    """A model that is not loaded yet.

    Attributes:
        name: in the log.
        load: imports it, and computes what is expected of it; None where it has operators that
            are not imported.
        stride: the share of the matrix builds it for each stride-th target: large ones are slow.
        multiplies: whether it has layers with weights, of channels enough for kernels.
        has_all: whether it has every kernel.
        emulates: whether it is small enough to run in a slow emulator.
    """

    name: str
    load: Callable[[], Loaded | None]
    stride: int
    multiplies: bool = False
    has_all: bool = False
    emulates: bool = True


def models(files: int) -> list[Model]:
    """Every model of the tests that is here, the real ones where the folder of them is.

    Args:
        files: how many of random graphs.
    """
    return [*_own(), *_random(files), *_zoo(), *_onnx(), *_mxnet(), *_float(), *_shared()]


def _own() -> list[Model]:
    kinds = ("int8", "uint8")
    return [
        *(
            Model(
                f"every kernel {kind}", partial(_tflite, partial(every_family, kind)), 1, True, True
            )
            for kind in kinds
        ),
        *(
            Model(f"digits {kind}", partial(_tflite, partial(digits.model, kind)), 2, True)
            for kind in digits.STYLES
        ),
        *(
            Model(f"fused {kind}", partial(_tflite, Network(kind).content), 2, True)
            for kind in kinds
        ),
    ]


def _random(files: int) -> list[Model]:
    return [
        Model(f"random graphs {seed}", partial(_random_graphs, seed), 4, emulates=False)
        for seed in range(files)
    ]


def _zoo() -> list[Model]:
    return [
        Model(
            f"tiny {name} {style}",
            # Gates of float32 are computed otherwise than LiteRT's; see the tests of the operator.
            partial(
                _tflite,
                partial(tflite_zoo.build, name, style, tiny=True),
                1e-5 if name == "hybrid_lstm_spotter" else 0.0,
            ),
            _FEW,
            # Those that hear one spectrum at a time have layers of one row.
            multiplies=not name.endswith(("_stream", "_spotter")),
            emulates=name == "mobilenet_v1",
        )
        for name, style in tflite_zoo.MODELS
    ]


def _onnx() -> list[Model]:
    styles = [
        Style("int8", "int8", per_channel=True, qdq=True),
        Style("uint8", "int8", per_channel=True, qdq=False),
    ]
    return [
        Model(
            f"onnx {name} {style.activations}",
            partial(_onnx_network, partial(make, style)),
            4,
            multiplies=True,
        )
        for name, make in NETWORKS.items()
        for style in styles
    ]


def _mxnet() -> list[Model]:
    folder, trained = (_TESTS / "fixtures" / name for name in ("mxnet", "mxnet_digits"))
    return [
        # It ends with a softmax of floats.
        Model("mxnet digits", partial(_fixture, trained / "digits", 1e-6), _FEW, emulates=False),
        *(
            Model(f"mxnet {prefix}", partial(_fixture, folder / prefix), _FEW)
            for prefix in _prefixes(folder)
        ),
    ]


def _float() -> list[Model]:
    folder = _TESTS / "fixtures" / "mxnet_float"
    # The largest that the tests of these operators allow; each has its own reason there.
    return [
        Model(f"mxnet float {prefix}", partial(_fixture, folder / prefix, 1e-6), _FEW)
        for prefix in _prefixes(folder)
    ]


def _prefixes(folder: Path) -> list[str]:
    return sorted(path.name.removesuffix("-symbol.json") for path in folder.glob("*-symbol.json"))


def _shared() -> list[Model]:
    tiny = _SHARED / "mxnet" / "tiny"
    return [
        *(
            Model(
                path.stem,
                partial(_tflite, path.read_bytes),
                _FEW,
                multiplies=path.stem not in ("split_concat_u8",),
                emulates=path.stat().st_size < 1 << 20,
            )
            for path in sorted((_SHARED / "tflite").glob("*.tflite"))
            if path.stem != _NOT_FOR_LITERT
        ),
        *(
            Model(f"mxnet {prefix}", partial(_stored, tiny / prefix), _FEW)
            for prefix in _prefixes(tiny)
            if "-sg-auto" in prefix
        ),
        *(
            Model(f"mxnet {prefix}", partial(_stored, _SHARED / "mxnet" / prefix), _FEW)
            for prefix in _prefixes(_SHARED / "mxnet")
        ),
    ]


def _tflite(content_of: Callable[[], bytes], tolerance: float = 0.0) -> Loaded | None:
    content = content_of()
    graph, rng = read_model(content), np.random.default_rng(0)
    try:
        mod, params = from_tflite(graph)
    except UnsupportedOperatorError:
        return None
    inputs = [_noise(rng, graph.tensors[index]) for index in graph.inputs]
    expected = litert_tensors(content, inputs)
    outputs = [expected[index] for index in graph.outputs]
    return Loaded(mod, params, inputs, outputs, tolerance)


def _onnx_network(model_of: Callable[[], Any]) -> Loaded:
    model = model_of()
    shape = [dim.dim_value for dim in model.graph.input[0].type.tensor_type.shape.dim]
    data = np.random.default_rng(0).normal(0, 1, shape).astype(np.float32)
    mod, params = from_onnx(model)
    expected = onnxruntime_tensors(model, [data])
    return Loaded(mod, params, [data], [expected[value.name] for value in model.graph.output])


def _noise(rng: np.random.Generator, tensor: Any) -> Array:
    if tensor.dtype == "float32":
        return rng.normal(0, 1, tensor.shape).astype(np.float32)
    return full_range(rng, tensor.dtype, tuple(tensor.shape))


def _random_graphs(seed: int) -> Loaded:
    file = tflite_file(seed, _GRAPHS)
    mod, params = file.load()
    return Loaded(mod, params, file.arrays, file.answers[0], bounds=file.bounds)


def _fixture(prefix: Path, tolerance: float = 0.0) -> Loaded:
    inputs, outputs = fixture(prefix)
    mod, params = imported(prefix, inputs)
    return Loaded(mod, params, inputs, outputs, tolerance)


def _stored(prefix: Path) -> Loaded:
    data = f"{str(prefix).rsplit('-sg-auto', 1)[0]}-input.npy"
    inputs = {"data": np.load(data)}
    mod, params = imported(prefix, inputs)
    return Loaded(mod, params, inputs, [np.load(f"{prefix}-output.npy")])
