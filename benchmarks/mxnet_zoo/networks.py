"""Networks of Gluon's zoo with random weights, quantized by MXNet."""

from pathlib import Path
from typing import Any

import mxnet as mx
import numpy as np
from mxnet.contrib import quantization
from mxnet.gluon.model_zoo import vision

Array = np.ndarray[Any, Any]

NETWORKS = {
    "inceptionv3": 299,
    "resnet18_v1": 224,
    "resnet50_v1": 224,
    "resnet18_v2": 224,
    "resnet50_v2": 224,
    "mobilenet1.0": 224,
    "mobilenetv2_1.0": 224,
    "densenet121": 224,
    "squeezenet1.0": 224,
    "alexnet": 224,
    "vgg11": 224,
}
"""Height and width of the pictures, by the network's name in the zoo."""

_CALIBRATION_IMAGES = 4


def quantize(name: str, prefix: Path) -> list[Array]:
    """Make a network, have MXNet quantize it, and save it.

    Weights are random. Batch normalizations have the means and variances of one batch: without them
    the activations of deep networks would exceed every range.

    Args:
        name: a name in `NETWORKS`.
        prefix: the prefix of the files; MXNet appends "-symbol.json" and "-0000.params".

    Returns:
        Inputs to run it with.
    """
    mx.random.seed(0)
    rng = np.random.default_rng(0)
    size = NETWORKS[name]

    def images(count: int) -> Array:
        return rng.normal(size=(count, 3, size, size)).astype(np.float32)

    network = vision.get_model(name, pretrained=False)
    network.initialize(mx.init.MSRAPrelu())
    network.apply(_forget)
    network(mx.nd.array(images(1)))
    for parameter, value in network.collect_params().items():
        if parameter.endswith("gamma"):
            value.set_data(mx.nd.array(rng.uniform(0.7, 1.3, value.shape)))
        elif parameter.endswith(("beta", "bias")):
            value.set_data(mx.nd.array(rng.uniform(-0.2, 0.2, value.shape)))
    with mx.autograd.train_mode():
        network(mx.nd.array(images(_CALIBRATION_IMAGES))).wait_to_read()
    network.hybridize()
    network(mx.nd.array(images(1))).wait_to_read()
    network.export(str(prefix))
    quantized = quantization.quantize_model_mkldnn(
        *mx.model.load_checkpoint(str(prefix), 0),
        data_names=("data",),
        label_names=None,
        ctx=mx.cpu(),
        calib_mode="naive",
        calib_data=mx.io.NDArrayIter({"data": images(_CALIBRATION_IMAGES)}, batch_size=1),
        num_calib_examples=_CALIBRATION_IMAGES,
        quantized_dtype="auto",
        logger=None,
    )
    mx.model.save_checkpoint(str(prefix), 0, *quantized)
    return [images(1) for _ in range(3)]


def _forget(block: Any) -> None:
    """Make a batch normalization replace its statistics by those of the next batch."""
    if isinstance(block, mx.gluon.nn.BatchNorm):
        block._kwargs["momentum"] = 0
