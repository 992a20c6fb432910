"""Import of quantized MXNet models."""

from typing import TYPE_CHECKING

from qnn_ops.lazy import make_lazy

if TYPE_CHECKING:
    from frontends.mxnet.importer import from_mxnet

__all__ = ["from_mxnet"]

make_lazy(__name__, {"from_mxnet": ("frontends.mxnet.importer",)})
