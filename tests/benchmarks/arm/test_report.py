from benchmarks.arm.counting import CLASSES, Counts
from benchmarks.arm.report import OURS, ROWS, Comparison, Measured, detail_rows, summary_rows


def measured(program: str, dots: int, others: int, difference: float) -> Measured:
    classes = dict.fromkeys(CLASSES, 0) | {"dot product": dots, "matrix": dots, "other": others}
    return Measured(program, Counts(classes, {}), 16_000_000, difference, {})


ONE = Comparison(
    "m", "cortex-a76", [measured(OURS, 750_000, 1_500_000, 0), measured("LiteRT", 0, 12_000_000, 3)]
)


def test_columns_tell_of_dot_products_the_least_number_and_the_peer() -> None:
    head, body = detail_rows(ONE)
    assert head == ["instructions", OURS, "LiteRT"]
    rows = {name: cells for name, *cells in body}
    assert list(rows) == ROWS
    assert rows["all, millions"] == ["3.000", "12.000"]
    assert rows["ratio"] == ["–", "0.25"]
    assert rows["outputs differ by"] == ["0", "3"]
    assert rows["dot products, %"] == ["50", "0"]
    assert rows["× least"] == ["3.00", "12.00"]
    assert rows["matrix"] == ["0.750", "0.000"]


def test_a_program_that_did_not_run_a_model_has_a_gap() -> None:
    other = Comparison("n", "max", ONE.programs[:1])
    assert summary_rows([other, ONE]) == (
        ["model", "processor", OURS, "LiteRT"],
        [["n", "max", "3.00", "–"], ["m", "cortex-a76", "3.00", "12.0 (0.25)"]],
    )
