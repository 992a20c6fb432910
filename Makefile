# Every target sets up what it needs in .venv; a machine needs only python3 and make.
#
#   make demo    classify digits, then compile and check Inception V3
#                (MODEL=m.tflite IMAGE=i.jpg LABELS=l.txt: your own model instead)
#   make quick   lint, and tests of every part that take less than a minute: for a first change
#   make test    lint, types, import direction, tests
#   make types-systems  types as macOS and Windows have them
#   make test-arm  tests on emulated ARM processors; installs emulators and cross compilers
#                where it is root and finds apt, and does nothing where it cannot
#   make test-avx512  tests on emulated x86 processors, of kernels for which this one lacks the
#                instructions; installs the emulator likewise
#   make test-mcu  tests on emulated microcontrollers; installs the emulator and a compiler likewise
#   make test-torch  tests of PyTorch models, against ExecuTorch; installs both, which are large
#   make test-ray  tests of evaluation on a Ray cluster; installs Ray
#   make test-serve  tests of the server, with a real client; installs MLServer in an environment of
#                its own, for which it needs Python 3.10 to 3.12
#   make test-relay  TVM's own tests of Relay's operators on tvm_qnn.relay (RELAY=a checkout of
#                apache/tvm that has Relay; LIVE=a program that starts a Python with Relay, too)
#   make test-litert  LiteRT's own tests of its interpreter on tvm_qnn.litert (LITERT=a checkout of
#                google-ai-edge/LiteRT)
#   make test-onnxruntime  ONNX Runtime's own tests of its sessions on tvm_qnn.onnxruntime
#                (ONNXRUNTIME=a checkout of microsoft/onnxruntime)
#   make test-dynamo  PyTorch's own tests of backends on torch.compile(backend="tvm_qnn")
#                (TORCH=a checkout of pytorch/pytorch)
#   make test-targets  compile the models of the tests for every target, run or emulate what can
#                be, and check the instructions: a share of them (ALL=1: all, in hours)
#   make bench   time tvm-qnn and its peers (MODELS="m.tflite resnet50:int8": on these), and
#                measure memory, builds, threads, batches and text; tables and charts in out/
#   make docs    build the documentation, tutorials run, in docs/_build/html
#   make axe     look for faults of the documentation's pages, for readers of screens and on a
#                phone; needs node, npm and Chromium
#   make screenshots  pictures of every page that a command writes, on a desk and a phone, light and
#                dark, in out/screenshots, and their faults; needs node, npm and Chromium
#   make mxnet   quantize networks of Gluon's zoo with MXNet, and hold tvm-qnn against it; in an
#                environment of its own, for which it needs Python 3.10 or 3.11
#                (MODELS="inceptionv3 resnet50_v1": only these)
#   make clean   remove .venv and everything generated

PYTHON ?= python3
BIN := .venv/bin
SAY := @printf '==> %s\n'

.DEFAULT_GOAL := help
.PHONY: help demo quick test test-arm test-avx512 test-mcu test-torch test-ray test-serve test-relay test-litert test-onnxruntime test-dynamo test-targets lint types types-systems layers bench docs axe screenshots mxnet clean

help:
	@sed -n '3,$${/^#/!q;s/^# \{0,1\}//p;}' Makefile

# One stamp for each extra of setup.py.
.venv/installed-%: setup.py pyproject.toml
	@$(PYTHON) -c 'import sys; sys.exit(not (3, 10) <= sys.version_info[:2] <= (3, 14))' || { \
	  echo "tvm-qnn needs Python 3.10 to 3.14, but $(PYTHON) is $$($(PYTHON) --version 2>&1):" \
	    "name another one, as in 'make $(MAKECMDGOALS) PYTHON=python3.12'." >&2; exit 1; }
	@$(PYTHON) -c 'import ensurepip, venv' 2>/dev/null || { \
	  echo "$(PYTHON) cannot make virtual environments: install its venv module" \
	    "(Debian, Ubuntu: apt install python3-venv) and run make again." >&2; exit 1; }
	$(SAY) "Setting up .venv"
	@$(PYTHON) -m venv .venv
	$(SAY) "Installing tvm-qnn with its '$*' packages (the first time takes a minute or more)"
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable '.[$*]'
	@touch $@

# Files of every package and format, which each take a few seconds at most.
QUICK := $(addprefix tests/, \
  $(addprefix qnn_ops/, arithmetic/test_fixed_point.py arithmetic/test_encoding.py \
    quantized/test_conv2d.py dialect/test_traits.py) \
  $(addprefix frontends/, test_builder.py test_formats.py mxnet/test_importer.py \
    mxnet/converters/test_quantized_convolution.py onnx/replacements/test_quantized.py \
    tflite/converters/layers/test_convolution.py tflite/test_importer.py tflite/test_reader.py \
    torch/test_package.py) \
  $(addprefix legalize/, kernels/test_mean.py kernels/test_table.py passes/test_legalize_qnn.py \
    primitives/test_layers.py test_lower.py) \
  $(addprefix tvm_qnn/, cli/test_program.py library/test_library.py test_build.py) \
  test_docstrings.py)

quick: lint
	$(SAY) "A few tests of every part"
	@$(BIN)/python -m pytest -m 'not arm and not avx512 and not mcu' --numprocesses auto --dist worksteal $(QUICK)

test: lint types layers
	$(SAY) "Tests"
	@$(BIN)/python -m pytest -m 'not arm and not avx512 and not mcu' --numprocesses auto --dist worksteal

test-arm: .venv/installed-test
	$(SAY) "Tests on emulated ARM processors"
	@if .ci/install-arm $(BIN)/python .venv/arm; then \
	  .ci/install-arm-python $(BIN)/python .venv/arm >/dev/null 2>&1 || \
	    echo "RPC to an emulated device is skipped: Python for it cannot be installed here"; \
	  .ci/install-mca $(BIN)/python || true; \
	  $(BIN)/python -m pytest -m arm --numprocesses auto --dist worksteal; fi

test-avx512: .venv/installed-test
	$(SAY) "Tests on emulated x86 processors"
	@if .ci/install-avx512 $(BIN)/python; then \
	  .ci/install-mca $(BIN)/python || true; \
	  $(BIN)/python -m pytest -m avx512 --numprocesses auto --dist worksteal; fi

test-mcu: .venv/installed-test
	$(SAY) "Tests on emulated microcontrollers"
	@if .ci/install-mcu $(BIN)/python; then \
	  $(BIN)/python -m pytest -m mcu --numprocesses auto --dist worksteal; fi

test-torch: .venv/installed-test .venv/installed-torch
	$(SAY) "Tests of PyTorch models"
	@$(BIN)/python -m pytest -m torch --numprocesses auto --dist worksteal

test-ray: .venv/installed-test .venv/installed-ray
	$(SAY) "Tests on a Ray cluster"
	@$(BIN)/python -m pytest -m ray

# MLServer takes no protobuf of today, nor Python 3.13.
.venv-serve/installed: setup.py pyproject.toml
	$(SAY) "Setting up .venv-serve with MLServer (a minute or more)"
	@for python in $(PYTHON) python3.12 python3.11 python3.10; do \
	  "$$python" -c 'import sys; sys.exit(not (3, 10) <= sys.version_info[:2] <= (3, 12))' \
	    2>/dev/null && exec "$$python" -m venv .venv-serve; done; \
	  echo "MLServer needs Python 3.10 to 3.12: name one, as in" \
	    "'make test-serve PYTHON=/opt/python3.12/bin/python3'." >&2; exit 1
	@.venv-serve/bin/python -m pip install --quiet --disable-pip-version-check \
	  --editable '.[test-serve]'
	@touch $@

test-serve: .venv-serve/installed
	$(SAY) "Tests of the server"
	@.venv-serve/bin/python -m pytest -m serve tests/tvm_qnn/serving/test_server.py

test-targets: .venv/installed-test
	$(SAY) "Every target"
	@$(BIN)/python -m tests.targets --jobs "$$(nproc)" $(if $(ALL),--all) $(if $(MINUTES),--minutes $(MINUTES))

# A checkout of apache/tvm that has Relay, and a program that starts a Python which has it.
test-relay: .venv/installed-test
	$(SAY) "TVM's own tests of Relay's quantized operators"
	@$(if $(RELAY),$(BIN)/python -m tests.former '$(RELAY)',echo "skipped: name a checkout, RELAY=…")
	$(SAY) "Random calls beside a live Relay"
	@$(if $(LIVE),$(BIN)/python -m tests.former.live '$(LIVE)',echo "skipped: name a program, LIVE=…")

# A checkout of google-ai-edge/LiteRT.
test-litert: .venv/installed-test
	$(SAY) "LiteRT's own tests of its interpreter"
	@$(if $(LITERT),$(BIN)/python -m tests.litert_tests '$(LITERT)',echo "skipped: name a checkout, LITERT=…")

# A checkout of microsoft/onnxruntime.
test-onnxruntime: .venv/installed-test
	$(SAY) "ONNX Runtime's own tests of its sessions"
	@$(if $(ONNXRUNTIME),$(BIN)/python -m tests.onnxruntime_tests '$(ONNXRUNTIME)',echo "skipped: name a checkout, ONNXRUNTIME=…")

# A checkout of pytorch/pytorch.
test-dynamo: .venv/installed-test .venv/installed-torch
	$(SAY) "PyTorch's own tests of backends"
	@$(if $(TORCH),$(BIN)/python -m tests.dynamo_tests '$(TORCH)',echo "skipped: name a checkout, TORCH=…")

lint: .venv/installed-test
	$(SAY) "Lint"
	@$(BIN)/ruff check
	@$(BIN)/ruff format --check

types: .venv/installed-test
	$(SAY) "Types"
	@$(BIN)/mypy

types-systems: .venv/installed-test
	$(SAY) "Types of other systems"
	@for system in darwin win32; do $(BIN)/mypy --platform "$$system" \
	  --cache-dir ".mypy_cache/$$system" qnn_ops legalize frontends tvm_qnn || exit 1; done

layers: .venv/installed-test
	$(SAY) "Import direction"
	@$(BIN)/lint-imports --no-logo

demo: .venv/installed-demo
	@$(BIN)/tvm-qnn demo $(if $(MODEL),--model '$(MODEL)') $(if $(IMAGE),--image '$(IMAGE)') \
	  $(if $(LABELS),--labels '$(LABELS)')

bench: .venv/installed-bench
	@$(BIN)/python -m benchmarks.bench_peers $(MODELS)
	@$(BIN)/python -m benchmarks.bench_footprint $(MODELS)
	@$(BIN)/python -m benchmarks.bench_builds $(MODELS)
	@$(BIN)/python -m benchmarks.bench_threads $(MODELS)
	@$(BIN)/python -m benchmarks.bench_batches $(MODELS)
	@$(if $(MODELS),,$(BIN)/python -m benchmarks.bench_tokens && \
	  $(BIN)/python -m benchmarks.bench_few_bits)

# MXNet is retired: it runs on no newer Python, and needs the numpy of its time.
.venv-mxnet/installed: setup.py pyproject.toml
	$(SAY) "Setting up .venv-mxnet with MXNet and tvm-qnn (a minute or more)"
	@for python in $(PYTHON) python3.11 python3.10; do \
	  "$$python" -c 'import sys; sys.exit(sys.version_info[:2] not in ((3, 10), (3, 11)))' \
	    2>/dev/null && exec "$$python" -m venv .venv-mxnet; done; \
	  echo "MXNet needs Python 3.10 or 3.11: name one, as in" \
	    "'make mxnet PYTHON=/opt/python3.11/bin/python3'." >&2; exit 1
	@.venv-mxnet/bin/python -m pip install --quiet --disable-pip-version-check --editable '.[mxnet]'
	@touch $@

mxnet: .venv-mxnet/installed
	@.venv-mxnet/bin/python -m benchmarks.bench_mxnet $(MODELS)

docs: .venv/installed-docs
	$(SAY) "Documentation, with its tutorials run"
	@$(BIN)/python -m sphinx -b html -W --keep-going -q docs docs/_build/html

out/axe/node_modules:
	@npm install --silent --no-audit --no-fund --prefix out/axe axe-core@4 playwright-core@1

axe: docs out/axe/node_modules
	$(SAY) "Faults of the pages"
	@node tools/axe.mjs out/axe docs/_build/html

screenshots: .venv/installed-docs out/axe/node_modules
	$(SAY) "Pictures of the pages that commands write"
	@$(BIN)/python -m tools.sample_pages out/pages
	@node tools/axe.mjs out/axe --pictures out/screenshots out/pages

clean:
	rm -rf .venv .venv-mxnet .venv-serve build dist out *.egg-info docs/_build docs/charts docs/tutorials
	rm -rf .mypy_cache .pytest_cache .ruff_cache .hypothesis .import_linter_cache
	find . -name __pycache__ -type d -prune -exec rm -rf {} +
