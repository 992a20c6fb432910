"""Imported programs, against ExecuTorch's delegate to XNNPACK."""

import importlib
import json
import warnings
from collections import deque
from pathlib import Path
from typing import Any
from unittest.mock import Mock

import numpy as np
import pytest
from click.testing import CliRunner

import tvm_qnn as qnn
from frontends.errors import ModelFormatError, UnsupportedOperatorError
from qnn_ops.arrays import Array
from qnn_ops.errors import QnnError
from tvm_qnn.build import build
from tvm_qnn.cli import main
from tvm_qnn.oracle import xnnpack_outputs
from tvm_qnn.profile.layers import profile

torch = pytest.importorskip("torch", reason="torch is not installed")
pytest.importorskip("executorch", reason="executorch is not installed")

from tests.support import torch_networks as networks  # noqa: E402
from tests.support.snippets import run_python  # noqa: E402
from tests.support.torch_networks import dq, program_of, q, qdq, quantized, reals  # noqa: E402

pytestmark = pytest.mark.torch

F = np.float32
functional = torch.nn.functional
WEIGHTS = (-127, 127, torch.int8)

PAIRS = [
    values.reshape(1, 1, 256, 256)
    for values in (np.repeat(np.arange(-128, 128), 256), np.tile(np.arange(-128, 128), 256))
]


def check(program: Any, *arrays: Array, silent: bool = True, kernels: bool = True) -> list[Array]:
    wanted = xnnpack_outputs(program, arrays)
    with warnings.catch_warnings():
        warnings.simplefilter("error" if silent else "ignore")
        mod, params = qnn.from_exported_program(program)
        library = qnn.build(mod, "host", params, kernels=kernels)
    results = library.run(*arrays)
    given = list(results.values()) if isinstance(results, dict) else [results]
    assert len(given) == len(wanted)
    for number, (ours, theirs) in enumerate(zip(given, wanted, strict=True)):
        assert ours.dtype == theirs.dtype
        np.testing.assert_array_equal(ours, theirs, err_msg=f"output {number}")
    return wanted


SUMS = [
    # Half of all sums are ties; a quarter; none.
    ((0.05, 3), (0.05, -7), (0.1, 1)),
    ((0.025, 0), (0.0125, 5), (0.1, -3)),
    ((0.0371, 9), (0.0213, -4), (0.0529, 7)),
    ((0.3, 0), (0.1, 5), (0.01, 0)),
    ((0.001, 1), (0.5, 2), (0.4, 3)),
]


@pytest.mark.parametrize("kernels", [True, False])
@pytest.mark.parametrize("symbol", ["+", "-", "*"])
def test_all_pairs_of_bytes(symbol: str, kernels: bool) -> None:
    inputs = [
        reals(values, *encoding)
        for encodings in SUMS
        for values, encoding in zip(PAIRS, encodings, strict=False)
    ]

    def compute(_module: Any, *data: Any) -> Any:
        results = []
        for number, (left, right, out) in enumerate(SUMS):
            a, b = qdq(data[2 * number], *left), qdq(data[2 * number + 1], *right)
            operator = {"+": torch.add, "-": torch.sub, "*": torch.mul}[symbol]
            results.append(q(operator(a, b), *out))
            if symbol == "+":
                results.append(q(torch.relu(a + b), *out))
        return tuple(results)

    arrays = [each.numpy() for each in inputs]
    found = check(program_of(compute, *inputs), *arrays, kernels=kernels)
    assert len(np.unique(found[0])) > 200


def test_an_activation_after_a_product_is_computed_in_float() -> None:
    left, right, out = SUMS[0]
    data = [reals(values, *e) for values, e in zip(PAIRS, (left, right), strict=True)]

    def compute(_module: Any, a: Any, b: Any) -> Any:
        return q(torch.relu(qdq(a, *left) * qdq(b, *right)), *out)

    program = program_of(compute, *data)
    check(program, *(each.numpy() for each in data), silent=False)
    with pytest.warns(qnn.LeftInFloatWarning, match="XNNPACK does not end relax.multiply in an"):
        qnn.build(*qnn.from_exported_program(program)[:1], "host")


def test_quantize_rounds_a_product() -> None:
    encodings = [(0.3, 5), (0.25, -128), (float(F(0.0371)), 127)]
    steps = np.arange(-300, 300, 0.5)
    rows = []
    for scale, _ in encodings:
        ties = (steps * scale).astype(F)
        ends = [np.nan, np.inf, -np.inf, -0.0, 3e38, 1e20, -1e20]
        row: list[Any] = [np.nextafter(ties, F(-np.inf)), ties, np.nextafter(ties, F(np.inf)), ends]
        rows.append(np.concatenate(row).astype(F))
    data = [torch.tensor(row) for row in rows]
    program = program_of(
        lambda _module, *xs: tuple(q(x, *e) for x, e in zip(xs, encodings, strict=True)), *data
    )
    check(program, *rows)


def test_means_of_images_with_ties() -> None:
    rng = np.random.default_rng(0)
    cases = [
        (size, encoding, out)
        for size in ((2, 3), (8, 8), (4, 5), (7, 7), (6, 6))
        for encoding, out in (((0.05, 3), (0.05, 3)), ((0.3, 0), (0.1, 5)), ((0.25, 1), (0.5, 2)))
    ]
    data = [
        reals(rng.integers(-128, 128, (1, 512, *size)), *encoding) for size, encoding, _ in cases
    ]

    def compute(_module: Any, *images: Any) -> Any:
        return tuple(
            q(functional.adaptive_avg_pool2d(qdq(image, *encoding), 1), *out)
            for image, (_, encoding, out) in zip(images, cases, strict=True)
        )

    check(program_of(compute, *data), *(each.numpy() for each in data))


def test_bounds_of_activations_that_are_ties() -> None:
    encoding = (0.05, 3)
    data = reals(np.arange(-128, 128).reshape(64, 4), *encoding)
    buffers: dict[str, Any] = {"scales": torch.full((4,), 1 / 32)}
    buffers["points"] = torch.zeros(4, dtype=torch.int64)
    ends = [(-0.775, 1.225), (0.0, 6.0), (-0.825, 1.175), (0.025, 0.075)]
    cases = [(*pair, out) for pair in ends for out in (encoding, (0.1, 0), (0.05, -7))]
    for number in range(len(cases)):
        buffers[f"weights{number}"] = torch.tensor(np.eye(4, dtype=np.int8) * 64)

    def compute(module: Any, rows: Any) -> Any:
        x = qdq(rows, *encoding)
        results = [q(functional.hardtanh(x, low, high), *encoding) for low, high in ends]
        for number, (low, high, out) in enumerate(cases):
            weights = networks.QUANTIZED.dequantize_per_channel(
                getattr(module, f"weights{number}"), module.scales, module.points, 0, *WEIGHTS
            )
            results.append(q(functional.hardtanh(functional.linear(x, weights), low, high), *out))
        results.append(q(torch.relu(x), *encoding))
        return tuple(results)

    check(program_of(compute, data, **buffers), data.numpy())


@pytest.mark.parametrize("per_channel", [True, False])
def test_biases_that_are_ties(per_channel: bool) -> None:
    rng = np.random.default_rng(1)
    cases = [(0.05, 0.03), (0.1, 0.7), (0.3, 0.0113), (0.0371, 0.25)]
    cases = [(float(F(a)), float(F(b))) for a, b in cases]
    buffers: dict[str, Any] = {"points": torch.zeros(3000, dtype=torch.int64)}
    for number, (data_scale, scale) in enumerate(cases):
        steps = rng.integers(-120, 120, 3000) + 0.5
        bias = (steps * (data_scale * scale)).astype(F)
        bias[1::3] = np.nextafter(bias[1::3], F(1e9))
        bias[2::3] = np.nextafter(bias[2::3], F(-1e9))
        buffers[f"bias{number}"] = torch.tensor(bias)
        buffers[f"scales{number}"] = torch.full((3000,), scale)
        # The delegate takes a tensor of weights once, and with its first scales.
        buffers[f"weights{number}"] = torch.zeros(3000, 4, dtype=torch.int8)

    def compute(module: Any, x: Any) -> Any:
        results = []
        for number, (data_scale, scale) in enumerate(cases):
            weights = getattr(module, f"weights{number}")
            if per_channel:
                scales = getattr(module, f"scales{number}")
                weights = networks.QUANTIZED.dequantize_per_channel(
                    weights, scales, module.points, 0, *WEIGHTS
                )
            else:
                weights = dq(weights, scale, 0)
            bias = getattr(module, f"bias{number}")
            result = functional.linear(qdq(x, data_scale, 0), weights, bias)
            results.append(q(result, float(F(data_scale) * F(scale)), 0))
        return tuple(results)

    data = torch.ones(1, 4)
    check(program_of(compute, data, **buffers), data.numpy())


@pytest.mark.parametrize("per_channel", [True, False])
def test_a_network_of_every_operator(per_channel: bool) -> None:
    torch.manual_seed(1)
    program = quantized(networks.Small(), (1, 3, 32, 32), per_channel=per_channel)
    data = np.random.default_rng(2).normal(0, 1.2, (1, 3, 32, 32)).astype(F)
    scores, _ = check(program, data, silent=False)
    assert len(np.unique(scores)) > 2


@pytest.mark.slow
@pytest.mark.parametrize("name", ["resnet18", "mobilenet_v2"])
def test_topologies(name: str) -> None:
    shape = (1, 3, 96, 96)
    program = quantized(getattr(networks, name)(), shape)
    data = np.random.default_rng(3).normal(0, 1, shape).astype(F)
    scores = check(program, data)[0]
    assert len(np.unique(scores)) > 50


def small() -> Any:
    torch.manual_seed(0)
    return quantized(torch.nn.Sequential(torch.nn.Conv2d(3, 4, 3), torch.nn.ReLU()), (1, 3, 6, 6))


def test_a_file_and_its_contents_give_the_same(tmp_path: Path) -> None:
    program, path = small(), tmp_path / "small.pt2"
    torch.export.save(program, path)
    texts = {
        qnn.from_exported_program(each)[0].script() for each in (program, path, path.read_bytes())
    }
    assert len(texts) == 1


@pytest.mark.parametrize("cut", [0, 4, 100, 1000])
def test_a_damaged_file_is_one_error(cut: int, tmp_path: Path) -> None:
    torch.export.save(small(), tmp_path / "small.pt2")
    with pytest.raises(ModelFormatError, match=r"the \.pt2 file cannot be read"):
        qnn.from_exported_program((tmp_path / "small.pt2").read_bytes()[:cut])


def test_what_is_no_program_is_told() -> None:
    with pytest.raises(QnnError, match="got an object of type int"):
        qnn.from_exported_program(3)


def test_what_is_not_imported_is_named() -> None:
    data = torch.ones(1, 2, 4, 4)

    def compute(_module: Any, x: Any) -> Any:
        x = networks.QUANTIZED.quantize_per_tensor(x, 0.5, 3, *networks.BYTES)
        x = networks.QUANTIZED.dequantize_per_tensor(x, 0.1, 3, 0, 255, torch.uint8)
        return torch.lgamma(x)

    with pytest.raises(UnsupportedOperatorError) as caught:
        qnn.from_exported_program(program_of(compute, data))
    text = str(caught.value)
    assert "quantize_per_tensor.default: int8 is not imported here: the other activations" in text
    assert "dequantize_per_tensor.default: its scale 0.1 is no float32 number" in text
    assert "lgamma.default: no conversion rule (tensors: 'lgamma')" in text


def test_scales_of_a_run_are_refused() -> None:
    data = torch.ones(1, 4)

    def compute(_module: Any, x: Any) -> Any:
        scale, point = networks.QUANTIZED.choose_qparams(x, -128, 127, 1e-6, torch.int8)
        return networks.QUANTIZED.quantize_per_tensor(x, scale, point, *networks.BYTES)

    with pytest.raises(UnsupportedOperatorError, match="computed at run time are not imported"):
        qnn.from_exported_program(program_of(compute, data))


def test_what_xnnpack_alone_computes_in_integers_is_an_error() -> None:
    data = torch.ones(1, 2, 4, 4)

    def compute(_module: Any, x: Any) -> Any:
        most = qdq(functional.max_pool2d(qdq(x, 0.1, 3), 2), 0.1, 3)
        return q(torch.relu(most), 0.2, 3)

    mod, _ = qnn.from_exported_program(program_of(compute, data))
    with pytest.raises(QnnError, match="XNNPACK computes these in integers, for which there is no"):
        qnn.build(mod, "host")


def test_summaries_name_nodes() -> None:
    from frontends.formats import read_model

    summary = read_model(small()).summary("small")
    assert summary.format == "PyTorch"
    assert [note.shape for note in summary.outputs] == [(1, 4, 4, 4)]
    lowerings = {operator.code: operator.lowering for operator in summary.operators}
    assert lowerings["conv2d.default"] == lowerings["relu.default"] == "integer"
    assert summary.macs == 4 * 16 * 27


def test_a_profile_names_nodes() -> None:
    program = quantized(networks.Small(), (1, 3, 32, 32))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        layers = profile(program, repeat=1).layers
    products = [layer for layer in layers if layer.code in ("conv2d.default", "linear.default")]
    assert len(products) == 6  # and one is a part of the hardtanh after it
    assert all(layer.operations for layer in products)


def test_the_guide_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    names: dict[str, Any] = {}
    deque(run_python("docs/guides/pytorch.md", names))
    assert (tmp_path / "network.pt2").exists()
    texts = [str(names["mod"].script()), str(qnn.from_exported_program("network.pt2")[0].script())]
    assert texts[0] == texts[1]


def test_commands_compare_and_time_beside_the_delegate(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    torch.export.save(small(), tmp_path / "small.pt2")
    line = [str(tmp_path / "small.pt2"), "--json"]
    built = Mock(wraps=build)
    monkeypatch.setattr(importlib.import_module("tvm_qnn.compare.tensors"), "build", built)
    found = json.loads(CliRunner().invoke(main, ["compare", *line]).stdout)
    assert found["reference"] == "XNNPACK's delegate"
    assert found["equal"]
    assert len(found["tensors"]) == len(found["outputs"]) == 1
    assert built.call_count == 1
    times = json.loads(CliRunner().invoke(main, ["bench", *line, "--rounds", "2"]).stdout)
    assert {*times} == {"tvm-qnn", "ExecuTorch (XNNPACK)"}
    assert all(each["runs"] == 2 for each in times.values())
