"""ONNX among the model formats."""

from typing import Any

from frontends.formats import Format

# A model begins with its first field, the version: a varint from 1 to 127 in all known models.
_VERSION_FIELD = 0x08
_NEXT_FIELDS = (0x12, 0x1A, 0x22, 0x28, 0x32, 0x3A, 0x42)


class Onnx(Format):
    """An .onnx file, its contents, or a ``ModelProto``."""

    name = "ONNX"
    suffixes = (".onnx",)
    source = "OnnxSource"

    def recognises(self, model: Any) -> bool:
        """Look for the first fields of a model, or for its class."""
        if isinstance(model, bytes):
            is_version = len(model) > 2 and model[0] == _VERSION_FIELD and 1 <= model[1] < 128
            return is_version and model[2] in _NEXT_FIELDS
        return type(model).__name__ == "ModelProto"


FORMAT = Onnx()
