"""Decides how each output of a model is read."""

from qnn_ops.errors import QnnError
from tvm_qnn.answers import classes, detections, key_points, masks
from tvm_qnn.answers.question import Question, Reading

_FINDERS = (detections.find, key_points.find, masks.find, classes.find)


def readings_of(question: Question) -> list[Reading]:
    """Return the readings of a model's outputs. An output has at most one.

    Raises:
        QnnError: if there are labels, but no classes that they fit.
    """
    found: list[Reading] = []
    for find in _FINDERS:
        taken = {info.name for reading in found for info in reading.outputs}
        found += [
            reading
            for reading in find(question)
            if taken.isdisjoint(info.name for info in reading.outputs)
        ]
    if question.labels is not None and not question.has_named:
        raise QnnError(f"{question.labels}: the model's outputs have no classes to name")
    return found
