"""Compares a model with its own framework, tensor by tensor."""

from collections.abc import Iterable, Mapping, Sequence
from itertools import chain, tee
from typing import Any

import numpy as np
import tvm

from frontends.formats import of_signature
from frontends.onnx.normalize.bounded import COUNT
from tvm_qnn.build import build
from tvm_qnn.compare.comparison import Comparison, Tally
from tvm_qnn.compare.references import reference_of
from tvm_qnn.library.arrays import named_results
from tvm_qnn.library.library import Library
from tvm_qnn.target.target import runnable_target


def compare(
    model: Any,
    inputs: Sequence[np.ndarray],
    target: str | Mapping[str, Any] | tvm.target.Target = "host",
    kernels: bool = True,
    expected: Mapping[Any, np.ndarray] | None = None,
    shape_dict: Mapping[str, Sequence[int]] | None = None,
    then: Iterable[Sequence[np.ndarray]] = (),
    used: Library | None = None,
    signature: str | None = None,
) -> Comparison:
    """Run a model here and on its own framework, and compare all tensors.

    A TFLite model runs on LiteRT's reference kernels, an ONNX model on ONNX Runtime with the
    settings of ``onnxruntime_tensors``. Each compared tensor becomes an output, so that operators
    are not fused across it. The library that is built for use fuses them; it runs, too, and its
    outputs are compared. LiteRT's reference SOFTMAX aborts the process if 512 or more logits are
    nearly equal.

    Args:
        model: the contents of a .tflite or .onnx file, its path, or an ``onnx.ModelProto``.
        inputs: one array for each input of the model, in the model's order.
        target: the target, as ``tvm_qnn.build`` takes it; this machine must be able to run it.
        kernels: whether to use the target's hand-written kernels, or only the portable primitives.
        expected: what ``litert_tensors`` or ``onnxruntime_tensors`` gives for this model and these
            inputs, if the caller has it already.
        shape_dict: shapes of inputs by name, in place of the file's, as ``from_tflite``
            takes them.
        then: the inputs of further runs, one after the other; a model with a state keeps it from
            one run to the next. Each is read when its run begins. Not together with
            ``expected``.
        used: the library that is built for use, if the caller has it already.
        signature: the name of one of the models in a TFLite file, as ``from_tflite`` takes it.

    Raises:
        QnnError: if the model cannot be imported or is of another format, its framework is missing
            or rejects it, an input does not fit, or this machine cannot run the target's code.
        OSError: if the path cannot be read.
    """
    if signature is not None:
        model = of_signature(model, signature)
    reference = reference_of(model)
    parsed = runnable_target(target)
    ours, theirs = tee(chain([inputs], then))
    computed = reference.compute(model, theirs, shape_dict)
    answers = map(computed.cleaned, computed.answers if expected is None else [expected])
    first = next(answers)  # before the build: the framework may refuse
    library = build(computed.mod, parsed, computed.params, kernels=kernels)
    if used is None and computed.used[0] is computed.mod:
        used = library
    used = used or build(computed.used[0], parsed, computed.used[1], kernels=kernels)
    codes = {key: (index, operator) for key, index, operator in computed.tensors}
    tallies = [
        (key, Tally(*codes[key], info))
        # The library's last outputs are counts of rows, for some of the other outputs.
        for (key, *_), info in zip(computed.tensors, library.outputs, strict=False)
    ]
    tallies_of_used = [
        (key, Tally(*codes.get(key, (-1, "")), info))
        for key, info in zip(computed.outputs, used.outputs, strict=False)
    ]
    runs = 0
    for given, answer in zip(ours, chain([first], answers), strict=True):
        named = named_results(library.outputs, library.run(*given))
        for each, counted in ((library, tallies), (used, tallies_of_used)):
            if each is not library:
                named = named_results(each.outputs, each.run(*given))
            for (key, tally), array in zip(counted, _filled(named, answer), strict=False):
                if key in answer:
                    tally.add(array, answer[key], runs)
        runs += 1
    found, outputs = (
        tuple(tally.result() for _, tally in counted if tally.runs)
        for counted in (tallies, tallies_of_used)
    )
    return Comparison(found, computed.title or reference.title, runs, outputs)


def _filled(found: Mapping[str, np.ndarray], answer: Mapping[Any, np.ndarray]) -> list[np.ndarray]:
    """Return the results of a run without rows beyond an output's count."""
    arrays = dict(found)
    for name, array in found.items():
        count, theirs = found.get(name + COUNT), answer.get(name)
        if count is None or theirs is None or count.size != 1 or array.ndim != theirs.ndim:
            continue
        axes = [n for n in range(array.ndim) if array.shape[n] != theirs.shape[n]]
        if len(axes) == 1:
            arrays[name] = np.take(array, np.arange(count.item()), axes[0])
    return list(arrays.values())
