"""Import of quantized MXNet models."""

from __future__ import annotations

from frontends.mxnet.importer import from_mxnet

__all__ = ["from_mxnet"]
