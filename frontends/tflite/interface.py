"""The arguments and results of a model's function: shapes, names, outputs, the signature."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace
from math import inf

from tvm import relax

from frontends.tflite.model import COMPLEX, INPUT_DTYPES, VARIANT, Model, Operator, State, Tensor
from frontends.tflite.roles import NO_ROLE, roles_of
from qnn_ops.attributes import int_list_attr
from qnn_ops.errors import QnnError
from qnn_ops.registry import TensorSpec, spec_of
from qnn_ops.signature import Signature, TensorInfo
from qnn_ops.tensor_info import StateInfo


def tensor_names(tensors: Sequence[Tensor]) -> tuple[str, ...]:
    """Name each tensor: the file's name, with ":index" behind it if it is empty or not unique."""
    counts = Counter(tensor.name for tensor in tensors)
    taken = set(counts)
    names = []
    for tensor in tensors:
        name = tensor.name
        if not name or counts[name] > 1:
            while name in taken:
                name = f"{name}:{tensor.index}"
            taken.add(name)
        names.append(name)
    return tuple(names)


def input_shapes(
    model: Model,
    names: Sequence[str],
    shape_dict: Mapping[str, Sequence[int]],
    dtype_dict: Mapping[str, str],
) -> dict[int, tuple[int, ...]]:
    """Return the shape of every input, by tensor number, in the model's order.

    Raises:
        QnnError: an input is of a type that Relax does not have, a name is no input's, a dtype is
            not the file's, a shape is not of the file's rank, or the file leaves a dimension open
            that is not given.
    """
    indices = {names[index]: index for index in model.inputs}
    for name, index in indices.items():
        if model.tensors[index].dtype not in INPUT_DTYPES:
            dtype = model.tensors[index].dtype
            raise QnnError(f"input {name!r} is of type {dtype}, which a model here cannot take")
    for argument, given in (("shape_dict", shape_dict), ("dtype_dict", dtype_dict)):
        for name in given:
            if name not in indices:
                known = ", ".join(map(repr, indices)) or "none"
                raise QnnError(f"{argument}: no input is named {name!r}; there are {known}")
    for name, dtype in dtype_dict.items():
        expected = model.tensors[indices[name]].dtype
        if dtype != expected:
            raise QnnError(f"dtype_dict: input {name!r} is {expected}, got {dtype}")
    return {
        index: _shape(model.tensors[index], name, shape_dict.get(name))
        for name, index in indices.items()
    }


def _shape(tensor: Tensor, name: str, given: Sequence[int] | None) -> tuple[int, ...]:
    if given is None:
        # A file that leaves only the batch size open says 1 in its shape, and 1 is meant.
        if -1 in tensor.shape_signature[1:]:
            raise QnnError(
                f"input {name!r} has dimensions that the file leaves open, "
                f"{tensor.shape_signature}: give its shape in shape_dict"
            )
        return tensor.shape
    shape = tuple(int_list_attr(f"shape_dict: the shape of input {name!r}", given))
    if shape == () and tensor.shape == (1,):  # LiteRT takes a number for one value
        return shape
    if len(shape) != len(tensor.shape) or any(not 1 <= size < 1 << 31 for size in shape):
        raise QnnError(
            f"shape_dict: input {name!r} needs {len(tensor.shape)} positive sizes as in "
            f"{tensor.shape}, got {shape}"
        )
    return shape


def kept_outputs(
    model: Model, names: Sequence[str], outputs: str | Sequence[str | int] | None
) -> tuple[int, ...]:
    """Return the numbers of the tensors that the function returns.

    Raises:
        QnnError: a tensor does not exist, or its name is not unique, or no operator computes it.
    """
    if outputs is None:
        for tensor in (model.tensors[index] for index in model.outputs):
            if tensor.dtype in (COMPLEX, VARIANT):
                kind = "complex" if tensor.dtype == COMPLEX else "a list"
                raise QnnError(f"{tensor.label} is {kind}, and an output of the model")
        return model.outputs
    if outputs == "all":
        return model.computed
    if isinstance(outputs, str) or not isinstance(outputs, Sequence):
        raise QnnError(f'outputs must be None, "all" or a list, got {outputs!r}')
    extra = [_tensor_number(model, names, item) for item in outputs]
    return tuple(dict.fromkeys(extra))


def needed_operators(model: Model, outputs: Sequence[int]) -> tuple[Operator, ...]:
    """Return the operators that tensors depend on, in order."""
    # Operators without a result change the model's state.
    wanted, needed = set(outputs), []
    for operator in reversed(model.operators):
        if not operator.outputs or not wanted.isdisjoint(operator.outputs):
            wanted.update(operator.inputs)
            needed.append(operator)
    return tuple(reversed(needed))


def _tensor_number(model: Model, names: Sequence[str], item: str | int) -> int:
    if isinstance(item, str):
        if item not in names:
            raise QnnError(f"outputs: no tensor is named {item!r}{_numbered(model, names, item)}")
        item = names.index(item)
    if item not in model.computed:
        raise QnnError(f"outputs: no operator computes tensor {item}")
    return item


def _numbered(model: Model, names: Sequence[str], name: str) -> str:
    matches = [names[tensor.index] for tensor in model.tensors if tensor.name == name]
    return f", but several are: {', '.join(map(repr, matches))}" if matches else ""


def described_ends(
    model: Model,
    names: Sequence[str],
    shapes: Mapping[int, tuple[int, ...]],
    outputs: Sequence[int],
    states: Sequence[State],
    exprs: Sequence[relax.Expr],
) -> Signature:
    """Return names, shapes, dtypes and quantization of inputs and outputs.

    Args:
        model: the model.
        names: one for each tensor.
        shapes: of the inputs, by tensor number.
        outputs: numbers of the output tensors.
        states: the model's states.
        exprs: the outputs' expressions, and behind them the new states.
    """
    for state, expr in zip(states, exprs[len(outputs) :], strict=True):
        spec = spec_of(expr)
        if (spec.shape, spec.dtype) != (state.tensor.shape, state.tensor.dtype):
            raise QnnError(
                f"{state.tensor.label} is {state.tensor.dtype} of shape {state.tensor.shape}, and "
                f"becomes {spec.dtype} of shape {spec.shape}"
            )
    roles = roles_of(model, outputs)
    return Signature(
        inputs=tuple(
            _info(model.tensors[index], names[index], TensorSpec(shape, model.tensors[index].dtype))
            for index, shape in shapes.items()
        ),
        outputs=tuple(
            replace(
                _info(model.tensors[index], names[index], spec_of(expr)),
                **roles.get(index, NO_ROLE),
            )
            for index, expr in zip(outputs, exprs, strict=False)
        ),
        states=tuple(map(_state_info, states)),
    )


def _state_info(state: State) -> StateInfo:
    tensor = state.tensor
    info = _info(
        tensor, tensor.name or f"state:{tensor.index}", TensorSpec(tensor.shape, tensor.dtype)
    )
    initial = StateInfo.text_of(state.initial)
    return StateInfo(**vars(info), initial=initial)


def _info(tensor: Tensor, name: str, spec: TensorSpec) -> TensorInfo:
    quantization = tensor.quantization
    if quantization is None or quantization.is_per_channel or spec.dtype != tensor.dtype:
        return TensorInfo(name, spec.shape, spec.dtype)
    scale, zero_point = float(quantization.scale[0]), int(quantization.zero_point[0])
    if not 0 < scale < inf:  # of an int32 or int64 tensor, which nothing reads
        return TensorInfo(name, spec.shape, spec.dtype)
    return TensorInfo(name, spec.shape, spec.dtype, scale, zero_point)
