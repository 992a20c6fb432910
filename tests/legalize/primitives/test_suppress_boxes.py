from __future__ import annotations

import numpy as np
import pytest

from qnn_ops import suppress_boxes
from tests.legalize.primitives.test_select_boxes import boxes_and_scores
from tests.support.operators import check_operator


@pytest.mark.parametrize(("count", "most"), [(1, 1), (2, 5), (41, 60), (64, 8), (9, 0)])
def test_primitives_equal_the_reference(count: int, most: int) -> None:
    boxes, scores = boxes_and_scores(count, count, 1)
    boxes[::3] = boxes[::3, ::-1]  # corners in any order
    thresholds = {"score_threshold": 0.2, "iou_threshold": 0.4}
    check_operator(suppress_boxes, [boxes, np.ravel(scores)], most=most, **thresholds)
