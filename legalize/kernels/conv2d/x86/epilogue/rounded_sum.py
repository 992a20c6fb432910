"""Adding another quantized tensor to outputs that are still floats, as ONNX Runtime does.

The output is rounded to a whole number and clamped first; what it is then, is a float that is
exact. So the sum is ONNX Runtime's own arithmetic, instruction by instruction.
"""

from __future__ import annotations

from dataclasses import dataclass

from tvm.script.ir_builder import tirx as T

from legalize.kernels.conv2d.spec import OutputStage
from legalize.kernels.elementwise.float_form import FloatForm
from legalize.kernels.ir.registers import lanes_in
from legalize.kernels.ir.types import Vector
from legalize.kernels.ir.vectors import splat
from legalize.kernels.isa.x86_instructions import to_int32


@dataclass(frozen=True)
class RoundedSum:
    """The sum, for vectors of AVX512 and AVX2.

    Attributes:
        output: the convolution's own.
        form: of its outputs, the form's lhs, and the tensor's values.
    """

    output: OutputStage
    form: FloatForm

    def whole(self, value: Vector) -> Vector:
        """Return the bits of outputs, as values of the model, of sums that were scaled."""
        lanes, output = lanes_in(value), self.output
        low, high = (
            splat("float32", float(end - output.zero_point), lanes)
            for end in (output.low, output.high)
        )
        bounded = T.max(T.min(value, high), low)
        name = f"llvm.roundeven.v{lanes}f32"
        rounded = T.call_llvm_pure_intrin(f"float32x{lanes}", name, bounded)
        own = splat("float32", float(output.zero_point - self.form.moved[0]), lanes)
        return T.reinterpret(f"int32x{lanes}", rounded + own)

    def emit(self, output: Vector, tensor: Vector) -> Vector:
        """Build the expression of the sums.

        Args:
            output: from ``whole``.
            tensor: int32 vector, the tensor's values.

        Returns:
            The sums before their clamp, int32.
        """
        lanes = lanes_in(output)
        real = f"float32x{lanes}"
        other = tensor - splat("int32", self.form.moved[1], lanes)
        total = self.form.emit(T.reinterpret(real, output), T.Cast(real, other))
        return to_int32(total) + splat("int32", self.form.moved[2], lanes)
