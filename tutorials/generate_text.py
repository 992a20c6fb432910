"""A language model that writes text, token by token
=================================================

A language model keeps the keys and values of what it has read, so that each new token is a small
step. This script loads a small trained model whose weights have 4 bits, lets it continue a text,
compares every token with ONNX Runtime's, and times both.

Run it with ``python tutorials/generate_text.py``; it needs ``pip install '.[onnx]' onnxruntime``.
"""  # noqa: D205, D415

import time

import matplotlib.pyplot as plt
import numpy as np
import onnxruntime

import tvm_qnn as qnn
from tvm_qnn import prose
from tvm_qnn.timing import one_core

# %%
# The model
# ---------
# It has 1.1 million parameters. It was trained on the pages of this project and on the help that
# comes with Python. Its tokens are bytes. ``tools/prose`` trained it, and quantized it with ONNX
# Runtime's ``MatMulNBitsQuantizer``. Put your own model in its place, made by onnxruntime-genai's
# builder or by Optimum.

path = prose.model("int4")
print(f"{path.name}: {path.stat().st_size / 1e6:.2f} MB")

# %%
# ONNX Runtime
# ------------
# Each step reads the keys and values of the past and returns those of the present, which are the
# past of the next step. ONNX Runtime runs first, because it takes other kernels if it finds itself
# bound to one core.

options = onnxruntime.SessionOptions()
options.intra_op_num_threads = 1
session = onnxruntime.InferenceSession(str(path), options, ["CPUExecutionProvider"])
prompt, count = "A library ", 200


def on_onnxruntime(ids: list[int], count: int) -> tuple[list[int], list[float]]:
    """Return the likeliest tokens, and the seconds of each."""
    past = {
        each.name: np.zeros((1, each.shape[1], 0, each.shape[3]), np.float32)
        for each in session.get_inputs()
        if each.name.startswith("past_")
    }
    found: list[int] = []
    seconds: list[float] = []
    for _ in range(count):
        start = time.perf_counter()
        mask = np.ones((1, len(prompt) + len(found)), np.int64)
        given = {"input_ids": np.array([ids]), "attention_mask": mask, **past}
        scores, *presents = session.run(None, given)
        past = dict(zip(past, presents, strict=True))
        ids = [int(scores[0, -1].argmax())]
        found += ids
        seconds.append(time.perf_counter() - start)
    return found, seconds


# %%
# Here
# ----
# ``qnn.decoder`` compiles the model and keeps the past in buffers of a fixed size. A step copies
# nothing of them. ``generate`` chooses the likeliest token each time, unless it gets a temperature.

decoder = qnn.decoder(path, num_threads=1)
ids = list(prompt.encode())
found = decoder.generate(ids, count)
print(prompt + bytes(found).decode(errors="replace"))

# %%
# The same tokens
# ---------------

expected, _ = on_onnxruntime(ids, count)
same = sum(a == b for a, b in zip(found, expected, strict=True))
print(f"{same} of {count} tokens are the same")
assert found == expected

# %%
# Tokens that are drawn at random make the text livelier. A seed makes it the same each time.

decoder.reset()
drawn = decoder.generate(ids, count, temperature=0.7, top_k=20, seed=1)
print(prompt + bytes(drawn).decode(errors="replace"))

# %%
# The time of each token
# ----------------------


def here(ids: list[int], count: int) -> list[float]:
    """Return the seconds of each token."""
    decoder.reset()
    start, seconds = time.perf_counter(), []
    for _ in decoder.stream(ids, count):
        seconds.append(time.perf_counter() - start)
        start = time.perf_counter()
    return seconds


with one_core():
    times = {"tvm-qnn": here(ids, count), "ONNX Runtime": on_onnxruntime(ids, count)[1]}

for name, seconds in times.items():
    print(f"{name}: {1e3 * float(np.median(seconds)):.3f} ms a token")

figure, axes = plt.subplots(figsize=(6, 2.5), layout="constrained")
for name, seconds in times.items():
    axes.plot([1e3 * each for each in seconds], label=name)
axes.set_ylim(0, 3e3 * float(np.median(times["ONNX Runtime"])))
axes.set_xlabel("token")
axes.set_ylabel("ms")
axes.legend()
plt.show()
