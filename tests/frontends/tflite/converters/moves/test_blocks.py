"""DEPTH_TO_SPACE, SPACE_TO_DEPTH, SPACE_TO_BATCH_ND and BATCH_TO_SPACE_ND."""

from tests.support.tflite import Sheet, one, refused, x


def test_blocks_equal_litert() -> None:
    sheet, data = Sheet(seed=5), x(4, 4, 6, 8, dtype="uint8")
    sheet.add("DEPTH_TO_SPACE", data, block_size=2)
    sheet.add("SPACE_TO_DEPTH", data, block_size=2)
    sheet.add("SPACE_TO_BATCH_ND", data, [2, 3], [[1, 1], [0, 3]])
    sheet.add("BATCH_TO_SPACE_ND", data, [1, 2], [[1, 0], [0, 2]])
    sheet.add("SPACE_TO_BATCH_ND", x(2, 4, 3), [2], [[1, 1]])
    sheet.add("SPACE_TO_BATCH_ND", x(1, 2, 2, 3, dtype="int32"), [3, 1], [[0, 1], [0, 0]])
    sheet.check()


test_blocks_must_fit = refused(
    ("blocks of 2 of shape", one("DEPTH_TO_SPACE", x(1, 3, 3, 3), block_size=2)),
    ("blocks of 2 of shape", one("SPACE_TO_DEPTH", x(1, 3, 3, 3), block_size=2)),
)
