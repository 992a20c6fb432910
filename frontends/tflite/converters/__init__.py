"""Conversion rules: one operator, or one small family, a file. Importing them registers them."""

from __future__ import annotations

from frontends.tflite.converters import (
    arg_max,
    arithmetic,
    concatenation,
    convolution,
    fully_connected,
    lookup,
    mean,
    pad,
    pooling,
    quantize,
    reductions,
    relu,
    reshape,
    resize,
    slices,
    softmax,
    split,
    transpose,
    unary,
)

__all__ = [
    "arg_max",
    "arithmetic",
    "concatenation",
    "convolution",
    "fully_connected",
    "lookup",
    "mean",
    "pad",
    "pooling",
    "quantize",
    "reductions",
    "relu",
    "reshape",
    "resize",
    "slices",
    "softmax",
    "split",
    "transpose",
    "unary",
]
