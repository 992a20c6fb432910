"""Runs a compiled model: through TVM's virtual machine, or by a direct call of its kernel.

The machine takes a microsecond to check inputs and to make tensors: a third of the time of a small
network's kernel. If the program has only one kernel, it is called directly; it checks its arguments
itself.
"""

from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import Any

import numpy as np

_BUILTIN = "vm.builtin."
_CHECKS_AND_MEMORY = {
    _BUILTIN + name
    for name in (
        *("check_tensor_info", "match_shape", "alloc_storage", "alloc_tensor", "null_value"),
        *("make_tuple", "alloc_shape_heap", "make_shape"),
    )
}
"""The machine's other steps, which need no repetition if the kernel checks the inputs.

A tuple consists of the results, whose memory stays the same.
"""

_SIZES = "shape_func"
"""The prefix of the functions that compute sizes from an input's sizes."""

_VIEWS = {_BUILTIN + name for name in ("copy", "reshape", "tuple_getitem")}
"""The machine's steps that do not depend on the tensors' elements."""

_GO_ON, _SKIP = 0, 1  # the answers of a function that watches the machine

_Call = tuple[Callable[..., object], tuple[Any, ...]]
"""A kernel and its operands."""


class Runner:
    """A virtual machine, or the only kernel that it calls; for one thread at a time.

    Before the first run, the machine goes through its program without running kernels, and reports
    its calls. OneFunction of ``legalize`` makes programs with one kernel, whose first operands are
    the inputs and whose last ones are the results. Then runs call the kernel with the same memory.

    If sizes are open, a run calls the kernel directly if it has the sizes of the run before. The
    machine makes results of other sizes.
    """

    def __init__(self, machine: Any, *, is_open: bool = False) -> None:
        """Take a machine with a function ``run`` of the inputs.

        Args:
            machine: runs the program.
            is_open: whether each run decides some sizes.
        """
        self._machine = machine
        self._is_open = is_open
        self._shapes: list[Any] = []
        self._kernel: Callable[..., object] | None = None
        self._rest: tuple[Any, ...] = ()
        self._result: Any = None
        self._is_known = False

    def __call__(self, *tensors: Any, out: Mapping[int, Any] | None = None) -> Any:
        """Run; the next run may reuse the results' memory.

        Args:
            *tensors: the inputs.
            out: tensors for results by the results' indices; None for an index means no tensor. The
                kernel writes them directly; the machine ignores them.
        """
        if self._kernel is not None:
            if self._is_open and self._shapes != (shapes := _shapes_of(tensors)):
                self._result = self._machine["run"](*tensors)
                own = _tensors_of(self._result)
                self._rest = (*self._rest[: -len(own)], *own)
                self._shapes = shapes
                return self._result
            if not out:
                self._kernel(*tensors, *self._rest)
                return self._result
            return self._into(out, tensors)
        if self._is_known:
            return self._machine["run"](*tensors)
        self._find_kernel(tensors)
        return self(*tensors, out=out)

    def _into(self, out: Mapping[int, Any], tensors: tuple[Any, ...]) -> Any:
        """Let the kernel write results to the given tensors in place of its own."""
        assert self._kernel is not None
        own = _tensors_of(self._result)
        results = [out.get(place) or tensor for place, tensor in enumerate(own)]
        self._kernel(*tensors, *self._rest[: -len(own)], *results)
        return results

    def bound(self, *tensors: Any, out: Sequence[Any] = ()) -> Callable[[], object]:
        """Return the shortest call that runs on these inputs; call this after a first run.

        Args:
            *tensors: the inputs.
            out: tensors for all results, or none.
        """
        if self._kernel is not None:
            rest = (*self._rest[: len(self._rest) - len(out)], *out)
            return partial(self._kernel, *tensors, *rest)
        run = partial(self._machine["run"], *tensors)
        return partial(_copy, run, [np.from_dlpack(each) for each in out]) if out else run

    def _find_kernel(self, tensors: tuple[Any, ...]) -> None:
        # Another thread does this: Ctrl-C interrupts the main thread. If that happens in a function
        # that the machine calls, TVM 0.27 corrupts its memory.
        with ThreadPoolExecutor(1) as thread:
            called, result = thread.submit(_only_call, self._machine, tensors).result()
        self._is_known = True
        if called is not None:
            function, operands = called
            results = _tensors_of(result)
            first, rest = operands[: len(tensors)], operands[len(tensors) :]
            is_again = any(_is_same(one, other) for one in rest for other in tensors)
            if (
                _are_same(first, tensors)
                and _are_same(rest[-len(results) :], results)
                and not is_again  # the kernel takes an input twice: a run would pass another tensor
            ):
                self._kernel, self._rest, self._result = function, rest, result
                self._shapes = _shapes_of(tensors)


def _shapes_of(tensors: tuple[Any, ...]) -> list[Any]:
    return [each.shape for each in tensors]


def _tensors_of(result: Any) -> list[Any]:
    return [result] if hasattr(result, "__dlpack__") else list(result)


def _copy(run: Callable[[], Any], out: Sequence[Any]) -> None:
    """Run, and copy the results."""
    found = run()
    for target, value in zip(out, [found] if len(out) == 1 else found, strict=True):
        target[...] = np.from_dlpack(value)


def _only_call(machine: Any, tensors: tuple[Any, ...]) -> tuple[_Call | None, Any]:
    """Return the machine's only kernel, if there is only one, and the machine's result.

    The kernel is not run.
    """
    only: _Call | None = None
    others = False

    def watch(function: Any, name: str, before: bool, _result: object, *operands: Any) -> int:
        nonlocal only, others
        if not before or name in _CHECKS_AND_MEMORY or name.startswith(_SIZES):
            return _GO_ON
        if only is None and not name.startswith(_BUILTIN):
            only = function, operands
            return _SKIP
        others = True
        if name in _VIEWS:
            return _GO_ON
        if name.startswith(_BUILTIN):
            # This ends the run. TVM then reads the symbols of all libraries, which takes megabytes.
            raise RuntimeError("not a kernel only")
        return _SKIP

    machine["set_instrument"](watch)
    try:
        result = machine["run"](*tensors)
        return (None, None) if others else (only, result)
    except RuntimeError:
        if others:
            return None, None
        raise
    finally:
        machine["set_instrument"](None)


def _are_same(some: Any, others: Any) -> bool:
    return len(some) == len(others) and all(map(_is_same, some, others))


def _is_same(one: Any, other: Any) -> bool:
    return hasattr(one, "same_as") and bool(one.same_as(other))
