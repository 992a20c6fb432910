"""The range of reals that a model's first quantization of an input distinguishes."""

from collections.abc import Iterator
from dataclasses import replace

import tvm
from tvm import relax

from qnn_ops.arithmetic.encoding import Encoding
from qnn_ops.dialect.registry import attrs_of
from qnn_ops.dialect.signature import main_function
from qnn_ops.dialect.tensor_info import Signature
from qnn_ops.quantized.quantization import quantize

_MOVERS = ("relax.permute_dims", "relax.reshape", "relax.expand_dims", "relax.squeeze")


def with_input_ranges(mod: tvm.IRModule, signature: Signature) -> Signature:
    """Return the signature with ``low`` and ``high`` of its float32 inputs, where they are known.

    They are known if ``main`` quantizes the input per tensor, to 8 bits, after at most a change of
    its layout. Code that feeds pictures takes the two for black and white.

    Args:
        mod: the model, with operators of the dialect.
        signature: the model's own, or another with the same inputs in the same order.
    """
    encodings = dict(_encodings(mod))
    inputs = tuple(
        replace(info, low=encodings[index].real_range[0], high=encodings[index].real_range[1])
        if index in encodings
        else info
        for index, info in enumerate(signature.inputs)
    )
    return replace(signature, inputs=inputs)


def _encodings(mod: tvm.IRModule) -> Iterator[tuple[int, Encoding]]:
    """Yield the index of each such parameter, and the encoding that it is quantized to."""
    main = main_function(mod)
    if not isinstance(main.body, relax.SeqExpr):
        return
    source: dict[relax.Var, int] = {param: index for index, param in enumerate(main.params)}
    for block in main.body.blocks:
        for binding in block.bindings:
            call = binding.value if isinstance(binding, relax.VarBinding) else None
            if not isinstance(call, relax.Call) or not call.args or call.args[0] not in source:
                continue
            index = source[call.args[0]]
            if isinstance(call.op, tvm.ir.Op) and call.op.name in _MOVERS:
                source[binding.var] = index
            elif call.op == quantize.op:
                attrs = attrs_of(call)
                if isinstance(attrs.scale, float) and attrs.out_dtype in ("int8", "uint8"):
                    yield index, Encoding(attrs.scale, attrs.zero_point, attrs.out_dtype)
