"""Steps that move elements: resized images, parts, blocks, and choices among elements."""

from tests.differential.graphs import Graph, Value, step


@step(int16=True, ranks=(4,))
def resize(graph: Graph, value: Value) -> Value | None:
    if max(value.shape[1:3]) > 20:
        return None
    code = str(graph.choice("RESIZE_BILINEAR", "RESIZE_NEAREST_NEIGHBOR"))
    # Twice as large at most: LiteRT's bilinear kernel reads past the image where it grows more.
    sizes = [int(graph.rng.integers(1, 2 * size + 1)) for size in value.shape[1:3]]
    result = graph.result(value, (value.shape[0], *sizes, value.shape[3]))
    centers = bool(graph.chance(0.5))
    options = {"align_corners": not centers and graph.chance(0.5), "half_pixel_centers": centers}
    graph.operator(code, [value.index, graph.constant(sizes)], result, **options)
    return result


@step(weight=2, int16=True, ranks=range(5))
def cut(graph: Graph, value: Value) -> Value:
    begins = [int(graph.rng.integers(size)) for size in value.shape]
    ends = [
        int(graph.rng.integers(begin, size)) + 1
        for begin, size in zip(begins, value.shape, strict=True)
    ]
    if graph.chance(0.5):
        sizes = [end - begin for begin, end in zip(begins, ends, strict=True)]
        result = graph.result(value, sizes)
        operands = [value.index, graph.constant(begins), graph.constant(sizes)]
        graph.operator("SLICE", operands, result)
        return result
    steps = [int(graph.choice(1, 1, 2, 3)) for _ in begins]
    opened = int(graph.rng.integers(1 << len(begins)))
    shape = [
        len(range(0 if opened >> axis & 1 else begin, end, each))
        for axis, (begin, end, each) in enumerate(zip(begins, ends, steps, strict=True))
    ]
    shrinks = len(begins) > 1 and graph.chance(0.2)
    result = graph.result(value, shape[1:] if shrinks else shape)
    graph.operator(
        "STRIDED_SLICE",
        [value.index, *(graph.constant(numbers) for numbers in (begins, ends, steps))],
        result,
        begin_mask=opened & ~1 if shrinks else opened,
        shrink_axis_mask=1 if shrinks else 0,
    )
    return result


@step(int16=True, ranks=range(5))
def reverse(graph: Graph, value: Value) -> Value:
    result = graph.result(value, value.shape)
    axis = graph.constant([int(graph.rng.integers(len(value.shape)))])
    graph.operator("REVERSE_V2", [value.index, axis], result)
    return result


@step(weight=2, int16=True, ranks=(4,))
def blocks(graph: Graph, value: Value) -> Value:
    size, (batch, height, width, depth) = int(graph.choice(1, 2, 3)), value.shape
    area = size * size
    codes = ["SPACE_TO_BATCH_ND"]
    if depth % area == 0:
        codes.append("DEPTH_TO_SPACE")
    if height % size == width % size == 0:
        codes.append("SPACE_TO_DEPTH")
    if value.dtype == "int16":  # LiteRT has neither
        codes = codes[:1]
    if batch % area == 0 and width * size > 1:
        codes.append("BATCH_TO_SPACE_ND")
    code = str(graph.choice(*codes))
    if code == "DEPTH_TO_SPACE":
        result = graph.result(value, (batch, height * size, width * size, depth // area))
        graph.operator(code, [value.index], result, block_size=size)
    elif code == "SPACE_TO_DEPTH":
        result = graph.result(value, (batch, height // size, width // size, depth * area))
        graph.operator(code, [value.index], result, block_size=size)
    elif code == "SPACE_TO_BATCH_ND":
        rest = [-height % size, -width % size]
        shape = (batch * area, (height + rest[0]) // size, (width + rest[1]) // size, depth)
        result = graph.result(value, shape)
        widths = graph.constant([[rest[0], 0], [0, rest[1]]])
        graph.operator(code, [value.index, graph.constant([size, size]), widths], result)
    else:
        result = graph.result(value, (batch // area, height * size, width * size - 1, depth))
        widths = graph.constant([[0, 0], [1, 0]])
        graph.operator(code, [value.index, graph.constant([size, size]), widths], result)
    return result


@step(weight=4, int16=True, ranks=range(5))
def choose(graph: Graph, value: Value) -> Value | None:
    """Compare with another tensor, combine two comparisons, and choose by them."""
    other = graph.input(value.shape, value.dtype, value.encoding)
    if value.encoding is not None and value.scale >= 0.99:  # LiteRT ends the process
        return None
    flags = []
    codes: tuple[str, ...] = ("EQUAL", "GREATER", "GREATER_EQUAL", "LESS", "LESS_EQUAL")
    codes = codes[:1] if value.dtype == "bool" else codes
    if value.dtype != "int16":  # which LiteRT's NOT_EQUAL reads as another type
        codes += ("NOT_EQUAL",)
    for _ in range(2):
        code = str(graph.choice(*codes))
        flags.append(graph.tensor(value.shape, "bool", None))
        graph.operator(code, [value.index, other.index], flags[-1])
    joined = graph.tensor(value.shape, "bool", None)
    join = str(graph.choice("LOGICAL_AND", "LOGICAL_OR", "LOGICAL_NOT"))
    operands = [flag.index for flag in flags[: 1 if join == "LOGICAL_NOT" else 2]]
    graph.operator(join, operands, joined)
    result = graph.result(value, value.shape)
    code = str(graph.choice("SELECT", "SELECT_V2"))
    graph.operator(code, [joined.index, value.index, other.index], result)
    return result
