import numpy as np
import pytest

from qnn_ops.errors import QnnError
from tests.support.tflite import library_of
from tvm_qnn import digits
from tvm_qnn.io.images import noise
from tvm_qnn.library.library import Library
from tvm_qnn.throughput.ours import SharedLibrary


def digits_library(batch: int) -> Library:
    model = digits.model("int8")
    info = library_of(model, "host").inputs[0]
    shape_dict = {info.name: (batch, *info.shape[1:])}
    return library_of(model, "host", shape_dict=shape_dict, num_threads=1)


def test_all_threads_run_and_what_fails_in_one_is_an_error() -> None:
    library = digits_library(1)
    with SharedLibrary(library, [noise(library.inputs[0])], 3) as streams:
        assert streams.runs_per_second(0.05) > 3 / 0.05
    library = digits_library(1)
    with (
        SharedLibrary(library, [np.zeros((3, 3), np.int8)], 2) as streams,
        pytest.raises(QnnError, match="input"),
    ):
        streams.runs_per_second(0.05)


def test_a_batch_gives_what_its_images_give() -> None:
    many, single = digits_library(4), digits_library(1)
    images = noise(many.inputs[0])
    alone = [single.run(images[number : number + 1]) for number in range(4)]
    assert len({each.tobytes() for each in alone}) > 1
    np.testing.assert_array_equal(many.run(images), np.concatenate(alone))
