"""What a compiled library knows of itself: its signature and its target, in its own file."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any

import numpy as np
import tvm
from tvm import relax

from qnn_ops.errors import QnnError
from qnn_ops.signature import Signature

NAME = "qnn_metadata"
"""The library's function that returns its metadata, as JSON in a uint8 tensor."""


@dataclass(frozen=True)
class Metadata:
    """What stands in a library beside its code."""

    signature: Signature
    target: tvm.target.Target

    def to_function(self) -> relax.Function:
        """A function for the module that is compiled; it returns the metadata."""
        fields = {"signature": self.signature.to_json(), "target": str(self.target)}
        text = np.frombuffer(json.dumps(fields).encode(), np.uint8)
        builder = relax.BlockBuilder()
        with builder.function(NAME, []):
            builder.emit_func_output(relax.const(text, "uint8"))
        return builder.get()[NAME]

    @staticmethod
    def of(module: Any) -> Metadata:
        """Ask a loaded library.

        Raises:
            QnnError: if there is no metadata in it: tvm-qnn did not make it.
        """
        try:
            machine = relax.VirtualMachine(module, tvm.cpu())
            fields = json.loads(bytes(machine[NAME]().numpy()))
            target = tvm.target.Target(json.loads(fields["target"]))
            return Metadata(Signature.from_json(fields["signature"]), target)
        except (AttributeError, KeyError, TypeError, ValueError, RuntimeError) as error:
            raise QnnError("tvm-qnn did not make it") from error
