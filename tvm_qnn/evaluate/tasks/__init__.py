"""Compares answers with the truth, for each kind of answer in `tvm_qnn.answers`."""

from collections.abc import Sequence
from dataclasses import replace

from qnn_ops.dialect.tensor_info import TensorInfo
from qnn_ops.errors import QnnError
from tvm_qnn.answers.classes import ClassesReading
from tvm_qnn.answers.detections import DetectionsReading
from tvm_qnn.answers.masks import MaskReading
from tvm_qnn.answers.question import Reading
from tvm_qnn.evaluate.samples import BOXES, CLASSES, MASKS, NOTHING, Classes
from tvm_qnn.evaluate.tasks.classification import Classification
from tvm_qnn.evaluate.tasks.detection import Detection, check_pycocotools
from tvm_qnn.evaluate.tasks.segmentation import Segmentation
from tvm_qnn.evaluate.tasks.task import Task

_NEEDED = {CLASSES: ClassesReading, MASKS: MaskReading, BOXES: DetectionsReading}
_SAID = {CLASSES: "the scores of classes", MASKS: "a mask", BOXES: "detections"}


def classes_of(readings: Sequence[Reading], offset: int) -> Classes:
    """Return the classes of a model's first answer."""
    for reading in readings:
        if isinstance(reading, ClassesReading):
            return Classes(max(reading.outputs[0].shape), reading.labels, offset)
        if isinstance(reading, DetectionsReading):
            return Classes(reading.outputs[1].classes, reading.labels, offset)
    return Classes(0, (), offset)


def task_of(kind: str, readings: Sequence[Reading], outputs: Sequence[TensorInfo]) -> Task:
    """Return the task for a kind of data.

    Args:
        kind: the data's kind.
        readings: how the model's outputs are read.
        outputs: the model's outputs.

    Raises:
        QnnError: if no output fits the data, or the package that counts is not installed.
    """
    if kind == NOTHING:
        return Task()
    reading = next((each for each in readings if isinstance(each, _NEEDED[kind])), None)
    if reading is None:
        said = _SAID[kind]
        raise QnnError(f"the data are for {said}, but no output of the model is taken for that")
    places = tuple(outputs.index(info) for info in reading.outputs)
    if isinstance(reading, ClassesReading):
        return Classification(reading, places)
    if isinstance(reading, MaskReading):
        info = reading.outputs[0]
        count = info.classes if reading.is_map else info.shape[-1]
        return Segmentation(reading, places, count)
    assert isinstance(reading, DetectionsReading)
    check_pycocotools()
    return Detection(replace(reading, threshold=0.0), places)
