"""Operators computed in float32 are reported, even outside dequantize and quantize."""

import io
import warnings
from typing import Any

import numpy as np
import pytest

import tvm_qnn as qnn
from frontends.errors import ModelFormatError

torch = pytest.importorskip("torch", reason="torch is not installed")
pytest.importorskip("executorch", reason="executorch is not installed")
quantization = pytest.importorskip("torchao.quantization", reason="torchao is not installed")
torchao_utils = pytest.importorskip("torchao.utils")

from tests.support.torch_networks import program_of, quantized  # noqa: E402

pytestmark = pytest.mark.torch


def layers() -> Any:
    torch.manual_seed(0)
    nn = torch.nn
    return nn.Sequential(nn.Linear(64, 32), nn.ReLU(), nn.Linear(32, 8)).eval()


def told(program: Any, data: Any) -> str:
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", qnn.LeftInFloatWarning)
        library = qnn.build(*qnn.from_exported_program(program)[:1], "host")
    wanted = program.module()(data).detach().numpy()
    np.testing.assert_allclose(library.run(data.numpy()), wanted, rtol=1e-4, atol=1e-4)
    return "; ".join(str(each.message) for each in caught if "float32" in str(each.message))


INT4 = {"weight_dtype": torch.int4, "granularity": quantization.PerGroup(32)}


def test_weights_that_are_widened_are_told() -> None:
    table, places = torch.nn.Sequential(torch.nn.Embedding(8, 64)), torch.tensor([[1, 7, 3]])
    config = quantization.IntxWeightOnlyConfig(**INT4)
    quantization.quantize_(table, config, filter_fn=lambda module, _: hasattr(module, "weight"))
    text = told(torch.export.export(table, (places,)), places)
    assert "torchao's quantize_, outside of dense layers: they are widened to float32" in text


def test_layers_of_dynamic_bytes_are_integers() -> None:
    network, data = layers(), torch.randn(20, 64)
    quantization.quantize_(network, quantization.Int8DynamicActivationInt8WeightConfig())
    assert told(torch.export.export(network, (data,)), data) == ""


def test_a_product_of_bytes_has_pytorchs_sums() -> None:
    rng = torch.Generator().manual_seed(0)
    a, b = (
        torch.randint(-128, 128, s, generator=rng, dtype=torch.int8) for s in ((20, 64), (64, 8))
    )
    program = program_of(lambda module, x: torch._int_mm(x, module.b), a, b=b)
    mod, params = qnn.from_exported_program(program)
    assert "dense" in mod.script()
    found = qnn.build(mod, "host", params).run(a.numpy())
    np.testing.assert_array_equal(found, torch._int_mm(a, b).numpy())


def test_files_of_torchao_are_read_if_nothing_is_pickled() -> None:
    network, data, made = layers(), torch.randn(3, 64), [io.BytesIO(), io.BytesIO()]
    quantization.quantize_(network, quantization.IntxWeightOnlyConfig(**INT4))
    torch.export.save(torch.export.export(network, (data,)), made[0])
    with pytest.raises(ModelFormatError, match=r"is pickled.* apply torchao\.utils\.unwrap"):
        qnn.from_exported_program(made[0].getvalue())
    torchao_utils.unwrap_tensor_subclass(network)
    torch.export.save(torch.export.export(network, (data,)), made[1])
    assert len(qnn.from_exported_program(made[1].getvalue())) == 2


def test_programs_of_float32_are_told() -> None:
    data = torch.randn(3, 64)
    text = told(torch.export.export(layers(), (data,)), data)
    assert text == "computed in float32: a program of which nothing is quantized"


@pytest.mark.parametrize("dynamic", [False, True])
def test_programs_of_integers_say_nothing(dynamic: bool) -> None:
    program = quantized(layers(), (3, 64), dynamic=dynamic)
    with warnings.catch_warnings():
        warnings.simplefilter("error", qnn.LeftInFloatWarning)
        qnn.build(*qnn.from_exported_program(program)[:1], "host")
