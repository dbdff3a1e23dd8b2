"""The table that `make bench-turns` prints for its runs, which are too long for a test."""

from io import StringIO
from pathlib import Path

import pytest
from rich.console import Console

from tests.instruments.benchmarks import turns


def test_the_ratio_is_the_median_of_the_rounds_and_not_of_the_rates() -> None:
    # The machine was half as fast in the second round, for both builds.
    rates = {"before": [100.0, 50.0, 100.0], "now": [110.0, 55.0, 90.0]}
    assert turns.ratio_of(rates) == pytest.approx(1.1)


def test_the_table_names_each_load_with_both_builds_and_their_ratio() -> None:
    console = Console(file=StringIO(), width=100)
    rates = {"before": [1000.0], "now": [900.0]}
    costs = {"before": [5.0], "now": [4.0]}
    console.print(turns.table_of([("QoS 1", rates, costs)]))
    assert isinstance(console.file, StringIO)
    words = console.file.getvalue().split()
    assert words[-8:] == ["QoS", "1", "1,000", "900", "0.90", "0.90", "0.90", "0.80"]


def test_a_directory_without_a_build_is_refused_with_what_to_do(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("sys.argv", ["turns", str(tmp_path)])
    with pytest.raises(SystemExit) as ended:
        turns.main()
    assert ended.value.code == 2
    assert "make build/compiled/.ready" in capsys.readouterr().err
