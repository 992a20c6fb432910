"""A library in a server: reads its requests, runs any number of rows, and makes its answers."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from qnn_ops.dialect.tensor_info import TensorInfo
from qnn_ops.errors import QnnError
from tvm_qnn.io.classes import best_classes, fitted_labels, is_classifier
from tvm_qnn.library.arrays import input_arrays, named_results, reals
from tvm_qnn.library.library import Library
from tvm_qnn.serving.pictures import Pictures
from tvm_qnn.serving.tensors import TEXT, datatype_of, read_tensor, tensor_fields


@dataclass(frozen=True)
class Wish:
    """An output that a request asks for.

    Attributes:
        info: the output.
        top: how many of the best classes are wanted in place of the tensor; 0: the tensor.
        is_real: whether the real values of a quantized output are wanted.
    """

    info: TensorInfo
    top: int = 0
    is_real: bool = False


class Served:
    """A library that a server offers. Threads may share it."""

    rows: int
    """The rows that a run takes; a request may have any number. 0: requests have its own shape."""

    def __init__(
        self, library: Library, *, batching: bool = False, pictures: Pictures | None = None
    ) -> None:
        """Take a library.

        Args:
            library: the library to run.
            batching: whether the first dimension counts rows, so that requests may have any number.
            pictures: turns pictures into inputs.

        Raises:
            QnnError: if the model has a state, or ``batching`` does not fit it.
        """
        if library.signature.states:
            raise QnnError(
                "this model keeps a state from one run to the next, which the clients of a server "
                "would share: it cannot be served"
            )
        self.library = library
        self.rows = independent_rows(library) if batching else 0
        self._pictures = pictures or Pictures()
        self._labels: dict[str, tuple[str, ...]] = {}

    def name_classes(self, labels: tuple[str, ...], where: str, output: str = "") -> None:
        """Name the classes of one output or, if no name is given, of all classifiers' outputs.

        Args:
            labels: a name for each class.
            where: the source of the names, for errors.
            output: the output's name.

        Raises:
            QnnError: if there are no such classes, or their number differs.
        """
        found = [
            info
            for info in self.library.outputs
            if is_classifier(self._row(info)) and output in ("", info.name)
        ]
        if not found:
            raise QnnError(f"{where}: the model's outputs have no classes to name")
        for info in found:
            classes = max(self._row(info).shape)
            self._labels[info.name] = fitted_labels(labels, classes, where)

    def described(self, infos: Iterable[TensorInfo]) -> Iterator[dict[str, Any]]:
        """Yield the protocol's description of inputs or outputs; any number of rows is -1."""
        for info in infos:
            shape = [-1, *info.shape[1:]] if self.rows else [*info.shape]
            fields: dict[str, Any] = {"name": info.name, "datatype": datatype_of(info.dtype)}
            fields["shape"] = shape
            if info.scale is not None:
                fields["parameters"] = {"scale": info.scale, "zero_point": info.zero_point}
            yield fields

    def inputs_of(self, tensors: Sequence[Any]) -> list[np.ndarray]:
        """Return the inputs of a request in order; real numbers for integer inputs are quantized.

        Args:
            tensors: as ``read_tensor`` takes them, or pictures. The name of a picture may be
                empty if the model has only one input.

        Raises:
            QnnError: if an input is missing, unknown, given twice, or does not fit.
        """
        infos = self.library.inputs
        known = {info.name: info for info in infos}
        named: dict[str, np.ndarray] = {}
        for tensor in tensors:
            is_picture = str(tensor.datatype) == TEXT
            name = infos[0].name if is_picture and not tensor.name else tensor.name
            if name not in known:
                raise QnnError(f"no input is named {name!r}; there are {', '.join(known)}")
            if name in named:
                raise QnnError(f"input {name!r} is given twice")
            read = self._pictures.read(tensor, known[name]) if is_picture else read_tensor(tensor)
            named[name] = read
        if self.rows:
            counts = {len(array) if array.ndim else 0 for array in named.values()}
            if len(counts) > 1 or 0 in counts:
                raise QnnError("all inputs of a request have the same number of rows, at least one")
            count = max(counts, default=1)
            infos = tuple(replace(info, shape=(count, *info.shape[1:])) for info in infos)
        return input_arrays(infos, (), named, quantize=True)

    def wishes_of(self, request: Any) -> list[Wish]:
        """Return the outputs that a request asks for; all, if it names none.

        Raises:
            QnnError: if it asks for something that does not exist.
        """
        is_real = _parameter(request, "dequantize_outputs") or False
        if type(is_real) is not bool:
            raise QnnError(f"dequantize_outputs is true or false, got {is_real!r}")
        known = {info.name: info for info in self.library.outputs}
        if not request.outputs:
            top = _top_of(request, "classification")
            classified = {name for name in known if top and is_classifier(self._row(known[name]))}
            if top and not classified:
                raise QnnError("no output has scores of classes")
            return [Wish(known[each], top, is_real) for each in classified or known]
        wishes: dict[str, Wish] = {}
        for output in request.outputs:
            if output.name not in known:
                raise QnnError(f"no output is named {output.name!r}; there are {', '.join(known)}")
            if output.name in wishes:
                raise QnnError(f"output {output.name!r} is wanted twice")
            info = known[output.name]
            top = _top_of(output, f"output {info.name!r}: classification")
            if top and not is_classifier(self._row(info)):
                raise QnnError(f"output {info.name!r} has no scores of classes")
            wishes[info.name] = Wish(info, top, is_real)
        return [*wishes.values()]

    def run(self, arrays: Sequence[np.ndarray]) -> dict[str, np.ndarray]:
        """Run on inputs in order; return outputs by name.

        Raises:
            QnnError: if the library's code fails.
        """
        if self.rows:
            return run_rows(self.library, self.rows, arrays)
        return run_once(self.library, arrays)

    def answer(self, wish: Wish, array: np.ndarray) -> dict[str, Any]:
        """Return the answer to a wish, as MLServer's fields.

        Args:
            wish: the wish.
            array: its output, with any number of rows.
        """
        info = wish.info
        if wish.top:
            array = self._classes(self._row(info), array, wish.top)
        elif wish.is_real:
            array = reals(info, array)
        return tensor_fields(info.name, array)

    def _classes(self, info: TensorInfo, array: np.ndarray, top: int) -> np.ndarray:
        """Return the best classes of each row as texts: score, number and, if known, name."""
        labels = self._labels.get(info.name, ())
        texts = [
            [
                ":".join([f"{guess.score}", f"{guess.index}", *([guess.label] if labels else [])])
                for guess in best_classes(row, info, labels, top)
            ]
            for row in array.reshape(-1, max(info.shape))
        ]
        return np.array(texts if self.rows or len(info.shape) > 1 else texts[0], np.str_)

    def _row(self, info: TensorInfo) -> TensorInfo:
        """Return the description of an output's single row."""
        return replace(info, shape=(1, *info.shape[1:])) if self.rows else info


def _top_of(holder: Any, what: str) -> int:
    """Return how many classes a request, or one of its outputs, asks for."""
    top = _parameter(holder, "classification") or 0
    if type(top) is not int or top < 0:
        raise QnnError(f"{what} is a number, got {top!r}")
    return top


def _parameter(holder: Any, name: str) -> Any:
    return getattr(holder.parameters, name, None)


def run_once(library: Library, arrays: Sequence[np.ndarray]) -> dict[str, np.ndarray]:
    """Run a library; return its outputs by name, even if there is only one."""
    return named_results(library.outputs, library.run(*arrays))


def run_rows(library: Library, rows: int, arrays: Sequence[np.ndarray]) -> dict[str, np.ndarray]:
    """Run a library as often as the rows need; zeros fill up the last run.

    Args:
        library: a library that ``independent_rows`` accepts.
        rows: the number of rows that it takes, as that function returns it.
        arrays: the inputs, with equal numbers of rows, at least one.
    """
    count = len(arrays[0])
    parts = []
    for start in range(0, count, rows):
        some = [_filled(array[start : start + rows], rows) for array in arrays]
        parts.append(run_once(library, some))
    return {name: np.concatenate([part[name] for part in parts])[:count] for name in parts[0]}


def independent_rows(library: Library) -> int:
    """Return how many rows a library takes at a time, if each row's answer is independent.

    This number is the first dimension of all its inputs and outputs. Runs on random inputs test
    that no row changes another row's answer.

    Raises:
        QnnError: if the library is for one row, or its rows are not independent.
    """
    infos = (*library.inputs, *library.outputs)
    sizes = {info.shape[0] if info.shape else 0 for info in infos}
    if len(sizes) != 1 or max(sizes) < 2:
        raise QnnError(
            "batching needs a model whose inputs and outputs have the same first dimension, of at "
            f"least 2, got {', '.join(info.describe() for info in infos)}: compile it for a batch"
        )
    generator = np.random.default_rng(0)
    one, other = ([_any(info, generator) for info in library.inputs] for _ in range(2))
    mixed = [np.concatenate([a[:1], b[1:]]) for a, b in zip(one, other, strict=True)]
    first, rest, both = (run_once(library, arrays) for arrays in (one, other, mixed))
    for name, array in both.items():
        expected = np.concatenate([first[name][:1], rest[name][1:]])
        if array.tobytes() != expected.tobytes():
            raise QnnError(
                f"batching needs rows that are independent, but output {name!r} of one row changes "
                "with another row of the inputs"
            )
    return sizes.pop()


def _filled(array: np.ndarray, rows: int) -> np.ndarray:
    if len(array) == rows:
        return array
    return np.concatenate([array, np.zeros((rows - len(array), *array.shape[1:]), array.dtype)])


def _any(info: TensorInfo, generator: np.random.Generator) -> np.ndarray:
    """Return random values of an input; small ones if they may be indices in a table."""
    dtype = np.dtype(info.dtype)
    if dtype.kind == "f":
        low = 0.0 if info.low is None else info.low
        high = 1.0 if info.high is None else info.high
        return generator.uniform(low, high, info.shape).astype(dtype)
    if dtype.itemsize > 2 or dtype.kind == "b":
        return generator.integers(0, 2, info.shape).astype(dtype)
    limits = np.iinfo(dtype)
    return generator.integers(limits.min, limits.max, info.shape, dtype, endpoint=True)
