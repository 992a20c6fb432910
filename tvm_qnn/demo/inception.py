"""Part 2: Inception V3."""

from __future__ import annotations

from frontends.tflite import from_tflite
from frontends.tflite.reader import read_model
from tvm_qnn import zoo
from tvm_qnn.demo.check import Checked, check_and_time, compile_here
from tvm_qnn.demo.report import print_checked
from tvm_qnn.io.progress import timed
from tvm_qnn.io.terminal import Terminal, styled
from tvm_qnn.zoo import images

STYLE = "int8_per_axis"


def show_inception(console: Terminal, name: str = "inception_v3", tiny: bool = False) -> Checked:
    """Make a network of the zoo, compile it, check it, time it, and print what came out.

    Args:
        console: where to print.
        name: of the network.
        tiny: whether to take a small relative of it, for a quick look.
    """
    console.print()
    console.print(
        styled(f"{name}{' (tiny)' if tiny else ''}"),
        f", {STYLE}: the published network with weights drawn from a seed, not trained. It takes "
        "the time of the trained one and meets the same arithmetic; its answers mean nothing.",
        sep="",
    )
    with timed(console, "Make the model"):
        model = zoo.build(name, STYLE, tiny=tiny)
    with timed(console, "Import it"):
        graph = read_model(model)
        mod, params = from_tflite(graph)
    library = compile_here(console, mod, params)
    (info,) = library.inputs
    picture = images.as_input(images.picture(0, info.shape[1]), info.dtype)[None]
    checked = check_and_time(console, model, library, [picture])
    print_checked(console, checked)
    return checked
