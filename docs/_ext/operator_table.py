"""Writes what pages say of every operator from the tables that the code itself uses."""

from __future__ import annotations

import functools
import types
from collections.abc import Iterable
from pathlib import Path
from typing import Any

PAGE = Path(__file__).parents[1] / "operators.md"
MARK = ".. every operator of the dialect"
HEAD = """# Supported operators

This page is written from the project's own tables when the documentation is built.

## The dialect

On int8 and uint8 tensors; scales for a whole tensor, or one for each channel of weights.
*Primitives* are integer Relax operators, for any processor that TVM compiles for. A kernel serves
targets that have all the instruction set extensions of its name; where several do, the fastest is
taken.
"""


def operators_of(code: str, rule: Any) -> list[str]:
    """Return the dialect's operators that the conversion rule of ``code`` can emit, by their names.

    Follows the names that the rule's code refers to, and those of the functions it calls; of a
    table that has an entry for ``code``, only that entry.
    """
    from qnn_ops.registry import Operator

    found: dict[str, None] = {}
    seen: set[int] = set()
    pending = [rule]
    while pending:
        value = pending.pop()
        if id(value) in seen:
            continue
        seen.add(id(value))
        if isinstance(value, Operator):
            found[value.name] = None
        else:
            pending += _referenced(code, value)
    return sorted(found)


def _referenced(code: str, value: Any) -> Iterable[Any]:
    """List the values that a value of the importers refers to; none for one of other packages."""
    if isinstance(value, dict):
        return [value[code]] if code in value else list(value.values())
    if isinstance(value, list | tuple):
        return list(value)
    if isinstance(value, functools.partial):
        return [value.func, *value.args, *value.keywords.values()]
    if not getattr(value, "__module__", "").startswith("frontends."):
        return []
    if isinstance(value, type):
        return [each for each in vars(value).values() if isinstance(each, types.FunctionType)]
    if not isinstance(value, types.FunctionType):
        return []
    names = set(_names(value.__code__))
    scope = value.__globals__
    own = [scope[name] for name in names if name in scope]
    modules = [
        each
        for each in own
        if isinstance(each, types.ModuleType) and each.__name__.startswith("frontends.")
    ]
    through = [getattr(each, name) for each in modules for name in names if hasattr(each, name)]
    cells = [cell.cell_contents for cell in value.__closure__ or ()]
    return [*own, *through, *cells, *(value.__defaults__ or ())]


def _names(code: types.CodeType) -> Iterable[str]:
    yield from code.co_names
    for constant in code.co_consts:
        if isinstance(constant, types.CodeType):
            yield from _names(constant)


def _row(*cells: str) -> str:
    return f"| {' | '.join(cells)} |\n"


def _code(names: Iterable[str]) -> str:
    return ", ".join(f"`{name}`" for name in names)


def page() -> str:
    """Return the page, in Markdown."""
    import legalize  # noqa: F401 (fills the tables of kernels)
    from frontends.mxnet.converters.registry import CONVERTERS
    from frontends.tflite.converters.registry import OPERATORS as OPERATORS_OF_TFLITE
    from frontends.tflite.converters.registry import codes_with
    from legalize.kernels.table import KERNELS
    from qnn_ops.registry import OPERATORS, PREFIX

    text = HEAD + "\n" + _row("operator", "primitives", "x86 kernels", "ARM kernels")
    text += _row("---", "---", "---", "---")
    for name in sorted(OPERATORS):
        kernels = [", ".join(kernel.features) for kernel in KERNELS.get(name, [])]
        arm = [k for k in kernels if any(word in k for word in ("neon", "dotprod", "i8mm"))]
        x86 = [k for k in kernels if k not in arm]
        cells = ("yes", *("<br>".join(dict.fromkeys(each)) or "–" for each in (x86, arm)))
        text += _row(f"`{name.removeprefix(PREFIX)}`", *cells)
    text += "\n## TFLite\n\n[](operators_by_type.md) says what LiteRT has of each type.\n"
    text += "\nOn int8 and uint8 tensors:\n\n"
    text += _row("operator", "becomes") + _row("---", "---")
    for code in codes_with("quantized", "data"):
        row = OPERATORS_OF_TFLITE[code]
        names = operators_of(code, row.data or row.quantized)
        text += _row(code, _code(names) if names else "Relax's own, on the integers")
    text += "\nOn float32 data and int8 or uint8 weights (hybrid):\n\n"
    text += _row("operator", "becomes") + _row("---", "---")
    for code in codes_with("hybrid"):
        text += _row(code, _code(operators_of(code, OPERATORS_OF_TFLITE[code].hybrid)))
    floats = sorted({*codes_with("floats")} - {*codes_with("quantized", "data")})
    text += "\nIn float32, between a dequantize and a quantize where the tensors are quantized: "
    text += ", ".join(floats) + ".\n\n## MXNet\n\n"
    text += _row("operator", "becomes") + _row("---", "---")
    made = {code: operators_of(code, CONVERTERS[code]) for code in sorted(CONVERTERS)}
    for code, names in made.items():
        if names:
            text += _row(f"`{code}`", _code(names))
    others = [code for code, names in made.items() if not names]
    text += f"\nAs Relax's own operators, in the tensors' own type: {_code(others)}.\n"
    return text


def with_operators(text: str) -> str:
    """Make a page in which Sphinx documents each operator where ``MARK`` stands."""
    import legalize  # noqa: F401 (imports all operators)
    import qnn_ops
    from qnn_ops.registry import OPERATORS, PREFIX

    # Tutorials, which run in this process, register operators of their own.
    names = sorted({name.removeprefix(PREFIX) for name in OPERATORS} & {*qnn_ops.__all__})
    lines = (f".. autofunction:: qnn_ops.{name}" for name in names)
    return text.replace(MARK, "\n".join(lines))


def _fill(_app: Any, _page: str, source: list[str]) -> None:
    source[0] = with_operators(source[0])


def _write(_app: Any) -> None:
    content = page()
    if not PAGE.exists() or PAGE.read_text("utf-8") != content:
        PAGE.write_text(content, "utf-8")


def setup(app: Any) -> dict[str, bool]:
    """Register the extension; Sphinx calls this."""
    app.connect("builder-inited", _write)
    app.connect("source-read", _fill)
    return {"parallel_read_safe": True}
