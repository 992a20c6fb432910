"""The layers of the cost model's fit: the shapes of layers of published networks."""

from collections.abc import Iterator
from dataclasses import replace

from legalize.kernels.conv2d.spec import ConvSpec, Fusion, OutputStage, Residual
from legalize.kernels.conv2d.x86.amx.copies import can_copy
from legalize.kernels.conv2d.x86.amx.plan import (
    WIDTHS,
    TilePlan,
    cut_copied_to_width,
    cut_to_width,
)
from legalize.kernels.isa.base import AffineForm

_RELU = OutputStage("uint8", 0, 0, 255)
_LINEAR = OutputStage("uint8", 128, 0, 255)
# The sum of two tensors with different scales.
_FORM = AffineForm(lhs=11000, rhs=9000, addend=4096, shift=14)
_SUM = Fusion(residual=Residual("uint8", _FORM, _RELU))

# Size of the image, input channels, output channels, kernel, stride.
_Shape = tuple[int, int, int, tuple[int, int], int]
_RESNET: tuple[_Shape, ...] = tuple(
    shape
    for size, width in ((56, 64), (28, 128), (14, 256), (7, 512))
    for shape in (
        (size, 4 * width, width, (1, 1), 1),
        (size, width, width, (3, 3), 1),
        (2 * size, width, width, (3, 3), 2),
    )
)
_RESNET_SUMS: tuple[_Shape, ...] = tuple(
    (size, width, 4 * width, (1, 1), 1)
    for size, width in ((56, 64), (28, 128), (14, 256), (7, 512))
)
_INCEPTION: tuple[_Shape, ...] = (
    *((149, 32, 32, (3, 3), 1), (147, 32, 64, (3, 3), 1), (73, 64, 80, (1, 1), 1)),
    *((73, 80, 192, (3, 3), 1), (35, 192, 64, (1, 1), 1), (35, 64, 96, (3, 3), 1)),
    *((35, 96, 96, (3, 3), 1), (35, 48, 64, (5, 5), 1), (35, 288, 384, (3, 3), 2)),
    *((17, 768, 192, (1, 1), 1), (17, 128, 128, (1, 7), 1), (17, 128, 128, (7, 1), 1)),
    *((17, 192, 192, (1, 7), 1), (17, 192, 192, (7, 1), 1), (17, 192, 320, (3, 3), 2)),
    *((8, 1280, 320, (1, 1), 1), (8, 2048, 192, (1, 1), 1), (8, 384, 384, (1, 3), 1)),
    *((8, 448, 384, (3, 3), 1), (299, 3, 32, (3, 3), 2), (224, 3, 64, (7, 7), 2)),
)
_MOBILENET: tuple[_Shape, ...] = tuple(
    (size, channels, out_channels, (1, 1), 1)
    for size, channels, out_channels in (
        *((112, 32, 64), (56, 64, 128), (56, 128, 128), (28, 128, 256), (28, 256, 256)),
        *((14, 256, 512), (14, 512, 512), (7, 512, 1024), (7, 1024, 1024)),
        *((112, 16, 96), (56, 24, 144), (28, 32, 192), (14, 64, 384), (14, 96, 576)),
        *((7, 160, 960), (7, 320, 1280), (48, 8, 16), (24, 32, 32), (12, 64, 64)),
        *((6, 128, 128), (3, 256, 256)),
    )
)
_PROJECTIONS: tuple[_Shape, ...] = tuple(
    (size, channels, out_channels, (1, 1), 1)
    for size, channels, out_channels in (
        *((112, 32, 16), (56, 96, 24), (56, 144, 24), (28, 192, 32), (14, 384, 64)),
        *((14, 576, 96), (7, 960, 160), (7, 960, 320)),
    )
)
_SMALL: tuple[_Shape, ...] = (
    *((32, 16, 16, (3, 3), 1), (32, 16, 32, (3, 3), 2), (16, 32, 32, (3, 3), 1)),
    *((8, 64, 64, (3, 3), 1), (1, 640, 128, (1, 1), 1), (1, 2048, 1001, (1, 1), 1)),
)


def layers() -> Iterator[ConvSpec]:
    """Return the convolutions and dense layers, each of one image."""
    for shape in (*_RESNET, *_INCEPTION, *_MOBILENET, *_SMALL):
        yield _layer(shape)
    for shape in _PROJECTIONS:
        yield replace(_layer(shape), output=_LINEAR)
    for shape in _RESNET_SUMS:
        yield replace(_layer(shape), output=_LINEAR, fusion=_SUM)
    for shape in _MOBILENET:
        yield replace(_layer(shape), kernel_dtype="uint8", has_asymmetric_kernel=True)


def _layer(shape: _Shape) -> ConvSpec:
    size, channels, out_channels, (height, width), stride = shape
    y, x = height // 2, width // 2
    return ConvSpec(
        1,
        size,
        size,
        channels,
        height,
        width,
        out_channels,
        strides=(stride, stride),
        padding=(y, x, y, x),
        in_dtype="uint8",
        input_zero_point=0,
        output=_RELU,
    )


def ways(spec: ConvSpec) -> dict[str, TilePlan]:
    """Return every plan of a layer in tiles, by a name."""
    found = {}
    for nr in WIDTHS:
        found[f"{nr} vectors a turn"] = cut_to_width(spec, nr)
        copied = cut_copied_to_width(spec, nr) if can_copy(spec) else None
        if copied is not None:
            found[f"{nr} vectors a turn, of copies"] = copied
    return found


def name_of(spec: ConvSpec) -> str:
    """Return a layer's name, from its shape and its fused operators."""
    kernel = f"{spec.kernel_height}×{spec.kernel_width}"
    stride = f"/{spec.strides[0]}" if spec.strides[0] > 1 else ""
    parts = [f"{spec.in_height}×{spec.in_width}×{spec.in_channels}→{spec.out_channels}"]
    parts.append(kernel + stride)
    if spec.output.low < spec.output.zero_point:
        parts.append("linear")
    if spec.fusion.residual is not None:
        parts.append("sum")
    if spec.has_asymmetric_kernel:
        parts.append("uint8")
    return " ".join(parts)
