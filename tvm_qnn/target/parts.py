"""Divides a module's functions into parts, and compiles a part."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeAlias

import tvm
from tvm import tirx

from legalize.loop_functions import nodes_in
from legalize.passes.bodies import TAKES_POINTERS
from tvm_qnn.target.indices import wide_indices
from tvm_qnn.target.options import options_kept
from tvm_qnn.target.passes import ALWAYS_LEFT_OUT, PIPELINE, is_final, left_out, leveled

# The most parts of a kind of functions. It does not depend on the number of processors, so that a
# model has the same parts, and the same code, on every machine.
_MOST_PARTS = 16

# The number of parts for functions that others call by name. A module takes some 12 ms beside its
# functions, but a change of one function compiles its whole module again.
_SHARES = 8

_LEAVES_OUT = "qnn.leaves_out"
"""The attribute of parts with the names of the passes that they leave out.

Threads that walked over functions would take Python's lock for each statement.
"""

TAKES_INPUTS = "qnn.takes_inputs"
"""The attribute of functions that take a model's inputs. Only these check their arguments."""

# TVM begins each function with checks of its arguments. They take longer to compile than most
# functions, and run at each call. This option leaves them out.
_UNCHECKED = {"tirx.disable_assert": True}

Kind: TypeAlias = tuple[bool, tuple[str, ...], bool]
"""What functions of a part have in common: see ``kind_of``."""


@dataclass(frozen=True)
class PartCompiler:
    """Makes an LLVM module of a part.

    Attributes:
        target: the target of the code.
        context: the settings of TVM's passes, by default those of now.
    """

    target: tvm.target.Target
    context: tvm.transform.PassContext = field(
        default_factory=tvm.transform.PassContext.current, compare=False
    )

    def __call__(self, part: tvm.IRModule) -> Any:
        """Return the LLVM module of a part. Any thread may call this."""
        # A context belongs to a thread, and its instruments do not work in several threads at once.
        functions = list(part.functions.values())
        left = (part.attrs or {}).get(_LEAVES_OUT)
        if left is None:
            left = _left_out(functions, self.target)
        disabled = [*self.context.disabled_pass, *ALWAYS_LEFT_OUT, *left]
        levels = (self.context.required_pass, disabled)
        config = {**self.context.config, **({} if takes_inputs(part) else _UNCHECKED)}
        passes = tvm.transform.PassContext(self.context.opt_level, *levels, config=config)
        with passes, self.target, options_kept(self.target):
            return tirx.build(part, target=leveled(functions, self.target), pipeline=PIPELINE)


def parts_of(
    mod: tvm.IRModule, target: tvm.target.Target, *, apart: bool = False
) -> dict[str, tvm.IRModule]:
    """Return the functions in parts, the largest first, by the name of one function of each.

    All functions of a part are of one kind: see ``kind_of``. Functions that others call by name are
    divided by their names into ``_SHARES`` parts, which do not depend on other functions.

    Args:
        mod: functions of TIR.
        target: the target of the code.
        apart: whether each other function has its own part; otherwise a kind has at most
            ``_MOST_PARTS`` of them.
    """
    variables = sorted(mod.functions, key=lambda variable: str(variable.name_hint))
    kinds: dict[tuple[Kind, int], list[tvm.ir.GlobalVar]] = {}
    for variable in variables:
        # A name that ends in a digest decides the share, in any model.
        is_digest = TAKES_POINTERS in mod[variable].attrs
        share = int(variable.name_hint[-1], 16) % _SHARES if is_digest else _SHARES
        kinds.setdefault((kind_of(mod[variable], target), share), []).append(variable)
    groups = [
        (own[start::count], kind)
        for (kind, share), own in sorted(kinds.items(), key=lambda item: item[0])
        for count in [1 if share < _SHARES else len(own) if apart else min(_MOST_PARTS, len(own))]
        for start in range(count)
    ]
    # Threads take one module after another. If a long one came last, it would run alone.
    groups.sort(key=lambda each: -sum(_length(mod[variable]) for variable in each[0]))
    return {
        str(group[0].name_hint): part_of({variable: mod[variable] for variable in group}, kind)
        for group, kind in groups
    }


def part_of(functions: Mapping[Any, tirx.PrimFunc], kind: Kind) -> tvm.IRModule:
    """Return a part of functions by name, all of one kind."""
    return tvm.IRModule(functions, attrs={_LEAVES_OUT: list(kind[1])})


def kind_of(function: tirx.PrimFunc, target: tvm.target.Target) -> Kind:
    """Return what functions of a module have in common.

    They take inputs or not, leave out the same passes of TVM, and have the same level of LLVM.
    """
    inner = TAKES_INPUTS not in function.attrs
    return inner, _left_out([function], target), is_final(function)


def takes_inputs(part: tvm.IRModule) -> bool:
    """Tell whether a function of a part takes the model's inputs."""
    return any(TAKES_INPUTS in function.attrs for function in part.functions.values())


def _length(function: tirx.PrimFunc) -> int:
    """Count the values and stores of a function. LLVM's time grows with them."""
    return len(nodes_in(function.body, tirx.Bind, tirx.BufferStore))


def _left_out(functions: Sequence[tirx.PrimFunc], target: tvm.target.Target) -> tuple[str, ...]:
    """Return the names of passes to disable for a module of functions."""
    return (*left_out(*functions), *wide_indices(functions, target))
