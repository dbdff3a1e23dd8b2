"""The examples in docs/query.md run as they are written."""

import re
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from tests.cloud_jobs.conftest import Ingested

DOCUMENT = Path(__file__).parents[3] / "docs" / "query.md"
EXAMPLES = re.findall(r"## With (\w+)\n.*?```python\n(.*?)```", DOCUMENT.read_text(), re.DOTALL)


def test_each_tool_has_an_example() -> None:
    assert [tool for tool, _ in EXAMPLES] == ["pandas", "DuckDB", "Spark"]


@pytest.mark.parametrize(("tool", "code"), EXAMPLES, ids=[tool for tool, _ in EXAMPLES])
def test_an_example_runs(
    tool: str,
    code: str,
    ingested: Ingested,
    spark: SparkSession,
    capsys: pytest.CaptureFixture[str],
) -> None:
    reading = ingested.place.rows("sensor_readings", "value IS NOT NULL AND device IS NOT NULL")[0]
    written = code.replace("/srv/tables", ingested.place.settings.tables)
    written = written.replace("kettle/temperature", reading["name"])
    written = written.replace("kettle", reading["device"])
    exec(compile(written, f"{DOCUMENT.name}: {tool}", "exec"), {"spark": spark})  # noqa: S102 - our own page
    assert reading["device"] in capsys.readouterr().out or tool == "pandas"
