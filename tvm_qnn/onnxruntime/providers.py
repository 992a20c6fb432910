"""Execution providers: there is only one, and others are ignored with a warning."""

import warnings
from collections.abc import Sequence
from typing import Any

from qnn_ops.errors import QnnError
from tvm_qnn.onnxruntime.errors import WrongState

CPU = "CPUExecutionProvider"

_LEVEL = 4
"""The number of stack frames between a warning and the line that makes a session."""


def check_providers(providers: Any, options: Any, *, falls_back: bool) -> None:
    """Check a session's arguments about providers; warn of unknown providers.

    Args:
        providers: names, or pairs of a name and options; None for the only provider.
        options: options for each provider, or None.
        falls_back: whether a fault is only a warning, and the session uses the only provider.

    Raises:
        QnnError: the arguments are malformed.
    """
    try:
        names = [] if providers is None else _names(providers, options)
        unknown = [name for name in names if not name.endswith("ExecutionProvider")]
        if unknown and not falls_back:
            raise WrongState(f"Unknown Provider Type: {unknown[0]}")
    except QnnError as error:
        if not falls_back:
            raise
        warnings.warn(f"{error} Falling back to {[CPU]}.", stacklevel=_LEVEL)


def _names(providers: Any, options: Any) -> list[str]:
    if not isinstance(providers, Sequence) or isinstance(providers, str):
        raise QnnError("'providers' should be a sequence.")
    if options is not None:
        _check_options(providers, options)
    names: list[str] = []
    for each in providers:
        name = each
        if isinstance(each, tuple) and len(each) == 2 and isinstance(each[1], dict):
            name = each[0]
        if not isinstance(name, str):
            raise QnnError("'providers' values must be either strings or (string, dict) tuples.")
        if name in names:
            warnings.warn(f"Duplicate provider '{name}' encountered, ignoring.", stacklevel=_LEVEL)
        elif name != CPU:
            warnings.warn(
                f"Specified provider '{name}' is not in available provider names."
                f"Available providers: '{CPU}'",
                stacklevel=_LEVEL,
            )
        names.append(name)
    return names


def _check_options(providers: Sequence[Any], options: Any) -> None:
    if not isinstance(options, Sequence):
        raise QnnError("'provider_options' should be a sequence.")
    if len(providers) != len(options):
        raise QnnError(
            "'providers' and 'provider_options' should be the same length if both are given."
        )
    if not all(isinstance(each, str) for each in providers):
        raise QnnError(
            "Only string values for 'providers' are supported if 'provider_options' is given."
        )
    if not all(isinstance(each, dict) for each in options):
        raise QnnError("'provider_options' values must be dicts.")
