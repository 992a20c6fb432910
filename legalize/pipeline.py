"""The pipeline from lowered operators to machine code."""

import tvm
from tvm import relax, tirx
from tvm.relax.backend.cpu_generic import pipeline as cpu

from legalize.kernels.isa.mcu import CORES, RISCV32
from legalize.kernels.isa.targets import has_features
from legalize.passes.bodies import reshapes
from legalize.passes.copy_rows import CopyRows
from legalize.passes.fold_constants import FoldConstants, FoldRest
from legalize.passes.fuse_lookups import FuseLookups
from legalize.passes.inline_elementwise import InlineElementwise
from legalize.passes.interleave_vectors import InterleaveVectors
from legalize.passes.join_in_steps import JoinInSteps
from legalize.passes.join_rows import JoinRows
from legalize.passes.legalize_ops import LegalizeOps
from legalize.passes.merge_loops import MergeLoops
from legalize.passes.one_function import OneFunction
from legalize.passes.order_reductions import OrderReductions
from legalize.passes.over_batch import OverBatch
from legalize.passes.share_storage import ShareStorage


def relax_pipeline(target: tvm.target.Target) -> tvm.transform.Pass:
    """Return TVM's pipeline for processors, with more fusion, and loops that become vector code.

    Kernels of large models take pointers. Code of these needs the TIR pipeline "qnn", which
    ``tvm_qnn`` registers.
    """
    # Microcontrollers have no virtual machine, so there are no calls to save. For the smallest
    # ones, LLVM never finishes some large functions.
    joined = [] if is_mcu(target) else [OverBatch(), OneFunction()]
    passes = [calls_pipeline(target), *joined, ShareStorage(), *cpu.finalize_passes(target)]
    return tvm.transform.Sequential(passes)


def calls_pipeline(target: tvm.target.Target) -> tvm.transform.Pass:
    """Return ``relax_pipeline`` up to the point where every operator is a call of a TIR function.

    The tensors that main allocates have no storage yet, and nothing needs TVM's runtime.
    """
    _, annotate, fold, *fuse = cpu.legalize_passes(target)
    _, *lower = cpu.dataflow_lower_passes(target)
    return tvm.transform.Sequential(
        [
            JoinInSteps(),
            *cpu.library_dispatch_passes(target),
            # Fusion does not see through a variable that is bound to another one.
            relax.transform.CanonicalizeBindings(),
            FoldConstants(floats=True),
            LegalizeOps(target),
            annotate,
            FuseLookups(),
            FoldRest(fold),
            *fuse,
            InlineElementwise(),
            MergeLoops(),
            # The loops show which outputs may overlay inputs.
            *([] if is_mcu(target) else [CopyRows()]),
            OrderReductions(),
            InterleaveVectors(target),
            # A microcontroller has no cache that rows could stay in.
            *([] if is_mcu(target) else [JoinRows()]),
            tvm.transform.module_pass(_with_views, opt_level=0, name="RewriteDataflowReshape"),
            *lower,
        ]
    )


def _with_views(mod: tvm.IRModule, _context: tvm.transform.PassContext) -> tvm.IRModule:
    """Turn reshapes into views.

    TVM asks of each function whether it reshapes. For some transposes of open sizes, such as n + 2
    rows, this ends with an error. So TVM gets these functions without their bodies.
    """
    rewrite = relax.transform.RewriteDataflowReshape()
    try:
        return rewrite(mod)
    except tvm.error.InternalError:
        functions = dict(mod.functions_items())
    hidden = {
        each: function
        for each, function in functions.items()
        if isinstance(function, tirx.PrimFunc) and reshapes(function) is None
    }
    stubs = {each: tirx.PrimFunc(func.params, tirx.Evaluate(0)) for each, func in hidden.items()}
    seen = rewrite(
        tvm.IRModule({**functions, **stubs}, attrs=mod.attrs, global_infos=mod.global_infos)
    )
    for each, function in hidden.items():
        seen.update_func(each, function)
    return seen


def is_mcu(target: tvm.target.Target) -> bool:
    """Tell whether a target is a microcontroller."""
    return any(has_features(target, features) for features in (CORES, RISCV32))
