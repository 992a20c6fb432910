"""Programs as people write them around ``torch.compile``: each takes what compiles a model.

A program draws its own model and inputs from a seed, and returns what it would print or show.
"""

from collections.abc import Callable
from typing import Any

import torch
from torch import nn

Compile = Callable[[Any], Any]


def _seeded(model: nn.Module) -> nn.Module:
    generator = torch.Generator().manual_seed(5)
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.copy_(torch.randn(parameter.shape, generator=generator) / 4)
    return model.eval()


def _images(count: int, size: int = 32) -> torch.Tensor:
    return torch.rand((count, 3, size, size), generator=torch.Generator().manual_seed(6))


def _backbone(width: int = 8) -> nn.Sequential:
    return nn.Sequential(
        nn.Conv2d(3, width, 3, stride=2, padding=1),
        nn.ReLU(),
        nn.Conv2d(width, width, 3, padding=1, groups=width),
        nn.ReLU6(),
        nn.Conv2d(width, 2 * width, 1),
    )


def classify(compile_: Compile) -> Any:
    """Print the three best classes of each picture of a batch."""
    head = nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(16, 10)
    model = compile_(_seeded(nn.Sequential(_backbone(), *head)))
    images = (_images(4) - 0.5) / 0.25
    scores = torch.softmax(model(images), dim=1)
    return torch.topk(scores, 3)


def detect(compile_: Compile) -> Any:
    """Keep the boxes above a threshold, after what the model returns in two tensors."""

    class Detector(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.backbone = _backbone()
            self.boxes, self.scores = nn.Conv2d(16, 4, 1), nn.Conv2d(16, 2, 1)

        def forward(self, image: torch.Tensor) -> dict[str, torch.Tensor]:
            data = self.backbone(image)
            boxes = self.boxes(data).flatten(2).transpose(1, 2).contiguous()
            scores = self.scores(data).flatten(2).sigmoid().contiguous()
            return {"boxes": boxes, "scores": scores}

    found = compile_(_seeded(Detector()))(_images(1))
    best = found["scores"][0].amax(dim=0)
    chosen = torch.argsort(best, descending=True)[:5]
    return found["boxes"][0, chosen], best[chosen]


def segment(compile_: Compile) -> Any:
    """Return the mask of a picture, in its own size."""
    up = nn.Upsample(scale_factor=2, mode="bilinear", align_corners=False)
    model = compile_(_seeded(nn.Sequential(_backbone(), up)))
    scores = model(_images(1))
    return scores, torch.bincount(scores.argmax(dim=1).flatten(), minlength=16).sum()


def spot_words(compile_: Compile) -> Any:
    """Slide a window over a stream and smooth what the model says of each."""
    layers = nn.Conv1d(10, 16, 3, padding=1), nn.ReLU(), nn.AdaptiveAvgPool1d(1), nn.Flatten()
    model = compile_(_seeded(nn.Sequential(*layers, nn.Linear(16, 4))))
    stream = torch.randn((1, 10, 60), generator=torch.Generator().manual_seed(7))
    windows = [model(stream[..., start : start + 20].contiguous()) for start in range(0, 41, 10)]
    return torch.stack(windows).softmax(dim=-1).mean(dim=0)


def transcribe(compile_: Compile) -> Any:
    """Return the logits of an acoustic model, and the labels without repetitions."""
    model = compile_(_seeded(nn.Sequential(nn.Linear(12, 24), nn.Tanh(), nn.Linear(24, 6))))
    frames = torch.randn((1, 30, 12), generator=torch.Generator().manual_seed(8))
    logits = model(frames)
    return logits, torch.unique_consecutive(logits.argmax(dim=-1)).numel()


def classify_texts(compile_: Compile) -> Any:
    """Classify sentences of several lengths, one after the other."""

    class Classifier(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.words, self.last = nn.Embedding(50, 16), nn.Linear(16, 3)

        def forward(self, ids: torch.Tensor) -> torch.Tensor:
            scores: torch.Tensor = self.last(self.words(ids).mean(dim=1))
            return scores

    model = compile_(_seeded(Classifier()))
    return [model(torch.arange(length)[None] * 7 % 50) for length in (3, 8, 5, 8)]


def embed(compile_: Compile) -> Any:
    """Compare sentences by the cosine of their embeddings."""
    model = compile_(_seeded(nn.Sequential(nn.Linear(32, 64), nn.GELU(), nn.Linear(64, 16))))
    data = torch.randn((6, 32), generator=torch.Generator().manual_seed(9))
    embedded = nn.functional.normalize(model(data), dim=1)
    return embedded @ embedded.T


def score_anomalies(compile_: Compile) -> Any:
    """Return how far an autoencoder's output is from its input."""
    layers = nn.Linear(20, 6), nn.ReLU(), nn.Linear(6, 20)
    model = compile_(_seeded(nn.Sequential(*layers)))
    data = torch.rand((5, 20), generator=torch.Generator().manual_seed(10))
    return ((model(data) - data) ** 2).mean(dim=1)


def attend(compile_: Compile) -> Any:
    """Run a transformer's layer on a batch with a mask."""

    class Layer(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.parts, self.last = nn.Linear(16, 48), nn.Linear(16, 16)
            self.norm = nn.LayerNorm(16)

        def forward(self, data: torch.Tensor, mask: torch.Tensor) -> torch.Tensor:
            queries, keys, values = self.parts(self.norm(data)).chunk(3, dim=-1)
            weights = (queries @ keys.transpose(1, 2) / 4 + mask).softmax(dim=-1)
            result: torch.Tensor = data + self.last(weights @ values)
            return result

    data = torch.randn((2, 7, 16), generator=torch.Generator().manual_seed(11))
    mask = torch.triu(torch.full((7, 7), -1e4), diagonal=1)
    return compile_(_seeded(Layer()))(data, mask)


def evaluate(compile_: Compile) -> Any:
    """Run batches of a data loader, of which the last is smaller, and count what is right."""
    head = nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(16, 10)
    model = compile_(_seeded(nn.Sequential(_backbone(), *head)))
    data = torch.utils.data.TensorDataset(_images(10), torch.arange(10))
    loader = torch.utils.data.DataLoader(data, batch_size=4)
    found = [(model(images), labels) for images, labels in loader]
    right = sum(int((scores.argmax(dim=1) == labels).sum()) for scores, labels in found)
    return torch.cat([scores for scores, _ in found]), right


PROGRAMS = (
    classify,
    detect,
    segment,
    spot_words,
    transcribe,
    classify_texts,
    embed,
    score_anomalies,
    attend,
    evaluate,
)
