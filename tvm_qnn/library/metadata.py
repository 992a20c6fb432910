"""A compiled library's description: signature, target, requirements and versions."""

from __future__ import annotations

import functools
import hashlib
import json
import math
import platform
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, replace
from importlib.metadata import PackageNotFoundError, version
from typing import TYPE_CHECKING, Any

import numpy as np

from qnn_ops.dialect.tensor_info import OpenSize, Signature, TensorInfo
from qnn_ops.errors import QnnError
from tvm_qnn.library.runtime import BUNDLED
from tvm_qnn.target.processor import Requirements
from tvm_qnn.version import __version__

if TYPE_CHECKING:
    import tvm

_RUNTIME = {"tvm": "apache-tvm", "tvm-ffi": "apache-tvm-ffi"}
"""The packages whose code the library's own code calls."""


@dataclass(frozen=True)
class Metadata:
    """The description in a library's file, beside the code.

    Attributes:
        signature: its inputs and outputs.
        target_text: the target that it was compiled for, as TVM writes it.
        requirements: the properties that a machine needs to run it.
        versions: the versions of the programs that made it, by name.
        digest: a digest of its bytecode and constants, in hexadecimal: equal for equal models.
        key: the build's key if a cache holds the library; otherwise empty.
        left_in_float: the build's warnings, repeated when a cache serves the build.
        others: the descriptions of its variants for other targets, if it was built for several.
    """

    signature: Signature
    target_text: str
    requirements: Requirements
    versions: Mapping[str, str]
    digest: str
    key: str = ""
    left_in_float: tuple[str, ...] = ()
    others: tuple[Metadata, ...] = ()

    @functools.cached_property
    def target(self) -> tvm.target.Target:
        """The target that it was compiled for; reading it imports TVM."""
        import tvm

        return tvm.target.Target(json.loads(self.target_text))

    @property
    def processor(self) -> str:
        """The name or extensions of the processor that it was compiled for; this needs no TVM."""
        fields = json.loads(self.target_text)
        return str(fields.get("mcpu") or " ".join(fields.get("mattr", ())) or "any processor")

    def why_not_here(self) -> str | None:
        """Say why the library cannot run in this process; None if it can."""
        reason = self._why_not_here()
        if reason is None or not self.others:
            return reason
        reasons = dict.fromkeys([reason, *(each._why_not_here() for each in self.others)])
        return f"none of its {1 + len(self.others)} variants: " + "; ".join(filter(None, reasons))

    def _why_not_here(self) -> str | None:
        here = runtime_versions()
        for name, made in self.versions.items():
            if name in here and here[name] != made:
                return f"it was made with {name} {made}, here is {here[name]}: build it again"
        return self.requirements.why_not_here()

    def to_fields(self) -> dict[str, Any]:
        """Return the fields, as JSON can hold them."""
        fields = {**asdict(replace(self, others=())), "signature": self.signature.to_json()}
        del fields["others"]
        return fields

    @staticmethod
    def from_fields(fields: Mapping[str, Any]) -> Metadata:
        """Make a description from the result of ``to_fields``.

        Raises:
            KeyError, TypeError, ValueError: if the fields are something else.
        """
        needs = fields["requirements"]
        versions = dict(fields["versions"])
        texts = [fields["target_text"], fields["digest"], fields["key"], needs["platform"]]
        left = tuple(fields["left_in_float"])
        texts += [*needs["extensions"], *versions.values(), *left]
        if not all(isinstance(text, str) for text in texts):
            raise TypeError("something is no text")
        signature = Signature.from_json(fields["signature"])
        for info in (*signature.inputs, *signature.outputs, *signature.states):
            _check(info)
        for state in signature.states:
            state.array()
        requirements = Requirements(needs["platform"], tuple(needs["extensions"]))
        about = (fields["target_text"], requirements, versions, fields["digest"], fields["key"])
        return Metadata(signature, *about, left)


def _is_size(size: Any) -> bool:
    if not isinstance(size, OpenSize):
        return type(size) is int and size >= 0
    size.value({})  # raises if the name cannot be parsed
    return size.low >= 0 and (size.high is None or size.high >= size.low)


def _check(info: TensorInfo) -> None:
    """Check the description of an input or output."""
    size = np.dtype(info.dtype).itemsize
    is_shape = all(map(_is_size, info.shape))
    is_named = isinstance(info.name, str) and isinstance(info.role, str)
    if (
        not is_named
        or not is_shape
        or type(info.classes) is not int
        or math.prod(info.shape) * size >= 1 << 63
    ):
        raise ValueError(f"{info} is no tensor")
    if (info.scale is None) != (info.zero_point is None):
        raise ValueError(f"{info} has half of a quantization")
    ends = (info.low, info.high)
    if ends != (None, None) and not all(isinstance(end, int | float) for end in ends):
        raise TypeError(f"{info} has a range that is no pair of numbers")
    is_number = isinstance(info.scale, int | float | None)
    if not is_number or not isinstance(info.zero_point, int | None):
        raise TypeError(f"{info} has a quantization that is no number")


@functools.cache
def runtime_versions() -> dict[str, str]:
    """Return the versions of the packages that run libraries, by name.

    Raises:
        QnnError: if a package is not installed.
    """
    try:
        return {name: _version(package) for name, package in _RUNTIME.items()}
    except PackageNotFoundError as error:
        raise QnnError(f"running a library needs TVM: {error}") from error


def _version(package: str) -> str:
    """Return the version of a package that is installed, or that tvm-qnn-runtime contains."""
    try:
        return version(package)
    except PackageNotFoundError:
        bundled = BUNDLED / f"{package}.version"
        if not bundled.is_file():
            raise
        return bundled.read_text(encoding="ascii").strip()


@functools.cache
def compiler_versions() -> dict[str, str]:
    """Return the versions of the programs that make libraries, by name; this imports TVM."""
    from tvm.target import codegen

    return {
        "tvm-qnn": __version__,
        "llvm": str(codegen.llvm_version_major()),
        "python": platform.python_version(),
        "numpy": np.__version__,
    }


def contents_digest(bytecode: bytes, constants: Iterable[np.ndarray]) -> str:
    """Return a digest of bytecode and constants, including the constants' dtypes and shapes."""
    digest = hashlib.blake2b(bytecode, digest_size=32)
    for array in constants:
        digest.update(f"{array.dtype}{array.shape}".encode())
        digest.update(array.data)
    return digest.hexdigest()
