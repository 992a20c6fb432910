"""MXNet among the model formats."""

from typing import Any

from frontends.formats import Format
from frontends.mxnet.graph import SEMANTICS


class MXNet(Format):
    """A symbol's .json file, a symbol or a block of MXNet, or a result of ``read_symbol``."""

    name = "MXNet"
    suffixes = (".json",)
    has_params = True
    semantics = SEMANTICS
    source = "MXNetSource"

    def recognises(self, model: Any) -> bool:
        """Look for a symbol's list of nodes, or for the methods of such classes."""
        if isinstance(model, bytes):
            return model.lstrip()[:1] == b"{" and b'"nodes"' in model
        if type(model).__module__ == "frontends.mxnet.graph":
            return True
        return any(callable(getattr(model, name, None)) for name in ("tojson", "export"))


FORMAT = MXNet()
