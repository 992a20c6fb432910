from dataclasses import replace
from pathlib import Path

import pytest

from frontends.formats import read_model
from legalize.kernels.isa.targets import has_feature
from tests.support.errors import fails
from tvm_qnn import digits, prose, zoo
from tvm_qnn.profile.chart import save_chart
from tvm_qnn.profile.layers import Layer, Profile, profile, share_of_peak
from tvm_qnn.target.target import host_target

needs_vnni = pytest.mark.skipif(
    not has_feature(host_target(), "avx512vnni"), reason="the processor has no AVX512-VNNI"
)


@pytest.fixture(scope="module")
def model() -> bytes:
    return zoo.build("mobilenet_v1", "int8", tiny=True)


@pytest.fixture(scope="module")
def found(model: bytes) -> Profile:
    return profile(model, repeat=3)


@needs_vnni
def test_each_convolution_is_a_layer(model: bytes, found: Profile) -> None:
    expected = [
        (operator.code, 2 * operator.macs, operator.outputs[0].shape)
        for operator in read_model(model).summary("").operators
        if "CONV" in operator.code
    ]
    layers = [layer for layer in found.layers if "CONV" in layer.code]
    assert [(layer.code, layer.operations, layer.shape) for layer in layers] == expected
    assert all(layer.seconds > 0 and layer.functions for layer in layers)


def test_the_layers_take_the_time_of_the_run(found: Profile) -> None:
    together = sum(layer.seconds for layer in found.layers)
    # Watching adds up to a microsecond a function, and other programs disturb.
    assert found.seconds / 10 < together < 10 * found.seconds + 1e-3
    assert found.operations == sum(layer.operations for layer in found.layers)


@needs_vnni
def test_no_layer_is_above_the_peak(found: Profile) -> None:
    assert found.peaks
    for layer in found.layers:
        assert layer.peak is not None
        assert layer.speed < 1.05 * layer.peak
    assert found.share is not None
    assert 0 < found.share < 1.05


def test_a_target_without_the_instruction_has_no_peak_and_others_errors() -> None:
    model = digits.model("int8")
    plain = profile(model, "llvm", repeat=1)
    assert plain.peaks == {}
    assert plain.share is None
    assert plain.layers
    fails("repeat must be at least 1", profile, model, repeat=0)
    fails("cannot run here", profile, model, "llvm -mtriple=riscv64-linux-gnu -mcpu=generic-rv64")
    fails("semantics must be one of litert, tflm", profile, model, semantics="mxnet")


def test_a_layer_is_measured_by_the_peak_of_its_own_instruction() -> None:
    tiles = Layer("a", "CONV_2D", (1,), ("tiles",), 1.0, 800, peak=1000.0)
    vectors = Layer("b", "CONV_2D", (1,), ("conv2d",), 1.0, 60, peak=100.0)
    other = Layer("c", "SOFTMAX", (1,), ("softmax",), 2.0, 0, peak=100.0)
    assert share_of_peak([tiles]) == 0.8
    assert share_of_peak([vectors]) == 0.6
    assert share_of_peak([tiles, vectors, other]) == pytest.approx((0.8 + 0.6) / 4)
    assert Profile((tiles, vectors), 2.8, 860, {}).share == pytest.approx(0.5)
    assert share_of_peak([tiles, replace(vectors, peak=None)]) is None


def test_the_picture(tmp_path: Path) -> None:
    layers = (
        Layer("a", "CONV_2D", (1, 2, 2, 8), ("conv2d",), 1e-4, 10_000_000),
        Layer("fused_max", "", (), ("fused_max",), 1e-6, 0),
    )
    save_chart(
        tmp_path / "p.png",
        Profile(layers, 1e-4, 10_000_000, {"vpdpbusd": 2e11, "tdpbusd": 1e12}),
        "title",
    )
    assert (tmp_path / "p.png").read_bytes().startswith(b"\x89PNG")
    fails(
        "cannot write", save_chart, tmp_path / "no" / "p.png", Profile(layers, 1e-4, 1, {}), "title"
    )


def test_attention_is_a_row() -> None:
    past = dict.fromkeys(
        (f"past_key_values.{n}.{kind}" for n in range(4) for kind in ("key", "value")),
        (1, 1, 16, 32),
    )
    shapes = {"input_ids": (1, 1), "attention_mask": (1, 16), **past}
    found = profile(prose.model("int4"), repeat=1, shapes=shapes)
    rows = [layer.name for layer in found.layers if layer.code == "GroupQueryAttention"]
    assert rows == [f"layers.{n}.mixed" for n in range(4)]
