"""Trains the language model: some 20 minutes of two cores."""

import math
import time

import numpy as np
import numpy.typing as npt
import torch
from torch.nn import functional

from tools.prose.network import Network
from tools.prose.sizes import Sizes

SEED = 1797
BATCH = 4
RATE = 3e-3
WARMUP = 50
"""The steps until the learning rate is reached."""
HELD_OUT = 16_384
"""Bytes at the end of the text that take no part in training."""


def train(text: npt.NDArray[np.uint8], sizes: Sizes, minutes: float) -> Network:
    """Train a network for a time, with AdamW and a learning rate that falls along a cosine.

    Args:
        text: to learn.
        sizes: of the network.
        minutes: how long.
    """
    torch.manual_seed(SEED)
    rng = np.random.default_rng(SEED)
    network = Network(sizes)
    optimizer = torch.optim.AdamW(network.parameters(), RATE, betas=(0.9, 0.95), weight_decay=0.1)
    known = text[:-HELD_OUT]
    start, step, done = time.monotonic(), 0, 0.0
    while (done := (time.monotonic() - start) / (60 * minutes)) < 1:
        rate = RATE * min(1.0, (step + 1) / WARMUP) * (1 + math.cos(math.pi * done)) / 2
        for group in optimizer.param_groups:
            group["lr"] = rate
        starts = rng.integers(0, len(known) - sizes.length - 1, BATCH)
        pieces = np.stack([known[each : each + sizes.length + 1] for each in starts])
        loss = loss_of(network, pieces)
        optimizer.zero_grad()
        loss.backward()
        torch.nn.utils.clip_grad_norm_(network.parameters(), 1.0)
        optimizer.step()
        if step % 50 == 0:
            print(
                f"{done:4.0%}, step {step}: {loss.item() / math.log(2):.3f} bits a byte", flush=True
            )
        step += 1
    return network.eval()


def loss_of(network: Network, pieces: npt.NDArray[np.uint8]) -> torch.Tensor:
    """Return the loss of each byte that follows others, in nats.

    Args:
        network: what predicts.
        pieces: of a text, [batch, length + 1].
    """
    ids = torch.from_numpy(pieces.astype(np.int64))
    scores = network(ids[:, :-1])
    return functional.cross_entropy(scores.flatten(0, 1), ids[:, 1:].flatten())


@torch.no_grad()
def held_out_bits(network: Network, text: npt.NDArray[np.uint8]) -> float:
    """Return the bits a byte of the text that took no part in training."""
    length = network.sizes.length
    pieces = text[-HELD_OUT:][: HELD_OUT // length * length].reshape(-1, length)
    return loss_of(network, pieces).item() / math.log(2)
