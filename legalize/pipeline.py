"""What happens between lowered operators and machine code."""

from __future__ import annotations

import tvm
from tvm.relax.backend.cpu_generic import pipeline as cpu

from legalize.passes import InlineElementwise, OrderReductions


def relax_pipeline(target: tvm.target.Target) -> tvm.transform.Pass:
    """TVM's pipeline for processors, with loops that become vector code."""
    return tvm.transform.Sequential(
        [
            *cpu.library_dispatch_passes(target),
            *cpu.legalize_passes(target),
            InlineElementwise(),
            OrderReductions(),
            *cpu.dataflow_lower_passes(target),
            *cpu.finalize_passes(target),
        ]
    )
