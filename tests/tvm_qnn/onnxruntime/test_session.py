"""Sessions: what runs take and give, beside ONNX Runtime's."""

import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest

from qnn_ops.errors import QnnError
from tests.support.onnx_networks import NETWORKS, Style
from tests.support.onnx_sessions import (
    both,
    check_equal,
    check_same,
    check_same_error,
    model_of,
    real,
    sums,
)
from tests.support.processes import printed
from tvm_qnn import onnxruntime as own
from tvm_qnn.onnxruntime.capi import onnxruntime_pybind11_state as states
from tvm_qnn.onnxruntime.errors import StatusError

X = np.arange(6, dtype=np.float32).reshape(2, 3) - 2
Y = np.array([[1, -2, 0.5]], np.float32)
FEED = {"x": X, "y": Y}


def first_run(model: onnx.ModelProto, feed: Any) -> Callable[[Any], Any]:
    content = model.SerializeToString()
    return lambda ort: ort.InferenceSession(content).run(None, feed)


def run(names: Any, feed: Any, options: Callable[[Any], Any] = lambda _: None) -> Any:
    def work(ort: Any) -> Any:
        session = ort.InferenceSession(sums(), providers=["CPUExecutionProvider"])
        session.run(None, FEED)  # so that what comes next meets a library that is there
        return session.run(names, feed, options(ort))

    return work


@pytest.mark.parametrize("names", [None, [], ["z"], ["w", "z"], ["z", "w", "z"], ("w",)], ids=str)
def test_outputs_come_in_the_order_of_their_names(names: Any) -> None:
    check_same(run(names, FEED))


@pytest.mark.parametrize(
    "x",
    [
        *(X, X[:1], np.zeros((5, 3), np.float32), X.tolist(), np.asfortranarray(X), X[:0]),
        *(X[:, ::-1], [X[0], X[1]]),
    ],
    ids=["array", "another size", "a third", "list", "by columns", "no rows", "gaps", "of arrays"],
)
def test_inputs_are_taken(x: Any) -> None:
    check_same(run(None, {"y": Y, "x": x}))


@pytest.mark.parametrize(
    "feed",
    [
        {"x": X},
        {},
        {"x": X, "q": Y},
        {**FEED, "q": Y},
        {"x": X[0], "y": Y},
        {"x": X[None], "y": Y},
        {"x": X[:, :2], "y": Y},
        {"x": X, "y": X[:, :2]},
        {"x": X.astype(np.float64), "y": Y},
        {"x": X.astype(np.int64), "y": Y},
        {"x": X.astype(np.float16), "y": Y},
        {"x": X[0].astype(bool), "y": Y},
        {"x": X[0], "y": Y.astype(np.int8)},
        {"x": X.astype(np.uint8), "y": Y, "q": Y},
        {"x": X.astype(np.complex64), "y": Y},
        {"x": np.array([["a"]]), "y": Y},
        {"x": np.array([["a"]], object), "y": Y},
        {"x": np.float32(1), "y": Y},
        {"x": 1.0, "y": Y},
        {"x": "a", "y": Y},
        {"x": ([1, 2, 3],), "y": Y},
        {"x": [[1, 2], [3]], "y": Y},
        {"x": [], "y": Y},
    ],
    ids=str,
)
def test_a_feed_that_does_not_fit_is_told_in_the_same_words(feed: Any) -> None:
    check_same_error(run(None, feed))


@pytest.mark.parametrize(
    ("names", "feed"),
    [(["q"], FEED), (["z", "q"], FEED), (["q"], {**FEED, "k": X}), (["q"], {"x": X[0], "y": Y})],
)
def test_a_name_that_no_output_has_is_told_in_the_same_words(names: Any, feed: Any) -> None:
    check_same_error(run(names, feed))


@pytest.mark.parametrize(
    ("names", "feed", "options"),
    [
        (None, None, None),
        (None, [X, Y], None),
        ("z", FEED, None),
        ([0], FEED, None),
        (None, {"x": X, "y": Y, 0: X}, None),
        (None, FEED, 1),
    ],
)
def test_arguments_of_other_types_raise_the_same_class(names: Any, feed: Any, options: Any) -> None:
    # The texts are those of the package pybind11, which name its types.
    check_same_error(run(names, feed, lambda _: options), text=False)


def test_errors_of_runs_are_onnx_runtime_s() -> None:
    def ending(ort: Any) -> Any:
        options = ort.RunOptions()
        options.terminate = True
        return options

    check_same_error(run(None, FEED, ending))
    model = model_of(
        [("x", "FLOAT", ["N", 3]), ("y", "FLOAT", ["N", 3])],
        [("z", "FLOAT", ["N", 3])],
        [("Add", "x y", "z")],
    )
    feed = {"x": np.zeros((5, 3), np.float32), "y": X}
    check_same_error(first_run(model, feed), text=False)
    table = {"k": np.arange(3, dtype=np.float32)}
    model = model_of([("i", "INT64", [1])], [("z", "FLOAT", None)], [("Gather", "k i", "z")], table)
    error = check_same_error(first_run(model, {"i": np.array([9])}), text=False)
    assert "index 9" in str(error)


@pytest.mark.parametrize(
    ("activations", "entry", "qdq"),
    [("uint8", "session.x64quantprecision", False), ("int8", "session.qdqisint8allowed", True)],
)
@pytest.mark.parametrize("name", NETWORKS)
def test_networks_give_the_same_numbers(name: str, activations: str, entry: str, qdq: bool) -> None:
    model = NETWORKS[name](Style(activations, "int8", True, qdq)).SerializeToString()

    def work(ort: Any) -> Any:
        options = ort.SessionOptions()
        options.intra_op_num_threads = 1
        options.add_session_config_entry(entry, "1")
        session = ort.InferenceSession(model, options)
        (x,) = session.get_inputs()
        data = np.random.default_rng(3).normal(size=x.shape).astype(np.float32)
        return session.run(None, {x.name: data})

    check_same(work)


@pytest.mark.parametrize(
    ("kind", "dtype"),
    [
        *(("INT64", np.int64), ("INT32", np.int32), ("UINT8", np.uint8), ("INT8", np.int8)),
        *(("BOOL", np.bool_), ("DOUBLE", np.float64), ("FLOAT16", np.float16)),
    ],
)
def test_dtypes_are_the_models(kind: str, dtype: Any) -> None:
    model = model_of(
        [("x", kind, ["N", 2])], [("y", kind, None), ("s", "INT64", None)],
        [("Identity", "x", "y"), ("Shape", "x", "s")],
    )  # fmt: skip
    data = np.array([[0, 1], [1, 0], [1, 1]]).astype(dtype)
    check_same(first_run(model, {"x": data}))


def test_rows_that_the_data_count_are_as_many() -> None:
    model = model_of(
        [("x", "FLOAT", ["N", 3])],
        [("w", "FLOAT", None), ("i", "INT64", None)],
        [("Relu", "x", "w"), ("NonZero", "w", "i")],
    )
    for data in (X, np.zeros_like(X), X[:1] + 9):
        check_same(first_run(model, {"x": data}))


def test_a_constant_that_is_an_input_may_be_given() -> None:
    model = model_of(
        [("x", "FLOAT", ["N", 3]), ("k", "FLOAT", [1])],
        [("z", "FLOAT", ["N", 3])],
        [("Add", "x k", "z")],
        {"k": np.ones(1, np.float32)},
    )

    def work(ort: Any) -> Any:
        session = ort.InferenceSession(model.SerializeToString())
        given = [{"x": X}, {"x": X, "k": np.full(1, 5, np.float32)}, {"x": X}]
        names = [each.name for each in session.get_overridable_initializers()]
        return names, [session.run(None, feed) for feed in given]

    names, _ = check_same(work)
    assert names == ["k"]
    feed = {"x": X, "k": np.ones(3, np.float32)}
    check_same_error(first_run(model, feed))
    model.ir_version = 3  # in which every constant is an input, and none may be given
    check_same_error(first_run(model, feed))


def test_libraries_are_known_and_given_back(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tvm_qnn.library.last.MOST", 2)
    session = own.InferenceSession(sums())
    for rows in (1, 2, 1, 3):
        data = np.full((rows, 3), rows, np.float32)
        check_equal(session.run(["z"], {"x": data, "y": Y}), [data + Y])
    kept = [shapes[0] for shapes in session._libraries.runners]
    assert kept == [(1, 3), (3, 3)]  # 2 was not used longest
    model = model_of([("x", "FLOAT", [2, 3])], [("z", "FLOAT", None)], [("Relu", "x", "z")])
    session = own.InferenceSession(model.SerializeToString())
    assert session._model.proto is None
    check_equal(session.run(None, {"x": X}), [np.maximum(X, 0)])
    with pytest.raises(states.InvalidArgument, match="Got: 1 Expected: 2"):
        session.run(None, {"x": X[:1]})
    session = own.InferenceSession(sums())
    session.run(None, FEED)
    monkeypatch.delattr(own.InferenceSession, "_run_checked")
    check_equal(session.run(None, FEED)[0], X + Y)
    check_equal(session.run(["z"], {"y": Y, "x": X}, own.RunOptions()), [X + Y])
    with pytest.raises(AttributeError):
        session.run(None, {"x": X[:1], "y": Y})


def test_threads_share_a_session() -> None:
    session = own.InferenceSession(sums())
    wrong: list[Any] = []

    def work(rows: int) -> None:
        for number in range(20):
            data = np.full((rows, 3), number, np.float32)
            (found,) = session.run(["z"], {"x": data, "y": Y})
            if not np.array_equal(found, data + Y):
                wrong.append((rows, number, found))

    threads = [threading.Thread(target=work, args=(1 + k % 3,)) for k in range(6)]
    for each in threads:
        each.start()
    for each in threads:
        each.join()
    assert not wrong


def test_results_stay_when_others_are_made_and_of_any_byte_order() -> None:
    session = own.InferenceSession(sums())
    first = session.run(["z"], FEED)[0]
    session.run(["z"], {"x": X + 5, "y": Y})
    check_equal(first, X + Y)
    # ONNX Runtime reads the bytes as if they were in this machine's order.
    session = own.InferenceSession(sums())
    check_equal(session.run(["z"], {"x": X.astype(">f4"), "y": Y}), [X + Y])


def test_inputs_and_constants_may_be_outputs() -> None:
    model = model_of(
        [("x", "FLOAT", [2, 3]), ("unread", "FLOAT", ["N"])],
        [("z", "FLOAT", None), ("x", "FLOAT", [2, 3]), ("k", "FLOAT", [1])],
        [("Add", "x k", "z")],
        {"k": np.ones(1, np.float32)},
    ).SerializeToString()

    def work(ort: Any) -> Any:
        session = ort.InferenceSession(model)
        found, shared = [], []
        for number in range(3):
            data = np.full((2, 3), number, np.float32)
            found.append(session.run(None, {"x": data, "unread": data[0]}))
            shared += [np.shares_memory(each, data) for each in found[-1]]
            shared += [each.flags.writeable for each in found[-1]]
        return found, shared

    check_same(work)


def test_a_run_in_another_thread_calls_back() -> None:
    def work(ort: Any) -> Any:
        options = ort.SessionOptions()
        options.intra_op_num_threads = 2
        session = ort.InferenceSession(sums(), options)
        seen: list[Any] = []
        for feed in (FEED, {"x": X[0], "y": Y}):
            done = threading.Event()

            def call(*told: Any, done: threading.Event = done) -> None:
                seen.append(told)
                done.set()

            session.run_async(["z"], feed, call, "mine")
            assert done.wait(60)
        return seen

    check_same(work)


@pytest.mark.parametrize(
    "content", [b"garbage", b"", b"\x08\x08"], ids=["no message", "nothing", "no graph"]
)
def test_what_is_no_model_is_told_in_the_same_words(content: bytes, tmp_path: Path) -> None:
    check_same_error(lambda ort: ort.InferenceSession(content))
    path = tmp_path / "model.onnx"
    path.write_bytes(content)
    check_same_error(lambda ort: ort.InferenceSession(path))
    check_same_error(lambda ort: ort.InferenceSession(str(path)))


def test_what_is_absent_or_not_imported_is_told(tmp_path: Path) -> None:
    check_same_error(lambda ort: ort.InferenceSession(tmp_path / "none.onnx"))
    check_same_error(lambda ort: ort.InferenceSession(tmp_path))
    for size in (2, "N"):
        model = model_of([("x", "STRING", [size])], [("i", "INT64", [1])], [("Shape", "x", "i")])
        with pytest.raises(states.NotImplemented, match=r"'x' is tensor\(string\)"):
            own.InferenceSession(model.SerializeToString())
    with pytest.raises(states.NotImplemented, match="ORT format"):
        own.InferenceSession(b"\x00\x00\x00\x00ORTM\x00\x00")


@pytest.mark.parametrize("source", [3, None, bytearray(b"x"), [b"x"]], ids=repr)
def test_only_paths_and_bytes_are_models(source: Any) -> None:
    check_same_error(lambda ort: ort.InferenceSession(source))


@pytest.mark.parametrize(
    "node", [("Nope", "x", "z"), ("Relu", "q", "z"), ("Relu", "x", "q")], ids=str
)
def test_a_malformed_model_fails_in_the_constructor(node: tuple[str, str, str]) -> None:
    model = model_of([("x", "FLOAT", ["N"])], [("z", "FLOAT", None)], [node])
    ours, theirs = both(lambda ort: ort.InferenceSession(model.SerializeToString()))
    assert theirs.error is not None
    assert isinstance(ours.error, states.InvalidGraph)


def test_the_module_tells_what_there_is() -> None:
    assert own.get_available_providers() == ["CPUExecutionProvider"]
    assert "Build Info" in own.get_build_info()
    assert own.get_device() == real.get_device()
    assert own.__version__ == own.get_version_string() == real.__version__
    own.set_default_logger_severity(3)
    assert own.enable_telemetry_events.__name__ == "enable_telemetry_events"
    for name in set(own.__all__) - {"MeaninglessSettingWarning"}:
        assert hasattr(real, name), name
    errors = {name for name in vars(states) if not name.startswith("_")}
    assert errors == {each.__name__ for each in StatusError.__subclasses__()}
    for name in errors:
        assert issubclass(getattr(states, name), QnnError)
        assert hasattr(real.capi.onnxruntime_pybind11_state, name)
    printed(
        "import sys, tvm_qnn; assert 'tvm_qnn.onnxruntime' not in sys.modules; "
        "import tvm_qnn.onnxruntime; "
        "assert not {'onnxruntime', 'onnx', 'tvm'} & set(sys.modules)"
    )


@pytest.mark.parametrize(("callback", "severity"), [("text", 2), (print, 5), (None, -1)])
def test_what_takes_no_lines_of_the_log_is_refused(callback: Any, severity: int) -> None:
    check_same_error(lambda ort: ort.set_default_logger_callback(callback, severity), text=False)
    own.set_default_logger_callback(print, 4)
    own.set_default_logger_callback(None)
