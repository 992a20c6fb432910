"""What LiteRT's reference kernels make of handwritten digits, many at once."""

import numpy as np
from ai_edge_litert.interpreter import Interpreter, OpResolverType

from tvm_qnn import digits


def probabilities(model: bytes, inputs: np.ndarray) -> np.ndarray:
    """Return the model's output on LiteRT's reference kernels, resized to the batch."""
    interpreter = Interpreter(
        model_content=model, experimental_op_resolver_type=OpResolverType.BUILTIN_REF
    )
    (source,), (target,) = interpreter.get_input_details(), interpreter.get_output_details()
    interpreter.resize_tensor_input(source["index"], inputs.shape)
    interpreter.allocate_tensors()
    interpreter.set_tensor(source["index"], inputs)
    interpreter.invoke()
    output: np.ndarray = interpreter.get_tensor(target["index"])
    return output


def predictions(model: bytes, pictures: np.ndarray, style: str) -> np.ndarray:
    return probabilities(model, digits.to_input(pictures, style)).argmax(1)
