"""``relay.transform``: Relay's passes that scripts run before they build.

The build does the work of most of them. These return the module unchanged.
"""

from collections.abc import Sequence
from types import SimpleNamespace
from typing import Any

import tvm
from tvm import relax
from tvm.ir.transform import PassContext as PassContext  # scripts find it here, too

from qnn_ops.errors import QnnError
from tvm_qnn.relay.fake_quantization import fold
from tvm_qnn.relay.qnn.transform import unchanged

_DONE_BY_BUILD = (
    *("AlterOpLayout", "BackwardFoldScaleAxis", "CanonicalizeCast", "CanonicalizeOps"),
    *("CombineParallelBatchMatmul", "CombineParallelConv2D", "CombineParallelDense"),
    *("ConvertLayout", "DeadCodeElimination", "DefuseOps", "DynamicToStatic"),
    *("EliminateCommonSubexpr", "EtaExpand", "FastMath", "FlattenAtrousConv", "FoldScaleAxis"),
    *("ForwardFoldScaleAxis", "FuseOps", "InferType", "Inline", "Legalize"),
    *("RemoveUnusedFunctions", "SimplifyExpr", "SimplifyInference", "ToANormalForm"),
    *("ToBasicBlockNormalForm", "ToGraphNormalForm"),
    "ToMixedPrecision",  # float32 results are closer to the model's
)

_OF_VENDORS = ("AnnotateTarget", "MergeCompilerRegions", "PartitionGraph")


def FoldConstant(fold_qnn: bool = False) -> tvm.transform.Pass:
    """Compute everything that depends only on constants."""
    del fold_qnn
    passes = [relax.transform.FoldConstant(), relax.transform.DeadCodeElimination()]
    return tvm.transform.Sequential(passes)


def FakeQuantizationToInteger(
    hard_fail: bool = False, use_qat: bool = False, optional_qnn_ops: Sequence[str] | None = None
) -> tvm.transform.Pass:
    """Compute operators between ``dequantize`` and ``quantize`` in integers.

    Args:
        hard_fail: whether an operator without a rule is an error; otherwise its group stays float.
        use_qat: whether operators without a quantize at their end become integers, too.
        optional_qnn_ops: operators that stay float unless they are named: "nn.softmax".

    Raises:
        QnnError: if an operator has no rule and ``hard_fail`` is set.
    """

    def rewrite(mod: tvm.IRModule, _context: PassContext) -> tvm.IRModule:
        return fold(mod, hard_fail=hard_fail, use_qat=use_qat, optional=optional_qnn_ops or ())

    name = "FakeQuantizationToInteger"
    return tvm.transform.module_pass(rewrite, opt_level=0, name=name)


fake_quantization_to_integer = SimpleNamespace(FakeQuantizationToInteger=FakeQuantizationToInteger)


def __getattr__(name: str) -> Any:
    if name in _DONE_BY_BUILD:
        return unchanged(name)
    if name in _OF_VENDORS:
        raise QnnError(
            f"relay.transform.{name}: kernels of vendors are not called; build the module"
        )
    raise AttributeError(f"relay.transform has no {name}: it has no meaning for today's modules")
