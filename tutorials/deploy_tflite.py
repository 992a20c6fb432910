"""Deploying a quantized TFLite model
==================================

This page compiles a ``.tflite`` file to a library and runs it: Inception V3, quantized to int8 with
one scale for each output channel. The project makes this network itself, so that nothing has to be
downloaded: its weights are random, its structure and its quantization are the real ones. Put the
path of your own file in its place.

Run it with ``python tutorials/deploy_tflite.py``.
"""  # noqa: D205, D415

import tempfile
import time
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np

import tvm_qnn as qnn
from tvm_qnn import zoo
from tvm_qnn.oracle import LiteRtSession
from tvm_qnn.timing import alternate, one_core
from tvm_qnn.zoo import images

folder = Path(tempfile.mkdtemp())
model = folder / "inception_v3.tflite"
model.write_bytes(zoo.build("inception_v3", "int8_per_axis"))
print(f"{model.name}: {model.stat().st_size / 1e6:.1f} MB")

# %%
# Import
# ------
# The importer turns each operator of the file into an operator of the dialect. Scales and zero
# points become attributes, weights become parameters.

start = time.perf_counter()
mod, params = qnn.from_tflite(model)
print(f"imported in {time.perf_counter() - start:.2f} s, {len(params)} constants")

for line in mod.script(show_meta=False).splitlines():
    if "R.qnn.quantized_conv2d" in line:
        print(line.strip()[:96], "…")
        break

# %%
# Compile
# -------
# The target decides which kernels are taken: ``"host"`` is this machine; ``tvm-qnn targets`` lists
# other names.

start = time.perf_counter()
lib = qnn.build(mod, target="host", params=params)
print(f"compiled for {lib.target.attrs['mcpu']} in {time.perf_counter() - start:.1f} s")

# %%
# Run
# ---
# Inputs and outputs are the model's own integers. The library knows what they stand for.

(image_info,) = lib.inputs
(scores_info,) = lib.outputs
print(image_info)

pixels = images.picture(0, image_info.shape[1])
image = images.as_input(pixels, image_info.dtype)[None]
scores = lib.run(image)
reals = (scores.astype(float) - scores_info.zero_point) * scores_info.scale

figure, (left, right) = plt.subplots(1, 2, figsize=(8, 3.2), layout="constrained")
left.imshow(pixels)
left.set_axis_off()
best = np.argsort(-reals[0], kind="stable")[:5]
right.barh([f"class {i}" for i in best[::-1]], reals[0][best[::-1]])
right.set_xlabel("score (random weights: it means nothing)")
plt.show()

# %%
# Is it right?
# ------------
# ``compare`` makes every intermediate tensor an output, and compares each with that of LiteRT's
# reference kernels, element by element. There is no tolerance: equal means equal.

comparison = qnn.compare(model, [image])
equal = len(comparison.tensors) - len(comparison.differing)
print(f"{equal} of {len(comparison.tensors)} tensors equal, {comparison.elements:,} elements")
assert comparison.is_equal

# %%
# Keep it
# -------
# The file has the code and the weights. ``load`` needs neither the model nor TVM's compiler.

path = folder / "inception_v3.so"
lib.export(path)
print(f"{path.name}: {path.stat().st_size / 1e6:.1f} MB")
loaded = qnn.load(path)
assert np.array_equal(loaded.run(image), scores)

# %%
# How fast is it?
# ---------------
# One thread runs on one core, in turn with LiteRT, so that both have the same conditions.

with one_core():
    timings = alternate(
        {
            "tvm-qnn": qnn.load(path, num_threads=1).prepare(image),
            "LiteRT": LiteRtSession(model.read_bytes()).prepare([image]),
        },
        rounds=20,
    )
for name, timing in timings.items():
    print(f"{name}: {1e3 * timing.median:.1f} ms")
