"""Reads a file as an ``ExportedProgram``, and tells the properties of its nodes."""

import io
import os
from typing import Any

from frontends.errors import ModelFormatError, reason_of
from frontends.torch.archive.files import checked_archive
from frontends.torch.format import why_no_program
from frontends.torch.package import torch_package
from qnn_ops.arrays import Array
from qnn_ops.errors import QnnError


def read_program(model: Any) -> Any:
    """Return the program of ``from_exported_program``'s argument.

    Raises:
        ModelFormatError: the file is malformed.
        QnnError: it is not a program (the message tells how to make one), or torch is missing.
        OSError: the file cannot be read.
    """
    if isinstance(model, str | os.PathLike):
        with open(model, "rb") as file:
            model = file.read()
    elif isinstance(model, bytearray | memoryview):
        model = bytes(model)
    if reason := why_no_program(model):
        raise QnnError(reason)
    torch = torch_package()
    if isinstance(model, torch.export.ExportedProgram):
        return model
    if not isinstance(model, bytes):
        raise QnnError(
            "a PyTorch program is an ExportedProgram, or the path or the contents of a .pt2 file, "
            f"got an object of type {type(model).__name__}"
        )
    try:
        return _loaded(checked_archive(model, _schema_of))
    except Exception as error:  # whatever torch's reader meets
        raise ModelFormatError(f"the .pt2 file cannot be read: {reason_of(error)}") from None


def _loaded(archive: bytes) -> Any:
    """Return the program; torch.export.load would try an older, pickled layout after errors."""
    from torch.export.pt2_archive._package import load_pt2

    return load_pt2(io.BytesIO(archive)).exported_programs["model"]


def _schema_of(name: str) -> Any:
    """Return the schema of an operator such as "aten.relu.default"; None if there is none."""
    target = torch_package().ops
    for part in name.split("."):
        target = getattr(target, part, None)
    return getattr(target, "_schema", None)


def calls_of(program: Any) -> list[Any]:
    """Return the nodes that compute something, in order."""
    return [node for node in program.graph.nodes if node.op == "call_function"]


def operator_of(node: Any) -> str:
    """Return the name of the operator that a node calls, such as "conv2d.default"."""
    return str(node.target.__name__)


def values_of(node: Any) -> list[Any]:
    """Return a node's arguments in the order of the operator's signature, including defaults."""
    return [
        node.args[index]
        if index < len(node.args)
        else node.kwargs.get(argument.name, argument.default_value)
        for index, argument in enumerate(node.target._schema.arguments)
    ]


def constants_of(program: Any) -> dict[str, Array]:
    """Return parameters, buffers and constants by the names of their nodes."""
    found = {}
    specs = program.graph_signature.input_specs
    for spec in specs:
        values = (program.state_dict, program.constants)
        tensor = next((each[spec.target] for each in values if spec.target in each), None)
        if tensor is not None:
            found[spec.arg.name] = tensor.detach().cpu().contiguous().numpy()
    return found


def user_nodes(program: Any) -> tuple[list[Any], list[Any]]:
    """Return the nodes of the inputs and of the outputs.

    Raises:
        QnnError: the program changes its buffers or inputs, or an output is not a tensor.
    """
    by_name = {node.name: node for node in program.graph.nodes}
    signature = program.graph_signature
    kinds = {spec.kind.name for spec in signature.output_specs}
    if kinds - {"USER_OUTPUT"}:
        raise QnnError("the program changes its buffers or inputs, which is not imported")
    names = [*signature.user_inputs, *signature.user_outputs]
    for name in names:
        if name not in by_name:
            raise QnnError(f"an input or output of the program is {name!r}, which is no tensor")
    count = len(signature.user_inputs)
    return [by_name[name] for name in names[:count]], [by_name[name] for name in names[count:]]


def is_call(node: Any, *names: str) -> bool:
    """Tell whether a node calls one of these operators."""
    return getattr(node, "op", "") == "call_function" and operator_of(node) in names


def is_quantizing(node: Any) -> bool:
    """Tell whether a node's operator is one of PT2E's quantized ones."""
    return str(node.target).startswith("quantized_decomposed.")
