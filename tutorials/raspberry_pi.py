"""Compiling for a Raspberry Pi, and running there
===============================================

A laptop compiles; the board only runs. This page shows three ways to run a model: on the board over
the network with TVM's own RPC, as a C program that needs nothing on the board, and in an emulator
without a board. The answers are the same integers each time.

Run it with ``python tutorials/raspberry_pi.py``. If you have a board, start TVM's server there ::

    pip install "apache-tvm[rpc]"
    python3 -m tvm.exec.rpc_server --host 0.0.0.0 --port 9090

and give its address: ``BOARD=raspberrypi.local:9090 python tutorials/raspberry_pi.py``. The
versions of ``apache-tvm`` and ``apache-tvm-ffi`` must be the same on both sides. Without ``BOARD``
this machine plays the board.
"""  # noqa: D205, D415

import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np

import tvm_qnn as qnn
from tvm_qnn import digits

folder = Path(tempfile.mkdtemp())
model = folder / "digits.tflite"
model.write_bytes(digits.model("int8"))
mod, params = qnn.from_tflite(model)

pictures, labels = digits.held_out()
images = digits.to_input(pictures[:100], "int8")

# %%
# Which target?
# -------------
# ================================  ==========================  ==============================
# board                             instructions                target
# ================================  ==========================  ==============================
# Pi 2 and 3, 32-bit system         NEON                        ``armv7-neon``
# Pi 3, 64-bit system               NEON                        ``aarch64 -mcpu=cortex-a53``
# Pi 4                              NEON                        ``aarch64 -mcpu=cortex-a72``
# Pi 5, most phones                 NEON, dot products          ``aarch64 -mcpu=cortex-a76``
# newer phones and servers          and matrix products         ``aarch64-i8mm``
# ================================  ==========================  ==============================
#
# Code for a later row of the table stops on a board of an earlier row with an illegal instruction.


board = os.environ.get("BOARD")
target = os.environ.get("BOARD_TARGET", "aarch64 -mcpu=cortex-a72") if board else "host"
lib = qnn.build(mod, target, params)
print(f"compiled for {target}")

# %%
# Over the network
# ----------------
# ``remote`` connects to the server, ``load`` sends the library there. ``run`` sends inputs and
# fetches outputs; ``benchmark`` times runs by the board's own clock. A library for another
# processor has to be linked by a cross linker (Debian, Ubuntu:
# ``apt install gcc-aarch64-linux-gnu``).

server = None
if board is None:
    log = folder / "server.txt"
    serve = [sys.executable, "-m", "tvm.exec.rpc_server", "--host", "127.0.0.1"]
    server = subprocess.Popen(
        [*serve, "--port", "9400", "--port-end", "9499"],
        stderr=log.open("w"),
        start_new_session=True,
    )
    while not (found := re.search(r"bind to \S+:(\d+)", log.read_text())):
        assert server.poll() is None, log.read_text()
        time.sleep(0.1)
    board = f"127.0.0.1:{found.group(1)}"

host, _, port = board.partition(":")
with qnn.remote(host, int(port)) as device:
    there = device.load(lib)
    scores = np.concatenate([there.run(image[None]) for image in images])
    print(f"{(scores.argmax(1) == labels[:100]).sum()} of 100 digits recognized")
    timing = there.benchmark(images[:1])
    print(f"{1e6 * timing.median:.0f} microseconds a digit")
if server is not None:
    os.killpg(server.pid, signal.SIGKILL)

# %%
# The same integers that this machine computes:

here = qnn.build(mod, "host", params)
expected = np.concatenate([here.run(image[None]) for image in images])
assert np.array_equal(scores, expected)

figure, row = plt.subplots(1, 8, figsize=(8, 1.5), layout="constrained")
for axes, picture, found in zip(row, pictures, scores.argmax(axis=1), strict=False):
    axes.imshow(picture, cmap="gray_r")
    axes.set_title(str(found))
    axes.set_axis_off()
plt.show()

# %%
# A C program
# -----------
# The other way needs no Python, no TVM and no network on the board. It is the only way for 32-bit
# systems, because TVM has no package for them. ``format="c"`` writes an object file with code and
# weights, a header, a few lines of C and an example program.

standalone = qnn.build(mod, "aarch64", params)
standalone.export(folder / "digits", format="c")
for path in sorted(folder.glob("digits*.[cho]")):
    print(f"{path.name:16} {path.stat().st_size:7} bytes")
for line in (folder / "digits.h").read_text().splitlines():
    if line.startswith(("#define", "int ")):
        print(line)

# %%
# Any C compiler for the board makes a program of these files: the board's own, or a cross compiler
# here. The emulator ``qemu-aarch64`` (package ``qemu-user``) runs it without a board.

compiler, emulator = shutil.which("aarch64-linux-gnu-gcc"), shutil.which("qemu-aarch64")
if compiler and emulator:
    program = folder / "digits"
    sources = [folder / name for name in ("digits_main.c", "digits.c", "digits.o")]
    subprocess.run([compiler, "-O2", "-static", "-o", program, *sources, "-lm"], check=True)
    images.tofile(folder / "images.bin")
    emulated = [emulator, "-cpu", "cortex-a72", program]
    subprocess.run([*emulated, folder / "images.bin", folder / "scores.bin"], check=True)
    answers = np.fromfile(folder / "scores.bin", np.int8).reshape(scores.shape)
    assert np.array_equal(answers, expected)
    print("a Cortex-A72, emulated, gives the same 1,000 scores")
else:
    print(
        "no cross compiler or no emulator here: copy the files to the board and compile them there"
    )
