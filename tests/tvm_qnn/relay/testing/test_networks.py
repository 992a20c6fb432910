"""``relay.testing``: its networks, and what tests ask for."""

from typing import Any

import numpy as np
import pytest

from tests.support.errors import failing, fails
from tests.support.modules import adder
from tvm_qnn import relay
from tvm_qnn.relay import tvm
from tvm_qnn.relay.testing import TempOpAttr, generate_ref_data, run_infer_type, run_opt_pass

PICTURE = (3, 64, 64)


def _parameter_sum(params: dict[str, Any]) -> float:
    return sum(float(value.numpy().astype(np.float64).sum()) for value in params.values())


# The counts and sums are those of TVM's Relay 0.17.
@pytest.mark.parametrize(
    ("network", "settings", "count", "total"),
    [
        ("mlp", {"batch_size": 2}, 7, 1.382876437),
        ("dqn", {"batch_size": 1}, 11, 8.613517992),
        ("resnet", {"num_layers": 18, "image_shape": PICTURE}, 100, 7910.951523),
        ("resnet", {"num_layers": 50, "image_shape": PICTURE, "num_classes": 10}, 260, 45442.42828),
        ("resnet", {"num_layers": 8, "image_shape": (3, 28, 28)}, 45, 487.5049128),
        ("mobilenet", {"image_shape": PICTURE}, 138, 21892.11194),
        ("squeezenet", {"image_shape": PICTURE}, 53, 15.31286847),
        ("squeezenet", {"version": "1.1", "image_shape": PICTURE}, 53, -4.30458528),
        ("inception_v3", {}, 473, 34262.20711),
        ("dcgan", {"batch_size": 1}, 18, 1777.367395),
    ],
)
def test_a_network_has_relay_s_parameters(
    network: str, settings: dict[str, Any], count: int, total: float
) -> None:
    mod, params = getattr(relay.testing, network).get_workload(**settings)
    assert len(mod["main"].params) == count == len(params) + 1
    assert _parameter_sum(params) == pytest.approx(total, rel=1e-9)


def test_networks_have_relay_s_names_and_types() -> None:
    for made, name in (
        (relay.testing.densenet.get_workload(batch_size=1), "conv2d_2_3_15_weight"),
        (relay.testing.vgg.get_workload(1, image_shape=(3, 32, 32)), "conv5_2_bias"),
    ):
        assert name in made[1]
    x = relay.var("x", shape=(2, 3), dtype="int8")
    product = x * x  # made by Relax, without a type
    assert run_infer_type(product).checked_type == relay.TensorType((2, 3), "int8")
    with TempOpAttr("qnn.conv2d", "FTVMQnnLegalize", None):
        function = run_opt_pass(product, relay.transform.InferType())
    assert function.params[0].name_hint == "x"
    w = np.ones((2, 3), np.int8)
    outputs = generate_ref_data(adder(), {"x": w, "w": w})
    assert list(outputs) == ["output"]
    assert outputs["output"].tolist() == [[2] * 3] * 2


def test_results_are_relay_s() -> None:
    mod, params = relay.testing.resnet.get_workload(
        num_layers=8, image_shape=(3, 28, 28), num_classes=10
    )
    data = np.random.RandomState(1).uniform(size=(1, 3, 28, 28)).astype("float32")
    library = relay.build(mod, target="llvm", params=params)
    executor = relay.graph_executor.GraphModule(library["default"](tvm.cpu(0)))
    executor.run(data=data)
    expected = [
        *(0.09520864, 0.09874471, 0.1011111, 0.1014244, 0.1059059),
        *(0.1024831, 0.09527633, 0.1022881, 0.1019052, 0.09565245),
    ]
    np.testing.assert_allclose(executor.get_output(0).numpy()[0], expected, rtol=1e-4)


def test_layouts_differ_by_a_transpose() -> None:
    _, params = relay.testing.mobilenet.get_workload(image_shape=(32, 32, 3), layout="NHWC")
    assert params["separable_conv_block_1_weight"].shape == (3, 3, 32, 1)
    assert relay.testing.dcgan.get_workload(1, ngf=4, layout="NHWC")[0]["main"].ret_ty.shape[3] == 3
    fails("NCHW or NHWC, got 'NCHW4c'", relay.testing.layers.conv_kernel_layout, "NCHW4c")


@pytest.mark.parametrize("layout", ["IOHW", "HWOI"])
def test_a_transposed_convolution_of_groups_has_as_many_channels_as_asked_for(layout: str) -> None:
    x = relay.var("x", shape=(1, 4, 8, 8))
    window = {"kernel_size": (2, 2), "strides": (2, 2), "kernel_layout": layout}
    made = relay.testing.layers.conv2d_transpose(x, name="c", channels=8, groups=2, **window)
    assert [*made.ty.shape] == [1, 8, 16, 16]


def test_a_star_brings_networks_and_nothing_else() -> None:
    names: dict[str, Any] = {}
    exec("from tvm_qnn.relay.testing import *", names)
    assert names["resnet"] is relay.testing.resnet
    assert {"layers", "vgg", "create_workload", "run_infer_type"} <= {*names}
    assert {*names} - {"__builtins__"} <= {*dir(relay.testing)}
    assert {*names}.isdisjoint(("Any", "QnnError", "import_module", "relax", "tvm"))


test_what_there_is_not_is_named = failing(
    lambda network, settings: getattr(relay.testing, network).get_workload(**settings),
    ("resnet", {"num_layers": 19}, r"resnet: 19 layers; it may have \[18, 34"),
    ("resnet", {"num_layers": 18, "image_shape": (3, 28, 28)}, "18 layers do not fit a height"),
    ("vgg", {"batch_size": 1, "num_layers": 12}, "vgg: 12 layers"),
    ("squeezenet", {"version": "2"}, "version is one of 1.0, 1.1, got '2'"),
    ("densenet", {"densenet_size": 1}, "densenet: 1 layers"),
)


def test_an_initializer_of_one_s_own() -> None:
    def ones(_name: str, array: np.ndarray[Any, Any]) -> None:
        array[:] = 1

    net = relay.testing.mlp.get_net(1)
    _, params = relay.testing.create_workload(net, ones)
    assert _parameter_sum(params) == 109_386
    _, drawn = relay.testing.create_workload(net, relay.testing.init.Xavier(factor_type="in"))
    assert np.abs(drawn["fc1_weight"].numpy()).max() == pytest.approx((3 / 784) ** 0.5, rel=1e-2)
