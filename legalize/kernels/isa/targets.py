"""The features of the target's processor."""

import re
from functools import lru_cache
from typing import Any

from tvm.target import Target
from tvm.target.codegen import llvm_get_system_triple, target_has_features

# Architectures whose features have the same names, by the beginnings of their triples.
_ARCHITECTURES = {"aarch64": re.compile(r"aarch64|arm64"), "arm": re.compile(r"arm(?!64)|thumb")}

_PLAIN_C = "c99"


def has_feature(target: Target | str | dict[str, Any], feature: str) -> bool:
    """Tell whether the target's processor is of an architecture, or has an extension of it.

    The answer depends only on the target's ``mcpu`` and ``mattr``. A target that names neither has
    just the base instruction set, whatever the compiling machine can do.

    Args:
        target: a TVM target, or an argument that makes one.
        feature: the name that LLVM gives the extension, as in ``avx512vnni``; or ``aarch64`` or
            ``arm``, the 64-bit and the 32-bit ARM architectures, whose extensions have the same
            names; or ``c99``, a key of targets whose code is C.

    Returns:
        True if the target is compiled with LLVM and has the extension.
    """
    return _has_feature(target if isinstance(target, Target) else Target(target), feature)


@lru_cache(maxsize=1 << 14)
def has_features(target: Target, features: tuple[str, ...]) -> bool:
    """Tell whether a target has all of some features."""
    return all(has_feature(target, feature) for feature in features)


@lru_cache(maxsize=1 << 10)
def target_of(text: str) -> Target:
    """Return a target by its description: the same object each time, so its features are cached."""
    return Target(text)


# A cache is needed: TVM asks LLVM each time, and the tables of kernels ask for every row and call.
@lru_cache(maxsize=1 << 14)
def _has_feature(target: Target, feature: str) -> bool:
    if feature in _ARCHITECTURES:
        triple = str(target.attrs.get("mtriple") or llvm_get_system_triple())
        is_of_it = _ARCHITECTURES[feature].match(triple) is not None
        return target.kind.name == "llvm" and is_of_it
    if feature == _PLAIN_C:
        return feature in target.keys
    return target.kind.name == "llvm" and bool(target_has_features(feature, target))
