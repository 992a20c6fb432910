"""PyTorch among the model formats."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from frontends.formats import Format
from frontends.torch.archive.checkpoints import PARTS, why_no_program

if TYPE_CHECKING:
    from frontends.torch.source import TorchSource


class Torch(Format):
    """A .pt2 file of ``torch.export.save``, its contents, or an ``ExportedProgram``."""

    name = "PyTorch"
    suffixes = (".pt2",)

    def recognises(self, model: Any) -> bool:
        """Look for a zip archive that begins with parts of a program, or for a program's class.

        Networks and their weights are recognised, too: ``why_no_program`` then gives advice.
        """
        if isinstance(model, bytes):
            is_ours = any(part in model for part in PARTS)
            return (model.startswith(b"PK\x03\x04") and is_ours) or bool(why_no_program(model))
        return type(model).__name__ == "ExportedProgram" or bool(why_no_program(model))

    def read(self, model: Any, params: Any, semantics: str | None) -> TorchSource:
        """Read a program."""
        from frontends.torch.source import TorchSource

        return TorchSource(model)


FORMAT = Torch()
