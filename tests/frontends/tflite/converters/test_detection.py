"""TFLite_Detection_PostProcess and NON_MAX_SUPPRESSION."""

from typing import Any

import numpy as np
import pytest
from flatbuffers import flexbuffers

from frontends.errors import ModelFormatError, UnsupportedOperatorError
from frontends.tflite import from_tflite
from frontends.tflite.quantization import Quantization
from tests.support.tflite import Operand, Q, Sheet, check_refused, fixed, given, one, refused, x

DETECTION = "CUSTOM:TFLite_Detection_PostProcess"
SCALES = {"y_scale": 10.0, "x_scale": 10.0, "h_scale": 5.0, "w_scale": 5.0}
RESULTS = ["float32"] * 4
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


def detection(dtype: str, classes: int, count: int = 60, **changes: Any) -> Sheet:
    """Return a detection with many equal scores."""
    return Sheet(seed=3).add(
        DETECTION, *boxes(dtype, classes, count), gives=RESULTS, **options(**changes)
    )


def boxes(dtype: str, classes: int, count: int = 60) -> list[Operand]:
    """Return encodings of boxes, scores of few values, and anchors."""
    rng = np.random.default_rng(classes)
    scores = rng.integers(0, 9, (1, count, classes)) * 28
    anchors = rng.uniform(0.05, 0.95, (count, 4))
    if dtype == "uint8":
        encodings = x(1, count, 4, dtype="uint8", encoding=BOXES)
        return [encodings, given(scores, dtype, SCORES), fixed(anchors * 250 + 2, dtype, ANCHORS)]
    encodings = given(rng.normal(0, 3, (1, count, 7)), dtype)
    return [encodings, given(scores / 256, dtype), fixed(anchors, dtype)]


@pytest.mark.parametrize("dtype", ["uint8", "float32"])
def test_every_box_and_score_equals_litert(dtype: str) -> None:
    sheet = Sheet(seed=3)
    for classes, changes in (
        (5, {}),
        (4, {"use_regular_nms": True, "max_detections": 9, "detections_per_class": 3}),
        (5, {"use_regular_nms": True, "max_detections": 200}),
        (4, {"max_classes_per_detection": 3}),
        (23, {"num_classes": 22, "max_classes_per_detection": 7, "max_detections": 4}),
    ):
        sheet.add(DETECTION, *boxes(dtype, classes), gives=RESULTS, **options(**changes))
    sheet.check()


def test_missing_detections_are_zeros() -> None:
    sheet = detection("float32", 5, nms_score_threshold=0.97, use_regular_nms=True)
    few = options(nms_score_threshold=0.97)
    sheet.add(DETECTION, *boxes("float32", 5, count=3), gives=RESULTS, **few)
    few = options(num_classes=2, max_classes_per_detection=4)
    sheet.add(DETECTION, *boxes("uint8", 3), gives=RESULTS, **few)
    sheet.check()


def suppression(sheet: Sheet, count: int, most: int, *thresholds: float) -> Sheet:
    """Add one with two thresholds, or with a third for soft suppression."""
    corners = given(sheet.rng.integers(0, 8, (count, 4)), "float32")
    scores = given(sheet.rng.integers(0, 7, count) / 8, "float32")
    results = ["int32", *(["float32"] if len(thresholds) > 2 else []), ((), "int32", None)]
    numbers = [fixed(each, "float32") for each in thresholds]
    code = f"NON_MAX_SUPPRESSION_V{2 + len(thresholds)}"
    return sheet.add(code, corners, scores, most, *numbers, gives=results)


@pytest.mark.parametrize("most", [0, 4, 70])
def test_suppressed_boxes_equal_litert(most: int) -> None:
    sheet = suppression(Sheet(seed=8), 50, most, 0.4, 0.2)
    suppression(sheet, 50, most, 0.3, 0.1, 0.0).check()


test_soft_suppression_is_refused = refused(
    ("soft suppression", suppression(Sheet(), 5, 3, 0.3, 0.1, 0.5)), error=UnsupportedOperatorError
)


test_options_that_make_no_sense = refused(
    ("1073741824 boxes are asked for", suppression(Sheet(), 5, 1 << 30, 0.3, 0.1, 0.0)),
    ("takes boxes .* for 9 classes", detection("float32", 5, num_classes=9)),
    ("most must be at least 1, got 0", detection("float32", 5, max_detections=0)),
    ("iou_threshold above 0", detection("float32", 5, nms_iou_threshold=0.0)),
    ("h_scale must be a number other than 0", detection("float32", 5, h_scale=0.0)),
    ("are too many", detection("float32", 5, max_detections=1 << 30)),
    (
        "boxes of 1073741824 classes each are too many",
        detection("float32", 5, max_classes_per_detection=1 << 30, use_regular_nms=True),
    ),
)


test_options_that_are_no_such_numbers = refused(
    ("max_detections is .*, needs an int32", detection("float32", 5, max_detections=1 << 40)),
    ("y_scale is nan, needs a finite number", detection("float32", 5, y_scale=float("nan"))),
    ("cannot read y_scale", detection("float32", 5, y_scale="wide")),
    (r"0 CUSTOM.* options: cannot read max_", one(DETECTION, *boxes("float32", 4), gives=RESULTS)),
    error=ModelFormatError,
)


def test_values_that_are_keys_of_16_bits() -> None:
    model, whole = detection("float32", 5).model(), bytes(flexbuffers.Dumps(options()))
    # The values are followed by their types, the offset of the map, its type and its width.
    damaged = whole[: -3 - len(options())] + b"\x11" * len(options()) + whole[-3:]
    assert whole in model
    check_refused(model.replace(whole, damaged), "cannot read max_detections", ModelFormatError)


def test_int8_boxes_and_negative_anchors_are_refused() -> None:
    floats, negative = x(1, 3, 4, dtype="float32"), fixed(np.full((3, 4), -0.5), "float32")
    plain = fixed(np.zeros((3, 4)), "int8", Quantization.per_tensor(0.1, 0))
    sheet = one(DETECTION, x(1, 3, 4), floats, plain, gives=RESULTS, **options())
    sheet.add(DETECTION, floats, floats, negative, gives=RESULTS, **options())
    sheet.check_refused(r"2 operators(.|\n)*int8(.|\n)*negative", UnsupportedOperatorError)


def _reads_memory(code: str) -> Sheet:
    """Return a vendor's operator that reads a tensor which nothing writes."""
    sheet = Sheet()
    data = sheet.random_input((1, 4), "int8", Q)
    memory = sheet.writer.tensor("memory", (1, 4), "int8", Q)
    sheet.operator(f"CUSTOM:{code}", [data, memory], ((1, 4), "int8", Q))
    return sheet


def test_what_comes_before_a_vendor_s_operator_can_be_imported() -> None:
    sheet = Sheet()
    sheet.add("CUSTOM:PosenetDecoderOp", sheet.made("RELU", x(1, 4)))
    sheet.check_refused(r"in outputs, such as \['y2'\]", UnsupportedOperatorError)
    mod, _ = from_tflite(sheet.model(), outputs=["y2"])
    assert mod["main"].ret_ty.dtype == "int8"


# As Ethos-U's does, before which nothing can be imported.
test_a_vendor_s_operator_is_named_though_it_reads_memory_of_its_own = refused(
    *(
        (rf"CUSTOM:{code}: is .*{reason}", _reads_memory(code))
        for code, reason in (
            ("ethos-u", "Arm's Ethos-U; import the file that vela read"),
            ("edgetpu-custom-op", "Coral's Edge TPU; import the file that edgetpu_compiler read"),
            ("NeutronGraph", "NXP's eIQ Neutron; import the file that its converter read"),
            ("PosenetDecoderOp", "Coral's decoder of poses"),
            ("FlexErfinv", "TensorFlow's Erfinv, no operator of LiteRT's own"),
            ("Mine", "no operator of LiteRT's own"),
        )
    ),
    error=UnsupportedOperatorError,
)
