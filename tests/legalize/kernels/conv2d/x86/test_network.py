import tvm
from tvm import relax, tirx

from legalize import lower
from legalize.kernels.conv2d.x86.network import prefers_tiles, target_of_kernels
from legalize.kernels.isa.targets import has_feature
from qnn_ops import quantized_pool2d
from tests.support.modules import module
from tests.support.tiles import convolution

AMX = tvm.target.Target({"kind": "llvm", "mcpu": "sapphirerapids"})
ASKED = tvm.target.Target(
    {"kind": "llvm", "mcpu": "sapphirerapids", "mattr": ["+amx-int8", "+amx-tile"]}
)


def network(size: int, pools: int) -> tvm.IRModule:
    """Return a convolution of 28 · 28 pixels after poolings of larger images."""

    def body(x: relax.Expr, image: relax.Expr) -> list[relax.Expr]:
        for _ in range(pools):
            image = quantized_pool2d(
                image, pool_type="max", pool_size=3, strides=1, padding=1, layout="NHWC"
            )
        return [convolution(x), image]

    inputs = {
        "x": relax.TensorType((1, 28, 28, 128), "uint8"),
        "image": relax.TensorType((1, size, size, 64), "uint8"),
    }
    return module(inputs, body)


def test_tiles_must_save_more_than_they_take_from_everything_else() -> None:
    assert prefers_tiles(network(size=28, pools=1))
    assert not prefers_tiles(network(size=224, pools=8))


def test_convolutions_of_an_open_batch_have_no_tiles() -> None:
    image = relax.TensorType((tirx.Var("n", "int64"), 28, 28, 128), "uint8")
    assert not prefers_tiles(module({"x": image}, convolution))


def test_a_network_in_vectors_has_kernels_without_tiles() -> None:
    mod = network(size=224, pools=8)
    for target in (AMX, ASKED):
        chosen = target_of_kernels(mod, target)
        assert not has_feature(chosen, "amx-int8")
        assert has_feature(chosen, "avx512vnni")
    assert "tdpbusd" not in lower(mod, AMX).script()
    assert "tdpbusd" in lower(network(size=28, pools=1), AMX).script()


def test_other_networks_and_targets_stay_as_they_are() -> None:
    assert target_of_kernels(network(size=28, pools=1), AMX) is AMX
    vnni = tvm.target.Target({"kind": "llvm", "mcpu": "cascadelake"})
    assert target_of_kernels(network(size=224, pools=8), vnni) is vnni
