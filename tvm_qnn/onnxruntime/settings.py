"""The options of sessions and runs; a warning names each option without effect once.

There is only one execution provider, and others are ignored with a warning.
"""

from __future__ import annotations

import operator
import warnings
from collections.abc import Callable, Sequence
from enum import Enum
from typing import Any, ClassVar

from qnn_ops.errors import QnnError
from tvm_qnn.onnxruntime.errors import WrongObject, WrongState, WrongType
from tvm_qnn.onnxruntime.values import OrtValue

Check = Callable[[Any], Any]
"""Returns a setting's value in the form that is kept; raises TypeError."""

_MOST_KEY = 1024
_said: set[str] = set()
"""The settings that a warning of this process has named."""


class MeaninglessSettingWarning(UserWarning):
    """A setting of ONNX Runtime has no effect in tvm-qnn; the run goes on."""


class _Choice(Enum):
    """A choice that is equal to its number, as ONNX Runtime's choices are."""

    def __int__(self) -> int:
        return int(self.value)

    __index__ = __int__

    def __eq__(self, other: object) -> bool:
        return other is self or (isinstance(other, int) and other == self.value)

    def __hash__(self) -> int:
        return hash(self.value)


class GraphOptimizationLevel(_Choice):
    """How far ONNX Runtime rewrites the graph. Numbers here are always those of ORT_ENABLE_ALL."""

    ORT_DISABLE_ALL = 0
    ORT_ENABLE_BASIC = 1
    ORT_ENABLE_EXTENDED = 2
    ORT_ENABLE_LAYOUT = 3
    ORT_ENABLE_ALL = 99


class ExecutionMode(_Choice):
    """Whether ONNX Runtime runs nodes in parallel."""

    ORT_SEQUENTIAL = 0
    ORT_PARALLEL = 1


class ExecutionOrder(_Choice):
    """The order in which ONNX Runtime runs nodes."""

    DEFAULT = 0
    PRIORITY_BASED = 1
    MEMORY_EFFICIENT = 2


def _flag(value: Any) -> bool:
    if not hasattr(value, "__bool__") and value is not None:
        raise TypeError
    return bool(value)


def _text(value: Any) -> str:
    if not isinstance(value, str):
        raise TypeError
    return value


def _one_of(choices: type[_Choice]) -> Check:
    def checked(value: Any) -> _Choice:
        if not isinstance(value, choices):
            raise TypeError
        return value

    return checked


_CHECKS: dict[type, Check] = {bool: _flag, int: operator.index, str: _text}
"""Checks by the type of a setting."""


class _Settings:
    """An object with named settings and entries by key; it refuses other names.

    A setting is an attribute of the class; its value there is ONNX Runtime's default.
    """

    log_severity_level: int = -1
    log_verbosity_level: int = 0
    logid: str = ""
    _own: ClassVar[tuple[str, ...]] = ("_entries",)

    def __init__(self) -> None:
        """Begin with ONNX Runtime's defaults."""
        self._entries: dict[str, str] = {}

    def __setattr__(self, name: str, value: Any) -> None:
        if name in self._own:
            super().__setattr__(name, value)
            return
        default = getattr(type(self), name, None)
        if default is None or callable(default) or name.startswith("_"):
            raise WrongObject(f"{type(self).__name__!r} object has no attribute {name!r}")
        kind = type(default)
        try:
            taken = _CHECKS.get(kind, _one_of(kind))(value)
        except TypeError:
            text = f"{type(self).__name__}.{name} is {kind.__name__}, got {value!r}"
            raise WrongType(text) from None
        vars(self)[name] = taken
        self._tell(name, taken)

    def _tell(self, name: str, value: Any) -> None:
        """Warn once of a setting without effect."""

    def _add_entry(self, key: Any, value: Any) -> None:
        """Keep an entry of the configuration."""
        if not (isinstance(key, str) and isinstance(value, str)):
            raise WrongType(f"a configuration entry is two texts, got {key!r} and {value!r}")
        if not 0 < len(key) <= _MOST_KEY:
            raise WrongState(f"Config key is empty or longer than maximum length {_MOST_KEY}")
        self._entries[key] = value

    def _entry(self, key: str) -> str:
        """Return an entry of the configuration.

        Raises:
            WrongState: there is no such entry.
        """
        if key not in self._entries:
            raise WrongState(f"{type(self).__name__} does not have configuration with key: {key}")
        return self._entries[key]


_ALL, _SEQUENTIAL = GraphOptimizationLevel.ORT_ENABLE_ALL, ExecutionMode.ORT_SEQUENTIAL
_IN_TURN = "operators run one after another, each in intra_op_num_threads threads"

_INSTEAD: dict[str, tuple[Callable[[Any], bool], str]] = {
    "graph_optimization_level": (
        lambda value: value is not _ALL,
        "the numbers are those of ORT_ENABLE_ALL",
    ),
    "execution_mode": (lambda value: value is not _SEQUENTIAL, _IN_TURN),
    "inter_op_num_threads": (lambda value: value > 1, _IN_TURN),
    "enable_profiling": (bool, "no profile is written; tvm-qnn profile shows a model's times"),
    "optimized_model_filepath": (bool, "no optimized model is written"),
}
"""The settings without effect: the condition for a warning, and what happens in their place."""

_MET = {("session.qdqisint8allowed", "1"), ("session.x64quantprecision", "1")}
"""Entries that ask for the numbers that every session here computes."""


def _say_once(name: str, happens: str, frames: int) -> None:
    if name not in _said:
        _said.add(name)
        text = f"SessionOptions: {name} has no meaning in tvm-qnn: {happens}"
        warnings.warn(text, MeaninglessSettingWarning, stacklevel=frames)


class SessionOptions(_Settings):
    """The options of a session.

    ``intra_op_num_threads``, initializers and sizes of free dimensions have an effect. Others are
    kept, and one that asks for something else causes one ``MeaninglessSettingWarning``.
    """

    enable_cpu_mem_arena: bool = True
    enable_mem_pattern: bool = True
    enable_mem_reuse: bool = True
    enable_profiling: bool = False
    execution_mode: ExecutionMode = _SEQUENTIAL
    execution_order: ExecutionOrder = ExecutionOrder.DEFAULT
    graph_optimization_level: GraphOptimizationLevel = _ALL
    inter_op_num_threads: int = 0
    intra_op_num_threads: int = 0
    optimized_model_filepath: str = ""
    profile_file_prefix: str = "onnxruntime_profile_"
    use_deterministic_compute: bool = False
    use_per_session_threads: bool = True
    _own = ("_entries", "files", "initializers", "sizes_by_name", "sizes_by_denotation")

    def __init__(self) -> None:
        """Begin with ONNX Runtime's defaults."""
        super().__init__()
        self.files: dict[str, bytes] = {}
        self.initializers: dict[str, OrtValue] = {}
        self.sizes_by_name: dict[str, int] = {}
        self.sizes_by_denotation: dict[str, int] = {}

    def __copy__(self) -> SessionOptions:
        copied = SessionOptions()
        vars(copied).update(
            (name, dict(value) if isinstance(value, dict) else value)
            for name, value in vars(self).items()
        )
        return copied

    def _tell(self, name: str, value: Any) -> None:
        asks, happens = _INSTEAD.get(name, (None, ""))
        if asks and asks(value):
            _say_once(name, happens, 4)

    def add_session_config_entry(self, key: str, value: str) -> None:
        """Keep an entry of the configuration."""
        self._add_entry(key, value)
        if (key, value) not in _MET:
            _say_once(f"the entry {key!r}", "the session runs as without it", 3)

    get_session_config_entry = _Settings._entry

    def add_initializer(self, name: str, value: OrtValue) -> None:
        """Give a constant of the model another value."""
        self.initializers[name] = value

    def add_external_initializers(self, names: list[str], values: list[OrtValue]) -> None:
        """Give constants their values; they may be constants that lie in other files."""
        self.initializers.update(zip(names, values, strict=True))

    def add_external_initializers_from_files_in_memory(
        self, names: Sequence[str], buffers: Sequence[Any], lengths: Sequence[int]
    ) -> None:
        """Give files of constants their contents.

        Args:
            names: the files' names, as in the model.
            buffers: bytes, or objects with the buffer protocol.
            lengths: the files' lengths in bytes.

        Raises:
            WrongState: a file is given twice, or the lists have different lengths.
            WrongType: a content is not bytes.
        """
        if not len(names) == len(buffers) == len(lengths):
            raise WrongState("there must be one content and one length for each file")
        for name, buffer, length in zip(names, buffers, lengths, strict=True):
            if name in self.files:
                raise WrongState(f"the file {name!r} is given twice")
            try:
                self.files[name] = bytes(memoryview(buffer).cast("B")[:length])
            except TypeError:
                kind = type(buffer).__name__
                raise WrongType(f"the content of {name!r} must be bytes, got {kind}") from None

    def add_free_dimension_override_by_name(self, name: str, size: int) -> None:
        """Set the size of the dimensions with this name."""
        self.sizes_by_name[name] = size

    def add_free_dimension_override_by_denotation(self, denotation: str, size: int) -> None:
        """Set the size of the dimensions with this denotation."""
        self.sizes_by_denotation[denotation] = size

    def has_providers(self) -> bool:
        """Return whether providers were added: never, since sessions take them as an argument."""
        return False

    def register_custom_ops_library(self, path: str) -> None:
        """Refuse: operators of such a library are code for ONNX Runtime.

        Raises:
            WrongState: always.
        """
        raise WrongState(f"operators of {path!r} are code for ONNX Runtime and cannot be imported")


class RunOptions(_Settings):
    """The options of a run; only ``terminate`` has an effect, and only before a run begins."""

    only_execute_path_to_fetches: bool = False
    terminate: bool = False

    add_run_config_entry = _Settings._add_entry
    get_run_config_entry = _Settings._entry


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
