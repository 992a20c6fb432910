"""A detector, with boxes drawn
============================

A detector says what is in a picture, and where. This page runs one from a picture file to a picture
with boxes, once with the command line and once in Python. The model is small but trained: it finds
handwritten digits on a page of 48×48 pixels. It belongs to this project
(``python -m tools.digits.detector`` trains it), so that nothing has to be downloaded. It is built
like the detectors for phones: convolutions in int8, a score and a box for each position in the
picture, and ``TFLite_Detection_PostProcess``, which chooses among the boxes. Put your own SSD in
its place.

Run it with ``python tutorials/detector.py``.
"""  # noqa: D205, D415

import json
import subprocess
import sys
import tempfile
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
from PIL import Image

import tvm_qnn as qnn
from tvm_qnn import digits
from tvm_qnn.digits.scenes import scene

folder = Path(tempfile.mkdtemp())
model = folder / "detector.tflite"
model.write_bytes(digits.detector())
print(f"{model.name}: {model.stat().st_size / 1e3:.1f} kB")

# %%
# A picture
# ---------
# The picture has six digits that the training did not use, of any size and at any position of a
# grainy page. As usual, the file is larger than the model's input; ``run`` scales it.

page = scene(*digits.held_out(), np.random.default_rng(3), 6)
large = Image.fromarray(page.pixels).resize((480, 480), Image.Resampling.BICUBIC)
large.save(folder / "page.png")
labels = ["zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine"]
(folder / "labels.txt").write_text("\n".join(labels))

# %%
# On the command line
# -------------------
# ``run`` recognises the outputs as detections, because TFLite_Detection_PostProcess made them, and
# says so. ``--draw`` draws them. A model with metadata has its labels in its file. This model has
# none, so ``--labels`` gives them.

command = [sys.executable, "-m", "tvm_qnn", "run", model, "--input", folder / "page.png"]
options = ["--labels", folder / "labels.txt", "--threshold", "0.5"]
drawing = folder / "found.png"
shown = subprocess.run(
    [*command, *options, "--draw", drawing], check=True, capture_output=True, text=True
)
print(shown.stdout)

figure, axes = plt.subplots(figsize=(5, 5), layout="constrained")
axes.imshow(Image.open(drawing))
axes.set_axis_off()
plt.show()

# %%
# A program reads the same as JSON. Positions are parts of the picture's width and height.

answer = subprocess.run([*command, *options, "--json"], check=True, capture_output=True, text=True)
found = json.loads(answer.stdout)[0]["detections"]
print(json.dumps(found[0], indent=2))

# %%
# In Python
# ---------
# The library has the operator's four outputs: boxes (top, left, bottom, right), classes, scores,
# and the number of valid ones. ``role`` tells which output is which, whatever a model calls them.

mod, params = qnn.from_tflite(model)
lib = qnn.build(mod, target="host", params=params)
for info in lib.outputs:
    print(f"{info.name}: {info.dtype} {info.shape}, {info.role}")

image = (page.pixels ^ 128).view(np.int8)[None, :, :, None]  # black, 0, is the lowest integer
results = lib.run(image)
by_role = {info.role: results[info.name] for info in lib.outputs}
count = int(by_role["count"][0])
for box, number, score in zip(
    by_role["boxes"][0, :count],
    by_role["classes"][0, :count].astype(int),
    by_role["scores"][0, :count],
    strict=True,
):
    print(f"{score:.2f} {number} at", *(f"{48 * side:.1f}" for side in box))

# %%
# Is it right?
# ------------
# There are two questions. Does it find the digits? A box counts if more than half of the pixels
# that the box and a digit's box cover together belong to both.


def overlap(first: np.ndarray, second: np.ndarray) -> float:
    """Return the common area of two boxes, divided by the area that they cover together."""
    low, high = np.maximum(first[:2], second[:2]), np.minimum(first[2:], second[2:])
    shared = np.prod(np.maximum(0, high - low))
    return float(
        shared / (np.prod(first[2:] - first[:2]) + np.prod(second[2:] - second[:2]) - shared)
    )


for box, number in zip(page.boxes, page.labels, strict=True):
    sides = [[each["box"][side] for side in ("top", "left", "bottom", "right")] for each in found]
    best = max(range(len(found)), key=lambda place: overlap(np.array(sides[place]), box))
    assert overlap(np.array(sides[best]), box) > 0.5
    assert found[best]["index"] == number
assert len(found) == len(page.labels)
print(f"all {len(found)} digits found, each in its place")

# %%
# Does it compute what LiteRT computes? Every tensor is compared, element by element, boxes and
# scores too.

comparison = qnn.compare(model, [image])
assert comparison.is_equal
print(f"{len(comparison.tensors)} tensors equal, {comparison.elements:,} elements")
