"""PyTorch among the model formats, and advice for its files and objects that are no programs.

These are networks, their weights, and TorchScript.
"""

from typing import Any

from frontends.formats import Format


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


PARTS = (b"archive_format", b"/data/weights/", b"/data/constants/", b"/models/")
_CHECKPOINT = (b"/data.pkl", b"/constants.pkl", b"/code/")
"""Beginnings of files of torch.save or torch.jit.save; old versions of torch pickled a number."""
_OLD = b"\x80\x02\x8a\nl\xfc\x9cF\xf9 j\xa8P\x19."
_HEAD = 4096
_ADVICE = (
    "is no program: export it in Python by torch.export.save(torch.export.export(model.eval(), "
    "inputs), 'model.pt2'), and give model.pt2; inputs is a tuple of tensors"
)


def why_no_program(model: Any) -> str:
    """Tell how to turn a network, or a file of its weights or of TorchScript, into a program.

    Args:
        model: a file's first bytes or its contents, or an object in memory.

    Returns:
        The advice; empty if the model is none of these.
    """
    if isinstance(model, bytes):
        is_one = _is_checkpoint(model[:_HEAD])
        return f"a file of torch.save or torch.jit.save {_ADVICE}" if is_one else ""
    return f"a network of class {type(model).__name__} {_ADVICE}" if _is_network(model) else ""


def _is_checkpoint(head: Any) -> bool:
    """Tell whether a file begins as weights, or as TorchScript."""
    is_zip = head.startswith(b"PK\x03\x04") and not any(part in head for part in PARTS)
    return head.startswith(_OLD) or (is_zip and any(part in head for part in _CHECKPOINT))


def _is_network(model: Any) -> bool:
    """Tell whether an object is a torch.nn.Module, without importing torch."""
    classes = type(model).__mro__
    return any((c.__module__, c.__name__) == ("torch.nn.modules.module", "Module") for c in classes)
