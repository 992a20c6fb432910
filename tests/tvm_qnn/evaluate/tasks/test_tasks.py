from qnn_ops.dialect.tensor_info import TensorInfo
from tests.support.errors import fails
from tvm_qnn.answers.classes import ClassesReading
from tvm_qnn.evaluate.samples import CLASSES, MASKS, NOTHING
from tvm_qnn.evaluate.tasks import classes_of, task_of
from tvm_qnn.evaluate.tasks.classification import Classification
from tvm_qnn.evaluate.tasks.task import Task

OTHER, SCORES = TensorInfo("a", (2, 3), "int8"), TensorInfo("y", (1, 3), "int8")
READING = ClassesReading((SCORES,), ("x", "y", "z"), 5)


def test_data_and_outputs_decide_what_is_counted() -> None:
    found = task_of(CLASSES, [READING], [OTHER, SCORES])
    assert isinstance(found, Classification)
    assert found.places == (1,)
    assert task_of(NOTHING, [READING], [SCORES]) == Task()
    assert classes_of([READING], 0).count == 3
    assert classes_of([], 0).count == 0
    fails("the data are for a mask, but no output", task_of, MASKS, [READING], [SCORES])
