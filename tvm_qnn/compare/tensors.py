"""Comparison of a model, tensor by tensor, with what its own framework computes."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from itertools import chain, tee
from typing import Any

import numpy as np
import tvm

from tvm_qnn.build import build
from tvm_qnn.compare.comparison import Comparison
from tvm_qnn.compare.references import reference_of
from tvm_qnn.compare.tally import Tally
from tvm_qnn.library.arrays import results_of
from tvm_qnn.target.target import runnable_target

Array = np.ndarray[Any, Any]


def compare(
    model: Any,
    inputs: Sequence[Array],
    target: str | Mapping[str, Any] | tvm.target.Target = "host",
    kernels: bool = True,
    expected: Mapping[Any, Array] | None = None,
    shape_dict: Mapping[str, Sequence[int]] | None = None,
    then: Iterable[Sequence[Array]] = (),
) -> Comparison:
    """Run a model here and on its own framework, and compare all tensors.

    A TFLite model on LiteRT's reference kernels, an ONNX model on ONNX Runtime with the settings
    of ``onnxruntime_tensors``. What is compared becomes an output, so operators are not fused
    across one another as they are in a library built for use; the arithmetic is the same. LiteRT's
    reference SOFTMAX aborts the process when 512 or more logits are nearly equal.

    Args:
        model: the contents of a .tflite or .onnx file, its path, or an ``onnx.ModelProto``.
        inputs: one array for each input of the model, in the model's order.
        target: of the compilation, as ``tvm_qnn.build`` takes it; this machine must run it.
        kernels: use the hand-written kernels of the target, or only the portable primitives.
        expected: what ``litert_tensors`` or ``onnxruntime_tensors`` gives for this model and these
            inputs, if the caller has it already.
        shape_dict: shapes of inputs by name, where they are not the file's, as ``from_tflite``
            takes them.
        then: the inputs of further runs, one after the other: a model that keeps something from
            one to the next keeps it. Each is taken when it is its turn. Not together with
            ``expected``.

    Raises:
        QnnError: if the model cannot be imported or is of another format, its framework is missing
            or rejects it, an input does not fit, or this machine cannot run the target's code.
        OSError: if the path cannot be read.
    """
    reference = reference_of(model)
    parsed = runnable_target(target)
    ours, theirs = tee(chain([inputs], then))
    computed = reference.compute(model, theirs, shape_dict, expected)
    first = next(computed.answers)  # it is refused at once what the framework refuses
    library = build(computed.mod, parsed, computed.params, kernels=kernels)
    tallies = {
        key: Tally(index, operator, info)
        for (key, index, operator), info in zip(computed.tensors, library.outputs, strict=True)
    }
    compared = set()
    runs = 0
    for given, answer in zip(ours, chain([first], computed.answers), strict=True):
        arrays = results_of(library.run(*given))
        for (key, tally), array in zip(tallies.items(), arrays, strict=True):
            if key in answer:
                tally.add(array, answer[key], runs)
                compared.add(key)
        runs += 1
    found = (tally.result() for key, tally in tallies.items() if key in compared)
    return Comparison(tuple(found), computed.title or reference.title, runs)
