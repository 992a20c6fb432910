"""Layers of torchao's ``quantize_``, against ExecuTorch's delegate to XNNPACK or PyTorch itself."""

import warnings
from itertools import pairwise
from typing import Any

import numpy as np
import pytest

import tvm_qnn as qnn
from frontends.errors import UnsupportedOperatorError
from frontends.torch.quantized.groups import bfloat16
from tvm_qnn.oracle import xnnpack_outputs

torch = pytest.importorskip("torch", reason="torch is not installed")
pytest.importorskip("executorch", reason="executorch is not installed")
ao = pytest.importorskip("torchao.quantization", reason="torchao is not installed")

from tests.support.torch_networks import QUANTIZED, program_of  # noqa: E402

pytestmark = pytest.mark.torch

GROUP, AXIS = ao.PerGroup, ao.PerAxis(0)


def layers(config: Any, *sizes: int, bias: bool = True) -> Any:
    """Return dense layers, with a bound between them, that a configuration quantized."""
    torch.manual_seed(0)
    found: list[Any] = []
    for inputs, outputs in pairwise(sizes):
        found += [torch.nn.Linear(inputs, outputs, bias=bias), torch.nn.ReLU()]
    network = torch.nn.Sequential(*found[:-1]).eval()
    ao.quantize_(network, config)
    return network


def dynamic(weights: Any, granularity: Any) -> Any:
    return ao.Int8DynamicActivationIntxWeightConfig(
        weight_dtype=weights, weight_granularity=granularity
    )


def run(network: Any, data: Any) -> tuple[Any, str]:
    """Return what a compiled network gives, and what was said of float32."""
    with warnings.catch_warnings(record=True) as caught, torch.no_grad():
        warnings.simplefilter("always")
        program = torch.export.export(network, (data,))
        mod, params = qnn.from_exported_program(program)
        found = qnn.build(mod, "host", params).run(data.numpy())
    told = [str(each.message) for each in caught if "in float32" in str(each.message)]
    return found, "; ".join(told)


def large(network: Any) -> Any:
    """Make sums of a layer as large as they get, so that every rounding shows."""
    weights, rng = network[0].weight, np.random.default_rng(0)
    with torch.no_grad():
        weights.qdata.copy_(torch.tensor(rng.integers(3, 8, weights.qdata.shape)))
        weights.scale.copy_(torch.tensor(rng.uniform(0.001, 0.1, weights.scale.shape)))
    return network


CASES = {
    "groups": (layers(dynamic(torch.int4, GROUP(32)), 64, 64, 8), (5, 64)),
    "sequences": (layers(dynamic(torch.int4, GROUP(32)), 64, 9, bias=False), (2, 3, 64)),
    "units": (layers(dynamic(torch.int4, AXIS), 96, 7), (6, 96)),
    "bytes": (layers(dynamic(torch.int8, AXIS), 64, 32, 8), (5, 64)),
    "few bits": (layers(dynamic(torch.int3, AXIS), 64, 8), (5, 64)),
    "large": (large(layers(dynamic(torch.int4, GROUP(256)), 2048, 40)), (8, 2048)),
}


@pytest.mark.parametrize("name", CASES)
def test_every_bit_is_the_delegates(name: str) -> None:
    network, shape = CASES[name]
    data = torch.rand(shape) * 3.3 - 0.3
    data[0] *= -1
    found, told = run(network, data)
    assert told == ""
    program = torch.export.export(network, (data,))
    np.testing.assert_array_equal(found, xnnpack_outputs(program, [data.numpy()])[0])


ONLY = ao.IntxWeightOnlyConfig
KEPT = {
    "int8": (ao.Int8WeightOnlyConfig(), 8),
    "int4": (ONLY(weight_dtype=torch.int4, granularity=GROUP(32)), 4),
    "int8 by group": (ONLY(weight_dtype=torch.int8, granularity=GROUP(32)), 8),
    "zero points": (
        ONLY(
            weight_dtype=torch.int4, granularity=GROUP(32), mapping_type=ao.MappingType.ASYMMETRIC
        ),
        4,
    ),
    "groups that the delegate refuses": (dynamic(torch.int4, GROUP(16)), 4),
}


@pytest.mark.parametrize("name", KEPT)
def test_weights_beside_float_data_stay_bytes(name: str) -> None:
    config, bits = KEPT[name]
    network, data = layers(config, 64, 64), torch.randn(5, 64)
    with torch.no_grad():
        program, wanted = torch.export.export(network, (data,)), network(data)
    assert f"bits={bits}" in qnn.from_exported_program(program)[0].script()
    found, told = run(network, data)
    assert "integer weights stay bytes in memory" in told
    torch.testing.assert_close(torch.from_numpy(found), wanted, rtol=1e-5, atol=1e-6)


def test_dynamic_bytes_are_pytorchs() -> None:
    network = layers(ao.Int8DynamicActivationInt8WeightConfig(), 64, 32, 8)
    data = torch.randn(20, 64)
    found, told = run(network, data)
    assert told == ""
    np.testing.assert_array_equal(found, network(data).detach().numpy())


def test_layers_of_several_kinds() -> None:
    network = layers(dynamic(torch.int4, GROUP(32)), 64, 64, 64)
    network[2] = layers(ao.Int8DynamicActivationInt8WeightConfig(), 64, 8)
    data = torch.randn(5, 64)
    with torch.no_grad():
        (hidden,) = xnnpack_outputs(torch.export.export(network[:2], (data,)), [data.numpy()])
        wanted = network[2](torch.from_numpy(hidden))
    np.testing.assert_array_equal(run(network, data)[0], wanted.numpy())


def test_weights_of_groups_that_something_else_reads_are_refused() -> None:
    def compute(module: Any, data: Any) -> Any:
        given = module.w, module.s, module.z, -8, 7, torch.int8, 32, torch.float32
        return data + QUANTIZED.dequantize_per_channel_group(*given)

    made = {"w": torch.ones(4, 64, dtype=torch.int8), "s": torch.ones(4, 2)}
    program = program_of(compute, torch.ones(4, 64), **made, z=torch.zeros(4, 2, dtype=torch.int8))
    with pytest.raises(UnsupportedOperatorError, match="by group are imported for dense layers"):
        qnn.from_exported_program(program)


def test_bfloat16_rounds_as_pytorch() -> None:
    bits = np.random.default_rng(0).integers(0, 0x7F000000, 4000, np.uint32) & 0xFFFFC000
    given = bits.view(np.float32)
    wanted = torch.from_numpy(given).bfloat16().float().numpy()
    np.testing.assert_array_equal(bfloat16(given), wanted)
