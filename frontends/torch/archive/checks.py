"""Checks of the texts of a .pt2 file, before torch turns them into Python.

torch writes the source of a function with a program's names, calls any attribute of torch that an
operator names, imports modules that the structure of inputs and outputs names, and evaluates sizes.
So names must be identifiers, operators must compute with tensors, structures must be Python's own,
and sizes must be arithmetic.
"""

import ast
import json
import re
from collections.abc import Callable
from typing import Any

from frontends.errors import ModelFormatError

_DEPTH = 100
_BITS = 64
_TERMS = 200
"""The most sizes in one size computed at run time. Repeated squares would grow without end."""

_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*|")
_PATH = re.compile(r"[\w.:/ -]*", re.ASCII)
_NUMBER = re.compile(r"-?Infinity|NaN")
_TENSORS = re.compile(r"torch\.ops\.(?:aten|prims|quantized_decomposed|torchao)\.[a-z_]\w*\.\w+")
_SIZES = re.compile(
    r"_operator\.(?:getitem|eq|ne|le|ge|lt|gt|neg|pos|mul|add|sub|floordiv|mod|truediv|and_|or_)"
    r"|math\.(?:trunc|floor|ceil)|torch\.sym_(?:not|int|float|ite|max|min)"
)
_WRAPPED = re.compile(r"torch\.ops\.higher_order\.wrap_with_(?:set_grad_enabled|autocast)")
_WITHOUT_TENSORS = ("_assert_scalar.default",)
_FILES = ("from_file.",)
_TREES = {
    *(None, "builtins.tuple", "builtins.list", "builtins.dict", "collections.OrderedDict"),
    *("torch.fx.immutable_collections.immutable_list",),
    *("torch.fx.immutable_collections.immutable_dict",),
}
_DROPPED: dict[str, Any] = {"metadata": {}, "guards_code": [], "treespec_namedtuple_fields": {}}
"""Fields that an import does not need: the origins of nodes, and conditions as Python source."""


def checked_program(program: Any, schema_of: Callable[[str], Any]) -> Any:
    """Return the description of a program, without anything that could become Python.

    Args:
        program: the parsed JSON.
        schema_of: returns the schema of an operator by its name in ``torch.ops``, such as
            "aten.relu.default"; None if there is none.

    Raises:
        ModelFormatError: something is not as ``torch.export.save`` writes it for tensors.
    """
    kept = _walk(program, "", _DEPTH)
    _check_operators(kept, schema_of)
    for name, limits in _item(kept, "range_constraints", {}).items():
        ends = limits.values() if isinstance(limits, dict) else [limits]
        if any(type(each) not in (int, type(None)) for each in ends):
            raise ModelFormatError(f"the ends of {name!r} are no integers")
    return kept


def _item(parent: Any, name: str, other: Any) -> Any:
    """Return the value of a key, which must have the type of the other value.

    Raises:
        ModelFormatError: the parent is no object, or its value has another type.
    """
    found = parent.get(name, other) if isinstance(parent, dict) else None
    if not isinstance(found, type(other)):
        raise ModelFormatError(f"its {name} is no {type(other).__name__}")
    return found


def _walk(value: Any, key: str, depth: int) -> Any:
    """Check texts and numbers, and drop unneeded fields."""
    if depth == 0:
        raise ModelFormatError(f"it is nested more than {_DEPTH} times")
    if isinstance(value, dict):
        if "custom_obj" in value or value.get("custom_obj_values"):
            raise ModelFormatError("it has objects of classes of its own")
        for name in value:
            _check_text(name, "expr_str" if key == "range_constraints" else "name")
        return {
            name: _DROPPED[name] if name in _DROPPED else _walk(each, name, depth - 1)
            for name, each in value.items()
        }
    if isinstance(value, list):
        return [_walk(each, key, depth - 1) for each in value]
    if isinstance(value, str):
        _check_text(value, key)
    elif type(value) is int and value.bit_length() > _BITS:
        raise ModelFormatError(f"its {key or 'value'} has {value.bit_length()} bits")
    return value


def _check_text(text: str, key: str) -> None:
    if key == "expr_str":
        check_expression(text)
    elif key in ("in_spec", "out_spec"):
        _check_tree(text)
    elif key in ("as_string", "as_strings", "torch_version", "target", "as_operator"):
        return  # written as literals, or checked below
    else:
        _check_pattern(text, key)


def _check_pattern(text: str, key: str) -> None:
    is_path = key == "fqn" or (key.endswith("_name") and key not in ("as_name", "path_name"))
    is_float = key in ("as_float", "as_floats", "as_float_lists", "real", "imag")
    pattern = _PATH if is_path else _NUMBER if is_float else _NAME
    if not pattern.fullmatch(text):
        shown = text if len(text) < 60 else f"{text[:60]}…"
        raise ModelFormatError(f"{shown!r} cannot be a {key or 'name'}")


def _check_tree(text: str) -> None:
    """Check the structure of inputs or outputs: tuples, lists and dictionaries of texts."""
    tree = json.loads(text)
    pending = tree[1:] if isinstance(tree, list) else [tree]
    while pending:
        node = pending.pop()
        kind, context = (_item_of(node, name) for name in ("type", "context"))
        keys = json.loads(context) if isinstance(context, str) else context
        is_plain = keys is None or (
            isinstance(keys, list) and all(isinstance(each, str | int) for each in keys)
        )
        if not isinstance(kind, str | None) or kind not in _TREES or not is_plain:
            raise ModelFormatError(f"its inputs or outputs are of {kind!r}, which is not read")
        for each in keys or []:
            _check_pattern(str(each), "fqn")
        pending += _item(node, "children_spec", [])


def _item_of(node: Any, name: str) -> Any:
    if not isinstance(node, dict):
        raise ModelFormatError("the structure of its inputs or outputs is damaged")
    return node.get(name)


def _check_operators(program: Any, schema_of: Callable[[str], Any]) -> None:
    """Raise if any operator does not compute with tensors or sizes; name all such operators."""
    refused: dict[str, None] = {}
    terms: dict[str, int] = {}
    pending = [program]
    while pending:
        value = pending.pop()
        if isinstance(value, dict):
            names = [value[key] for key in ("target", "as_operator") if key in value]
            refused |= {str(each): None for each in names if not _is_taken(each, schema_of)}
            pending += value.values()
        elif isinstance(value, list):
            for node in value:  # in the order of the graph
                _count_terms(node, terms)
            pending += value
    if refused:
        raise ModelFormatError(
            f"it calls {', '.join(refused)}: only operators of PyTorch's own on tensors are read"
        )


def _is_taken(target: Any, schema_of: Callable[[str], Any]) -> bool:
    """Tell whether an operator computes with tensors or sizes only."""
    if not isinstance(target, str):
        return False
    if _SIZES.fullmatch(target) or _WRAPPED.fullmatch(target):
        return True
    if not _TENSORS.fullmatch(target):
        return False
    name = target.removeprefix("torch.ops.")
    schema = schema_of(name)
    if schema is None:
        return False
    short = name.split(".", 1)[1]
    parts = (*schema.arguments, *schema.returns)
    has_tensors = any("Tensor" in str(part.type) for part in parts)
    return not short.startswith(_FILES) and (has_tensors or short in _WITHOUT_TENSORS)


def _count_terms(node: Any, terms: dict[str, int]) -> None:
    """Bound the sizes that nodes compute from others."""
    if not isinstance(node, dict) or not isinstance(target := node.get("target"), str):
        return
    if target.startswith(("_operator.", "math.", "torch.sym_")) and "getitem" not in target:
        count = 1 + sum(terms.get(name, 1) for name in _sizes_named(node.get("inputs")))
        if count > _TERMS:
            raise ModelFormatError(f"{node.get('name')!r} computes a size of too many others")
        names = [*_sizes_named(node.get("outputs")), str(node.get("name"))]
        terms |= dict.fromkeys(names, count)


def _sizes_named(value: Any) -> list[str]:
    return re.findall(r'"as_name": "(\w*)"', json.dumps(value))


_LENGTH = 1000
_LEVELS = 24
_DIGITS = 19
_EXPONENT = 8
"""Legitimate expressions stay far below; computing one of this size takes almost no time."""

_SYMBOL = re.compile(r"[a-z]{1,8}\d{1,6}")
"""The prefix of torch's names of open sizes."""

_FUNCTIONS = {
    *("Add", "Mul", "Max", "Min", "Rational", "And", "Or", "Not"),
    *("FloorDiv", "CeilDiv", "CleanDiv", "IntTrueDiv", "FloatTrueDiv", "Mod", "PythonMod"),
    *("ModularIndexing", "ToFloat", "CeilToInt", "FloorToInt", "TruncToInt", "TruncToFloat"),
    *("Equality", "Unequality", "LessThan", "StrictLessThan", "GreaterThan", "StrictGreaterThan"),
}
_OPERATORS = (ast.Add, ast.Sub, ast.Mult, ast.FloorDiv, ast.Mod, ast.UAdd, ast.USub)


def check_expression(text: str) -> None:
    """Check that an expression computes a size from names and integers by arithmetic.

    torch gives it to sympy, and sympy to Python.

    Args:
        text: as ``torch.export.save`` writes it, ``Add(Symbol('s77', integer=True), Integer(-2))``,
            or with operators.

    Raises:
        ModelFormatError: it is anything else, or too long.
    """
    try:
        if len(text) > _LENGTH:
            raise ValueError
        _check(ast.parse(text, mode="eval").body, _LEVELS)
    except (ValueError, SyntaxError, RecursionError, MemoryError):
        shown = text if len(text) < 60 else f"{text[:60]}…"
        raise ModelFormatError(f"{shown!r} is no expression of sizes") from None


def _check(node: ast.expr, depth: int) -> None:
    """Raise ValueError unless a node is of the grammar."""
    if depth == 0:
        raise ValueError
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
        _check_call(node.func.id, node, depth)
    elif isinstance(node, ast.BinOp) and isinstance(node.op, _OPERATORS):
        _check(node.left, depth - 1)
        _check(node.right, depth - 1)
    elif isinstance(node, ast.UnaryOp) and isinstance(node.op, _OPERATORS):
        _check(node.operand, depth - 1)
    elif isinstance(node, ast.Name):
        if not _SYMBOL.fullmatch(node.id) and node.id not in ("true", "false"):
            raise ValueError
    elif not _is_integer(node):
        raise ValueError


def _check_call(name: str, node: ast.Call, depth: int) -> None:
    if name == "Symbol":
        _check_symbol(node)
    elif node.keywords:
        raise ValueError
    elif name == "Pow":  # not nested: towers of powers grow without end
        base, exponent = node.args
        small = exponent.args[0] if isinstance(exponent, ast.Call) else exponent
        is_power = any(isinstance(each, ast.Name) and each.id == "Pow" for each in ast.walk(base))
        if is_power or not _is_integer(small) or not -1 <= ast.literal_eval(small) <= _EXPONENT:
            raise ValueError
        _check(base, depth - 1)
        _check(exponent, depth - 1)
    elif name == "Integer":
        (number,) = node.args
        if not _is_integer(number):
            raise ValueError
    elif name in _FUNCTIONS:
        for each in node.args:
            _check(each, depth - 1)
    else:
        raise ValueError


def _check_symbol(node: ast.Call) -> None:
    (name,) = node.args
    if not isinstance(name, ast.Constant) or not isinstance(name.value, str):
        raise ValueError
    if not _SYMBOL.fullmatch(name.value):
        raise ValueError
    for each in node.keywords:  # such as positive=True
        if each.arg is None or not isinstance(each.value, ast.Constant):
            raise ValueError
        if not isinstance(each.value.value, bool):
            raise ValueError


def _is_integer(node: ast.expr) -> bool:
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
        node = node.operand
    is_one = isinstance(node, ast.Constant) and type(node.value) is int
    return is_one and len(str(node.value)) <= _DIGITS  # type: ignore[attr-defined]
