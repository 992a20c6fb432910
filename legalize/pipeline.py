"""What happens between lowered operators and machine code."""

from __future__ import annotations

import tvm
from tvm.relax.backend.cpu_generic import pipeline as cpu

from legalize.passes import InlineElementwise


def relax_pipeline(target: tvm.target.Target) -> tvm.transform.Pass:
    """TVM's pipeline for processors, with one loop for each fused chain of elementwise steps."""
    return tvm.transform.Sequential(
        [
            *cpu.library_dispatch_passes(target),
            *cpu.legalize_passes(target),
            InlineElementwise(),
            *cpu.dataflow_lower_passes(target),
            *cpu.finalize_passes(target),
        ]
    )
