"""Builds a library from a module of the dialect."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import tvm
from tvm import relax

from legalize.kernels.call import Hear
from legalize.lower import lower
from legalize.passes.in_strips import Choice
from legalize.pipeline import relax_pipeline
from qnn_ops.dialect.registry import TensorSpec
from qnn_ops.dialect.signature import ATTRIBUTE, main_function, parameter_specs, signature_of
from qnn_ops.dialect.tensor_info import Signature, with_unique_names
from qnn_ops.errors import LeftInFloatWarning, QnnError
from qnn_ops.input_ranges import with_input_ranges
from qnn_ops.serial import serial
from tvm_qnn.io.cores import keeping_cores
from tvm_qnn.io.images import noise
from tvm_qnn.io.interrupts import interruptible
from tvm_qnn.io.kept import cache_folder
from tvm_qnn.io.steps import step
from tvm_qnn.library.arrays import results_of
from tvm_qnn.library.built import BuiltOrigin
from tvm_qnn.library.cache import BuildCache, build_key
from tvm_qnn.library.files import FileOrigin
from tvm_qnn.library.library import Library
from tvm_qnn.library.metadata import Metadata, compiler_versions, contents_digest, runtime_versions
from tvm_qnn.library.origin import VariantsOrigin
from tvm_qnn.library.threads import check_num_threads
from tvm_qnn.standalone.arrangement import Arrangement, arrange, at_largest, state_size
from tvm_qnn.standalone.example import Vector
from tvm_qnn.standalone.export import export_standalone
from tvm_qnn.standalone.packages import Package
from tvm_qnn.standalone.ram_limit import Fitted, fit
from tvm_qnn.target.ahead import Objects
from tvm_qnn.target.codegen import compile_module
from tvm_qnn.target.microcontrollers import is_bare
from tvm_qnn.target.store import object_store
from tvm_qnn.target.target import TargetLike, parse_target, parse_targets, requirements

_NAMED = 3  # missing parameters that an error names, at most


@serial
def build(
    mod: tvm.IRModule,
    target: TargetLike | Sequence[TargetLike] = "llvm",
    params: Mapping[str, Any] | None = None,
    *,
    kernels: bool = True,
    num_threads: int | None = None,
    cache: bool = True,
) -> Library:
    """Compile a module of quantized operators into integer code.

    The user's cache keeps the library, so that the same build loads it from there
    (``tvm_qnn.library.cache``). It also keeps the object code of each function, so that only the
    changed functions of a model are compiled (``tvm_qnn.target.store``). The environment's
    TVM_QNN_CACHE names another folder for the cache, or is 0 for no cache.

    Args:
        mod: its ``main`` may mix operators of the dialect with Relax's own.
        target: "host" for this machine, a kind and options such as "llvm -mcpu=znver4", the
            same as a dict, or a ``tvm.target.Target``; plain "llvm" is any machine of this
            one's architecture. Or a list of these: one library for several processors of one
            architecture. Each processor runs the variant that uses most of its extensions.
        params: constants by parameter name, as an importer returns them.
        kernels: whether to use the hand-written kernels for the target's instruction set.
            Without them everything runs as portable primitives, and gives the same integers.
        num_threads: how many threads a run uses, this one included; results do not depend on
            it. None: TVM_NUM_THREADS of the environment, otherwise half of the processors that
            this process may use. TVM keeps a pool of threads for each Python thread that runs
            libraries. An exported file does not have the number: ``load`` takes it again.
        cache: whether to load the library from the user's cache if it was built before, and
            otherwise keep it there. The formats "tvm" and "c" compile such a library again.
            Nothing is kept if there is no linker for the target, or while a ``PassContext``
            with instruments watches the passes.

    Returns:
        The compiled library, ready to run here if this machine can run the target's code.

    Raises:
        QnnError: if a target cannot be understood, several do not fit together, the module has
            no main function, a parameter is unknown, does not fit or is missing, or
            ``num_threads`` is below 1.
    """
    check_num_threads(num_threads)
    if isinstance(target, list | tuple):
        variants = [
            build(mod, each, params, kernels=kernels, cache=cache) for each in parse_targets(target)
        ]
        origin = VariantsOrigin([(each.metadata, each._open()) for each in variants])
        return Library(origin.metadata, origin, num_threads=num_threads)
    parsed = parse_target(target)
    params = {} if params is None else params
    bound = _bind(mod, params)
    context = tvm.transform.PassContext.current()
    # Instruments belong to the block in which the build is.
    again = tvm.transform.PassContext(
        context.opt_level, context.required_pass, context.disabled_pass, None, context.config
    )

    @serial  # because the process has one list of filters of warnings
    def lower_again() -> tvm.IRModule:
        with warnings.catch_warnings(), again:
            warnings.simplefilter("ignore", LeftInFloatWarning)  # the build has given them
            return _lower(bound, parsed, kernels)

    def made(metadata: Metadata, origin: BuiltOrigin | FileOrigin) -> Library:
        origin.lower = lower_again
        return Library(metadata, origin, num_threads=num_threads)

    store = _store() if cache else None
    if store is None:
        return made(*_compile(bound, parsed, kernels))
    key = build_key(mod, params, parsed, {"kernels": kernels})
    if found := _from(store.find(key), made):
        for text in found.metadata.left_in_float:
            warnings.warn(text, LeftInFloatWarning, stacklevel=2)
        return found
    built = _compile(bound, parsed, kernels)
    return _from(store.keep(key, *built), made) or made(*built)


@serial
def export_c(
    mod: tvm.IRModule,
    target: TargetLike,
    params: Mapping[str, Any] | None,
    path: Path,
    *,
    arena: bool = False,
    ram_limit: int | None = None,
    test_vectors: int = 0,
    package: Package | None = None,
    names: Callable[[Arrangement], Sequence[str]] | None = None,
    notes: Callable[[Arrangement], Sequence[str]] | None = None,
) -> list[str]:
    """Write a model as C files, as ``Library.export`` does, but without building a library.

    Args:
        mod: as for ``build``.
        target: the target of the files.
        params: constants by parameter name, as for ``build``.
        path: the path of the files, without their endings.
        arena: whether inputs and outputs also lie in the workspace: see ``export_standalone``.
        ram_limit: the most bytes of memory for the model, including inputs and outputs, which then
            lie in the workspace. Layers run in strips if this is necessary.
        test_vectors: the number of runs on random inputs in a test program. It compares with the
            outputs of a library for this machine. If the model has a state, the runs are one
            stream.
        package: the form of the folder, from ``package_for``; None for the files alone.
        names: as for ``export_standalone``. The lowering for the target is the last one.
        notes: as for ``export_standalone``.

    Returns:
        The files' paths in the folder.

    Raises:
        QnnError: as ``build`` and ``Library.export`` raise it.

    Warns:
        LargestSizeWarning: the model leaves sizes open, and the code uses the largest ones.
    """
    parsed = parse_target(target)
    mod = at_largest(mod)
    with interruptible():
        vectors = _vectors(mod, params, test_vectors) if test_vectors else []
    if ram_limit is None:
        lowered, signature = lower_model(mod, parsed, params)
    else:
        fitted, signature = lower_within(mod, parsed, params, ram_limit)
        lowered, arena = fitted.lowered, True
    with interruptible():
        return export_standalone(
            lowered,
            signature,
            parsed,
            path,
            arena=arena,
            vectors=vectors,
            package=package,
            names=names,
            notes=notes,
        )


def _vectors(mod: tvm.IRModule, params: Mapping[str, Any] | None, count: int) -> list[Vector]:
    library = build(mod, "host", params, num_threads=1)
    vectors = []
    for run in range(count):
        seeds = range(run * len(library.inputs), (run + 1) * len(library.inputs))
        inputs = tuple(map(noise, library.inputs, seeds))
        vectors.append(Vector(inputs, tuple(results_of(library.run(*inputs)))))
    return vectors


@serial
def lower_model(
    mod: tvm.IRModule, target: tvm.target.Target, params: Mapping[str, Any] | None
) -> tuple[tvm.IRModule, Signature]:
    """Lower a model as ``build`` does; return its signature, too.

    Raises:
        QnnError: as ``build`` raises it.
    """
    bound = _bind(at_largest(mod), params or {})
    with interruptible():
        return _lower(bound, target, kernels=True), with_unique_names(signature_of(bound))


@serial
def lower_within(
    mod: tvm.IRModule, target: tvm.target.Target, params: Mapping[str, Any] | None, limit: int
) -> tuple[Fitted, Signature]:
    """Lower a model as ``lower_model`` does, within a limit of memory.

    Args:
        mod: as for ``build``.
        target: a target without an operating system.
        params: constants by parameter name.
        limit: the bytes of the workspace with inputs and outputs in it, and of states.

    Raises:
        QnnError: as ``build`` raises it; or if no schedule fits the limit.
    """
    if not is_bare(target):
        raise QnnError(f"a limit of memory is for microcontrollers, got {str(target)!r}")
    bound = _bind(at_largest(mod), params or {})
    signature = with_unique_names(signature_of(bound))

    def memory_of(lowered: tvm.IRModule) -> int:
        arranged = arrange(lowered, signature, target, "model", arena=True)
        return arranged.workspace + 2 * state_size(signature, arranged.alignment)

    with interruptible():
        return fit(partial(_lower, bound, target, True), memory_of, limit), signature


def _from(
    origin: FileOrigin | None, made: Callable[[Metadata, FileOrigin], Library]
) -> Library | None:
    """Return a library from a cache. It stays usable if its file is removed from the cache."""
    if origin is None:
        return None
    library = made(origin.metadata, origin)
    try:
        if library.metadata.why_not_here() is None:
            library._ready()
    except QnnError:
        return None  # another process has removed it
    return library


def _store() -> BuildCache | None:
    folder = cache_folder()
    # Instruments need to see all passes run.
    watched = tvm.transform.PassContext.current().instruments
    return None if folder is None or watched else BuildCache(folder)


def _compile(
    mod: tvm.IRModule, target: tvm.target.Target, kernels: bool
) -> tuple[Metadata, BuiltOrigin]:
    """Lower and compile a module whose constants are bound."""
    signature = with_input_ranges(mod, with_unique_names(signature_of(mod)))
    store = object_store(target)
    with (
        interruptible() as check,
        keeping_cores(),
        _noted() as left,
        nullcontext() if store is None else Objects(target, store) as objects,
    ):
        lowered = _lower(mod, target, kernels, hear=None if objects is None else objects.hear)
        check()
        compiled = compile_module(lowered, target, relax_pipeline(target), objects)
    origin = BuiltOrigin(compiled)
    metadata = Metadata(
        signature,
        str(target),
        requirements(target),
        {**runtime_versions(), **compiler_versions()},
        contents_digest(compiled.bytecode, origin.constants()),
        left_in_float=tuple(left),
    )
    return metadata, origin


@contextmanager
def _noted() -> Iterator[list[str]]:
    """Yield a list. After the block it has the texts of the block's LeftInFloatWarnings."""
    texts: list[str] = []
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        yield texts
    for each in caught:
        if issubclass(each.category, LeftInFloatWarning):
            texts.append(str(each.message))
        warnings.warn_explicit(each.message, each.category, each.filename, each.lineno)


def _lower(
    mod: tvm.IRModule,
    target: tvm.target.Target,
    kernels: bool,
    strips: Choice | None = None,
    hear: Hear | None = None,
) -> tvm.IRModule:
    step("lower the operators")
    with target:
        lowered = lower(mod, target, kernels=kernels, strips=strips, hear=hear)
        lowered["main"] = lowered["main"].without_attr(ATTRIBUTE)
    return lowered


def _bind(mod: tvm.IRModule, params: Mapping[str, Any]) -> tvm.IRModule:
    """Return the module with constants in place of the parameters that ``params`` names."""
    known = parameter_specs(main_function(mod))
    signature = signature_of(mod)
    inputs = len(signature.inputs) + len(signature.states)
    if not isinstance(params, Mapping):
        raise QnnError(f"params are constants by parameter name, got {type(params).__name__}")
    arrays = {}
    for name, value in params.items():
        if name not in known:
            raise QnnError(f"main has no parameter {name!r}; it has {', '.join(known)}")
        array = value if isinstance(value, tvm.runtime.Tensor) else np.asarray(value)
        given = TensorSpec(tuple(array.shape), str(array.dtype))
        if given != known[name]:
            raise QnnError(f"parameter {name!r} needs {_text(known[name])}, got {_text(given)}")
        arrays[name] = array
    if missing := [name for name in [*known][inputs:] if name not in arrays]:
        names = ", ".join(map(repr, missing[:_NAMED])) + (", …" if len(missing) > _NAMED else "")
        count = f"{len(missing)} of {len(known) - inputs}"
        raise QnnError(
            f"the model's constants are missing: {names} ({count}); give the parameters that the "
            "importer returned with the module: params=params"
        )
    return relax.transform.BindParams("main", arrays)(mod) if arrays else mod


def _text(spec: TensorSpec) -> str:
    return f"{spec.dtype} of shape {spec.shape}"
