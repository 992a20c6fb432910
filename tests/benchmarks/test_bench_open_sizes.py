from __future__ import annotations

from click.testing import CliRunner

from benchmarks.bench_open_sizes import main


def test_each_number_of_rows_is_timed() -> None:
    words = ["--width", "32", "--rows", "1", "--rows", "5", "--rounds", "1", "--seconds", "0.01"]
    result = CliRunner().invoke(main, words)
    assert result.exit_code == 0, result.output
    assert [line.split()[1] for line in result.output.splitlines() if line[:1] == "│"] == ["1", "5"]
    assert "processor seconds of a build: " in result.output
