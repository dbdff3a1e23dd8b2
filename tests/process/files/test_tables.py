"""The module for tables loads without pandas, and others can still import pandas afterwards."""

import subprocess
import sys

import pytest

pytest.importorskip("pandas")

LOADED = """
import sys
{before}
import gateway.process.files.tables
print([name for name in ("pandas", "numpy") if sys.modules.get(name)])
import pandas
print(pandas.DataFrame({{"a": [1]}}).a.sum())
"""


@pytest.mark.parametrize(
    ("before", "there"), [("", "[]"), ("import pandas", "['pandas', 'numpy']")]
)
def test_tables_load_no_pandas_and_leave_it_to_others(before: str, there: str) -> None:
    ended = subprocess.run(
        [sys.executable, "-c", LOADED.format(before=before)],
        capture_output=True,
        text=True,
        check=True,
    )
    assert ended.stdout.split("\n")[:2] == [there, "1"]
