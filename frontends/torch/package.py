"""The package torch, which need not be installed."""

from typing import Any

from qnn_ops.errors import needed


def torch_package() -> Any:
    """Return the package, with the operators of quantized programs registered.

    Raises:
        QnnError: if it cannot be imported.
    """
    with needed("reading PyTorch programs", "torch", "'tvm-qnn[torch]'"):
        import torch
        import torch.ao.quantization.fx._decomposed
        import torch.export
    return torch
