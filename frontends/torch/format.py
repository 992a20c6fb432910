"""PyTorch among the model formats."""

from typing import Any

from frontends.formats import Format
from frontends.torch.archive.checkpoints import PARTS, why_no_program


class Torch(Format):
    """A .pt2 file of ``torch.export.save``, its contents, or an ``ExportedProgram``."""

    name = "PyTorch"
    suffixes = (".pt2",)
    source = "TorchSource"

    def recognises(self, model: Any) -> bool:
        """Look for a zip archive that begins with parts of a program, or for a program's class.

        Networks and their weights are recognised, too: ``why_no_program`` then gives advice.
        """
        if isinstance(model, bytes):
            is_ours = any(part in model for part in PARTS)
            return (model.startswith(b"PK\x03\x04") and is_ours) or bool(why_no_program(model))
        return type(model).__name__ == "ExportedProgram" or bool(why_no_program(model))


FORMAT = Torch()
