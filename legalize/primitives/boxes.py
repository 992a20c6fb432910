"""Writes loops that choose a detector's boxes, and drop boxes that overlap better ones."""

from collections.abc import Callable
from typing import Any

from tvm.relax import Expr
from tvm.script.ir_builder import tirx as T

from legalize.primitives.loops import call_loops, cell, cells, put
from legalize.primitives.registry import Builder, primitive
from qnn_ops.dialect.registry import Attrs, spec_of
from qnn_ops.unquantized.boxes import CORNERS, select_boxes
from qnn_ops.unquantized.suppression import ROW, suppress_boxes, suppress_by_class


def write_overlap(boxes: Any, one: Any, other: Any) -> Any:
    """Write the intersection of two boxes as a part of their union; return the result's cell.

    Args:
        boxes: float32, [boxes, 4]: corners, the lower one first.
        one: the number of a box.
        other: the number of another box.
    """

    def area(box: Any) -> Any:
        return (boxes[box, 2] - boxes[box, 0]) * (boxes[box, 3] - boxes[box, 1])

    def extent(axis: int) -> Any:
        low = T.max(boxes[one, axis], boxes[other, axis])
        high = T.min(boxes[one, axis + 2], boxes[other, axis + 2])
        return T.max(high - low, T.float32(0))

    result = cell("float32", T.float32(0))
    areas = cell("float32", area(one)), cell("float32", area(other))
    with T.If(T.And(areas[0][0] > T.float32(0), areas[1][0] > T.float32(0))), T.Then():
        both = cell("float32", extent(0) * extent(1))
        # Most boxes do not meet, and a division takes long.
        with T.If(both[0] > T.float32(0)), T.Then():
            put(result, both[0] / (areas[0][0] + areas[1][0] - both[0]))
    return result


# gcc warns of a smaller heap: it follows the loop of a sift beyond the last element.
_HEAP = 3

Before = Callable[[Any, Any], Any]
"""Returns the condition that the first element belongs farther from the top than the second."""


def write_first_in_order(heap: Any, size: int, count: int, before: Before) -> None:
    """Write the best of the numbers below ``size`` to the first ``count`` elements, in order.

    Args:
        heap: int32, [size]; its values do not matter.
        size: the number of numbers.
        count: the number of wanted ones, at least 2.
        before: whether the first comes before the second.
    """
    with T.serial(size) as i:
        put(heap, i, i)
    with T.serial(count // 2) as i:
        parent = count // 2 - 1 - i
        write_sift(heap, parent, count, heap[parent], before)
    with T.serial(size - count) as i, T.If(before(heap[count + i], heap[0])), T.Then():
        value = cell("int32", heap[count + i])
        put(heap, heap[0], count + i)
        write_sift(heap, 0, count, value[0], before)
    with T.serial(count - 1) as i:
        last = count - 1 - i
        value = cell("int32", heap[last])
        put(heap, heap[0], last)
        write_sift(heap, 0, last, value[0], before)


def write_push(heap: Any, size: Any, element: Any, before: Before) -> None:
    """Add an element to a heap, and increase its size, which is a cell."""
    write_rise(heap, cell("int32", size[0]), 0, cell("int32", element), before)
    put(size, size[0] + 1)


def write_pop(heap: Any, size: Any, before: Before) -> Any:
    """Take the top element off a heap, and decrease its size; return the element's cell."""
    top = cell("int32", heap[0])
    put(size, size[0] - 1)
    with T.If(size[0] > 0), T.Then():
        write_sift(heap, 0, size[0], heap[size[0]], before)
    return top


def write_sift(heap: Any, start: Any, size: Any, element: Any, before: Before) -> None:
    """Put an element into a heap with a hole at ``start``."""
    value, hole, child = cell("int32", element), cell("int32", start), cell("int32", start)
    first = cell("int32", start)
    with T.While(child[0] < T.truncdiv(size - 1, 2)):
        put(child, 2 * child[0] + 2)
        with T.If(before(heap[child[0]], heap[child[0] - 1])), T.Then():
            put(child, child[0] - 1)
        put(heap, heap[child[0]], hole[0])
        put(hole, child[0])
    has_one = T.And(T.truncmod(size, 2) == 0, child[0] == T.truncdiv(size - 2, 2))
    with T.If(has_one), T.Then():
        put(child, 2 * child[0] + 1)
        put(heap, heap[child[0]], hole[0])
        put(hole, child[0])
    write_rise(heap, hole, first[0], value, before)


def write_rise(heap: Any, hole: Any, top: Any, value: Any, before: Before) -> None:
    """Let an element, which is a cell, rise from a hole, at most to ``top``."""
    goes_on = cell("int32", 1)
    with T.While(T.And(goes_on[0] == 1, hole[0] > top)):
        parent = T.truncdiv(hole[0] - 1, 2)
        with T.If(before(heap[parent], value[0])):
            with T.Then():
                put(heap, heap[parent], hole[0])
                put(hole, parent)
            with T.Else():
                put(goes_on, 0)
    put(heap, value[0], hole[0])


_MOST_LANES = 4  # as a power of two


@primitive(select_boxes)
def _select_boxes(builder: Builder, attrs: Attrs, boxes: Expr, scores: Expr) -> Expr:
    count, classes = spec_of(scores).shape
    slots = attrs.most * (1 if attrs.by_class else attrs.classes_per_box)

    def write(boxes: Any, scores: Any, output: Any) -> None:
        left = T.alloc_buffer((count,), "int32", scope="global")
        with T.serial(1 + slots) as i:
            put(output, T.if_then_else(i == 0, 0, -1), i)
        if attrs.by_class:
            found = cells("float32", attrs.most)
            with T.serial(classes) as each:
                number = cell("int32", each)

                def score(box: Any) -> Any:
                    return scores[box, number[0]]

                def insert(box: Any, _rank: Any) -> None:
                    place = box * classes + number[0]
                    _write_insertion(output, found, attrs.most, place, score(box))

                _write_choice(attrs, boxes, left, score, attrs.most_of_class, insert)
        else:
            best = T.alloc_buffer((count,), "float32", scope="global")
            _write_best(best, scores)

            def give(box: Any, rank: Any) -> None:
                put(output, rank + 1)
                start = rank * attrs.classes_per_box + 1
                _write_classes(output, scores, attrs.classes_per_box, box, start)

            _write_choice(attrs, boxes, left, lambda box: best[box], attrs.most, give)

    return call_loops(builder, "select_boxes", [boxes, scores], (1 + slots,), "int32", write)


def _write_best(best: Any, scores: Any) -> None:
    """Write the loop that finds the best score of each box, some classes at a time."""
    count, classes = (int(extent) for extent in scores.shape)
    lanes = 1 << min(_MOST_LANES, classes.bit_length() - 1)
    highest = T.alloc_buffer((lanes,), "float32", scope="global")
    with T.serial(count) as box:
        with T.vectorized(lanes) as lane:
            put(highest, scores[box, lane], lane)
        with T.serial(-(-classes // lanes) - 1) as part:
            # The last part overlaps the one before.
            first = T.min((part + 1) * lanes, T.int32(classes - lanes))
            with T.vectorized(lanes) as lane:
                put(highest, T.max(highest[lane], scores[box, first + lane]), lane)
        while lanes > 1:
            lanes //= 2
            with T.vectorized(lanes) as lane:
                put(highest, T.max(highest[lane], highest[lane + lanes]), lane)
        put(best, highest[0], box)


def _write_choice(
    attrs: Attrs,
    boxes: Any,
    left: Any,
    score: Callable[[Any], Any],
    most: int,
    take: Callable[[Any, Any], None],
) -> None:
    """Write the loop that takes the best box that is left, and drops those that overlap it.

    Args:
        attrs: the call's attributes.
        boxes: all boxes.
        left: int32, memory for the numbers of boxes that are left, in rising order.
        score: returns the score of a box.
        most: the most boxes to take.
        take: writes the code for a taken box and its rank.
    """
    count = int(boxes.shape[0])
    size, rank = cell("int32", 0), cell("int32", 0)
    threshold, limit = T.float32(attrs.score_threshold), T.float32(attrs.iou_threshold)
    with T.serial(count) as box, T.If(score(box) >= threshold), T.Then():
        put(left, box, size[0])
        put(size, size[0] + 1)
    with T.While(T.And(size[0] > 0, rank[0] < most)):
        chosen = cell("int32", left[0])
        with T.serial(size[0]) as i, T.If(score(left[i]) > score(chosen[0])), T.Then():
            put(chosen, left[i])
        take(chosen[0], rank[0])
        put(rank, rank[0] + 1)
        kept = cell("int32", 0)
        with T.serial(size[0]) as i, T.If(left[i] != chosen[0]), T.Then():
            part = write_overlap(boxes, chosen[0], left[i])
            # An overlap that is NaN drops nothing.
            with T.If(part[0] > limit):
                with T.Then():
                    T.evaluate(0)
                with T.Else():
                    put(left, left[i], kept[0])
                    put(kept, kept[0] + 1)
        put(size, kept[0])


def _write_insertion(output: Any, found: Any, most: int, place: Any, score: Any) -> None:
    """Insert ``place`` after all places of equal or better scores, if there is room."""
    hole = cell("int32", output[0])
    with T.If(T.And(hole[0] == most, found[most - 1] < score)), T.Then():
        put(hole, most - 1)
    with T.If(hole[0] < most), T.Then():
        put(output, T.min(output[0] + 1, most))
        goes_on = cell("int32", 1)
        with T.While(T.And(goes_on[0] == 1, hole[0] > 0)), T.If(found[hole[0] - 1] < score):
            with T.Then():
                put(found, found[hole[0] - 1], hole[0])
                put(output, output[hole[0]], hole[0] + 1)
                put(hole, hole[0] - 1)
            with T.Else():
                put(goes_on, 0)
        put(found, score, hole[0])
        put(output, place, hole[0] + 1)


def _write_classes(output: Any, scores: Any, wanted: int, box: Any, start: Any) -> None:
    """Write the places of a box's best classes."""
    classes = int(scores.shape[1])
    if wanted == 1 or classes == 1:
        best = cell("int32", 0)
        with T.serial(classes) as each, T.If(scores[box, each] > scores[box, best[0]]), T.Then():
            put(best, each)
        put(output, box * classes + best[0], start)
        return
    heap = T.alloc_buffer((classes,), "int32", scope="global")
    given = min(wanted, classes)
    write_first_in_order(heap, classes, given, lambda a, b: scores[box, a] > scores[box, b])
    with T.serial(given) as i:
        put(output, box * classes + heap[i], start + i)


@primitive(suppress_boxes)
def _suppress_boxes(builder: Builder, attrs: Attrs, boxes: Expr, scores: Expr) -> Expr:
    (count,) = spec_of(scores).shape

    def write(boxes: Any, scores: Any, output: Any) -> None:
        ordered = T.alloc_buffer((count, CORNERS), "float32", scope="global")
        waiting = cells("int32", max(count, _HEAP))
        begins = T.alloc_buffer((count,), "int32", scope="global")
        size = cell("int32", 0)

        def before(one: Any, other: Any) -> Any:
            return scores[one] < scores[other]

        with T.serial(1 + attrs.most) as i:
            put(output, 0, i)
        with T.serial(count) as box:
            put(begins, 0, box)
            for axis in range(CORNERS // 2):
                ends = boxes[box, axis], boxes[box, axis + 2]
                T.buffer_store(ordered, T.min(*ends), [box, axis])
                T.buffer_store(ordered, T.max(*ends), [box, axis + 2])
            with T.If(scores[box] > T.float32(attrs.score_threshold)), T.Then():
                write_push(waiting, size, box, before)
        most = cell("int32", T.min(size[0], attrs.most))
        with T.While(T.And(output[0] < most[0], size[0] > 0)):
            chosen = write_pop(waiting, size, before)
            overlaps = cell("int32", 0)
            with T.serial(output[0] - begins[chosen[0]]) as i:
                rival = output[1 + begins[chosen[0]] + i]
                part = write_overlap(ordered, chosen[0], rival)
                with T.If(part[0] >= T.float32(attrs.iou_threshold)), T.Then():
                    put(overlaps, 1)
            put(begins, output[0], chosen[0])
            with T.If(overlaps[0] == 0), T.Then():
                put(output, chosen[0], output[0] + 1)
                put(output, output[0] + 1)
                write_push(waiting, size, chosen[0], before)

    return call_loops(builder, "suppress_boxes", [boxes, scores], (1 + attrs.most,), "int32", write)


@primitive(suppress_by_class)
def _suppress_by_class(builder: Builder, attrs: Attrs, *operands: Expr) -> Expr:
    images, classes, count = spec_of(operands[1]).shape
    size = 1 + images * classes * attrs.most

    def write(boxes: Any, scores: Any, asked: Any, limits: Any, output: Any) -> None:
        ends = T.alloc_buffer((count, CORNERS), "float32", scope="global")
        waiting = cells("int32", max(count, _HEAP))
        chosen = T.alloc_buffer((max(attrs.most, 1),), "int32", scope="global")
        found, most = cell("int32", 0), cell("int64", T.min(asked[0], T.int64(attrs.most)))
        with T.serial(size) as i, T.serial(ROW) as j:
            T.buffer_store(output, T.int64(0), [i, j])
        with T.serial(images) as image:
            _write_ends(attrs, boxes, ends, image, count)
            with T.serial(classes) as number:
                left, kept = cell("int32", 0), cell("int32", 0)

                def before(one: Any, other: Any, image: Any = image, number: Any = number) -> Any:
                    if count == 1:
                        return T.bool(False)  # compilers warn of a score below itself
                    first, second = scores[image, number, one], scores[image, number, other]
                    return T.Or(first < second, T.And(first == second, one > other))

                with T.serial(count) as box:
                    counts = T.Or(attrs.takes_all, scores[image, number, box] > limits[1])
                    with T.If(counts), T.Then():
                        write_push(waiting, left, box, before)
                with T.While(T.And(T.Cast("int64", kept[0]) < most[0], left[0] > 0)):
                    best = write_pop(waiting, left, before)
                    overlaps = cell("int32", 0)
                    with T.serial(kept[0]) as i, T.If(overlaps[0] == 0), T.Then():
                        _write_overlap(ends, best[0], chosen[i], limits[0], overlaps)
                    with T.If(overlaps[0] == 0), T.Then():
                        put(chosen, best[0], kept[0])
                        put(kept, kept[0] + 1)
                        put(found, found[0] + 1)
                        for column, each in enumerate((image, number, best[0])):
                            T.buffer_store(output, T.Cast("int64", each), [found[0], column])
        for column in range(ROW):
            T.buffer_store(output, T.Cast("int64", found[0]), [0, column])

    return call_loops(builder, "suppress_by_class", operands, (size, ROW), "int64", write)


def _write_ends(attrs: Attrs, boxes: Any, ends: Any, image: Any, count: int) -> None:
    """Write the lower and higher corners of an image's boxes."""
    with T.serial(count) as box:
        for axis in range(CORNERS // 2):
            low, high = boxes[image, box, axis], boxes[image, box, axis + 2]
            if attrs.has_centers:
                half = high * T.float32(0.5)
                pair = low - half, low + half
            else:
                pair = T.min(low, high), T.max(low, high)
            for place, each in enumerate(pair):
                T.buffer_store(ends, each, [box, axis + 2 * place])


def _write_overlap(ends: Any, one: Any, other: Any, limit: Any, overlaps: Any) -> None:
    """Write 1 to a cell if two boxes overlap by more than ``limit`` of their union."""

    def side(axis: int) -> Any:
        low = T.max(ends[one, axis], ends[other, axis])
        return T.min(ends[one, axis + 2], ends[other, axis + 2]) - low

    def area(box: Any) -> Any:
        return cell("float32", (ends[box, 2] - ends[box, 0]) * (ends[box, 3] - ends[box, 1]))

    sides = cell("float32", side(0)), cell("float32", side(1))
    zero = T.float32(0)
    # Most boxes do not meet.
    with T.If(T.And(sides[0][0] > zero, sides[1][0] > zero)), T.Then():
        both, first, second = cell("float32", sides[0][0] * sides[1][0]), area(one), area(other)
        union = cell("float32", first[0] + second[0] - both[0])
        areas = T.And(first[0] > zero, second[0] > zero)
        areas = T.And(areas, T.And(both[0] > zero, union[0] > zero))
        with T.If(T.And(areas, both[0] / union[0] > limit)), T.Then():
            put(overlaps, 1)
