"""ONNX Runtime and OpenVINO as models of MLServer, written as its documentation recommends.

MLServer's own codec decodes tensors. There are as many concurrent runs as processors, each on one
thread.
"""

import asyncio
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
from mlserver import MLModel
from mlserver.codecs import NumpyCodec
from mlserver.types import InferenceRequest, InferenceResponse
from mlserver.utils import get_model_uri

from tvm_qnn.target.processor import processors

Array = np.ndarray[Any, Any]


class _Peer(MLModel):
    _pool: ThreadPoolExecutor

    async def load(self) -> bool:
        """Load the model."""
        self._pool = ThreadPoolExecutor(processors())
        self._open(await get_model_uri(self.settings))
        return True

    async def predict(self, payload: InferenceRequest) -> InferenceResponse:
        """Answer a request."""
        arrays = {tensor.name: NumpyCodec.decode_input(tensor) for tensor in payload.inputs}
        loop = asyncio.get_running_loop()
        found = await loop.run_in_executor(self._pool, self._run, arrays)
        outputs = [NumpyCodec.encode_output(name, array) for name, array in found.items()]
        return InferenceResponse(model_name=self.name, outputs=outputs)

    def _open(self, path: str) -> None:
        raise NotImplementedError

    def _run(self, arrays: dict[str, Array]) -> dict[str, Array]:
        raise NotImplementedError


class OnnxRuntime(_Peer):
    """ONNX Runtime with its CPU kernels."""

    def _open(self, path: str) -> None:
        import onnxruntime

        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = 1
        self._session = onnxruntime.InferenceSession(path, options, ["CPUExecutionProvider"])
        self._names = [info.name for info in self._session.get_outputs()]

    def _run(self, arrays: dict[str, Array]) -> dict[str, Array]:
        return dict(zip(self._names, self._session.run(self._names, arrays), strict=True))


class OpenVino(_Peer):
    """OpenVINO with a stream for each concurrent run."""

    def _open(self, path: str) -> None:
        import openvino

        count = processors()
        settings = {"NUM_STREAMS": count, "INFERENCE_NUM_THREADS": count}
        self._compiled = openvino.Core().compile_model(path, "CPU", settings)

    def _run(self, arrays: dict[str, Array]) -> dict[str, Array]:
        found = self._compiled.create_infer_request().infer(arrays)
        return {port.any_name: array for port, array in found.items()}
