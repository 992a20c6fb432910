"""Writes the pages' facts about every operator from the code's own tables."""

import functools
import types
from collections.abc import Callable, Iterable, Mapping
from typing import Any

MARK = ".. every operator of the dialect"


def operators_of(code: str, rule: Any) -> list[str]:
    """Return the dialect's operators that the conversion rule of ``code`` can emit, by their names.

    Follows the names in the rule's code, and those in the functions that it calls. In a table with
    an entry for ``code``, it follows only this entry.
    """
    from qnn_ops.dialect.registry import Operator

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


def _table(head: tuple[str, ...], rows: Iterable[tuple[str, ...]]) -> str:
    lines = (head, tuple("---" for _ in head), *rows)
    return "".join(f"| {' | '.join(cells)} |\n" for cells in lines)


def _code(names: Iterable[str]) -> str:
    return ", ".join(f"`{name}`" for name in names)


def _of_dialect() -> str:
    import legalize  # noqa: F401 (fills the tables of kernels)
    from legalize.kernels.table import KERNELS
    from qnn_ops.dialect.registry import OPERATORS, PREFIX

    rows = []
    for name in sorted(OPERATORS):
        kernels = [", ".join(kernel.features) for kernel in KERNELS.get(name, [])]
        arm = [k for k in kernels if any(word in k for word in ("neon", "dotprod", "i8mm"))]
        x86 = [k for k in kernels if k not in arm]
        cells = ("<br>".join(dict.fromkeys(each)) or "–" for each in (x86, arm))
        rows.append((f"`{name.removeprefix(PREFIX)}`", "yes", *cells))
    return _table(("operator", "primitives", "x86 kernels, microcontrollers", "ARM kernels"), rows)


def _becomes(rules: Mapping[str, Any], otherwise: str) -> str:
    made = {code: operators_of(code, rules[code]) for code in sorted(rules)}
    rows = [(_code([code]), _code(names) or otherwise) for code, names in made.items()]
    return _table(("operator", "becomes"), rows)


def _of_tflite() -> str:
    from frontends.tflite.operators import OPERATORS, codes_with

    rows = {code: OPERATORS[code] for code in codes_with("quantized", "data")}
    rules = {code: row.data or row.quantized for code, row in rows.items()}
    return _becomes(rules, "Relax's own, on the integers")


def _of_hybrid_tflite() -> str:
    from frontends.tflite.operators import OPERATORS, codes_with

    rules = {code: OPERATORS[code].hybrid for code in codes_with("hybrid")}
    return _becomes(rules, "Relax's own, in float32")


def _of_float_tflite() -> str:
    from frontends.tflite.operators import codes_with

    return f"{_code(sorted({*codes_with('floats')} - {*codes_with('quantized', 'data')}))}.\n"


def _of_mxnet() -> str:
    from frontends.mxnet.converters.context import CONVERTERS

    return _becomes(CONVERTERS, "Relax's own, in the tensors' own type")


TABLES: dict[str, Callable[[], str]] = {
    "<!-- operators of the dialect -->\n": _of_dialect,
    "<!-- operators of TFLite -->\n": _of_tflite,
    "<!-- hybrid operators of TFLite -->\n": _of_hybrid_tflite,
    "<!-- float operators of TFLite -->\n": _of_float_tflite,
    "<!-- operators of MXNet -->\n": _of_mxnet,
}


def with_tables(text: str) -> str:
    """Return a page with each table in place of its mark."""
    import frontends.mxnet.converters
    import frontends.tflite.converters  # noqa: F401 (they fill the importers' tables)

    for mark, table in TABLES.items():
        if mark in text:
            text = text.replace(mark, table())
    return text


def with_operators(text: str) -> str:
    """Return a page in which Sphinx documents each operator in place of ``MARK``."""
    import legalize  # noqa: F401 (imports all operators)
    import qnn_ops
    from qnn_ops.dialect.registry import OPERATORS, PREFIX

    # Tutorials, which run in this process, register operators of their own.
    names = sorted({name.removeprefix(PREFIX) for name in OPERATORS} & {*qnn_ops.__all__})
    lines = (f".. autofunction:: qnn_ops.{name}" for name in names)
    return text.replace(MARK, "\n".join(lines))


def _fill(_app: Any, _page: str, source: list[str]) -> None:
    source[0] = with_operators(with_tables(source[0]))


def setup(app: Any) -> dict[str, bool]:
    """Register the extension; Sphinx calls this."""
    app.connect("source-read", _fill)
    return {"parallel_read_safe": True}
