"""TFLite among the model formats."""

from typing import Any

from frontends.formats import Format
from frontends.tflite.file_names import IDENTIFIER, SEMANTICS


class TFLite(Format):
    """A .tflite file, a ``tflite.Model``, or a result of this package's ``read_model``."""

    name = "TFLite"
    suffixes = (".tflite",)
    has_signatures = True
    semantics = SEMANTICS
    source = "TFLiteSource"

    def recognises(self, model: Any) -> bool:
        """Look for the identifier, or for attributes of such classes."""
        if isinstance(model, bytes):
            return model[4:8] == IDENTIFIER
        return hasattr(model, "_tab") or type(model).__module__ == "frontends.tflite.model"

    def of_signature(self, model: Any, name: str) -> bytes:
        """Return a file with one signature, whose subgraph is the first."""
        from frontends.tflite.reader import read_signature

        return read_signature(model, name)


FORMAT = TFLite()
