"""`python -m tools.prose`: trains and quantizes the language model and rewrites its files.

It needs PyTorch, and the package onnx_ir, which ONNX Runtime's tool for 4 bits imports.
"""

import click
import onnx

from tools.prose.corpus import corpus
from tools.prose.export import float_model, in_4_bits, in_8_bits
from tools.prose.sizes import Sizes
from tvm_qnn.io.outputs import filling
from tvm_qnn.prose import DATA


@click.command()
@click.option("--minutes", default=20.0, show_default=True, help="How long to train.")
def main(minutes: float) -> None:
    """Train the model, print how well it predicts, and write its files."""
    from tools.prose.train import held_out_bits, train

    text, sizes = corpus(), Sizes()
    network = train(text, sizes, minutes)
    print(f"{held_out_bits(network, text):.2f} bits a byte of a text that it does not know")
    model = float_model(sizes, {name: each.numpy() for name, each in network.state_dict().items()})
    DATA.mkdir(exist_ok=True)
    with filling(DATA) as inside:
        onnx.save(in_4_bits(model), inside / "int4.onnx")
        onnx.save(in_8_bits(model), inside / "int8.onnx")


if __name__ == "__main__":
    main()
