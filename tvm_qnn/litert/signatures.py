"""Signatures: a file's subgraphs as functions with named arguments and results."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from qnn_ops.errors import QnnError

if TYPE_CHECKING:
    from tvm_qnn.litert.interpreter import Interpreter


class SignatureRunner:
    """A function for one signature. ``Interpreter.get_signature_runner`` makes it."""

    def __init__(
        self, interpreter: Interpreter | None = None, signature_key: str | None = None
    ) -> None:
        """Take a signature.

        Args:
            interpreter: the model's interpreter.
            signature_key: the signature's name.

        Raises:
            QnnError: there is no such signature.
        """
        if interpreter is None:
            raise QnnError("None interpreter provided.")
        if not signature_key:
            raise QnnError("None signature_key provided.")
        known = interpreter._get_full_signature_list()
        if signature_key not in known:
            raise QnnError(f'Invalid signature_key provided: "{signature_key}".')
        self._inputs: dict[str, int] = known[signature_key]["inputs"]
        self._outputs: dict[str, int] = known[signature_key]["outputs"]
        self._graph = interpreter._graph_of(signature_key)

    def __call__(self, **kwargs: Any) -> dict[str, np.ndarray]:
        """Run the signature.

        Args:
            **kwargs: all inputs by name. The model is compiled for their shapes.

        Returns:
            The outputs by name.

        Raises:
            QnnError: if an input is missing or does not fit, or the model cannot run.
        """
        if len(kwargs) != len(self._inputs):
            raise QnnError(
                "Invalid number of inputs provided for running a SignatureDef, "
                f"expected {len(self._inputs)} vs provided {len(kwargs)}"
            )
        for name in kwargs:
            if name not in self._inputs:
                raise QnnError(f"Invalid Input name ({name}) for SignatureDef")
        arrays = {self._inputs[name]: np.asarray(value) for name, value in kwargs.items()}
        for index, array in arrays.items():
            self._graph.resize(index, array.shape)
        self._graph.allocate()
        for index, array in arrays.items():
            self._graph.set(index, array)
        self._graph.invoke()
        return {name: self._graph.view(index).copy() for name, index in self._outputs.items()}

    def get_input_details(self) -> dict[str, dict[str, Any]]:
        """Return each input's description by name, as ``Interpreter.get_input_details`` does."""
        return {name: self._graph.details(index) for name, index in self._inputs.items()}

    def get_output_details(self) -> dict[str, dict[str, Any]]:
        """Return the description of each output by name."""
        return {name: self._graph.details(index) for name, index in self._outputs.items()}
