import numpy as np

from benchmarks.report import difference_text, largest_difference, markdown_table

OUTPUT = [np.array([[3, 4]], np.int8)]


def test_differences_are_the_largest_and_not_wrapped() -> None:
    other = np.array([[3, -4]], np.int8)
    low, high = np.array([-128, 1], np.int8), np.array([127, 1], np.int8)
    assert largest_difference(OUTPUT, OUTPUT) == 0
    assert largest_difference(OUTPUT, [other]) == 8
    assert largest_difference([low, low], [low, high]) == 255
    assert largest_difference([low], [low.view(np.uint8)]) == 256
    assert largest_difference(OUTPUT, [other[0]]) is None
    assert difference_text(None) == "other shapes"


def test_a_cell_with_a_bar_stays_one_cell() -> None:
    assert markdown_table(["a"], [["x|y"]]) == "| a |\n| --- |\n| x\\|y |\n"
