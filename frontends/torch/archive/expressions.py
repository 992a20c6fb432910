"""Checks expressions of open sizes in .pt2 files: torch gives these to sympy, sympy to Python."""

import ast
import re

from frontends.errors import ModelFormatError

_LENGTH = 1000
_DEPTH = 24
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

    Args:
        text: as ``torch.export.save`` writes it, ``Add(Symbol('s77', integer=True), Integer(-2))``,
            or with operators.

    Raises:
        ModelFormatError: it is anything else, or too long.
    """
    try:
        if len(text) > _LENGTH:
            raise ValueError
        _check(ast.parse(text, mode="eval").body, _DEPTH)
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
