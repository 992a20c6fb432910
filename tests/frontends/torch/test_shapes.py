"""Programs that leave sizes open: numbers for them, against those of PyTorch and ExecuTorch."""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from click.testing import CliRunner

import tvm_qnn as qnn
from frontends.errors import ModelFormatError
from frontends.formats import read_model
from qnn_ops.errors import QnnError
from tvm_qnn.cli import main
from tvm_qnn.oracle import xnnpack_outputs

torch = pytest.importorskip("torch", reason="torch is not installed")
pytest.importorskip("executorch", reason="executorch is not installed")

from tests.support.torch_networks import Doubled, quantized  # noqa: E402

pytestmark = pytest.mark.torch


def network() -> Any:
    torch.manual_seed(0)
    nn = torch.nn
    return nn.Sequential(
        *(nn.Conv2d(3, 8, 3), nn.ReLU(), nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(8, 4))
    )


def open_program() -> Any:
    sizes = ({0: torch.export.Dim("batch", min=1, max=16), 2: torch.export.Dim("h", min=4)},)
    return quantized(network(), (2, 3, 8, 8), dynamic_shapes=sizes)


def two() -> Any:
    batch = torch.export.Dim("batch", min=1, max=16)
    examples = torch.randn(4, 3), torch.randn(8, 3)
    return torch.export.export(Doubled(), examples, dynamic_shapes=({0: batch}, {0: 2 * batch}))


@pytest.mark.parametrize("as_file", [False, True])
def test_shapes_are_given(as_file: bool, tmp_path: Path) -> None:
    program = open_program()
    torch.export.save(program, tmp_path / "open.pt2")
    model = tmp_path / "open.pt2" if as_file else program
    data = np.random.default_rng(0).normal(0, 1, (5, 3, 9, 8)).astype(np.float32)
    mod, params = qnn.from_exported_program(model, {"input": data.shape})
    found = qnn.build(mod, "host", params).run(data)
    np.testing.assert_array_equal(found, xnnpack_outputs(program, [data])[0])


def test_sizes_of_one_name_follow() -> None:
    data = np.arange(9, dtype=np.float32).reshape(3, 3), np.ones((6, 3), np.float32)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        mod, params = qnn.from_exported_program(two(), {"x": (3, 3)})
        found = list(qnn.build(mod, "host", params).run(*data).values())
    np.testing.assert_array_equal(found[0], data[0] + 1)
    assert found[1].shape == (9,)


@pytest.mark.parametrize(
    ("shapes", "message"),
    [
        (None, r"leaves sizes open: give shape_dict the shapes of 'x' \('s\d+', '3'\), 'y' \("),
        ({"z": (1, 3)}, r"shape_dict: no input is named 'z'; there are 'x', 'y'"),
        ({"x": (1, 3, 1)}, r"shape_dict: input 'x' needs positive sizes as in \('s\d+', '3'\)"),
        ({"x": (0, 3)}, r"shape_dict: input 'x' needs positive sizes"),
        ({"x": (2, 4)}, r"shape_dict: input 'x' needs \[2, 3\] by the program's shapes"),
        ({"x": (2, 3), "y": (5, 3)}, r"input 'y' needs \[4, 3\] by the program's shapes"),
        ({"x": (17, 3)}, r"shape_dict: s\d+ is 17: the program takes 1 to 16"),
    ],
)
def test_shapes_that_do_not_fit_are_one_error(shapes: Any, message: str) -> None:
    with pytest.raises(QnnError, match=message):
        qnn.from_exported_program(two(), shapes)


def test_shapes_beyond_all_memory_are_one_error() -> None:
    with pytest.raises(ModelFormatError, match=r"cannot be exported for .*can't allocate memory"):
        qnn.from_exported_program(open_program(), {"input": (2, 3, 1 << 44, 8)})


def test_a_static_program_takes_its_own_shapes_alone() -> None:
    program = torch.export.export(torch.nn.ReLU(), (torch.ones(2, 3),))
    assert len(qnn.from_exported_program(program, {"input": (2, 3)})) == 2
    with pytest.raises(QnnError, match=r"needs \[2, 3\] by the program's shapes"):
        qnn.from_exported_program(program, {"input": (3, 3)})


def test_commands_take_shapes(tmp_path: Path) -> None:
    path = tmp_path / "open.pt2"
    torch.export.save(open_program(), path)
    arguments = ["compile", str(path), "-o", str(tmp_path / "open.so")]
    refused = CliRunner().invoke(main, arguments)
    assert refused.exit_code == 1
    assert "give --shape the shapes of 'input'" in refused.output
    taken = CliRunner().invoke(main, [*arguments, "--shape", "input=3,3,9,8"])
    assert taken.exit_code == 0, taken.output
    (given,) = qnn.load(tmp_path / "open.so").inputs
    assert given.shape == (3, 3, 9, 8)


def test_a_summary_has_the_sizes_of_the_example() -> None:
    source = read_model(two())
    assert [each.shape for each in source.summary("two").inputs] == [(4, 3), (8, 3)]
    assert source.summary("two", {"x": (2, 3)}).inputs[1].shape == (4, 3)
