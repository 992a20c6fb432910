"""Writes the page of a report: a model's memory over time, and its flash by layer."""

from collections.abc import Iterator, Mapping, Sequence

from tvm_qnn.footprint.footprint import Footprint
from tvm_qnn.footprint.layers import Layer
from tvm_qnn.io.pages import page, page_table, text

# Each has a contrast of at least three to white and to black.
_COLOURS = ("#2f7ed8", "#c2571a", "#2e8b57", "#9467bd", "#b8860b", "#c2457e", "#5f8a99", "#7f7f7f")
_WIDTH, _HEIGHT, _LEFT, _BELOW = 960, 320, 90, 40  # of the picture, in units of its own
_LINES = 4


def report_page(title: str, found: Footprint, about: Mapping[str, str]) -> str:
    """Write the page of a report.

    Args:
        title: the page's title.
        found: the model's needs.
        about: headings and texts that say how the model was measured.
    """
    colours = _colours(found.layers)
    parts = [page_table([], _totals(found))]
    if found.blocks:
        parts += ["<h2>Memory over time</h2>"]
        explained = (
            f"The workspace of {_bytes(found.arena_workspace)} with inputs and outputs in it "
            "(--arena). A box is a tensor: its height is its bytes, its width the calls that need "
            "it. The colour is that of the operator that writes it."
        )
        parts += [f"<p>{text(explained)}</p>"]
        parts += [_legend(colours, found), _memory(found, colours)]
    parts += ["<h2>Flash by layer</h2>", _flash(found)]
    parts += ["<h2>How it was made</h2>", page_table([], [*about.items()], "words")]
    return page(title, parts)


def _totals(found: Footprint) -> Iterator[tuple[str, str]]:
    yield "RAM", _bytes(found.ram)
    yield "RAM with inputs and outputs in the workspace (--arena)", _bytes(found.arena_ram)
    yield "flash", _bytes(found.constant_bytes if found.flash is None else found.flash)
    yield "MACs", f"{found.macs:,}"
    if found.estimated_instructions is not None:
        yield "instructions (estimate)", f"{found.estimated_instructions:,}"


def _layer_of(found: Footprint, call: int) -> Layer | None:
    return next((layer for layer in found.layers if call in layer.calls), None)


def _colours(layers: Sequence[Layer]) -> dict[str, str]:
    """Return a colour for each kind of operator; all further kinds share the last colour."""
    kinds = list(dict.fromkeys(layer.code or "other" for layer in layers))
    return {kind: _COLOURS[min(i, len(_COLOURS) - 1)] for i, kind in enumerate(["input", *kinds])}


def _kind(found: Footprint, first: int) -> str:
    layer = _layer_of(found, first)
    return "input" if first < 0 else (layer.code if layer else "") or "other"


def _legend(colours: Mapping[str, str], found: Footprint) -> str:
    used = {_kind(found, block.first) for block in found.blocks}
    entries = [
        f'<li><span class="swatch" style="background:{colour}"></span>{text(kind)}</li>'
        for kind, colour in colours.items()
        if kind in used
    ]
    return f'<ul class="legend">{"".join(entries)}</ul>'


def _memory(found: Footprint, colours: Mapping[str, str]) -> str:
    """Draw the tensors of the workspace: calls from left to right, bytes from the bottom up."""
    calls = 1 + max(block.last for block in found.blocks)
    high = max(found.arena_workspace, 1)
    across, up = (_WIDTH - _LEFT) / (calls + 1), (_HEIGHT - _BELOW) / high
    shapes = []
    for line in range(_LINES + 1):
        y = (_HEIGHT - _BELOW) * line / _LINES
        number = text(_bytes(round(high * (1 - line / _LINES))))
        shapes.append(f'<path class="line" d="M{_LEFT} {y:.1f}H{_WIDTH}"/>')
        shapes.append(
            f'<text x="{_LEFT - 6}" y="{y + 10 * (not line):.1f}" class="end">{number}</text>'
        )
    for block in found.blocks:
        x = _LEFT + across * (block.first + 1)
        y = _HEIGHT - _BELOW - up * (block.offset + block.size)
        width, height = across * (block.last - block.first + 1), up * block.size
        kind = _kind(found, block.first)
        layer = _layer_of(found, block.first)
        name = f"{kind} {layer.name}" if layer else kind
        told = f"{name}: {_bytes(block.size)}, calls {max(block.first, 0)} to {block.last}"
        shapes.append(
            f'<rect x="{x:.1f}" y="{y:.1f}" width="{width:.1f}" height="{max(height, 0.5):.1f}" '
            f'fill="{colours[kind]}"><title>{text(told)}</title></rect>'
        )
    middle = (_LEFT + _WIDTH) / 2
    shapes.append(
        f'<text x="{middle}" y="{_HEIGHT - 12}" class="middle">calls, in the order of a run</text>'
    )
    label = f"{len(found.blocks)} tensors in {_bytes(high)} over {calls} calls"
    return (
        f'<div class="table" tabindex="0"><svg class="chart" viewBox="0 -8 {_WIDTH} {_HEIGHT + 8}" '
        f'role="img" aria-label="{text(label)}">{"".join(shapes)}</svg></div>'
    )


def _flash(found: Footprint) -> str:
    """Return a table with a bar for each layer: constants, and code after them."""
    most = max([_flash_of(layer) for layer in found.layers], default=0) or 1
    heads = "<th>layer</th><th class='name'>operator</th>"
    heads += "".join(f"<th>{each}</th>" for each in ("output", "constants", "code"))
    lines = [f"<tr>{heads}<td></td></tr>"]
    for layer in found.layers:
        shape = "×".join(map(str, layer.shape))
        code = "–" if layer.function_bytes is None else f"{layer.function_bytes:,}"
        sizes = (layer.constant_bytes, layer.function_bytes or 0)
        bars = "".join(
            f'<span class="bar" style="width:{100 * size / most:.2f}%;background:{colour}"></span>'
            for size, colour in zip(sizes, _COLOURS, strict=False)
        )
        names = [f'<td class="name">{text(each)}</td>' for each in (layer.name, layer.code)]
        numbers = [f"<td>{text(each)}</td>" for each in (shape, f"{layer.constant_bytes:,}", code)]
        lines.append(f"<tr>{''.join([*names, *numbers])}<td class='bars'>{bars}</td></tr>")
    legend = "".join(
        f'<li><span class="swatch" style="background:{colour}"></span>{name}</li>'
        for name, colour in zip(("constants", "code"), _COLOURS, strict=False)
    )
    table = f'<table class="wide-table">{"".join(lines)}</table>'
    shared = f"<p>In no layer: {_bytes(found.shared_bytes)}.</p>" if found.shared_bytes else ""
    return f'<ul class="legend">{legend}</ul><div class="table" tabindex="0">{table}</div>{shared}'


def _flash_of(layer: Layer) -> int:
    return layer.constant_bytes + (layer.function_bytes or 0)


def _bytes(count: int) -> str:
    return f"{count:,} bytes" if count < 10_000 else f"{count / 1024:,.1f} KiB"
