"""Random fused convolutions against the shared model of MXNet's arithmetic, without compiling.

What is imported is computed by the references of the dialect's operators.
"""

from typing import Any

import numpy as np
import pytest
import tvm

from qnn_ops.dialect.registry import attrs_of, operator_of
from tests.support.arrays import full_range
from tests.support.mxnet import SHARED, evaluator
from tests.support.mxnet_graphs import chain_of, graph_of, imported

pytestmark = pytest.mark.skipif(not SHARED.exists(), reason="no folder ../shared beside this one")


def referenced(mod: tvm.IRModule, params: dict[str, Any], data: dict[str, np.ndarray]) -> Any:
    """Return the first result of a module of the dialect's operators and casts."""
    main = mod["main"]
    known = {**data, **{name: value.numpy() for name, value in params.items()}}
    values = {parameter: known[parameter.name] for parameter in main.params}
    for binding in main.body.blocks[0].bindings:
        call = binding.value
        operator = operator_of(call)
        if operator is not None:
            operands = [values[operand] for operand in call.args]
            values[binding.var] = operator.apply(attrs_of(call), *operands)
        elif isinstance(call, tvm.relax.Call):
            assert call.op.name == "relax.astype"
            values[binding.var] = values[call.args[0]].astype(call.attrs.dtype)
        else:
            values[binding.var] = values[call]
    return values[main.body.body]


@pytest.mark.parametrize("semantics", ["mxnet", "corrected"])
@pytest.mark.parametrize("seed", range(40))
def test_a_fused_convolution(seed: int, semantics: str) -> None:
    rng = np.random.default_rng(seed)
    dtype, groups = str(rng.choice(["int8", "uint8"])), int(rng.choice([1, 1, 2, 4]))
    channels, filters = 4, int(rng.choice([4, 8]))
    window, stride, pad, dilation = (rng.integers(1, 3, 2).tolist() for _ in range(4))
    data = {"data": full_range(rng, dtype, (2, channels, 7, 6))}
    weight = rng.normal(size=(filters, channels // groups, *window)).astype(np.float32)
    constants: dict[str, Any] = {"weight": weight}
    nodes: list[Any] = []
    attrs: dict[str, Any] = {"quantized": "true"}
    has_bias, has_norm, has_act, has_sum, has_last = rng.random(5) < 0.5
    kinds = ["relu", "relu6"]
    act = str(rng.choice(kinds)) if has_act else None
    if has_bias:
        constants["bias"] = rng.normal(size=filters).astype(np.float32) * 3
    normalization = None
    if has_norm:
        normalization = [*rng.normal(size=(3, filters)), rng.uniform(0.01, 2, filters)]
        normalization = [np.asarray(values, np.float32) for values in normalization]
        constants.update(zip(["gamma", "beta", "mean", "variance"], normalization, strict=True))
        eps = {"eps": 1e-5, "fix_gamma": "False"}
        nodes.append(("BatchNorm", eps, ["g", "b", "m", "v"]))
        attrs["with_bn"] = "true"

    def activation(kind: str) -> tuple[str, dict[str, Any], list[str]]:
        if kind == "relu":
            return "Activation", {"act_type": "relu"}, []
        return "clip", {"a_min": 0, "a_max": 6}, []

    if act is not None:
        nodes.append(activation(act))
        attrs["with_act"] = "true"
    ranges: dict[str, Any] = {"low": np.float32(-3), "high": np.float32(2)}
    others: dict[str, Any] = {}
    conv = {
        "kernel": tuple(window),
        "stride": tuple(stride),
        "pad": tuple(pad),
        "dilate": tuple(dilation),
        "num_filter": filters,
        "num_group": groups,
        "no_bias": not has_bias,
    }
    calibrated = (-5.0, float(rng.uniform(3, 30)))
    attrs |= {"min_calib_range": calibrated[0], "max_calib_range": calibrated[1]}
    sem = evaluator().sem
    arguments = {
        "b": constants.get("bias"),
        "bn": normalization,
        "stride": stride,
        "pad": pad,
        "dil": dilation,
        "groups": groups,
        "act": act,
        "calib": tuple(map(np.float32, calibrated)),
        "bug_compat": semantics == "mxnet",
    }
    order = ["data", *constants]
    if has_sum:
        shape = sem.sg_conv(data["data"], (-3, 2), weight, **arguments)[0].shape
        data["other"] = full_range(rng, str(rng.choice(["int8", "uint8"])), shape)
        others = {"other_low": np.float32(-1), "other_high": np.float32(9)}
        nodes.append(("elemwise_add", {}, ["s"]))
        order.append("other")
        attrs["with_sum"] = "true"
        arguments |= {"sum_": data["other"], "sum_r": (-1, 9)}
        if has_last:
            nodes.append(activation("relu"))
            attrs["with_postsum_act"] = "true"
            arguments["postsum"] = True
    names = ["d", "w", "c"] if has_bias else ["d", "w"]
    subgraph = chain_of(("Convolution", conv, names), *nodes)
    graph = graph_of("_sg_mkldnn_conv", attrs, [*order, *ranges, *others], subgraph)
    constants = {**constants, **ranges, **others}
    mod, params = imported(graph, data, constants, semantics=semantics)
    expected, *_ = sem.sg_conv(data["data"], (-3, 2), weight, **arguments)
    if semantics == "corrected" and act == "relu6" and not has_sum:
        # The evaluator leaves the clip to saturation here, as MXNet does.
        steps = np.float32(255.5) / np.float32(max(map(abs, calibrated)))
        expected = np.minimum(expected, np.rint(np.float32(6) * steps)).astype(np.uint8)
    result = referenced(mod, params, data)
    assert result.dtype == expected.dtype
    np.testing.assert_array_equal(result, expected)
