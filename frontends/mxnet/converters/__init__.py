"""Conversion rules: one operator, or one small family, a file. Importing them registers them."""

from __future__ import annotations

from frontends.mxnet.converters import (
    activation,
    arithmetic,
    batch_norm,
    cast,
    concat,
    convolution,
    deconvolution,
    embedding,
    fully_connected,
    identity,
    normalization,
    pad,
    pooling,
    quantize,
    reductions,
    shapes,
    slices,
    softmax,
    unary,
)

__all__ = [
    "activation",
    "arithmetic",
    "batch_norm",
    "cast",
    "concat",
    "convolution",
    "deconvolution",
    "embedding",
    "fully_connected",
    "identity",
    "normalization",
    "pad",
    "pooling",
    "quantize",
    "reductions",
    "shapes",
    "slices",
    "softmax",
    "unary",
]
