"""A text of a module, for digests.

Modules that differ have different texts, but for collisions of TVM's hash.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from typing import Any

import numpy as np
import tvm
from tvm import relax, tirx
from tvm_ffi import get_global_func, structural_hash

from qnn_ops.dialect.registry import view_of
from tvm_qnn.io.kept import DIGEST_SIZE

_as_json = get_global_func("ffi.json.Stringify")

_NUMBERS = (tirx.IntImm, tirx.FloatImm)


class _OtherError(Exception):
    """An expression is none of those that importers emit."""


def module_text(mod: tvm.IRModule) -> str:
    """Return a text that has all of a module, except positions in source code.

    TVM writes any module as JSON, and makes an object of each number in it. Most numbers of an
    imported module are lists of scales in calls. This function writes calls one by one, which takes
    a quarter of the time, and leaves other functions to TVM. It writes a digest of each constant.
    TVM's hash of the structure covers the types that follow from calls.
    """
    parts = [
        structural_hash(mod, skip_tensor_content=True),
        tvm.ir.save_json([mod.attrs, mod.global_infos]),
    ]
    functions = {variable.name_hint: each for variable, each in mod.functions.items()}
    return json.dumps([*parts, [[name, _function(functions[name])] for name in sorted(functions)]])


def _function(function: Any) -> Any:
    try:
        return _calls(function)
    except _OtherError:
        return tvm.ir.save_json(function)


def _calls(function: Any) -> Any:
    """Return a function's attributes, purity, parameters with types, blocks, and result.

    Raises:
        _OtherError: if it has other expressions than importers emit.
    """
    if not isinstance(function, relax.Function) or not isinstance(function.body, relax.SeqExpr):
        raise _OtherError
    known: dict[int, int] = {}

    def name(variable: relax.Var) -> str:
        known[variable.__chandle__()] = len(known)
        return str(variable.name)

    def bound(binding: relax.Binding) -> tuple[str, Any]:
        if not isinstance(binding, relax.VarBinding):
            raise _OtherError
        value = _value(binding.value, known)
        return name(binding.var), value

    # Attributes state bounds of open sizes by their names, which TVM's hash leaves out.
    types = tvm.ir.save_json([each.ty for each in function.params])
    parameters = [types, *map(name, function.params)]
    blocks = [
        [type(block).__name__, [*map(bound, block.bindings)]] for block in function.body.blocks
    ]
    result = _value(function.body.body, known)
    return [_attributes(function.attrs), function.is_pure, parameters, blocks, result]


def _value(value: Any, known: Mapping[int, int]) -> Any:
    if isinstance(value, relax.Var) and value.__chandle__() in known:
        return known[value.__chandle__()]
    if isinstance(value, relax.Call) and isinstance(value.op, tvm.ir.Op) and not value.ty_args:
        operands = [_value(each, known) for each in value.args]
        return [value.op.name, operands, _attributes(value.attrs)]
    if isinstance(value, relax.Tuple):
        return [_value(each, known) for each in value.fields]
    if isinstance(value, relax.TupleGetItem):
        return ["item", value.index, _value(value.tuple_value, known)]
    if isinstance(value, relax.ShapeExpr):
        return ["shape", *[_value(each, known) for each in value.values]]
    if isinstance(value, _NUMBERS):
        return tvm.ir.save_json(value)
    if isinstance(value, tvm.ir.GenericConst) and isinstance(value.value, tvm.runtime.Tensor):
        return _tensor(value.value)
    if isinstance(value, tvm.ir.GlobalVar):
        return value.name_hint
    raise _OtherError


def _tensor(tensor: tvm.runtime.Tensor) -> list[str]:
    contents = np.ascontiguousarray(view_of(tensor)).reshape(-1).view(np.uint8)
    digest = hashlib.blake2b(contents.data, digest_size=DIGEST_SIZE)
    return [str(tensor.dtype), str(tensor.shape), digest.hexdigest()]


def _attributes(attributes: Any) -> Any:
    if not isinstance(attributes, tvm.ir.attrs.DictAttrs):
        return None if attributes is None else tvm.ir.save_json(attributes)
    try:
        return str(_as_json(attributes._dict(), None))
    except ValueError:  # JSON alone cannot hold one of the values
        return tvm.ir.save_json(attributes)
