"""A language model of bytes as current large ones are built, only small, in PyTorch.

Normalizations by the root mean square, rotated positions, query heads that share keys and values,
and a gated feed-forward part.
"""

import torch
from torch import nn
from torch.nn import functional

from tools.prose.sizes import EPSILON, Sizes, angles


class Layer(nn.Module):
    """Attention, then the feed-forward part, each added to what it reads."""

    def __init__(self, sizes: Sizes) -> None:
        """Begin with random weights."""
        super().__init__()
        self.sizes = sizes
        width, own, shared = sizes.width, sizes.heads * sizes.head, sizes.shared * sizes.head
        self.before = nn.RMSNorm(width, eps=EPSILON)
        self.q, self.o = nn.Linear(width, own, bias=False), nn.Linear(own, width, bias=False)
        self.k, self.v = (nn.Linear(width, shared, bias=False) for _ in range(2))
        self.between = nn.RMSNorm(width, eps=EPSILON)
        self.gate, self.up = (nn.Linear(width, sizes.hidden, bias=False) for _ in range(2))
        self.down = nn.Linear(sizes.hidden, width, bias=False)

    def forward(self, x: torch.Tensor, cosines: torch.Tensor, sines: torch.Tensor) -> torch.Tensor:
        """Return the vectors of tokens, [batch, tokens, width]."""
        batch, tokens, _ = x.shape
        y = self.before(x)
        q, k, v = (
            each(y).view(batch, tokens, -1, self.sizes.head).transpose(1, 2)
            for each in (self.q, self.k, self.v)
        )
        q, k = (_rotated(each, cosines[:tokens], sines[:tokens]) for each in (q, k))
        k, v = (each.repeat_interleave(q.shape[1] // each.shape[1], 1) for each in (k, v))
        y = functional.scaled_dot_product_attention(q, k, v, is_causal=True)
        x = x + self.o(y.transpose(1, 2).reshape(batch, tokens, -1))
        y = self.between(x)
        return x + self.down(functional.silu(self.gate(y)) * self.up(y))


class Network(nn.Module):
    """The whole model: from bytes to scores of the byte after each."""

    def __init__(self, sizes: Sizes) -> None:
        """Begin with random weights."""
        super().__init__()
        self.sizes = sizes
        self.embed = nn.Embedding(sizes.vocabulary, sizes.width)
        nn.init.normal_(self.embed.weight, std=0.05)
        self.layers = nn.ModuleList(Layer(sizes) for _ in range(sizes.layers))
        self.norm = nn.RMSNorm(sizes.width, eps=EPSILON)
        self.scores = nn.Linear(sizes.width, sizes.vocabulary, bias=False)
        turns = torch.tensor(angles(sizes), dtype=torch.float32)
        self.register_buffer("cosines", turns.cos(), persistent=False)
        self.register_buffer("sines", turns.sin(), persistent=False)

    def forward(self, ids: torch.Tensor) -> torch.Tensor:
        """Return scores, [batch, tokens, vocabulary]."""
        x = self.embed(ids)
        for layer in self.layers:
            x = layer(x, self.cosines, self.sines)
        return self.scores(self.norm(x))


def _rotated(x: torch.Tensor, cosines: torch.Tensor, sines: torch.Tensor) -> torch.Tensor:
    first, second = x.chunk(2, -1)
    return torch.cat((first * cosines - second * sines, second * cosines + first * sines), -1)
