"""From a Gluon network to a quantized library
===========================================

MXNet is retired, but it quantizes networks well, and its quantized networks can still be used.
tvm-qnn reads their files without MXNet, and computes what MXNet 1.9.1 computes on a processor with
VNNI, bit for bit. This page trains a small Gluon network on handwritten digits, lets MXNet quantize
it, and compiles it to a library.

Run it with ``python tutorials/quantize_mxnet.py``. The first half needs MXNet; ``make mxnet`` makes
an environment for it, ``.venv-mxnet``. Without MXNet the page takes files that this script wrote
earlier in that environment.
"""  # noqa: D205, D415

import tempfile
from pathlib import Path

import numpy as np

import tvm_qnn as qnn
from tvm_qnn import digits

try:
    import mxnet as mx
    from mxnet.contrib import quantization
except (ImportError, AttributeError):  # the latter: MXNet with a numpy newer than 1.23
    mx = None
try:
    import matplotlib.pyplot as plt
except ImportError:  # as in the environment of MXNet
    plt = None

pictures, labels = digits.held_out()
pictures = (pictures[:, None] / digits.INK).astype(np.float32)  # 1 channel, from 0 to 1
train, test = slice(0, 300), slice(300, 450)

# %%
# The float network
# -----------------
# The network has two convolutions with batch normalization and a fully connected layer. It is
# trained for a few seconds.

if mx is None:
    folders = [Path.cwd(), *Path.cwd().parents]  # the script runs somewhere in the checkout
    checkout = next(folder for folder in folders if (folder / "tests/fixtures").is_dir())
    prefix = checkout / "tests/fixtures/mxnet_digits/digits"
    print(f"MXNet is not installed: taking {prefix.name}-symbol.json and {prefix.name}-0000.params")
else:
    prefix = Path(tempfile.mkdtemp()) / "digits"
    mx.random.seed(0)
    nn = mx.gluon.nn
    network = nn.HybridSequential()
    network.add(nn.Conv2D(16, 3, padding=1), nn.BatchNorm(), nn.Activation("relu"))
    network.add(nn.MaxPool2D(), nn.Conv2D(32, 3), nn.BatchNorm(), nn.Activation("relu"))
    network.add(nn.Flatten(), nn.Dense(10))
    network.initialize(mx.init.Xavier())
    network.hybridize()
    trainer = mx.gluon.Trainer(network.collect_params(), "adam", {"learning_rate": 0.01})
    loss = mx.gluon.loss.SoftmaxCrossEntropyLoss()
    for _ in range(60):
        with mx.autograd.record():
            error = loss(network(mx.nd.array(pictures[train])), mx.nd.array(labels[train]))
        error.backward()
        trainer.step(300)
    correct = network(mx.nd.array(pictures[test])).asnumpy().argmax(axis=1) == labels[test]
    print(f"float network: {100 * correct.mean():.1f}% right")

# %%
# Quantized by MXNet
# ------------------
# MXNet fuses convolutions with the operators that follow them, measures ranges on some pictures,
# and writes a symbol in which each operator states the range of its result. The weights stay in
# float. MXNet rounds them at its first run, tvm-qnn at import, in the same way.

if mx is not None:
    network.export(str(prefix))
    symbol, arguments, states = quantization.quantize_model_mkldnn(
        *mx.model.load_checkpoint(str(prefix), 0),
        label_names=None,
        calib_mode="naive",
        calib_data=mx.io.NDArrayIter({"data": pictures[train]}, batch_size=100),
        num_calib_examples=300,
        quantized_dtype="auto",
        logger=None,
    )
    mx.model.save_checkpoint(str(prefix), 0, symbol, arguments, states)

# %%
# Import
# ------
# The order of the arguments is that of TVM's former function: symbol, shape, dtype, parameters. The
# arguments may be MXNet's objects instead of paths:
# ``from_mxnet(symbol, shape, "float32", arguments, states)``.

shape = pictures[test].shape
mod, params = qnn.from_mxnet(
    f"{prefix}-symbol.json", shape, "float32", arg_params=f"{prefix}-0000.params"
)
for line in mod.script(show_meta=False).splitlines():
    if "R.qnn." in line:
        print(line[line.index("R.qnn.") :].partition("(")[0])

# %%
# The library
# -----------
# From here on it is like any other model: it is compiled for a target, kept in a file, and loaded
# on a machine with neither MXNet nor TVM's compiler.

library = qnn.build(mod, target="host", params=params)
path = Path(tempfile.mkdtemp()) / "digits.so"
library.export(path)
scores = qnn.load(path).run(pictures[test])
accuracy = (scores.argmax(axis=1) == labels[test]).mean()
print(f"{path.name}: {path.stat().st_size / 1e3:.0f} kB, {100 * accuracy:.1f}% right")

# %%
# These are the eight digits with the least certain answers. Each has its answer and, if this is
# wrong, the right one:

if plt is not None:
    second, first = np.sort(scores, axis=1)[:, -2:].T
    figure, row = plt.subplots(1, 8, figsize=(8, 1.5), layout="constrained")
    for axes, place in zip(row, np.argsort(first - second), strict=False):
        answer, truth = scores[place].argmax(), labels[test][place]
        axes.imshow(pictures[test][place, 0], cmap="gray_r")
        axes.set_title(f"{answer}" if answer == truth else f"{answer}, not {truth}")
        axes.axis("off")
    plt.show()

# %%
# Is it right?
# ------------
# The answers are compared with MXNet's own. The stored files have MXNet's answers from a processor
# with VNNI, and the library gives the same numbers. Without VNNI, MXNet adds products in 16 bits,
# which saturate: there its answers, not the library's, are a little off.

if mx is None:
    with np.load(f"{prefix}.npz") as stored:
        answers = stored["output0"]
else:
    module = mx.mod.Module(symbol, label_names=None)
    module.bind(for_training=False, data_shapes=[("data", shape)])
    module.set_params(arguments, states)
    module.forward(mx.io.DataBatch([mx.nd.array(pictures[test])], []), is_train=False)
    answers = module.get_outputs()[0].asnumpy()
print(f"{(scores == answers).sum()} of {scores.size} scores are MXNet's, bit for bit")
print(f"{(scores.argmax(1) == answers.argmax(1)).sum()} of {len(scores)} digits are MXNet's")

# %%
# MXNet as it was meant
# ---------------------
# MXNet has a few faults. For instance, it writes a sum into a type that is too small. These faults
# are part of its answers, so the import reproduces them; ``semantics="corrected"`` does not. This
# network meets none of them.

corrected, params = qnn.from_mxnet(
    f"{prefix}-symbol.json",
    shape,
    arg_params=f"{prefix}-0000.params",
    semantics="corrected",
)
same = qnn.build(corrected, target="host", params=params).run(pictures[test])
print(f"{(same == scores).sum()} of {scores.size} scores are the same when corrected")
