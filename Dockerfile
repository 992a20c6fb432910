# Three images: one that compiles models, one that serves them, and one that runs libraries, without
# TVM's compiler. None of them runs as root.
#
#   docker build --target cli -t tvm-qnn .
#   docker run --rm -v "$PWD:/work" -v tvm-qnn-cache:/cache tvm-qnn compile model.tflite
#   docker build --target serve -t tvm-qnn-serve .
#   docker run --rm -p 127.0.0.1:8080:8080 -v "$PWD:/work:ro" tvm-qnn-serve model.so
#   docker build --target runtime -t tvm-qnn-runtime .
#   docker run --rm -v "$PWD:/work:ro" tvm-qnn-runtime info model.so
#
# If your user's number is not 1000, give --user "$(id -u)" -e XDG_CACHE_HOME=/tmp: a command can then
# write into your folder, and the cache belongs to the user who runs it, as it must.
ARG BASE=python:3.12-slim

FROM ${BASE} AS build
COPY . /source
WORKDIR /source
RUN pip install --no-cache-dir . "setuptools>=77" \
 && pip wheel --no-cache-dir --no-deps --no-build-isolation --wheel-dir /wheels . \
 && python3 -m tools.runtime_wheel --output /wheels

FROM ${BASE} AS runtime
RUN --mount=type=bind,from=build,source=/wheels,target=/wheels \
    pip install --no-cache-dir /wheels/tvm_qnn_runtime-*.whl
WORKDIR /work
USER nobody
ENTRYPOINT ["tvm-qnn-runtime"]

FROM ${BASE} AS compiler
# Libraries are linked by gcc. Compiled code is kept in /cache.
RUN apt-get update && apt-get install -y --no-install-recommends gcc libc6-dev \
 && rm -rf /var/lib/apt/lists/* \
 && useradd --uid 1000 --create-home user \
 && mkdir /cache /work && chown user:user /cache /work
ENV XDG_CACHE_HOME=/cache
VOLUME /cache
WORKDIR /work

FROM compiler AS serve
RUN --mount=type=bind,from=build,source=/wheels,target=/wheels \
    pip install --no-cache-dir "$(echo /wheels/tvm_qnn-*.whl)[serve]"
USER user
EXPOSE 8080 8081 8082
HEALTHCHECK --interval=10s --timeout=3s --start-period=120s CMD ["python3", "-c", \
    "import urllib.request as r; r.urlopen('http://127.0.0.1:8080/v2/health/ready', timeout=2)"]
ENTRYPOINT ["tvm-qnn", "serve", "--host", "0.0.0.0"]

FROM compiler AS cli
RUN --mount=type=bind,from=build,source=/wheels,target=/wheels \
    pip install --no-cache-dir "$(echo /wheels/tvm_qnn-*.whl)[demo,onnx]"
USER user
ENTRYPOINT ["tvm-qnn"]
