"""A fingerprint of the compiler: hashes of its output for each model and target."""

from __future__ import annotations

import multiprocessing
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from dataclasses import dataclass
from fnmatch import fnmatchcase
from functools import cached_property
from typing import TypeAlias

import tvm

from tests.fingerprint.hashes import Hashes, hashes_of
from tests.fingerprint.models import models
from tvm_qnn.target.target import NAMES, parse_target

WAYS: dict[str, tuple[str, bool]] = {
    **{name: (name, True) for name in NAMES},
    "primitives": ("x86-avx2", False),
}
"""Targets, and whether to use kernels, by the names that a fingerprint has for them."""

Fingerprint: TypeAlias = "dict[str, dict[str, Hashes]]"
"""By the names of a model and of one of ``WAYS``; sorted."""


def matching(names: Sequence[str], patterns: Sequence[str]) -> list[str]:
    """Return the names that match one of the shell patterns; all, if there is no pattern."""
    return [
        name for name in names if not patterns or any(fnmatchcase(name, each) for each in patterns)
    ]


def take(
    cases: Mapping[str, Sequence[str]], jobs: int = 1
) -> Iterator[tuple[str, dict[str, Hashes]]]:
    """Lower models, and hash the result.

    Args:
        cases: for each model the names of ``WAYS``.
        jobs: how many processes share the work.

    Yields:
        A model's name and its hashes, as soon as it is done.
    """
    if jobs == 1:
        for name, ways in cases.items():
            yield name, hash_model(name, ways)
        return
    # A process that has started threads, as TVM does, is not to be forked.
    context = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(jobs, mp_context=context) as pool:
        futures = {pool.submit(hash_model, name, ways): name for name, ways in cases.items()}
        for future in as_completed(futures):
            yield futures[future], future.result()


def hash_model(name: str, ways: Sequence[str]) -> dict[str, Hashes]:
    """Import one model, and lower it in each way; a refusal is recorded by its error."""
    try:
        mod = models()[name]()
    except Exception as error:
        return {way: _refused("import", error) for way in ways}
    return {way: _hash(mod, way) for way in ways}


def _hash(mod: tvm.IRModule, way: str) -> Hashes:
    target, kernels = WAYS[way]
    try:
        return hashes_of(mod, parse_target(target), kernels=kernels)
    except Exception as error:
        return _refused("lowering", error)


def _refused(step: str, error: Exception) -> Hashes:
    # One line: further lines of a TVM error name positions in source files.
    return {step: f"{type(error).__name__}: {str(error).splitlines()[0]}"}


@dataclass(frozen=True)
class Comparison:
    """What two fingerprints say of the cases, each a model in one way.

    Attributes:
        equal: how many cases are equal.
        differing: models, ways and the first difference, in order.
    """

    equal: int
    differing: tuple[tuple[str, str, str], ...]

    @cached_property
    def grouped(self) -> dict[tuple[str, str], list[str]]:
        """The ways of each model and difference."""
        groups: dict[tuple[str, str], list[str]] = {}
        for model, way, difference in self.differing:
            groups.setdefault((model, difference), []).append(way)
        return groups


def compare(old: Fingerprint, new: Fingerprint) -> Comparison:
    """Compare two fingerprints, case by case."""
    equal, differing = 0, []
    for model in sorted({*old, *new}):
        before, after = old.get(model, {}), new.get(model, {})
        for way in sorted({*before, *after}):
            difference = _difference(before.get(way), after.get(way))
            equal += difference is None
            if difference is not None:
                differing.append((model, way, difference))
    return Comparison(equal, tuple(differing))


def _difference(old: Hashes | None, new: Hashes | None) -> str | None:
    """Find the first difference; None if there is none."""
    if old is None or new is None:
        return f"only in the {'new' if old is None else 'old'} one"
    for part in [*old, *(part for part in new if part not in old)]:
        if part not in new or part not in old:
            return f"{part}: only in the {'old' if part in old else 'new'} one"
        if old[part] != new[part]:
            return f"{part}: {old[part]} became {new[part]}"
    return None
