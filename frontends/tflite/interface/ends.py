"""The arguments and results of a model's function: shapes, names, outputs, the signature.

Outputs have a meaning if the operators leave no doubt.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace
from math import inf
from typing import Any, TypedDict

from tvm import relax

from frontends.formats import Shapes
from frontends.open_sizes import Bounds, given_shapes, own_name
from frontends.tflite.model import COMPLEX, INPUT_DTYPES, VARIANT, Model, Operator, State, Tensor
from frontends.tflite.operators import row_of
from frontends.tflite.options.custom import DetectionPostProcessOptions
from qnn_ops.dialect.registry import TensorSpec, spec_of
from qnn_ops.dialect.signature import Signature, TensorInfo, named_sizes
from qnn_ops.dialect.sizes import sizes_of
from qnn_ops.dialect.tensor_info import StateInfo
from qnn_ops.errors import QnnError


def tensor_names(tensors: Sequence[Tensor]) -> tuple[str, ...]:
    """Name each tensor: the file's name, with ":index" appended if it is empty or not unique."""
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
    model: Model, names: Sequence[str], shape_dict: Shapes, dtype_dict: Mapping[str, str]
) -> tuple[dict[int, tuple[int, ...]], Mapping[str, Bounds]]:
    """Return the shape of every input, by tensor number, in the model's order.

    Returns:
        The shapes, and the bounds of their open sizes, by name.

    Raises:
        QnnError: an input has a type that Relax lacks, no input has a name, a dtype differs from
            the file's, or a shape has another rank than the file's.
    """
    indices = {names[index]: index for index in model.inputs}
    for name, index in indices.items():
        if model.tensors[index].dtype not in INPUT_DTYPES:
            dtype = model.tensors[index].dtype
            raise QnnError(f"input {name!r} is of type {dtype}, which a model here cannot take")
    for name, dtype in dtype_dict.items():
        if name not in indices:
            known = ", ".join(map(repr, indices)) or "none"
            raise QnnError(f"dtype_dict: no input is named {name!r}; there are {known}")
        expected = model.tensors[indices[name]].dtype
        if dtype != expected:
            raise QnnError(f"dtype_dict: input {name!r} is {expected}, got {dtype}")
    stated = {name: _stated(model.tensors[index], name) for name, index in indices.items()}
    opened = {
        name: shape
        for name, shape in stated.items()
        if any(isinstance(size, str) for size in shape)
    }
    given = given_shapes({**opened, **shape_dict}, list(indices))
    variables: dict[str, Any] = {}
    for name, shape in given.shapes.items():
        _check_shape(model.tensors[indices[name]], name, shape)
    symbolic = {
        index: sizes_of(given.symbolic(name, variables))
        if name in given.shapes
        else model.tensors[index].shape
        for name, index in indices.items()
    }
    return symbolic, {name: given.bounds_of(name) for name in variables}


def _stated(tensor: Tensor, name: str) -> tuple[int | str, ...]:
    """Return the shape that the file states, with names for the dimensions that it leaves open."""
    # A file that leaves only the batch size open has 1 in its shape, and means 1.
    if -1 not in tensor.shape_signature[1:]:
        return tensor.shape
    names = ("batch", *(own_name(name, axis) for axis in range(1, len(tensor.shape))))
    sizes = zip(tensor.shape_signature, names, strict=False)
    return tuple(own if size == -1 else size for size, own in sizes)


def check_stated(model: Model, names: Sequence[str], shape_dict: Shapes) -> None:
    """Raise if the file leaves dimensions other than the batch open, and no shape is given."""
    for index in model.inputs:
        signature, name = model.tensors[index].shape_signature, names[index]
        if -1 in signature[1:] and name not in shape_dict:
            raise QnnError(
                f"input {name!r} has dimensions that the file leaves open, {signature}: give its "
                "shape in shape_dict"
            )


def _check_shape(tensor: Tensor, name: str, shape: Sequence[int | str]) -> None:
    if shape == () and tensor.shape == (1,):  # LiteRT reads a scalar as one value
        return
    is_large = any(isinstance(size, int) and size >= 1 << 31 for size in shape)
    if len(shape) != len(tensor.shape) or is_large:
        raise QnnError(
            f"shape_dict: input {name!r} needs {len(tensor.shape)} positive sizes as in "
            f"{tensor.shape}, got {shape}"
        )


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
    bounds: Mapping[str, Bounds],
    exprs: Sequence[relax.Expr],
) -> Signature:
    """Return names, shapes, dtypes and quantization of inputs and outputs.

    Args:
        model: the model.
        names: one for each tensor.
        shapes: of the inputs, by tensor number.
        outputs: numbers of the output tensors.
        states: the model's states.
        bounds: of open sizes, by name.
        exprs: the outputs' expressions, followed by the new states.
    """
    for state, expr in zip(states, exprs[len(outputs) :], strict=True):
        spec = spec_of(expr)
        if (spec.shape, spec.dtype) != (state.tensor.shape, state.tensor.dtype):
            raise QnnError(
                f"{state.tensor.label} is {state.tensor.dtype} of shape {state.tensor.shape}, and "
                f"becomes {spec.dtype} of shape {spec.shape}"
            )
    roles = roles_of(model, outputs)

    def info(index: int, spec: TensorSpec) -> TensorInfo:
        named = TensorSpec(named_sizes(spec.shape, bounds), spec.dtype)
        return _info(model.tensors[index], names[index], named)

    return Signature(
        inputs=tuple(
            info(index, TensorSpec(shape, model.tensors[index].dtype))
            for index, shape in shapes.items()
        ),
        outputs=tuple(
            replace(info(index, spec_of(expr)), **roles.get(index, NO_ROLE))
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
    if not 0 < scale < inf:  # of an int32 or int64 tensor; nothing reads it
        return TensorInfo(name, spec.shape, spec.dtype)
    return TensorInfo(name, spec.shape, spec.dtype, scale, zero_point)


DETECTION = ("boxes", "classes", "scores", "count")
"""The results of TFLite_Detection_PostProcess, in order."""


class Role(TypedDict):
    """The fields ``role`` and ``classes`` of a ``TensorInfo``."""

    role: str
    classes: int


NO_ROLE = Role(role="", classes=0)


def roles_of(model: Model, outputs: Sequence[int]) -> dict[int, Role]:
    """Return the roles of tensors that have one, as ``qnn_ops.dialect.tensor_info`` names them.

    Args:
        model: the model.
        outputs: numbers of the tensors.
    """
    makers = {index: operator for operator in model.operators for index in operator.outputs}
    found = {index: _role(model, makers, index) for index in outputs}
    kept = {index: role for index, role in found.items() if role is not None}
    told = [kept[index]["role"] for index in outputs if index in kept]
    detections = [role for role in told if role in DETECTION]
    if sorted(detections) != sorted(DETECTION):  # some are missing, or they come from two operators
        kept = {index: role for index, role in kept.items() if role["role"] not in DETECTION}
    return kept


def _role(model: Model, makers: dict[int, Operator], index: int) -> Role | None:
    operator = makers.get(index)
    if operator is None:
        return None
    if isinstance(operator.options, DetectionPostProcessOptions):
        place = operator.outputs.index(index)
        if place >= len(DETECTION):
            return None
        return Role(role=DETECTION[place], classes=operator.options.num_classes)
    return _map(model, makers, index) or _probabilities(model, makers, index)


def _map(model: Model, makers: dict[int, Operator], index: int) -> Role | None:
    operator = _behind(makers, index, "numbers")
    if operator is None or operator.code != "ARG_MAX" or len(operator.inputs) != 2:
        return None
    scores, axis = (model.tensors[each] for each in operator.inputs)
    if len(scores.shape) != 4 or axis.data is None or axis.data.ravel().tolist() not in ([3], [-1]):
        return None
    if model.tensors[index].shape not in (scores.shape[:3], (*scores.shape[:3], 1)):
        return None
    return Role(role="map", classes=scores.shape[3])


def _probabilities(model: Model, makers: dict[int, Operator], index: int) -> Role | None:
    operator = _behind(makers, index, "scores")
    shape = model.tensors[index].shape
    if operator is None or operator.code != "SOFTMAX" or len(shape) != 4 or shape[3] < 2:
        return None
    return Role(role="probabilities", classes=shape[3])


def _behind(makers: dict[int, Operator], index: int, what: str) -> Operator | None:
    """Return the maker of a tensor, skipping operators that keep its numbers or scores."""
    operator = makers.get(index)
    while operator is not None and row_of(operator.code).keeps == what:
        before = makers.get(operator.inputs[0])
        # A variable, or a tensor without elements, may be written after it is read.
        operator = before if before is not None and before.index < operator.index else None
    return operator
