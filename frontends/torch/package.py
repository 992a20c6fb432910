"""The package torch, which need not be installed."""

from __future__ import annotations

from typing import Any

from qnn_ops.errors import QnnError


def torch_package() -> Any:
    """Return the package, with the operators of quantized programs registered.

    Raises:
        QnnError: if it cannot be imported.
    """
    try:
        import torch
        import torch.ao.quantization.fx._decomposed
        import torch.export
    except ImportError as error:
        raise QnnError(
            "reading PyTorch programs needs the package torch, which cannot be imported "
            f"({error}); install it with: pip install 'tvm-qnn[torch]'"
        ) from error
    return torch
