"""A library as a model of MLServer."""

import asyncio
import multiprocessing
from collections.abc import Awaitable, Callable
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
from mlserver import MLModel
from mlserver.batching.adaptive import AdaptiveBatcher
from mlserver.errors import InferenceError, MLServerError
from mlserver.types import (
    InferenceRequest,
    InferenceResponse,
    MetadataTensor,
    RequestInput,
    ResponseOutput,
)
from mlserver.utils import get_model_uri, to_absolute_path

from qnn_ops.errors import QnnError
from tvm_qnn.io.classes import read_lines
from tvm_qnn.library.library import load
from tvm_qnn.serving.served import Served
from tvm_qnn.serving.tensors import TEXT, datatype_of
from tvm_qnn.target.processor import processors

_FAILED = 500
_LETTERS = 256  # headers hold characters of Latin-1
_EXTRA = ("digest", "labels", "num_threads", "served")


class Runtime(MLModel):
    """A library, as MLServer serves it: the ``implementation`` of a model's settings.

    The setting ``parameters.uri`` is the library's file. ``parameters.extra`` may have:
    ``num_threads`` of each run, by default 1; ``labels``, a file with the names of the
    classes; ``digest``, as ``tvm_qnn.load`` takes it; and ``served``, an object of this process in
    place of a file. At a time there are as many runs as processors for their threads.

    With ``max_batch_size`` and ``max_batch_time``, MLServer's adaptive batching joins requests.
    They may have any number of rows, and the library takes several at a time. Requests are
    checked before they are joined, so that none spoils another one's answer. This needs
    ``parallel_workers`` 0.
    """

    _served: Served
    _pool: ThreadPoolExecutor
    _inner: Callable[[InferenceRequest], Awaitable[InferenceResponse]]

    async def load(self) -> bool:
        """Load the library.

        Raises:
            QnnError: if the settings or the library do not fit.
        """
        batching = self.settings.max_batch_size > 1 and self.settings.max_batch_time > 0
        self._served = served = await self._made(batching)
        self.inputs = [MetadataTensor(**each) for each in served.described(served.library.inputs)]
        self.outputs = [MetadataTensor(**each) for each in served.described(served.library.outputs)]
        self.settings.platform = self.settings.platform or "tvm-qnn"
        runs = processors() // (served.library.num_threads or processors())
        self._pool = _pool(max(1, runs))
        self._inner = self._run
        if batching:
            # Remove the batching that MLServer has put before ``predict``: it checks no requests.
            self.__dict__.pop("predict", None)
            joined = SimpleNamespace(settings=self.settings, predict=self._run)
            self._inner = AdaptiveBatcher(joined).predict
        return True

    async def predict(self, payload: InferenceRequest) -> InferenceResponse:
        """Answer a request.

        Raises:
            MLServerError: if the request is wrong, or the library fails.
        """
        try:
            _check_id(payload.id or "")
            wishes = self._served.wishes_of(payload)
            arrays = await self._inputs_of(payload)
        except QnnError as error:
            raise InferenceError(str(error)) from None
        infos = self._served.library.inputs
        request = InferenceRequest(
            inputs=[
                RequestInput(
                    name=info.name,
                    shape=[*array.shape],
                    datatype=datatype_of(info.dtype),
                    data=[array],  # batching joins lists
                )
                for info, array in zip(infos, arrays, strict=True)
            ]
        )
        try:
            # A client that gives up cancels only its own request, not those joined with it.
            answer = await asyncio.shield(asyncio.ensure_future(self._inner(request)))
        except QnnError as error:
            raise MLServerError(str(error), _FAILED) from error
        found = {
            output.name: np.asarray(output.data.root).reshape(output.shape)
            for output in answer.outputs
        }
        outputs = [self._served.answer(wish, found[wish.info.name]) for wish in wishes]
        answer.outputs = [ResponseOutput(**fields) for fields in outputs]
        return answer

    async def _inputs_of(self, payload: InferenceRequest) -> list[Any]:
        """Read the inputs of a request; a thread reads pictures, so other requests do not wait."""
        if not any(str(tensor.datatype) == TEXT for tensor in payload.inputs):
            return self._served.inputs_of(payload.inputs)
        loop = asyncio.get_running_loop()
        return await loop.run_in_executor(self._pool, self._served.inputs_of, payload.inputs)

    async def _run(self, request: InferenceRequest) -> InferenceResponse:
        """Run on the arrays of one request, or of several joined ones; answer with arrays."""
        joined = [tensor.data.root for tensor in request.inputs]
        arrays = [np.concatenate(some) if len(some) > 1 else some[0] for some in joined]
        loop = asyncio.get_running_loop()
        found = await loop.run_in_executor(self._pool, self._served.run, arrays)
        outputs = [
            ResponseOutput(
                name=name,
                shape=[*array.shape],
                datatype=datatype_of(str(array.dtype)),
                data=array.ravel(),
            )
            for name, array in found.items()
        ]
        return InferenceResponse(model_name=self.name, model_version=self.version, outputs=outputs)

    async def _made(self, batching: bool) -> Served:
        """Load the library that the settings name."""
        if batching and multiprocessing.parent_process() is not None:
            raise QnnError("batching takes parallel_workers 0 in MLServer's settings")
        parameters = self.settings.parameters
        extra: dict[str, Any] = dict((parameters and parameters.extra) or {})
        if unknown := sorted(extra.keys() - set(_EXTRA)):
            raise QnnError(
                f"parameters.extra has {', '.join(unknown)}; it may have {', '.join(_EXTRA)}"
            )
        if "served" in extra:
            made: Served = extra["served"]
            return made
        path = await get_model_uri(self.settings)
        library = load(path, num_threads=extra.get("num_threads", 1), digest=extra.get("digest"))
        served = Served(library, batching=batching)
        if labels := extra.get("labels"):
            file = Path(to_absolute_path(self.settings, labels))
            served.name_classes(read_lines(file), str(file))
        return served


@cache
def _pool(runs: int) -> ThreadPoolExecutor:
    """Return the threads that run all models of this process."""
    return ThreadPoolExecutor(runs, "tvm-qnn-serve")


def _check_id(text: str) -> None:
    """Refuse a request's id if MLServer cannot repeat it in a header of its answer."""
    if not (text.isprintable() and all(ord(letter) < _LETTERS for letter in text)):
        raise QnnError(f"a request's id is printable Latin-1 text, got {text!r}")
