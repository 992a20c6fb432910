"""How much there is to compute in an operator of MXNet's."""

from __future__ import annotations

from math import prod

_PER_OUTPUT = {
    *("Convolution", "FullyConnected"),
    *("_contrib_quantized_conv", "_contrib_quantized_fully_connected"),
    *("_sg_mkldnn_conv", "_sg_mkldnn_fully_connected"),
    *("_sg_onednn_conv", "_sg_onednn_fully_connected"),
}


def products(
    op: str, data: tuple[int, ...], weights: tuple[int, ...], result: tuple[int, ...]
) -> int:
    """Products that an operator adds up; 0 for one that has no weights to multiply by.

    Args:
        op: MXNet's name of it.
        data: the shape of its first input.
        weights: of its second one: [outputs, …].
        result: of its result.
    """
    if op in _PER_OUTPUT:
        return prod(result) * prod(weights[1:])
    # Every element of the data meets the weights of its channel.
    return prod(data) * prod(weights[1:]) if op == "Deconvolution" else 0
