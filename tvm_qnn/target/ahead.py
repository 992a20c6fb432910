"""Compiles kernels while the lowering writes others."""

from collections.abc import Mapping
from concurrent.futures import Future, ThreadPoolExecutor

import tvm
from tvm import tirx

from legalize.passes.set_aside import Codes, code_of, has_one_size
from tvm_qnn.io.steps import compile_step
from tvm_qnn.target.objects import object_of
from tvm_qnn.target.options import options_kept
from tvm_qnn.target.parts import Kind, PartCompiler, kind_of, part_of, parts_of, takes_inputs
from tvm_qnn.target.passes import leveled
from tvm_qnn.target.processor import processors
from tvm_qnn.target.store import ObjectStore, function_key, passes_text

# The fewest and the most kernels of a group; the last group of a kind may have fewer.
_LEAST = 3
_MOST = 6


class Objects:
    """The objects of a model's functions: from a store, or compiled in threads.

    The lowering tells of each kernel that it has written, and the threads compile this kernel while
    it writes others. A group of kernels is a part. A digest decides where a group ends, so that a
    changed kernel changes one or two groups.

    Attributes:
        codes: the code of the kernels that the lowering told of.
    """

    def __init__(self, target: tvm.target.Target, store: ObjectStore) -> None:
        """Begin with no functions.

        Args:
            target: the target of the code.
            store: finds and keeps objects.
        """
        self.codes: Codes = {}
        self._compile_part = PartCompiler(target)
        self._passes = passes_text()
        self._store = store
        self._pool = ThreadPoolExecutor(processors())
        self._groups: dict[Kind, dict[str, tirx.PrimFunc]] = {}
        self._parts: dict[str, tvm.IRModule] = {}
        self._names: set[str] = set()
        self._keys: dict[str, str] = {}
        self._objects: dict[str, bytes | Future[bytes]] = {}

    def __enter__(self) -> "Objects":
        return self

    def __exit__(self, *_error: object) -> None:
        """After an error or an interruption, begin to compile nothing more."""
        self._pool.shutdown(wait=True, cancel_futures=True)

    def hear(self, name: str, function: tirx.PrimFunc) -> None:
        """Compile a kernel that was written just now, together with others of its kind."""
        if function in self.codes or not has_one_size(function):
            return
        linked, code = self.codes[function] = code_of(name, function)
        if linked in self._names:
            return
        self._names.add(linked)
        kind = kind_of(code, self._compile_part.target)
        group = self._groups.setdefault(kind, {})
        group[linked] = code
        if len(group) == _MOST or (len(group) >= _LEAST and int(linked[-1], 16) < 4):
            self._end(kind)

    def parts_of(self, codes: tvm.IRModule) -> dict[str, tvm.IRModule]:
        """Return the parts of kernels' code by name; begin to compile those that are missing."""
        for kind in [*self._groups]:
            self._end(kind)
        rest = {str(variable.name_hint): code for variable, code in codes.functions.items()}
        parts = {}
        for name, part in self._parts.items():
            names = {str(variable.name_hint) for variable in part.functions}
            if names <= rest.keys():  # otherwise a pass has dropped a kernel
                parts[name] = part
                rest = {each: code for each, code in rest.items() if each not in names}
        return parts | self.started(parts_of(tvm.IRModule(rest), self._compile_part.target))

    def started(self, parts: dict[str, tvm.IRModule]) -> dict[str, tvm.IRModule]:
        """Begin to compile the parts that the store does not have; return all."""
        for name, part in parts.items():
            is_outer = takes_inputs(part)
            target = leveled(list(part.functions.values()), self._compile_part.target)
            passes = f"{self._passes} {is_outer}"
            key = self._keys[name] = function_key(part, target, passes, is_outer)
            found = self._store.find(key)
            self._objects[name] = found or self._pool.submit(self._make, part)
        return parts

    def finish(self, parts: Mapping[str, tvm.IRModule]) -> list[bytes]:
        """Return the objects of parts, and keep the new ones."""
        objects = {name: self._objects[name] for name in parts}
        futures = {name: each for name, each in objects.items() if isinstance(each, Future)}
        if futures:
            compile_step(sum(len(parts[name].functions) for name in futures))
        made = {name: each.result() for name, each in futures.items()}
        self._store.keep({self._keys[name]: code for name, code in made.items()})
        return [made[name] if isinstance(each, Future) else each for name, each in objects.items()]

    def _end(self, kind: Kind) -> None:
        group = self._groups.pop(kind)
        self._parts |= self.started({next(iter(group)): part_of(group, kind)})

    def _make(self, part: tvm.IRModule) -> bytes:
        module = self._compile_part(part)
        with options_kept(self._compile_part.target):
            return object_of(module)
