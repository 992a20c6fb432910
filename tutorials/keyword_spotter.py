"""A streaming keyword spotter over a wave file
============================================

A spotter listens as long as it is on. Every 20 milliseconds it gets the spectrum of the newest
sound. It keeps the earlier spectra itself: the model has **state**. This page makes such a model,
gives it a wave file piece by piece, and listens to two streams at a time.

Its words are whistles, so that nothing has to be downloaded: "up" rises, "down" falls, and "trill"
goes back and forth.

Run it with ``python tutorials/keyword_spotter.py``.
"""  # noqa: D205, D415

import tempfile
import wave
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np

import tvm_qnn as qnn
from frontends.tflite.quantization import Quantization
from frontends.tflite.writer import ModelWriter
from qnn_ops.arithmetic.encoding import Encoding, quantize_array, symmetric, tflite_asymmetric

folder = Path(tempfile.mkdtemp())
rng = np.random.default_rng(0)

RATE = 8000  # samples a second
HOP = 160  # samples from one spectrum to the next: 20 ms
BANDS = 16  # of frequencies, for each of which a spectrum has its loudness
FRAMES = 26  # spectra that the model keeps: half a second
WORDS = ("", "up", "down", "trill")

# %%
# Something to listen to
# ----------------------
# A word takes 0.3 to 0.4 seconds, at any pitch and loudness. Between words there is noise.


def whistle(word: str) -> np.ndarray:
    """Return a word as samples from -1 to 1."""
    time = np.linspace(0, 1, int(RATE * rng.uniform(0.3, 0.4)))
    courses = {"up": time, "down": 1 - time, "trill": 0.5 + 0.5 * np.sin(20 * time)}
    pitch = rng.uniform(0.8, 1.2) * (500 + 1500 * courses[word])
    envelope = np.minimum(1, 20 * np.minimum(time, 1 - time))
    return rng.uniform(0.2, 0.8) * envelope * np.sin(2 * np.pi * np.cumsum(pitch) / RATE)


def noise(seconds: float) -> np.ndarray:
    """Return noise."""
    return rng.normal(0, rng.uniform(0.005, 0.02), int(RATE * seconds))


spoken = ["up", "trill", "down", "down", "up", "trill", "up", "down"]
samples = noise(0.7)
for word in spoken:
    sound = whistle(word)
    samples = np.concatenate(
        [samples, sound + noise(1)[: len(sound)], noise(rng.uniform(0.6, 1.2))]
    )

path = folder / "words.wav"
with wave.open(str(path), "wb") as file:
    file.setnchannels(1)
    file.setsampwidth(2)
    file.setframerate(RATE)
    file.writeframes((samples * 32767).clip(-32768, 32767).astype("<i2").tobytes())
print(f"{path.name}: {len(samples) / RATE:.1f} s")

# %%
# Features
# --------
# The model's input is the loudness of 16 bands in a window of two hops, on a logarithmic scale, in
# int8. It depends only on this window, so a program can compute it while it listens.

FEATURE = Encoding(6 / 255, -43, "int8")  # from -2 to 4
edges = np.linspace(8, 104, BANDS + 1).astype(int)  # of the bands, among the spectrum's numbers


def features(windows: np.ndarray) -> np.ndarray:
    """Return the loudness of each band in windows of two hops, int8 [..., BANDS]."""
    power = np.abs(np.fft.rfft(windows * np.hanning(2 * HOP))) ** 2
    loudness = np.log10(np.add.reduceat(power, edges[:-1], -1) / HOP + 1e-4)
    return quantize_array(np.clip(loudness + 2, -2, 4), FEATURE)


def frames(sound: np.ndarray) -> np.ndarray:
    """Return the features of all windows of a sound, int8 [N, BANDS]."""
    return features(np.lib.stride_tricks.sliding_window_view(sound, 2 * HOP)[::HOP])


# %%
# A small network
# ---------------
# A hidden layer turns the spectra of the last half second into four scores: one for each word, and
# one for no word. The network is trained here, in numpy, on other whistles than those of the file.
# A word counts when it has just ended. If only a part of it has been heard, or some time after its
# end, the answer is no word.


def example(label: int) -> np.ndarray:
    """Return half a second of features: the end of a word, or for label 0 another time."""
    word = WORDS[label or rng.integers(1, 4)]
    sound = whistle(word)
    sound = np.concatenate([noise(0.8), sound + noise(1)[: len(sound)], noise(0.8)])
    # Just before the end of a word, and some time after it, either answer is allowed: there are no
    # examples of these times.
    early, late = int(rng.integers(-24, -3)), int(rng.integers(9, 28))
    place = int(rng.integers(0, 7)) if label else (early if rng.random() < 0.6 else late)
    end = len(sound) - int(0.8 * RATE) + place * HOP
    return frames(sound[end - (FRAMES + 1) * HOP : end])


labels = rng.choice(4, 2400, p=[0.55, 0.15, 0.15, 0.15])
examples = np.stack([example(label) for label in labels])
inputs = (examples.reshape(len(labels), -1) - float(FEATURE.zero_point)) * FEATURE.scale
wanted = np.eye(4)[labels]

layers = [
    (rng.normal(0, 0.05, (24, inputs.shape[1])), np.zeros(24)),
    (rng.normal(0, 0.2, (4, 24)), np.zeros(4)),
]
velocity = [[np.zeros_like(part) for part in layer] for layer in layers]
for _ in range(250):
    hidden = np.maximum(0, inputs @ layers[0][0].T + layers[0][1])
    logits = hidden @ layers[1][0].T + layers[1][1]
    powers = np.exp(logits - logits.max(1, keepdims=True))
    error = (powers / powers.sum(1, keepdims=True) - wanted) / len(labels)
    inner = (error @ layers[1][0]) * (hidden > 0)
    gradients = [(inner.T @ inputs, inner.sum(0)), (error.T @ hidden, error.sum(0))]
    for layer, gradient, speed in zip(layers, gradients, velocity, strict=True):
        for part, slope, momentum in zip(layer, gradient, speed, strict=True):
            momentum *= 0.9
            momentum -= 0.1 * slope
            part += momentum
print(f"{np.mean(logits.argmax(1) == labels):.1%} of the examples are classified rightly")

# %%
# A model with state
# ------------------
# In a TFLite file, state is a variable: ``VAR_HANDLE`` names it, ``READ_VARIABLE`` and
# ``ASSIGN_VARIABLE`` read and write it, and ``CALL_ONCE`` gives its first value, here silence. The
# model appends the newest spectrum and forgets the oldest.

writer = ModelWriter()


def tensor(name: str, shape: tuple[int, ...], encoding: Encoding) -> int:
    """Add an activation."""
    quantization = Quantization.per_tensor(encoding.scale, encoding.zero_point)
    return writer.tensor(name, shape, encoding.dtype, quantization)


def integers(name: str, *values: int) -> int:
    """Add a constant."""
    return writer.tensor(name, (len(values),), "int32", data=np.array(values, np.int32))


def dense(name: str, data: int, scale: float, layer: int, result: int, activation: str) -> None:
    """Add a layer with int8 weights."""
    weight, bias = layers[layer]
    encoding = symmetric(np.abs(weight).max(), "int8")
    steps = scale * encoding.scale
    operands = [
        data,
        writer.tensor(
            f"{name}/weight",
            weight.shape,
            "int8",
            Quantization.per_tensor(encoding.scale, 0),
            quantize_array(weight, encoding),
        ),
        writer.tensor(
            f"{name}/bias",
            bias.shape,
            "int32",
            Quantization.per_tensor(steps, 0),
            np.rint(bias / steps).astype(np.int32),
        ),
    ]
    writer.operator("FULLY_CONNECTED", operands, [result], fused_activation_function=activation)


def variable(where: ModelWriter) -> int:
    """Add the operator that names the variable."""
    handle = where.tensor("handle", (1,), "resource")
    where.operator("VAR_HANDLE", [], [handle], shared_name="heard")
    return handle


writer.operator("CALL_ONCE", [], [], init_subgraph_index=1)
beginning = writer.subgraph()
silence = beginning.tensor(
    "silence",
    (1, FRAMES, BANDS),
    "int8",
    Quantization.per_tensor(FEATURE.scale, FEATURE.zero_point),
    np.full((1, FRAMES, BANDS), quantize_array(np.array(-1.0), FEATURE), np.int8),
)
beginning.operator("ASSIGN_VARIABLE", [variable(beginning), silence], [])
beginning.end([], [])

newest = tensor("newest", (1, 1, BANDS), FEATURE)
heard = tensor("heard", (1, FRAMES, BANDS), FEATURE)
longer = tensor("longer", (1, FRAMES + 1, BANDS), FEATURE)
kept = tensor("kept", (1, FRAMES, BANDS), FEATURE)
flat = tensor("flat", (1, FRAMES * BANDS), FEATURE)
of_hidden = tflite_asymmetric(hidden.min(), hidden.max(), "int8")
of_logits = tflite_asymmetric(logits.min(), logits.max(), "int8")
inside = tensor("hidden", (1, 24), of_hidden)
scores = tensor("logits", (1, 4), of_logits)
probabilities = tensor("probabilities", (1, 4), Encoding(1 / 256, -128, "int8"))

handle = variable(writer)
writer.operator("READ_VARIABLE", [handle], [heard])
writer.operator("CONCATENATION", [heard, newest], [longer], axis=1)
writer.operator(
    "SLICE",
    [longer, integers("begin", 0, 1, 0), integers("size", 1, FRAMES, BANDS)],
    [kept],
)
writer.operator("ASSIGN_VARIABLE", [handle, kept], [])
writer.operator("RESHAPE", [kept, integers("shape", 1, -1)], [flat], new_shape=[1, -1])
dense("hidden", flat, FEATURE.scale, 0, inside, "RELU")
dense("logits", inside, of_hidden.scale, 1, scores, "NONE")
writer.operator("SOFTMAX", [scores], [probabilities], beta=1.0)
model = writer.finish([newest], [probabilities])

# %%
# Listen
# ------
# The variable became state of the library. It is not an input, but lasts from one run to the next.

mod, params = qnn.from_tflite(model)
lib = qnn.build(mod, "host", params)
print("inputs:", [info.name for info in lib.inputs], "state:", list(lib.state))

with wave.open(str(path), "rb") as file:
    raw = np.frombuffer(file.readframes(file.getnframes()), "<i2")
sound = raw / 32768

starts = range(0, len(sound) - 2 * HOP + 1, HOP)
windows = [features(sound[start : start + 2 * HOP])[None, None] for start in starts]
chances = np.concatenate([(lib.run(window) + 128.0) / 256 for window in windows])

# %%
# A word is spotted when three runs in a row are sure of it. For the next 0.4 seconds the spotter
# says nothing.

sure = np.where(chances.max(1) > 0.7, chances.argmax(1), 0)
spotted, deaf_until = [], 0
for place in range(2, len(sure)):
    if sure[place] and (sure[place - 2 : place] == sure[place]).all() and place >= deaf_until:
        spotted.append((place * HOP / RATE, WORDS[sure[place]]))
        deaf_until = place + 20
for second, word in spotted:
    print(f"{second:5.2f} s: {word}")
assert [word for _, word in spotted] == spoken

figure, (above, below) = plt.subplots(2, 1, figsize=(8, 4), sharex=True, layout="constrained")
above.plot(np.arange(len(sound)) / RATE, sound, linewidth=0.3)
for second, word in spotted:
    above.annotate(word, (second, 0.75), ha="center")
for number, word in enumerate(WORDS[1:], 1):
    below.plot(np.arange(len(chances)) * HOP / RATE, chances[:, number], label=word)
below.set_xlabel("seconds")
below.set_ylabel("probability")
below.legend()
plt.show()

# %%
# Two streams at a time
# ---------------------
# Each ``session`` has a state of its own, so that one library serves any number of microphones.
# After ``reset`` a stream begins again, and gives the same answers.

first, second = lib.session(), lib.session()
late = len(windows) // 2
for place in range(late):
    assert np.array_equal(first.run(windows[place]), second.run(windows[place]))
first.reset()
again = np.concatenate([(first.run(window) + 128.0) / 256 for window in windows])
rest = np.concatenate([(second.run(window) + 128.0) / 256 for window in windows[late:]])
assert np.array_equal(again, chances)
assert np.array_equal(rest, chances[late:])
print("two sessions and a reset: the same", len(again), "answers")

# %%
# Is it right?
# ------------
# Every tensor of forty consecutive runs is compared with LiteRT's.

comparison = qnn.compare(model, [windows[0]], then=[[window] for window in windows[40:79]])
assert comparison.is_equal
print(f"{len(comparison.tensors)} tensors equal, {comparison.elements:,} elements in all runs")
