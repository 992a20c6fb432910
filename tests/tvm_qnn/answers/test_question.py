"""What is known before a run."""

from frontends.summary import Description, Descriptions
from qnn_ops.dialect.tensor_info import Signature, TensorInfo
from tests.support.errors import giving
from tvm_qnn.answers.question import Question

PICTURE, ARRAY = TensorInfo("x", (1, 8, 6, 3), "uint8"), TensorInfo("a", (1, 5), "int8")
SCORES = TensorInfo("scores", (1, 5), "float32")


test_the_size_is_that_of_the_one_picture = giving(
    lambda inputs: Question(Signature(inputs, ())).picture_size,
    ((PICTURE,), (8, 6)),
    ((ARRAY, PICTURE), (8, 6)),
    ((ARRAY,), None),
    ((PICTURE, PICTURE), None),
    ((TensorInfo("x", (1, 3, 8, 6), "float32"),), (8, 6)),
)


def test_the_threshold_that_is_given_goes_before_the_file_s() -> None:
    signature = Signature((), (SCORES,))
    descriptions = Descriptions(outputs={0: Description(threshold=0.7)})
    assert Question(signature).least(SCORES) == 0.3
    assert Question(signature, descriptions).least(SCORES) == 0.7
    assert Question(signature, descriptions, threshold=0.0).least(SCORES) == 0.0
