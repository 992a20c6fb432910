"""Programs that leave sizes open: numbers for them, against those of PyTorch and ExecuTorch."""

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
from tests.support.commands import said
from tvm_qnn.cli import main
from tvm_qnn.oracle import xnnpack_outputs
from tvm_qnn.standalone.arrangement import LargestSizeWarning

torch = pytest.importorskip("torch", reason="torch is not installed")
pytest.importorskip("executorch", reason="executorch is not installed")

from tests.support.errors import failing  # noqa: E402
from tests.support.torch_networks import Doubled, Encoder, quantized  # noqa: E402

pytestmark = pytest.mark.torch


def network() -> Any:
    torch.manual_seed(0)
    nn = torch.nn
    return nn.Sequential(
        *(nn.Conv2d(3, 8, 3), nn.ReLU(), nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(8, 4))
    )


BATCH = torch.export.Dim("batch", min=1, max=16)


def open_program() -> Any:
    sizes = ({0: BATCH, 2: torch.export.Dim("h", min=4)},)
    return quantized(network(), (2, 3, 8, 8), dynamic_shapes=sizes)


def batched_program() -> Any:
    return quantized(network(), (2, 3, 8, 8), dynamic_shapes=({0: BATCH},))


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


test_shapes_that_do_not_fit_are_one_error = failing(
    lambda shapes: qnn.from_exported_program(two(), shapes),
    ({"z": (1, 3)}, r"shape_dict: no input is named 'z'; there are 'x', 'y'"),
    ({"x": (1, 3, 1)}, r"shape_dict: input 'x' needs 2 sizes as in \('s\d+', '3'\)"),
    ({"x": (0, 3)}, r"shape_dict: 'x' needs sizes of 1 or more, got 0"),
    ({"x": ("n", "m")}, r"shape_dict: input 'x' is \('s\d+', '3'\): \[3\] are not open"),
    ({"x": ("n", 3), "n": range(1, 18)}, r"n is 1 to 17: the program takes 1 to 16"),
    ({"x": (2, 4)}, r"shape_dict: input 'x' needs \[2, 3\] by the program's shapes"),
    ({"x": (2, 3), "y": (5, 3)}, r"input 'y' needs \[4, 3\] by the program's shapes"),
    ({"x": (17, 3)}, r"shape_dict: s\d+ is 17: the program takes 1 to 16"),
)


def test_shapes_beyond_all_memory_are_one_error() -> None:
    with pytest.raises(ModelFormatError, match=r"cannot be exported for .*can't allocate memory"):
        qnn.from_exported_program(open_program(), {"input": (2, 3, 1 << 44, 8)})


def test_a_static_program_takes_its_own_shapes_alone() -> None:
    program = torch.export.export(torch.nn.ReLU(), (torch.ones(2, 3),))
    assert len(qnn.from_exported_program(program, {"input": (2, 3)})) == 2
    with pytest.raises(QnnError, match=r"needs \[2, 3\] by the program's shapes"):
        qnn.from_exported_program(program, {"input": (3, 3)})


@pytest.mark.parametrize("shapes", [None, {"input": (range(1, 11), 3, 8, 8)}])
def test_sizes_without_a_number_stay_open(shapes: Any) -> None:
    program = batched_program()
    mod, params = qnn.from_exported_program(program, shapes)
    library = qnn.build(mod, "host", params)
    rng = np.random.default_rng(0)
    for batch in (1, 2, 3, 7, 10):
        data = rng.normal(0, 1, (batch, 3, 8, 8)).astype(np.float32)
        np.testing.assert_array_equal(library.run(data), xnnpack_outputs(program, [data])[0])
    if shapes is not None:
        assert str(library.inputs[0].shape) == "(input_0, 3, 8, 8)"
        assert str(library.outputs[0].shape) == "(input_0, 4)"
        with pytest.raises(QnnError, match="input 'input', axis 0: input_0 is 1 to 10, got 11"):
            library.run(np.zeros((11, 3, 8, 8), np.float32))


def test_a_size_that_must_be_known_is_one_error() -> None:
    mod, params = qnn.from_exported_program(open_program(), {"input": (2, 3, "h", 8)})
    with pytest.raises(QnnError, match="the size h is open, where it must be known whether it is"):
        qnn.build(mod, "host", params)


def test_one_size_has_a_number_and_the_other_stays_open() -> None:
    program = open_program()
    mod, params = qnn.from_exported_program(program, {"input": ("batch", 3, 9, 8)})
    library = qnn.build(mod, "host", params)
    assert str(library.inputs[0].shape) == "(batch, 3, 9, 8)"
    data = np.random.default_rng(0).normal(0, 1, (5, 3, 9, 8)).astype(np.float32)
    np.testing.assert_array_equal(library.run(data), xnnpack_outputs(program, [data])[0])


def test_a_size_that_is_twice_another_stays_open() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        library = qnn.build(*_built(two(), {"x": ("batch", 3)}))
        assert [str(each.shape) for each in library.inputs] == ["(batch, 3)", "(batch * 2, 3)"]
        for rows in (2, 5):
            data = [np.random.default_rng(0).random((n, 3), np.float32) for n in (rows, 2 * rows)]
            fixed = qnn.build(*_built(two(), {"x": (rows, 3)}))
            pairs = zip(library.run(*data).values(), fixed.run(*data).values(), strict=True)
            for found, wanted in pairs:
                np.testing.assert_array_equal(found, wanted)


def test_dense_networks_and_encoders_take_any_rows() -> None:
    program = quantized(
        Encoder(),
        (2, 7, 32),
        dynamic_shapes=({0: torch.export.Dim("b", max=8), 1: torch.export.Dim("l", max=64)},),
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        named = {"x": ("batch", "length", 32)}
        library = qnn.build(*_built(program, named))
        rng = np.random.default_rng(0)
        for batch, length in ((2, 7), (3, 2), (4, 33), (8, 64), (5, 16)):
            data = rng.normal(0, 1, (batch, length, 32)).astype(np.float32)
            found = library.run(data)
            fixed = qnn.build(*_built(program, {"x": data.shape}))
            np.testing.assert_array_equal(found, fixed.run(data))
            # Sums of floats may differ in their last bits, and by that a step of an integer.
            np.testing.assert_allclose(found, xnnpack_outputs(program, [data])[0], atol=0.1)


def _built(program: Any, shapes: Any) -> Any:
    mod, params = qnn.from_exported_program(program, shapes)
    return mod, "host", params


def test_commands_take_shapes(tmp_path: Path) -> None:
    path = tmp_path / "open.pt2"
    torch.export.save(open_program(), path)
    arguments = ["compile", str(path), "-o", str(tmp_path / "open.so")]
    sizes = ["--shape", "input=batch,3,9,8", "--shape", "batch=1..4"]
    said(main, [*arguments, *sizes])
    assert "batch×3×9×8" in CliRunner().invoke(main, ["info", str(tmp_path / "open.so")]).output
    timed = ["bench", str(tmp_path / "open.so"), "--shape", "input=3,3,9,8", "--rounds", "2"]
    assert "3×3×9×8" in CliRunner().invoke(main, timed).output
    for_c = [*arguments[:2], "-o", str(tmp_path / "c"), "--target", "cortex-m4"]
    with pytest.warns(LargestSizeWarning, match="batch"):
        largest = CliRunner().invoke(main, [*for_c, *sizes])
    assert largest.exit_code == 0, largest.output
    assert (tmp_path / "c").is_dir()
    said(main, [*arguments, "--shape", "input=3,3,9,8"])
    (given,) = qnn.load(tmp_path / "open.so").inputs
    assert given.shape == (3, 3, 9, 8)


def test_a_summary_has_names_and_the_sizes_of_the_example() -> None:
    source = read_model(two())
    named = source.summary("two", {"x": ("batch", 3)}).inputs
    assert [str(each.shape) for each in named] == ["(batch, 3)", "(2*batch, 3)"]
    assert [each.shape for each in source.summary("two").inputs] == [(4, 3), (8, 3)]
    assert source.summary("two", {"x": (2, 3)}).inputs[1].shape == (4, 3)
