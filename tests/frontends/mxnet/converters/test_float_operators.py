"""Operators of floats: what MXNet computes, family by family, and what is refused."""

from typing import Any

import numpy as np
import pytest

from frontends.errors import UnsupportedOperatorError
from tests.support.errors import failing, fails
from tests.support.mxnet_float import FAMILIES, check_family, convert

_NEARLY = 1e-6
# How the names of a family's cases begin, which are not MXNet's to the bit.
CLOSE: dict[str, tuple[str, ...]] = {
    # oneDNN has polynomials of its own for these, TVM others.
    "activation": ("sigmoid", "softrelu", "tanh", "elu", "selu", "gelu"),
    "identity": ("logistic",),
    # Approximations of their own, in MXNet's library and in LLVM's.
    "unary": ("erf", "exp", "log", "rsqrt", "sigmoid", "tanh"),
    "arithmetic": ("power", "broadcast_power", "rpower"),
    # Approximated exponentials, and sums in another order.
    "softmax": ("",),
    # Sums in another order. Extremes, and where they are, are exact.
    "reductions": ("mean", "sum", "prod"),
    "pooling": ("avg", "sum"),
    "convolution": ("",),
    "deconvolution": ("",),
    "fully_connected": ("",),
    "normalization": ("",),
    # The deviation is rounded in other places; a rounding of each result follows.
    "batch_norm": ("",),
}


@pytest.mark.parametrize("family", FAMILIES)
def test_what_mxnet_computes(family: str) -> None:
    check_family(family, dict.fromkeys(CLOSE.get(family, ()), _NEARLY))


def _ones(*shape: int) -> np.ndarray[Any, Any]:
    return np.ones(shape, np.float32)


_IMAGE = (1, 3, 6, 5)
_KERNEL = _ones(4, 3, 3, 2)
_CONV = {"kernel": "(3, 2)", "num_filter": "4", "no_bias": "True"}
_DECONV = {"kernel": "(3, 2)", "num_filter": "3", "stride": "(2, 2)"}
_NORM = (1, 3, 2, 2)
_FOUR = [_ones(3)] * 4

# Operator, inputs, attributes, and how the error goes on after "operator 'made': ".
FAULTS: list[tuple[str, list[Any], dict[str, str], str]] = [
    ("Activation", [(2, 3)], {"act_type": "gelu"}, "attribute act_type must be one of relu"),
    ("Activation", [(2, 3)], {}, "attribute act_type is missing"),
    ("LeakyReLU", [(2, 3)], {"act_type": "relu"}, "attribute act_type must be one of elu"),
    ("LeakyReLU", [(2, 3), _ones(2)], {"act_type": "prelu"},
     r".*gamma must have shape \(1,\) or \(3,\), got \(2,\)"),
    ("clip", [(2, 3)], {"a_min": "0"}, "attribute a_max is missing"),
    ("softmax", [(2, 3)], {"axis": "2"}, "axis 2 is outside"),
    ("softmax", [(2, 3)], {"temperature": "0"}, ".*temperature must be positive"),
    ("elemwise_add", [(2, 3), (1, 3)], {}, "both inputs must have one shape"),
    ("broadcast_add", [(2, 3), (2, 2)], {}, "the inputs must broadcast"),
    ("add_n", [(2, 3), (2, 2)], {}, "all inputs must have one shape"),
    ("where", [(3,), (2, 3), (2, 3)], {}, "the inputs must have one shape"),
    ("_plus_scalar", [(2, 3)], {}, ".*scalar is missing"),
    ("_arange", [], {"start": "1", "step": "0"}, ".*step must not be 0"),
    *[
        ("BatchNorm", [_NORM, *parameters], attrs, message)
        for parameters, attrs, message in (
            ([*_FOUR[:2], _ones(4), _FOUR[3]], {}, r".*'x3' must have shape \(3,\), got \(4,\)"),
            ([*_FOUR[:3], -_ones(3)], {}, ".*'x4' must not be negative"),
            ([(3,), *_FOUR[:3]], {}, ".*'x1' must be constant"),
            (_FOUR, {"axis": "4"}, ".*axis 4 is outside"),
        )
    ],
    ("L2Normalization", [(3,)], {}, "the data must have more"),
    ("L2Normalization", [(2, 3)], {"mode": "spatial"}, "the data must have more"),
    ("LRN", [(2, 3, 4, 4)], {"nsize": "4"}, ".*nsize be odd"),
    ("InstanceNorm", [(2, 3), *_FOUR[:2]], {}, ".*at least 3 dimensions"),
    ("LayerNorm", [(2, 4), *_FOUR[:2]], {}, r".*'x1' must have shape \(4,\), got \(3,\)"),
    ("mean", [(2, 3)], {"axis": "(0, 3)"}, "axis 3 is outside"),
    ("sum", [(2, 3)], {"axis": "(1, -1)"}, ".*names an axis twice"),
    ("argmax", [(2, 3)], {"axis": "2"}, "axis 2 is outside"),
    ("Embedding", [(2,), _ones(4, 3)], {"input_dim": "5", "output_dim": "3"},
     r".*weight must have shape \(5, 3\), got \(4, 3\)"),
    ("take", [(4, 3), (2,)], {"axis": "2"}, ".*axis 2 is outside"),
    ("UpSampling", [(1, 3, 4, 4)], {"scale": "0", "sample_type": "nearest"},
     ".*scale be at least 1"),
    *[
        (op, [(2, 3, 4, 4), (2, 5, 4, 4)], attrs, f".*{message}")
        for op, attrs, message in (
            ("Concat", {"dim": "0"}, "must have one shape except for axis 0"),
            ("Concat", {"num_args": "3"}, "num_args is 3, there are 2 inputs"),
            ("Concat", {"dim": "4"}, "axis 4 is outside"),
            ("stack", {}, "must have one shape"),
            ("tile", {"reps": "(0, 1)"}, "at least 1"),
            ("repeat", {"repeats": "0"}, "at least 1"),
            ("repeat", {"repeats": "2", "axis": "4"}, "axis 4 is outside"),
        )
    ],
    *[
        ("Pad", [(2, 3)], {"mode": mode, "pad_width": widths}, f".*{message}")
        for mode, widths, message in (
            ("constant", "(0, 1)", "must be 4 numbers"),
            ("constant", "(0, 1, -1, 0)", "of at least 0"),
            ("reflect", "(0, 0, 3, 0)", "cannot reflect a pad_width"),
            ("wrap", "(0, 0, 3, 0)", "mode must be one of constant, edge, reflect"),
        )
    ],
    *[
        ("Convolution", [_IMAGE, weight], {**_CONV, **changes}, f".*{message}")
        for changes, weight, message in (
            ({"num_filter": "5"}, _KERNEL,
             r"weight must have shape \(5, 3, 3, 2\), got \(4, 3, 3, 2\)"),
            ({"num_group": "2"}, _KERNEL, "num_group must divide the 3 channels"),
            ({"num_group": "0"}, _KERNEL, "num_group must divide"),
            ({"kernel": "(3, 2, 1)"}, _KERNEL, "kernel must be two numbers"),
            ({"stride": "(0, 1)"}, _KERNEL, "stride must be two numbers of at least 1"),
            ({"kernel": "(9, 2)"}, _ones(4, 3, 9, 2), "window spans 9 pixels"),
            ({"no_bias": "maybe"}, _KERNEL, "no_bias must be true or false"),
            ({"no_bias": "0"}, _KERNEL, "input 2 is missing"),
        )
    ],
    ("Convolution", [_IMAGE, _KERNEL, _ones(3)], {**_CONV, "no_bias": "False"},
     r".*bias must have shape \(4,\), got \(3,\)"),
    *[
        ("Deconvolution", [(1, 4, 6, 5), _KERNEL], {**_DECONV, **changes}, f".*{message}")
        for changes, message in (
            ({"num_filter": "5"}, r"weight must have shape \(4, 5, 3, 2\)"),
            ({"num_group": "3"}, "num_group must divide the 4 channels"),
            ({"adj": "(2, 0)"}, "adj be below the stride of 2"),
            ({"pad": "(7, 0)"}, "pad must leave something"),
        )
    ],
    *[
        (op, [shapes[0], *(_ones(*shape) for shape in shapes[1:])], attrs, f".*{message}")
        for op, shapes, attrs, message in (
            ("FullyConnected", [(2, 3, 2), (4, 5)], {"num_hidden": "4"}, r"shape \(4, 6\), got"),
            ("FullyConnected", [(2, 6), (4, 6)], {"num_hidden": "5"}, r"shape \(5, 6\), got"),
            ("FullyConnected", [(2, 6), (4, 6), (5,)], {"num_hidden": "4"}, "bias must have shape"),
            ("FullyConnected", [(2, 6), (4, 6)], {}, "num_hidden is missing"),
            ("dot", [(2, 3), (2, 3)], {}, "have no product"),
            ("batch_dot", [(2, 3, 4), (3, 4, 2)], {}, "equally many matrices"),
            ("batch_dot", [(2, 3, 4), (2, 4, 2)], {"transpose_a": "1"}, "have no product"),
        )
    ],
    *[
        ("Pooling", [_IMAGE], {"kernel": "(2, 2)", **attrs}, f".*{message}")
        for attrs, message in (
            ({"kernel": "(9, 2)"}, "window of 9 does not fit 6 pixels"),
            ({"pad": "(4, 0)"}, "a window of 2 has no pixel"),
            ({"pooling_convention": "valud"},
             "pooling_convention must be one of valid, full, same"),
            ({"pool_type": "lp"}, "pool_type must be one of max, avg, sum"),
            ({"kernel": "None"}, "kernel must be whole numbers"),
        )
    ],
    *[
        (op, [(2, 3, 4), (6, 4)], attrs, f".*{message}")
        for op, attrs, message in (
            ("Reshape", {"shape": "(4, 2)"}, "does not fit a tensor of shape"),
            ("Reshape", {}, "target_shape is missing"),
            ("transpose", {"axes": "(0, 0, 1)"}, "must name each of 3 axes once"),
            ("SwapAxis", {"dim1": "3"}, "axis 3 is outside"),
            ("expand_dims", {"axis": "5"}, "axis 5 is outside"),
            ("squeeze", {"axis": "1"}, "must name axes of size 1"),
            ("reshape_like", {"lhs_begin": "1"}, "only whole shapes"),
        )
    ],
    *[
        (op, [(2, 3, 4), (2, 5, 4)], attrs, f".*{message}")
        for op, attrs, message in (
            ("slice", {"begin": "(0, 1)", "end": "(1,)"}, "must be as many"),
            ("slice", {"begin": "(0,)", "end": "(1,)", "step": "(0,)"}, "no step 0"),
            ("slice", {"begin": "(0, 0, 0, 0)", "end": "(1, 1, 1, 1)"}, "for 3 axes"),
            ("slice", {"begin": "(1,)", "end": "(1,)"}, "nothing is left"),
            ("slice_axis", {"axis": "1", "begin": "3", "end": "None"}, "nothing is left"),
            ("slice_axis", {"axis": "3", "begin": "0", "end": "1"}, "axis 3 is outside"),
            ("slice_like", {"axes": "(1,)"}, "has no part as large"),
            ("SliceChannel", {"num_outputs": "2"}, "2 outputs do not divide the 3 of axis 1"),
            ("SliceChannel", {"num_outputs": "0"}, "0 outputs do not divide"),
            ("SliceChannel", {"num_outputs": "1", "squeeze_axis": "1"}, "parts of size 1"),
        )
    ],
]  # fmt: skip


@pytest.mark.parametrize(("op", "inputs", "attrs", "message"), FAULTS)
def test_what_does_not_fit_is_named(
    op: str, inputs: list[Any], attrs: dict[str, Any], message: str
) -> None:
    fails(f"{op} 'made': {message}", convert, op, *inputs, **attrs)


test_what_is_not_supported_is_named = failing(
    lambda op, inputs, attrs: convert(op, *inputs, **attrs),
    ("softmax", [(2, 3), (2,)], {"use_length": "True"}, "use_length"),
    ("log_softmax", [(2, 3)], {"dtype": "float16"}, "only dtype float32"),
    ("Cast", [(2, 3)], {"dtype": "bfloat16"}, "dtype bfloat16 is not supported"),
    ("_zeros", [], {"shape": "(0, 3)"}, r"shape \[0, 3\] is not known"),
    ("Dropout", [(2, 3)], {"mode": "always"}, "mode always draws"),
    ("BatchNorm", [_NORM, *_FOUR], {"output_mean_var": "True"}, "training only"),
    ("take", [(4, 3), (2,)], {"mode": "wrap"}, "only mode clip"),
    ("dot", [(2, 3, 4), (4, 3)], {}, "only matrices"),
    ("Convolution", [(*_IMAGE, 4), _KERNEL], _CONV, "only images of layout NCHW or NHWC"),
    (
        "Deconvolution",
        [(1, 4, 6, 5), _KERNEL],
        {**_DECONV, "target_shape": "(12, 10)"},
        "without a target_shape",
    ),
    (
        "Pooling",
        [_IMAGE],
        {"kernel": "(2, 2)", "pooling_convention": "same"},
        "same is not supported",
    ),
    ("Pooling", [_IMAGE[:3]], {"kernel": "(2,)"}, "only images"),
    (
        "UpSampling",
        [(1, 3, 4, 4)],
        {"scale": "2", "sample_type": "bilinear"},
        "only sample_type nearest",
    ),
    (
        "UpSampling",
        [(1, 3, 4, 4)] * 2,
        {"scale": "2", "sample_type": "nearest"},
        "only sample_type nearest",
    ),
    error=UnsupportedOperatorError,
)


def test_nothing_is_emitted() -> None:
    mod, _ = convert("Dropout", (2, 3))
    assert "R.call" not in mod.script()
    assert len(mod["main"].body.blocks[0].bindings) <= 1


def test_a_weight_that_is_an_input_is_transposed_at_run_time() -> None:
    mod, params = convert("FullyConnected", (2, 3), (4, 3), no_bias="1", num_hidden="4")
    assert not params
    assert "R.permute_dims" in mod.script()
