"""The meaning of a model's outputs, if its operators leave no doubt."""

from collections.abc import Sequence
from typing import TypedDict

from frontends.tflite.model import Model, Operator
from frontends.tflite.operators import row_of
from frontends.tflite.options.custom import DetectionPostProcessOptions

DETECTION = ("boxes", "classes", "scores", "count")
"""The results of TFLite_Detection_PostProcess, in order."""


class Role(TypedDict):
    """The fields ``role`` and ``classes`` of a ``TensorInfo``."""

    role: str
    classes: int


NO_ROLE = Role(role="", classes=0)


def roles_of(model: Model, outputs: Sequence[int]) -> dict[int, Role]:
    """Return the roles of tensors that have one, as ``qnn_ops.dialect.tensor_info`` names them.

    Args:
        model: the model.
        outputs: numbers of the tensors.
    """
    makers = {index: operator for operator in model.operators for index in operator.outputs}
    found = {index: _role(model, makers, index) for index in outputs}
    kept = {index: role for index, role in found.items() if role is not None}
    told = [kept[index]["role"] for index in outputs if index in kept]
    detections = [role for role in told if role in DETECTION]
    if sorted(detections) != sorted(DETECTION):  # some are missing, or they come from two operators
        kept = {index: role for index, role in kept.items() if role["role"] not in DETECTION}
    return kept


def _role(model: Model, makers: dict[int, Operator], index: int) -> Role | None:
    operator = makers.get(index)
    if operator is None:
        return None
    if isinstance(operator.options, DetectionPostProcessOptions):
        place = operator.outputs.index(index)
        if place >= len(DETECTION):
            return None
        return Role(role=DETECTION[place], classes=operator.options.num_classes)
    return _map(model, makers, index) or _probabilities(model, makers, index)


def _map(model: Model, makers: dict[int, Operator], index: int) -> Role | None:
    operator = _behind(makers, index, "numbers")
    if operator is None or operator.code != "ARG_MAX" or len(operator.inputs) != 2:
        return None
    scores, axis = (model.tensors[each] for each in operator.inputs)
    if len(scores.shape) != 4 or axis.data is None or axis.data.ravel().tolist() not in ([3], [-1]):
        return None
    if model.tensors[index].shape not in (scores.shape[:3], (*scores.shape[:3], 1)):
        return None
    return Role(role="map", classes=scores.shape[3])


def _probabilities(model: Model, makers: dict[int, Operator], index: int) -> Role | None:
    operator = _behind(makers, index, "scores")
    shape = model.tensors[index].shape
    if operator is None or operator.code != "SOFTMAX" or len(shape) != 4 or shape[3] < 2:
        return None
    return Role(role="probabilities", classes=shape[3])


def _behind(makers: dict[int, Operator], index: int, what: str) -> Operator | None:
    """Return the maker of a tensor, skipping operators that keep its numbers or scores."""
    operator = makers.get(index)
    while operator is not None and row_of(operator.code).keeps == what:
        before = makers.get(operator.inputs[0])
        # A variable, or a tensor without elements, may be written after it is read.
        operator = before if before is not None and before.index < operator.index else None
    return operator
