import numpy as np
import pytest

pytest.importorskip("onnx", reason="onnx is not installed")
pytest.importorskip("onnxruntime", reason="onnxruntime is not installed")

from tests.support.decoders import SIZES, OnRuntime
from tools.prose.export import float_model, in_8_bits, random_weights
from tvm_qnn import prose


def test_the_model_computes_what_the_network_does() -> None:
    torch = pytest.importorskip("torch", reason="PyTorch is not installed")
    from tools.prose.network import Network

    network = Network(SIZES).eval()
    weights = {name: each.numpy() for name, each in network.state_dict().items()}
    assert {*weights} == {*random_weights(SIZES)}
    ids = np.random.default_rng(1).integers(0, 256, 40)
    with torch.no_grad():
        expected = network(torch.from_numpy(ids)[None])[0].numpy()
    found = OnRuntime(float_model(SIZES, weights)).step(ids.tolist())
    np.testing.assert_allclose(found, expected, atol=1e-4)


def test_quantized_weights_are_near_the_real_ones() -> None:
    model = float_model(SIZES, random_weights(SIZES, 1))
    ids = np.random.default_rng(1).integers(0, 256, 40).tolist()
    real, quantized = (OnRuntime(each).step(ids) for each in (model, in_8_bits(model)))
    assert np.corrcoef(real.ravel(), quantized.ravel())[0, 1] > 0.99


@pytest.mark.parametrize(("style", "op"), [("int4", "MatMulNBits"), ("int8", "MatMulInteger")])
def test_the_trained_files_are_of_this_form(style: str, op: str) -> None:
    import onnx

    graph = onnx.load(prose.model(style)).graph
    assert sum(node.op_type == op for node in graph.node) == 4 * 7 + 1
    assert sum(node.op_type == "GroupQueryAttention" for node in graph.node) == 4
