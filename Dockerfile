# Two images: one that compiles models, and one that runs libraries, without TVM's compiler.
#
#   docker build --target full -t tvm-qnn .
#   docker run --rm -v "$PWD:/work" tvm-qnn compile model.tflite
#   docker build --target runtime -t tvm-qnn-runtime .
#   docker run --rm -v "$PWD:/work" tvm-qnn-runtime info model.so
FROM python:3.12-slim AS build
COPY . /source
WORKDIR /source
RUN pip install --no-cache-dir . "setuptools>=77" \
 && pip wheel --no-cache-dir --no-deps --no-build-isolation --wheel-dir /wheels . \
 && python -m tools.runtime_wheel --output /wheels

FROM python:3.12-slim AS runtime
RUN --mount=from=build,source=/wheels,target=/wheels \
    pip install --no-cache-dir /wheels/tvm_qnn_runtime-*.whl
WORKDIR /work
USER nobody
ENTRYPOINT ["tvm-qnn-runtime"]

FROM python:3.12-slim AS full
# Libraries are linked by gcc.
RUN apt-get update && apt-get install -y --no-install-recommends gcc libc6-dev \
 && rm -rf /var/lib/apt/lists/*
RUN --mount=from=build,source=/wheels,target=/wheels \
    pip install --no-cache-dir "$(echo /wheels/tvm_qnn-*.whl)[demo,onnx]"
WORKDIR /work
ENTRYPOINT ["tvm-qnn"]
