"""Runs of a compiled model: through TVM's virtual machine, or past it.

The machine takes a microsecond to check inputs and to make tensors, a third of what the kernel of a
small network takes. Where there is one kernel only, it is called without the machine: it checks
what it gets itself.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

_BUILTIN = "vm.builtin."
_CHECKS_AND_MEMORY = {
    _BUILTIN + name
    for name in ("check_tensor_info", "match_shape", "alloc_storage", "alloc_tensor", "null_value")
}
"""What the machine does beside kernels, and need not do again for inputs that the kernel checks."""


class Runner:
    """A virtual machine, or the kernel that is all it calls; for one thread at a time.

    The first run goes through the machine, which tells what it calls. If that is one kernel, which
    takes the inputs first and gives the results last, as ``legalize``'s OneFunction makes it, later
    runs call the kernel with the same memory.
    """

    def __init__(self, machine: Any) -> None:
        """Take a machine whose function ``run`` takes the inputs."""
        self._machine = machine
        self._kernel: Callable[..., object] | None = None
        self._rest: tuple[Any, ...] = ()
        self._result: Any = None
        self._has_run = False

    def __call__(self, *tensors: Any) -> Any:
        """Run; the results' memory may be that of the next run's."""
        if self._kernel is not None:
            self._kernel(*tensors, *self._rest)
            return self._result
        if self._has_run:
            return self._machine["run"](*tensors)
        return self._first(tensors)

    def bound(self, *tensors: Any) -> Callable[[], object]:
        """Return the shortest call that runs on these inputs, once it has run."""
        if self._kernel is not None:
            return partial(self._kernel, *tensors, *self._rest)
        return partial(self._machine["run"], *tensors)

    def _first(self, tensors: tuple[Any, ...]) -> Any:
        called: list[tuple[Any, str, tuple[Any, ...]]] = []

        def watch(
            function: object, name: str, before: bool, _result: object, *operands: Any
        ) -> int:
            if before and name not in _CHECKS_AND_MEMORY:
                called.append((function, name, operands))
            return 0  # go on

        self._machine["set_instrument"](watch)
        try:
            result = self._machine["run"](*tensors)
        finally:
            self._machine["set_instrument"](None)
        self._has_run = True
        if len(called) == 1:
            function, name, operands = called[0]
            results = [result] if hasattr(result, "__dlpack__") else list(result)
            first, rest = operands[: len(tensors)], operands[len(tensors) :]
            if (
                not name.startswith(_BUILTIN)
                and _are_same(first, tensors)
                and _are_same(rest[-len(results) :], results)
            ):
                self._kernel, self._rest, self._result = function, rest, result
        return result


def _are_same(some: Any, others: Any) -> bool:
    return len(some) == len(others) and all(
        hasattr(one, "same_as") and one.same_as(other)
        for one, other in zip(some, others, strict=True)
    )
