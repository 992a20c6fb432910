"""What the target's processor can do."""

from __future__ import annotations

from typing import Any

from tvm.target import Target
from tvm.target.codegen import target_has_features


def has_feature(target: Target | str | dict[str, Any], feature: str) -> bool:
    """Tell whether the target's processor has an instruction set extension.

    The answer comes from the target's ``mcpu`` and ``mattr`` alone: a target that names
    neither has the base instruction set only, whatever the machine that compiles can do.

    Args:
        target: A TVM target, or what makes one.
        feature: The name that LLVM gives the extension, as in ``avx512vnni``.

    Returns:
        True if the target is compiled with LLVM and has the extension.
    """
    target = target if isinstance(target, Target) else Target(target)
    return target.kind.name == "llvm" and bool(target_has_features(feature, target))
