"""Options of sessions and runs, beside ONNX Runtime's."""

from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from qnn_ops.errors import QnnError
from tests.support.onnx_sessions import (
    both,
    check_equal,
    check_same,
    check_same_error,
    model_of,
    onnx,
    outcome,
    sums,
)
from tvm_qnn import onnxruntime as own
from tvm_qnn.onnxruntime import settings

X = np.ones((2, 3), np.float32)


@pytest.fixture(autouse=True)
def nothing_said(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(settings, "_said", set())


NAMES = [
    *("enable_cpu_mem_arena", "enable_mem_pattern", "enable_mem_reuse", "enable_profiling"),
    *("inter_op_num_threads", "intra_op_num_threads", "log_severity_level", "logid"),
    *("log_verbosity_level", "optimized_model_filepath", "profile_file_prefix"),
    *("use_deterministic_compute", "use_per_session_threads"),
]


def test_defaults_and_choices_are_the_same() -> None:
    def work(ort: Any) -> Any:
        options, run = ort.SessionOptions(), ort.RunOptions()
        enums = ("graph_optimization_level", "execution_mode", "execution_order")
        return (
            [getattr(options, name) for name in NAMES],
            [(str(getattr(options, name)), repr(getattr(options, name))) for name in enums],
            [getattr(run, name) for name in ("terminate", "only_execute_path_to_fetches", "logid")],
            options.has_providers(),
        )

    check_same(work)

    def choices(ort: Any) -> Any:
        found = []
        for name in ("GraphOptimizationLevel", "ExecutionMode", "ExecutionOrder"):
            members = getattr(ort, name).__members__
            found.append([(key, int(each), each.name, each.value) for key, each in members.items()])
        level = ort.GraphOptimizationLevel.ORT_ENABLE_ALL
        again = ort.GraphOptimizationLevel(1) == ort.GraphOptimizationLevel.ORT_ENABLE_BASIC
        return sorted(map(str, found)), level == 99, level != 1, hash(level), again

    check_same(choices)


@pytest.mark.parametrize(
    ("name", "value"),
    [
        *(("intra_op_num_threads", 3), ("intra_op_num_threads", True), ("log_severity_level", 9)),
        *(("enable_profiling", 1), ("enable_mem_pattern", None), ("logid", "mine")),
        *(("intra_op_num_threads", np.int64(2)), ("enable_mem_pattern", False)),
    ],
)
def test_values_are_kept(name: str, value: Any) -> None:
    def work(ort: Any) -> Any:
        options = ort.SessionOptions()
        setattr(options, name, value)
        session = ort.InferenceSession(sums(), ort.SessionOptions())
        return getattr(options, name), getattr(session.get_session_options(), name)

    check_same(work)


@pytest.mark.parametrize(
    ("name", "value"),
    [
        *(("intra_op_num_threads", "a"), ("intra_op_num_threads", 1.5), ("logid", 3), ("nope", 3)),
        *(("graph_optimization_level", 1), ("enable_profiling", "s"), ("execution_mode", 0)),
    ],
)
def test_other_values_raise_the_same_class(name: str, value: Any) -> None:
    check_same_error(lambda ort: setattr(ort.SessionOptions(), name, value), text=False)


def test_entries() -> None:
    def work(ort: Any) -> Any:
        options, run = ort.SessionOptions(), ort.RunOptions()
        options.add_session_config_entry("a", "b")
        run.add_run_config_entry("c", "d")
        return options.get_session_config_entry("a"), run.get_run_config_entry("c")

    check_same(work)
    check_same_error(lambda ort: ort.SessionOptions().get_session_config_entry("a"))
    check_same_error(lambda ort: ort.RunOptions().get_run_config_entry("a"))
    check_same_error(lambda ort: ort.SessionOptions().add_session_config_entry("", "b"))
    check_same_error(lambda ort: ort.SessionOptions().add_session_config_entry("a" * 5000, "b"))
    check_same_error(lambda ort: ort.SessionOptions().add_session_config_entry("a", 1), text=False)


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("graph_optimization_level", own.GraphOptimizationLevel.ORT_DISABLE_ALL),
        ("execution_mode", own.ExecutionMode.ORT_PARALLEL),
        ("inter_op_num_threads", 2),
        ("enable_profiling", True),
        ("optimized_model_filepath", "there.onnx"),
    ],
)
def test_what_means_nothing_is_said_once(name: str, value: Any) -> None:
    with pytest.warns(settings.MeaninglessSettingWarning, match=name) as seen:
        setattr(own.SessionOptions(), name, value)
    assert [each.filename for each in seen] == [__file__]
    assert not outcome(lambda: setattr(own.SessionOptions(), name, value)).warnings


def test_what_means_nothing_is_said_and_what_asks_for_nothing_is_not() -> None:
    options = own.SessionOptions()
    with pytest.warns(settings.MeaninglessSettingWarning, match=r"'session\.a'") as seen:
        options.add_session_config_entry("session.a", "1")
    assert [each.filename for each in seen] == [__file__]
    for key in ("session.a", "session.qdqisint8allowed"):
        assert not outcome(partial(options.add_session_config_entry, key, "1")).warnings

    def quiet() -> None:
        options = own.SessionOptions()
        options.graph_optimization_level = own.GraphOptimizationLevel.ORT_ENABLE_ALL
        options.execution_mode = own.ExecutionMode.ORT_SEQUENTIAL
        options.inter_op_num_threads = 1
        options.log_severity_level = 3
        options.enable_profiling = False
        options.enable_mem_pattern = False

    assert not outcome(quiet).warnings


def test_the_number_of_threads_is_the_librarys() -> None:
    found = []
    for count in (0, 1, 3, -1):
        options = own.SessionOptions()
        options.intra_op_num_threads = count
        model = model_of([("x", "FLOAT", [2])], [("z", "FLOAT", [2])], [("Relu", "x", "z")])
        session = own.InferenceSession(model.SerializeToString(), options)
        (key,) = session._libraries.runners
        runner = session._libraries.runners[key]
        found.append(runner.library.num_threads)
    assert found == [None, 1, 3, None]


def test_sizes_of_free_dimensions() -> None:
    model = model_of([("x", "FLOAT", ["N", "M"])], [("z", "FLOAT", None)], [("Relu", "x", "z")])
    model.graph.input[0].type.tensor_type.shape.dim[1].denotation = "DATA_CHANNEL"

    def session(ort: Any) -> Any:
        options = ort.SessionOptions()
        options.add_free_dimension_override_by_name("N", 2)
        options.add_free_dimension_override_by_denotation("DATA_CHANNEL", 3)
        return ort.InferenceSession(model.SerializeToString(), options)

    def work(ort: Any) -> Any:
        made = session(ort)
        shapes = [each.shape for each in (*made.get_inputs(), *made.get_outputs())]
        return shapes, made.run(None, {"x": X})

    check_same(work)
    check_same_error(lambda ort: session(ort).run(None, {"x": X[:, :2]}))


def test_constants_are_given_by_the_program(tmp_path: Path) -> None:
    model = model_of(
        [("x", "FLOAT", ["N", 3])],
        [("z", "FLOAT", None)],
        [("Add", "x k", "z")],
        {"k": np.ones(3, np.float32)},
    )
    given = np.full(3, 7, np.float32)

    def changed(ort: Any) -> Any:
        options = ort.SessionOptions()
        value = ort.OrtValue.ortvalue_from_numpy(given)  # which must live on in ONNX Runtime
        options.add_initializer("k", value)
        return ort.InferenceSession(model.SerializeToString(), options).run(None, {"x": X})

    check_same(changed)
    path = tmp_path / "model.onnx"
    onnx.save(model, path, save_as_external_data=True, location="data.bin", size_threshold=0)
    (tmp_path / "data.bin").unlink()

    def external(ort: Any) -> Any:
        options = ort.SessionOptions()
        value = ort.OrtValue.ortvalue_from_numpy(given)
        options.add_external_initializers(["k"], [value])
        return ort.InferenceSession(path.read_bytes(), options).run(None, {"x": X})

    check_same(external)
    options = own.SessionOptions()
    options.add_initializer("nope", own.OrtValue.ortvalue_from_numpy(given))
    with pytest.raises(own.capi.onnxruntime_pybind11_state.InvalidArgument, match="nope"):
        own.InferenceSession(sums(), options)


def two_sums(folder: Path) -> bytes:
    """Return a model of two constants in one file; the second one begins at its byte 4096."""
    model = model_of(
        [("x", "FLOAT", ["N", 3])],
        [("z", "FLOAT", None)],
        [("Add", "x k", "y"), ("Add", "y l", "z")],
        {"k": np.ones(3, np.float32), "l": np.full(3, 2, np.float32)},
    )
    path = folder / "model.onnx"
    onnx.save(model, path, save_as_external_data=True, location="data.bin", size_threshold=0)
    return path.read_bytes()


@pytest.mark.parametrize("kind", [bytes, bytearray, memoryview, lambda b: np.frombuffer(b, "i4")])
def test_files_of_constants_are_given_by_the_program(kind: Any, tmp_path: Path) -> None:
    model = two_sums(tmp_path)
    content = (tmp_path / "data.bin").read_bytes()

    def work(ort: Any) -> Any:
        options, held = ort.SessionOptions(), kind(content)
        options.add_external_initializers_from_files_in_memory(["data.bin"], [held], [len(content)])
        return ort.InferenceSession(model, options).run(None, {"x": X})

    check_same(work)
    assert work(own)[0].tolist() == [[4, 4, 4]] * 2


@pytest.mark.parametrize(
    ("names", "buffers", "lengths"),
    [
        *((["a"], [b"1"], []), (["a", "a"], [b"1", b"1"], [1, 1]), (["a"], ["text"], [4])),
        (["data.bin"], [bytes(4)], [4]),
    ],
)
def test_files_of_constants_that_do_not_fit_are_refused(
    names: Any, buffers: Any, lengths: Any, tmp_path: Path
) -> None:
    model = two_sums(tmp_path)

    def work(ort: Any) -> Any:
        options = ort.SessionOptions()
        options.add_external_initializers_from_files_in_memory(names, buffers, lengths)
        return ort.InferenceSession(model, options)

    check_same_error(work, text=False)


def test_operators_of_other_libraries_are_refused() -> None:
    ours, _ = both(lambda ort: ort.SessionOptions().register_custom_ops_library("none.so"))
    assert isinstance(ours.error, QnnError)


FEED = {
    "x": np.arange(6, dtype=np.float32).reshape(2, 3) - 2,
    "y": np.array([[1, -2, 0.5]], np.float32),
}


def test_providers() -> None:
    cpu = "CPUExecutionProvider"

    def made(*arguments: Any, **named: Any) -> Callable[[Any], Any]:
        def work(ort: Any) -> Any:
            session = ort.InferenceSession(sums(), None, *arguments, **named)
            return session.get_providers(), session.get_provider_options()

        return work

    for providers in (None, [], [cpu], (cpu,), [(cpu, {"a": 1})], [cpu, cpu]):
        ours, theirs = both(made(providers))
        check_equal(ours.result, theirs.result)
        assert ours.warnings == theirs.warnings
    for providers in (["CUDAExecutionProvider", cpu], ["CUDAExecutionProvider"], ["Foo"]):
        ours, theirs = both(made(providers))
        check_equal(ours.result, theirs.result)
        assert [text.split(".")[0] for text in ours.warnings] == [
            text.split(".")[0] for text in theirs.warnings
        ]


@pytest.mark.parametrize(
    ("providers", "options"),
    [([3], None), (["CPUExecutionProvider"], []), (["CPUExecutionProvider"], [3])],
)
def test_malformed_providers_are_passed_over_or_refused(providers: Any, options: Any) -> None:
    session, theirs = both(lambda ort: ort.InferenceSession(sums(), None, providers, options))
    assert theirs.error is None
    assert session.error is None
    assert len(session.warnings) == 1
    check_same_error(
        lambda ort: ort.InferenceSession(sums(), None, providers, options, enable_fallback=0)
    )


def test_providers_can_be_set_again_or_are_refused() -> None:
    def work(ort: Any) -> Any:
        session = ort.InferenceSession(sums())
        session.set_providers(["CPUExecutionProvider"])
        session.disable_fallback()
        session.enable_fallback()
        return session.get_providers(), session.run(None, FEED), session.end_profiling()

    check_same(work)
    check_same_error(lambda ort: ort.InferenceSession(sums(), providers=["Foo"], enable_fallback=0))


@pytest.mark.parametrize("providers", [["Foo"], ["CPUExecutionProvider", "Foo"], [3]])
def test_providers_that_are_set_again_must_be_known(providers: Any) -> None:
    check_same_error(lambda ort: ort.InferenceSession(sums()).set_providers(providers))
