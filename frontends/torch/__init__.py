"""Import of quantized PyTorch programs."""

from typing import TYPE_CHECKING

from qnn_ops.lazy import make_lazy

if TYPE_CHECKING:
    from frontends.torch.importer import from_exported_program

__all__ = ["from_exported_program"]

make_lazy(__name__, {"from_exported_program": ("frontends.torch.importer",)})
