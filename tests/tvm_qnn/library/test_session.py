import threading
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import tvm_qnn
from qnn_ops import QnnError
from qnn_ops.dialect.tensor_info import Signature, StateInfo, TensorInfo, with_unique_names
from tests.frontends.tflite.converters.test_variables import FIRST, inputs, ring
from tests.support.tflite import library_of
from tvm_qnn import Library, digits


@pytest.fixture(scope="module")
def library() -> Library:
    return library_of(ring(), "host")


def stream(run: Any, count: int = 5) -> list[np.ndarray]:
    return [run(*arrays) for arrays in inputs(count)]


def test_a_library_goes_on_from_run_to_run_until_it_is_reset(library: Library) -> None:
    library.reset()
    first = stream(library.run)
    assert len({each.tobytes() for each in first}) == 5
    assert [array.shape for array in library.state.values()] == [(1, 4, 2)]
    library.reset()
    np.testing.assert_array_equal(library.state["ring"], FIRST)
    np.testing.assert_array_equal(stream(library.run), first)


def test_sessions_do_not_know_each_other(library: Library) -> None:
    library.reset()
    expected = stream(library.run)
    one, other = library.session(), library.session()
    both = [(one.run(*arrays), other.run(*arrays)) for arrays in inputs(5)]
    np.testing.assert_array_equal([first for first, _ in both], expected)
    np.testing.assert_array_equal([second for _, second in both], expected)
    one.reset()
    np.testing.assert_array_equal(one.state["ring"], FIRST)
    assert not np.array_equal(other.state["ring"], FIRST)


def test_each_thread_may_have_a_stream(library: Library) -> None:
    expected = stream(library.session().run, 40)
    found: list[list[np.ndarray]] = []

    def work() -> None:
        found.append(stream(library.session().run, 40))

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for each in found:
        np.testing.assert_array_equal(each, expected)


def test_a_state_is_the_sessions_own(library: Library) -> None:
    session = library.session()
    with pytest.raises(QnnError, match="takes int8 of shape"):
        session.run(np.zeros(3, np.int8))
    np.testing.assert_array_equal(session.state["ring"], FIRST)
    session = library.session()
    session.state["ring"][:] = 99
    np.testing.assert_array_equal(session.state["ring"], FIRST)


def test_a_file_has_the_state_and_others_sessions_too(library: Library, tmp_path: Path) -> None:
    library.export(tmp_path / "ring.so")
    loaded = tvm_qnn.load(tmp_path / "ring.so")
    library.reset()
    np.testing.assert_array_equal(stream(loaded.run), stream(library.run))
    plain = library_of(digits.model("uint8"))
    image = np.zeros(plain.inputs[0].shape, plain.inputs[0].dtype)
    assert plain.state == {}
    plain.reset()
    np.testing.assert_array_equal(plain.session().run(image), plain.run(image))


def test_a_signature_keeps_states_as_text() -> None:
    text = StateInfo.text_of(np.array([1, -2], np.int16))
    info = StateInfo("s", (2,), "int16", 0.5, 3, initial=text)
    signature = Signature((), (TensorInfo("y", (1,), "int8"),), (info, info))
    assert Signature.from_json(signature.to_json()) == signature
    np.testing.assert_array_equal(info.array(), np.array([1, -2], np.int16))
    assert [each.name for each in with_unique_names(signature).states] == ["s", "s_2"]
    with pytest.raises(ValueError, match="the state 's' has 6 bytes, got 4"):
        StateInfo("s", (3,), "int16", initial=info.initial).array()
