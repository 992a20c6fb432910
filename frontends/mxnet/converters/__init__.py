"""Conversion rules: one operator, or one small family, a file. Importing them registers them."""

from __future__ import annotations

from frontends.mxnet.converters import quantize

__all__ = ["quantize"]
