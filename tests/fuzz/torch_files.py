"""Files of PyTorch programs to damage, and hostile contents to put into them."""

import json
import os
import sys
import tempfile
import zipfile
from functools import cache
from pathlib import Path
from typing import Any

import torch

from tests.fuzz.mutations import WILD, Rng, changed_json, damaged
from tests.support import torch_archives as archives

torch.set_num_threads(1)  # the importers run in processes that are forked
_CANARY = Path(tempfile.gettempdir()) / f"tvm_qnn_canary_{os.getpid()}"
_HARMFUL = ("pickle.find_class", "os.system", "os.exec", "os.posix_spawn", "subprocess.Popen")
_TARGETS = (
    *("aten.arange.default", "aten.full.default", "aten.zeros.default", "aten.repeat.default"),
    *("aten.expand.default", "aten.cat.default", "aten.pad.default", "aten.item.default"),
    *(
        "aten.reshape.default",
        "aten.nonzero.default",
        "aten.resize_.default",
        "aten.einsum.default",
    ),
    *("aten.add.Tensor", "aten.mul.Tensor", "aten.conv2d.default", "aten.linear.default"),
    *("aten.set_.source_Tensor", "aten.as_strided.default", "aten.embedding.default"),
    *("quantized_decomposed.quantize_per_tensor.default", "higher_order.cond", "load_library"),
)
_EXPRESSIONS = (
    *("Symbol('s0', positive=True, integer=True)", "Symbol('u5', integer=True)", "s1 // 0"),
    *("Mul(Integer(-1), Symbol('s77', positive=True, integer=True))", "Max()", "Integer()"),
    *("FloorDiv(Symbol('s77', positive=True, integer=True), Integer(0))", "Mod(s77, 0)", "s0 - s0"),
    *("Pow(s77, -1)", "Rational(1, 0)", "ModularIndexing(s77, 0, 0)", "Equality(s77, s77)"),
)


def draw(rng: Rng) -> bytes:
    """Return a damaged or a hostile file."""
    kind = rng.random()
    content = archives.contents(is_open=bool(rng.random() < 0.4))
    if kind < 0.15:
        return damaged(rng, content)
    if kind < 0.3:
        evil = _evil()
        content = evil[int(rng.integers(len(evil)))]
        return damaged(rng, content) if rng.random() < 0.5 else content
    files = archives.files_of(content)
    for _ in range(int(rng.integers(1, 4))):
        _change(rng, files)
    method = zipfile.ZIP_DEFLATED if rng.random() < 0.2 else zipfile.ZIP_STORED
    return archives.zipped(files, method)


@cache
def _evil() -> tuple[bytes, ...]:
    return (*archives.hostile(_CANARY).values(), *archives.oversized().values())


def _change(rng: Rng, files: archives.Files) -> None:
    """Change the program, a list of tensors, or a member."""
    kind, names = rng.random(), list(files)
    if kind < 0.5:
        try:
            program = json.loads(files[archives.MODEL])
            for _ in range(int(rng.integers(1, 4))):
                _rewrite(rng, program)
            files[archives.MODEL] = json.dumps(program).encode()
        except (KeyError, TypeError, AttributeError, ValueError):
            return  # an earlier change left no program
    elif kind < 0.85:
        name = archives.MODEL if kind < 0.7 else archives.CONFIGS[int(rng.integers(2))]
        try:
            text = changed_json(rng, files[name].decode())
        except (TypeError, ValueError):
            return  # likewise
        files[name] = text.encode("utf-8", "surrogatepass")
    elif kind < 0.95:
        name = names[int(rng.integers(len(names)))]
        files[name] = damaged(rng, files[name])
    else:
        evil = archives.files_of(_evil()[int(rng.integers(10))])
        name = list(evil)[int(rng.integers(len(evil)))]
        files[name] = evil[name]


def _rewrite(rng: Rng, program: Any) -> None:
    """Change a size, an operator, a number or a name to something that may be one."""
    graph = program["graph_module"]["graph"]
    found = [each for each in _dictionaries(graph) if each.keys() & _KINDS.keys()]
    each = found[int(rng.integers(len(found)))]
    key = next(iter(each.keys() & _KINDS.keys()))
    choices = _KINDS[key]
    if key == "name":
        names = [n["name"] for n in _dictionaries(graph) if isinstance(n.get("name"), str)]
        each[key] = names[int(rng.integers(len(names)))]
        return
    value = choices[int(rng.integers(len(choices)))]
    if key == "as_int" and rng.random() < 0.3:
        del each[key]
        each["as_expr"] = {
            "expr_str": _EXPRESSIONS[int(rng.integers(len(_EXPRESSIONS)))],
            "hint": {"as_int": int(WILD[int(rng.integers(len(WILD)))])},
        }
        return
    each[key] = value


_KINDS: dict[str, tuple[Any, ...]] = {
    "target": (*(f"torch.ops.{name}" for name in _TARGETS), "_operator.mul", "_operator.getitem"),
    "as_int": (*map(int, WILD), -1, -2, 1 << 40, (1 << 62) + 1, -(1 << 63)),
    "as_float": (0.0, -1.0, 1e-45, 1e38, "NaN", "Infinity"),
    "as_ints": ([], [0], [1 << 40], [-1, -1], [1 << 31, 1 << 31], [3] * 70),
    "expr_str": _EXPRESSIONS,
    "dtype": (1, 2, 5, 7, 8, 9, 12, 13, 29, 99),
    "layout": (1, 2, 6),
    "name": (),
}


def _dictionaries(tree: Any) -> list[dict[str, Any]]:
    found, pending = [], [tree]
    while pending:
        value = pending.pop()
        if isinstance(value, dict):
            found.append(value)
            pending += value.values()
        elif isinstance(value, list):
            pending += value
    return found


class _Watch:
    """Records actions that no file may make Python do."""

    def __init__(self) -> None:
        self.events: list[str] = []
        self.is_set = False

    def __call__(self, event: str, arguments: Any) -> None:
        if self.is_set and event in _HARMFUL:
            self.events.append(f"{event} {arguments!r}")


_WATCH = _Watch()


def load(content: bytes) -> tuple[Any, Any]:
    """Import a file; raise where something of it ran."""
    from frontends.torch import from_exported_program

    if not _WATCH.is_set:
        sys.addaudithook(_WATCH)
        _WATCH.is_set = True
    try:
        return from_exported_program(content)
    finally:
        if _CANARY.exists() or _WATCH.events:
            raise RuntimeError(f"something of the file ran: {_WATCH.events}")


def warm() -> None:
    """Import a program of each kind, so that first imports do not count in a file's time."""
    for is_open in (False, True):
        load(archives.contents(is_open=is_open))
