"""Imports a PyTorch program as a module of Relax operators between quantize and dequantize."""

from collections.abc import Mapping, Sequence
from typing import Any

import tvm
from tvm import relax, tirx

from frontends.builder import Imported
from frontends.errors import ModelFormatError, UnsupportedOperatorError, reason_of
from frontends.formats import Shapes
from frontends.naming import owners, with_results
from frontends.torch.call import OWN
from frontends.torch.decompose import decomposed
from frontends.torch.inductor import is_of_inductor
from frontends.torch.operators import DEQUANTIZING, QUANTIZING, reasons, rules
from frontends.torch.package import torch_package
from frontends.torch.parts import CLAMPING
from frontends.torch.quantized.affine import with_pt2e_operators
from frontends.torch.quantized.floats import left_in_float, quantizes_data
from frontends.torch.reader import calls_of, constants_of, operator_of, read_program, user_nodes
from frontends.torch.shapes import OpenSizes, open_sizes, with_shapes
from qnn_ops.arithmetic.xnnpack import XNNPACK
from qnn_ops.dialect.registry import type_spec
from qnn_ops.dialect.signature import (
    ARITHMETIC,
    Signature,
    TensorInfo,
    named_sizes,
    with_bounds,
    with_signature,
    without_bounds,
)
from qnn_ops.dialect.sizes import within
from qnn_ops.serial import serial


@serial
def from_exported_program(
    program: Any, shape_dict: Shapes | None = None
) -> tuple[tvm.IRModule, dict[str, tvm.runtime.Tensor]]:
    """Import a quantized PyTorch program, with the integers of XNNPACK or of oneDNN.

    The program must be quantized by torchao's ``prepare_pt2e`` and ``convert_pt2e`` with
    ExecuTorch's ``XNNPACKQuantizer``, and exported once more afterwards. The integers are those of
    ExecuTorch's delegate to XNNPACK; the documentation's page on PyTorch's numbers describes them.
    uint8 activations, as from ``X86InductorQuantizer``, have oneDNN's integers. ``build`` turns the
    groups into integer operators. Operators that the delegate leaves in float are computed in
    float32, with a ``LeftInFloatWarning``; a sum of floats may differ in its last bits.

    Args:
        program: a ``torch.export.ExportedProgram``, or the path or the contents of a .pt2 file
            that ``torch.export.save`` wrote. The package torch reads it: pip install
            'tvm-qnn[torch]'. A file may be untrusted: it is refused if it contains anything
            pickled, or calls operators other than those of tensors.
        shape_dict: shapes of inputs by name, if the program leaves sizes open
            (``dynamic_shapes``): a number fixes a size, a name names it, and a ``range`` bounds it.
            Other inputs follow in sizes of the same name. Sizes without a number stay open: each
            run decides them.

    Returns:
        The module, and no parameters: its constants are part of it.

    Raises:
        UnsupportedOperatorError: it has operators that are not imported; names all their nodes.
        ModelFormatError: the file is malformed.
        QnnError: torch is missing, or a shape is not given, or the program does not take it.
        OSError: the file cannot be read.
    """
    known = known_program(program, shape_dict)
    imported = import_program(known, open_sizes(known, shape_dict))
    return imported.mod, imported.params


def known_program(model: Any, shapes: Shapes | None = None) -> Any:
    """Return a program of known operators, as far as PyTorch can decompose other operators.

    Args:
        model: see ``read_program``.
        shapes: see ``with_shapes``.

    Raises:
        QnnError, OSError: as ``read_program`` and ``with_shapes`` do.
    """
    program = with_shapes(read_program(model), shapes)
    return decomposed(with_pt2e_operators(program), _known())


def _known() -> set[str]:
    """Return the names of the operators that are imported."""
    torch_package()  # TVM's importer only says that it is missing
    from tvm.relax.frontend.torch.exported_program_translator import ExportedProgramImporter

    return {*ExportedProgramImporter().convert_map, *OWN}


@serial
def import_program(
    program: Any, sizes: OpenSizes | None = None, *, of_pytorch: bool = False
) -> Imported:
    """Import a result of ``known_program``; see ``from_exported_program``.

    Args:
        program: the program.
        sizes: its open sizes.
        of_pytorch: whether functions of float32 are PyTorch's, not the delegate's, in a program
            that PT2E did not quantize.
    """
    check_operators(program)
    inputs, outputs = user_nodes(program)
    from tvm.relax.frontend.torch.exported_program_translator import ExportedProgramImporter

    importer, constants = ExportedProgramImporter(), constants_of(program)
    bounds = {symbol: limits for symbol, (_, limits) in (sizes or {}).items()}
    of_inductor = is_of_inductor(program)
    calls = calls_of(program)
    is_exact = of_pytorch and not any(map(quantizes_data, calls))
    try:
        with within(bounds):
            mod = importer.from_exported_program(
                program,
                keep_params_as_input=False,
                unwrap_unit_return_tuple=True,
                no_bind_return_tuple=False,
                custom_convert_map=rules(constants, of_inductor=of_inductor, is_exact=is_exact),
            )
    except Exception as error:  # whatever TVM's importer meets
        raise ModelFormatError(f"the program cannot be imported: {reason_of(error)}") from None
    mod, results = _with_results(mod, calls, importer.env)
    mod, signature = _with_sizes(mod, sizes or {}, inputs, outputs)
    main = mod["main"].with_attr("num_input", len(inputs))
    if not of_inductor:  # its groups are already written out
        main = main.with_attr(ARITHMETIC, XNNPACK)
        if left := left_in_float(program, constants):
            main = main.with_attr("left_in_float", left)
    mod["main"] = with_signature(main, signature)
    return Imported(mod, {}, results)


def _with_sizes(
    mod: tvm.IRModule, sizes: OpenSizes, inputs: Sequence[Any], outputs: Sequence[Any]
) -> tuple[tvm.IRModule, Signature]:
    """Name a module's open sizes; describe its inputs and outputs."""
    bounds = dict(sizes.values())
    if sizes:
        mod["main"] = with_bounds(without_bounds(mod["main"]), bounds)
        variables = {symbol: tirx.Var(name, "int64") for symbol, (name, _) in sizes.items()}
        mod = relax.transform.BindSymbolicVars(variables)(mod)
    main = mod["main"]
    result = main.ret_ty
    types = list(result.fields) if isinstance(result, relax.TupleType) else [result]

    def info(node: Any, ty: Any) -> TensorInfo:
        spec = type_spec(ty, node.name)
        return TensorInfo(node.name, named_sizes(spec.shape, bounds), spec.dtype)

    given = [parameter.ty for parameter in main.params[: len(inputs)]]
    return mod, Signature(tuple(map(info, inputs, given)), tuple(map(info, outputs, types)))


def _with_results(
    mod: tvm.IRModule, nodes: list[Any], values: Mapping[Any, Any]
) -> tuple[tvm.IRModule, dict[str, int]]:
    """Name variables for the nodes whose results they hold."""
    indices = {node: number for number, node in enumerate(nodes)}
    codes = [operator_of(node) for node in nodes]
    operands = [
        next((indices.get(each) for each in node.all_input_nodes[:1]), None) for node in nodes
    ]
    owner = owners(codes, operands, QUANTIZING, DEQUANTIZING, CLAMPING)
    tensors = {node: values[node] for node in indices if isinstance(values.get(node), relax.Var)}
    results = [(each, owner[indices[node]]) for node, each in tensors.items()]
    return with_results(mod, results, codes)


def missing_operators(program: Any) -> dict[int, str]:
    """Tell why nodes cannot be imported, by their numbers among the nodes that compute."""
    return reasons(program, _known(), constants_of(program))


def check_operators(program: Any) -> None:
    """Raise unless every node can be imported.

    Raises:
        UnsupportedOperatorError: names the nodes that cannot.
    """
    if found := missing_operators(program):
        nodes = calls_of(program)
        raise UnsupportedOperatorError(
            [
                (number, operator_of(nodes[number]), reason, [nodes[number].name])
                for number, reason in found.items()
            ]
        )
