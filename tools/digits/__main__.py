"""`python -m tools.digits`: trains and quantizes the classifier and rewrites its data files."""

from pathlib import Path

import numpy as np

from tools.digits import network
from tools.digits.quantize import quantize
from tools.digits.train import Digits, load_split, train
from tvm_qnn.digits import DATA, STYLES, model, to_input
from tvm_qnn.io.outputs import filling
from tvm_qnn.oracle import litert_tensors


def write(folder: Path, parameters: network.Parameters, digits: Digits, held_out: Digits) -> None:
    """Write the models, calibrated on `digits`, and the held-out pictures into a folder."""
    folder.mkdir(exist_ok=True)
    with filling(folder) as inside:
        for style in STYLES:
            content = quantize(parameters, digits.real(), style)
            (inside / f"digits_{style}.tflite").write_bytes(content)
        archive = inside / "held_out.npz"
        np.savez_compressed(archive, pictures=held_out.pictures, labels=held_out.labels)


def _litert_accuracy(style: str, digits: Digits) -> float:
    """Return the fraction of digits that LiteRT's reference kernels classify rightly."""
    content = model(style)
    right = 0
    for picture, label in zip(to_input(digits.pictures, style), digits.labels, strict=True):
        tensors = litert_tensors(content, [picture[None]])
        probabilities = tensors[max(tensors)]  # the last tensor that was written
        right += int(probabilities.argmax() == label)
    return right / len(digits)


def main() -> None:
    """Make the data files and print how often the float and the quantized models are right."""
    digits, held_out = load_split()
    parameters = train(digits)
    write(DATA, parameters, digits, held_out)
    print(f"Trained on {len(digits)} digits. Right on {len(held_out)} held-out ones:")
    print(f"  float  {network.accuracy(parameters, held_out.real(), held_out.labels):.2%}")
    for style in STYLES:
        print(f"  {style:5}  {_litert_accuracy(style, held_out):.2%}")


if __name__ == "__main__":
    main()
