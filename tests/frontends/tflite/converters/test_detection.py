"""TFLite_Detection_PostProcess and NON_MAX_SUPPRESSION."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest
from flatbuffers import flexbuffers

from frontends.errors import ModelFormatError, UnsupportedOperatorError
from frontends.tflite import from_tflite
from frontends.tflite.quantization import Quantization
from frontends.tflite.writer import ModelWriter
from tests.support.tflite import Sheet, check_refused

DETECTION = "CUSTOM:TFLite_Detection_PostProcess"
SCALES = {"y_scale": 10.0, "x_scale": 10.0, "h_scale": 5.0, "w_scale": 5.0}
ANY = (1,)  # a declared shape: LiteRT works shapes out by itself
RESULTS: list[tuple[Sequence[int], str, None]] = [(ANY, "float32", None)] * 4
BOXES = Quantization.per_tensor(0.06, 130)
SCORES = Quantization.per_tensor(1 / 256, 0)
ANCHORS = Quantization.per_tensor(1 / 250, 2)


def options(**changes: Any) -> dict[str, Any]:
    return {
        "max_detections": 6,
        "max_classes_per_detection": 1,
        "nms_score_threshold": 0.3,
        "nms_iou_threshold": 0.5,
        "num_classes": 4,
        **SCALES,
        **changes,
    }


def anchors(sheet: Sheet, count: int) -> Any:
    return sheet.rng.uniform(0.05, 0.95, (count, 4)).astype(np.float32)


def detection(sheet: Sheet, dtype: str, classes: int, count: int = 60, **changes: Any) -> None:
    """Add a detection with many equal scores."""
    scores = sheet.rng.integers(0, 9, (1, count, classes)) * 28
    if dtype == "uint8":
        boxes = sheet.random_input((1, count, 4), "uint8", BOXES)
        fixed = (anchors(sheet, count) * 250 + 2).astype(np.uint8)
        operands = [boxes, sheet.input(scores.astype(np.uint8), SCORES)]
        operands.append(sheet.constant(fixed, ANCHORS))
    else:
        encodings = sheet.rng.normal(0, 3, (1, count, 7)).astype(np.float32)
        operands = [sheet.input(encodings), sheet.input((scores / 256).astype(np.float32))]
        operands.append(sheet.constant(anchors(sheet, count)))
    sheet.operator(DETECTION, operands, *RESULTS, **options(**changes))


@pytest.mark.parametrize("dtype", ["uint8", "float32"])
def test_every_box_and_score_equals_litert(dtype: str) -> None:
    sheet = Sheet(seed=3)
    detection(sheet, dtype, 5)
    detection(sheet, dtype, 4, use_regular_nms=True, max_detections=9, detections_per_class=3)
    detection(sheet, dtype, 5, use_regular_nms=True, max_detections=200)
    detection(sheet, dtype, 4, max_classes_per_detection=3)
    detection(sheet, dtype, 23, num_classes=22, max_classes_per_detection=7, max_detections=4)
    sheet.check()


def test_missing_detections_are_zeros() -> None:
    sheet = Sheet(seed=5)
    detection(sheet, "float32", 5, nms_score_threshold=0.97, use_regular_nms=True)
    detection(sheet, "float32", 5, nms_score_threshold=0.97, count=3)
    detection(sheet, "uint8", 3, num_classes=2, max_classes_per_detection=4)
    sheet.check()


def suppression(sheet: Sheet, count: int, most: int, *thresholds: float) -> list[int]:
    corners = sheet.rng.integers(0, 8, (count, 4)).astype(np.float32)
    scores = (sheet.rng.integers(0, 7, count) / 8).astype(np.float32)
    numbers = [np.array(value, np.float32) for value in thresholds]
    arrays = [np.array(most, np.int32), *numbers]
    return [sheet.input(corners), sheet.input(scores), *map(sheet.constant, arrays)]


@pytest.mark.parametrize("most", [0, 4, 70])
def test_suppressed_boxes_equal_litert(most: int) -> None:
    sheet = Sheet(seed=8)
    places: tuple[Sequence[int], str, None] = (ANY, "int32", None)
    number: tuple[Sequence[int], str, None] = ((), "int32", None)
    scores: tuple[Sequence[int], str, None] = (ANY, "float32", None)
    operands = suppression(sheet, 50, most, 0.4, 0.2)
    sheet.operator("NON_MAX_SUPPRESSION_V4", operands, places, number)
    operands = suppression(sheet, 50, most, 0.3, 0.1, 0.0)
    sheet.operator("NON_MAX_SUPPRESSION_V5", operands, places, scores, number)
    sheet.check()


def test_more_boxes_than_memory_are_refused() -> None:
    sheet = Sheet()
    operands = suppression(sheet, 5, 1 << 30, 0.3, 0.1, 0.0)
    results = [(ANY, "int32", None), (ANY, "float32", None), ((), "int32", None)]
    sheet.operator("NON_MAX_SUPPRESSION_V5", operands, *results)
    sheet.check_refused("1073741824 boxes are asked for")


def test_soft_suppression_is_refused() -> None:
    sheet = Sheet()
    operands = suppression(sheet, 5, 3, 0.3, 0.1, 0.5)
    results = [(ANY, "int32", None), (ANY, "float32", None), ((), "int32", None)]
    sheet.operator("NON_MAX_SUPPRESSION_V5", operands, *results)
    sheet.check_refused("soft suppression", UnsupportedOperatorError)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"num_classes": 9}, "takes boxes .* for 9 classes"),
        ({"max_detections": 0}, "most must be at least 1, got 0"),
        ({"nms_iou_threshold": 0.0}, "iou_threshold above 0"),
        ({"h_scale": 0.0}, "h_scale must be a number other than 0"),
        ({"max_detections": 1 << 30}, "are too many"),
        (
            {"max_classes_per_detection": 1 << 30, "use_regular_nms": True},
            "boxes of 1073741824 classes each are too many",
        ),
    ],
)
def test_options_that_make_no_sense(changes: dict[str, Any], message: str) -> None:
    sheet = Sheet()
    detection(sheet, "float32", 5, **changes)
    sheet.check_refused(message)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"max_detections": 1 << 40}, "max_detections is .*, needs an int32"),
        ({"y_scale": float("nan")}, "y_scale is nan, needs a finite number"),
        ({"y_scale": "wide"}, "cannot read y_scale"),
    ],
)
def test_options_that_are_no_such_numbers(changes: dict[str, Any], message: str) -> None:
    sheet = Sheet()
    detection(sheet, "float32", 5, **changes)
    sheet.check_refused(message, ModelFormatError)


def test_values_that_are_keys_of_16_bits() -> None:
    sheet = Sheet()
    detection(sheet, "float32", 5)
    whole = bytes(flexbuffers.Dumps(options()))
    # The values are followed by their types, the offset of the map, its type and its width.
    damaged = whole[: -3 - len(options())] + b"\x11" * len(options()) + whole[-3:]
    assert whole in sheet.model()
    check_refused(
        sheet.model().replace(whole, damaged), "cannot read max_detections", ModelFormatError
    )


def test_there_must_be_options() -> None:
    sheet = Sheet()
    sheet.operator(DETECTION, [sheet.input(np.zeros((1, 3, 4), np.float32))] * 3, *RESULTS)
    sheet.check_refused(r"operator 0 CUSTOM.* options: cannot read max_", ModelFormatError)


def test_int8_boxes_and_negative_anchors_are_refused() -> None:
    sheet = Sheet()
    encodings = sheet.random_input((1, 3, 4), "int8", Quantization.per_tensor(0.1, 0))
    scores = sheet.input(np.zeros((1, 3, 4), np.float32))
    plain = sheet.constant(np.zeros((3, 4), np.int8), Quantization.per_tensor(0.1, 0))
    sheet.operator(DETECTION, [encodings, scores, plain], *RESULTS, **options())
    floats = sheet.input(np.zeros((1, 3, 4), np.float32))
    negative = sheet.constant(np.full((3, 4), -0.5, np.float32))
    sheet.operator(DETECTION, [floats, scores, negative], *RESULTS, **options())
    sheet.check_refused(r"2 operators(.|\n)*int8(.|\n)*negative", UnsupportedOperatorError)


def test_what_comes_before_a_vendor_s_operator_can_be_imported() -> None:
    writer = ModelWriter()
    encoding = Quantization.per_tensor(0.5, 3)
    x, y, z = (writer.tensor(name, (1, 4), "int8", encoding) for name in ("x", "heat", "z"))
    writer.operator("RELU", [x], [y])
    writer.operator("CUSTOM:PosenetDecoderOp", [y], [z])
    model = writer.finish([x], [z])
    check_refused(model, r"in outputs, such as \['heat'\]", UnsupportedOperatorError)
    mod, _ = from_tflite(model, outputs=["heat"])
    assert mod["main"].ret_ty.dtype == "int8"


@pytest.mark.parametrize(
    ("code", "reason"),
    [
        ("ethos-u", r"Arm's Ethos-U; import the file that vela read"),
        ("edgetpu-custom-op", r"Coral's Edge TPU; import the file that edgetpu_compiler read"),
        ("NeutronGraph", r"NXP's eIQ Neutron; import the file that its converter read"),
        ("PosenetDecoderOp", r"Coral's decoder of poses"),
        ("FlexErfinv", r"TensorFlow's Erfinv, no operator of LiteRT's own"),
        ("Mine", r"no operator of LiteRT's own"),
    ],
)
def test_a_vendor_s_operator_is_named_though_it_reads_memory_of_its_own(
    code: str, reason: str
) -> None:
    """As Ethos-U's does, before which nothing can be imported."""
    writer = ModelWriter()
    encoding = Quantization.per_tensor(0.5, 3)
    x, scratch, y = (writer.tensor(name, (1, 4), "int8", encoding) for name in ("x", "memory", "y"))
    writer.operator(f"CUSTOM:{code}", [x, scratch], [y])
    check_refused(
        writer.finish([x], [y]), rf"CUSTOM:{code}: is .*{reason}", UnsupportedOperatorError
    )
