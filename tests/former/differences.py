"""Tests of TVM's that fail on the façade by design, each with its reason."""

_OPEN_SIZE = "relay.Any is an open size, which cannot broadcast in some of the runs alone"

_FOLD = "test_pass_fake_quantization_to_integer"
_FORM = "compares the calls that Relay made of a group, one by one"
_BLOCKS = "depth_to_space of channels that make no whole block is refused"
_OF_FOLD = {
    **dict.fromkeys(
        (
            *("fq_qat_op_positive_part", "fq_qat_negative_all", "fq_qat_positive_single"),
            *("fq_qat_positive_nothing_to_do", "fq_qat_positive_couple"),
            "fq_qat_intermediate_infertype",
        ),
        _FORM,
    ),
    **dict.fromkeys(("fake_quantize_depth_to_space", "fake_quantize_max_min"), _BLOCKS),
    "fake_quantize_conv_per_channel": "draws zero points outside of int8, which stay in float",
    "fq_avg_pool_conv2d": "a product of averages, which keep fractions of a step, stays in float",
    "fq_hard_fail": "replaces a rule by register_op_attr, which has no meaning for Relax",
}

DIFFERENCES = {
    "test_qnn_ops_utils::test_quantize_conv_bias_mkldnn_from_var": "asks for an operator's name",
    "qnn_test::test_quantize_dynamic": "dense layers of eager mode that quantize at run time",
    "qnn_test::test_tuple_lowered": "asks for the form of Relay's function",
    **{f"{_FOLD}::test_{test}": reason for test, reason in _OF_FOLD.items()},
    **{
        f"test_op_qnn_simulated_{operator}::{test}": _OPEN_SIZE
        for operator in ("quantize", "dequantize")
        for test in ("test_dynamic_channels", "test_dynamic_dtype")
    },
}
"""The reason by the test's file and name."""
