"""Tests of ONNX Runtime that do not pass on ``tvm_qnn.onnxruntime`` by design, with reasons."""

from collections.abc import Mapping, Sequence

_BY_DESIGN = {
    "tensors of text are refused": (
        *("input_bytes", "input_object", "input_void", "string_input1", "string_input2"),
        "string_list_as_input",
    ),
    "sequences and optional values are refused": (
        *("run_model_with_optional_sequence_input", "sequence_construct", "sequence_insert"),
        "sequence_length",
    ),
    "no optimized model is written": tuple(
        f"model_serialization{what}"
        for what in (
            *("", "_with_external_initializers", "_with_external_initializers_to_directory"),
            "_with_original_external_initializers_to_directory",
            "_with_original_external_initializers_to_current_directory",
        )
    ),
    "no profile is written": ("profiler_with_session_options", "profiler_get_start_time_ns"),
    "a model does not set options of its session": ("loading_session_options_from_model",),
    "adapters are not there": ("adater_export_read", "run_with_adapter"),
    "sparse tensors are refused": ("sparse_tensor_coo_format", "sparse_tensor_csr_format"),
    "ONNX Runtime's allocators are not there": (
        *("create_allocator", "shared_allocator_using_create_and_register_allocator"),
    ),
    "asks for a private function": ("check_and_normalize_provider_args",),
    # Of later versions:
    "there are no lines of a log": ("set_default_logger_callback",),
    "results own their memory": ("run_session_owned_output_is_zero_copy",),
    "descriptions of devices and memory are not there": (
        *("ort_device", "ort_memory_info", "ort_memory_info_create_v2"),
    ),
    "there is one provider, and it has all nodes": (
        *("get_graph_provider_assignment_info", "get_graph_provider_assignment_info_not_enabled"),
    ),
    "operators of ai.onnx.ml are refused": ("tree_ensemble_logistic",),
}

_SAY_NOTHING = {
    "needs a GPU": (
        *("get_and_set_tuning_results", "multiple_devices", "ort_value_gh_issue9799"),
        *("run_model_with_cuda_copy_stream", "session_providers", "set_providers"),
        "set_providers_with_options",
    ),
    "needs a library that ONNX Runtime's build makes": (
        *("register_custom_e_ps_library", "register_custom_ops_library"),
    ),
    "needs a model of another folder": ("model_meta",),
    "needs a provider that ONNX Runtime has lost": ("tvm_imported",),
    "needs a private function that ONNX Runtime 1.32 has lost": ("ort_value_dlpack",),
}


def _by_test(reasons: Mapping[str, Sequence[str]]) -> dict[str, str]:
    return {
        f"TestInferenceSession::test_{name}": reason
        for reason, names in reasons.items()
        for name in names
    }


DIFFERENCES = _by_test(_BY_DESIGN) | {
    "TestIOBinding::test_bind_onnx_types_not_supported_by_numpy": "numpy has no such elements"
}
"""The reason by the test's class and name."""

SAY_NOTHING = _by_test(_SAY_NOTHING)
"""Tests that this machine cannot run, or that pass without doing anything: what they need."""
