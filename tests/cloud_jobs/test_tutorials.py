"""The tutorials that need Spark: their commands work, and print what the pages show."""

import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest
from pyspark.sql import SparkSession
from typer.testing import CliRunner

from gateway.cli.application import application_of
from tests.documents.tutorial import TUTORIALS, Reader, free_ports


def run_here(arguments: list[str]) -> tuple[int, str]:
    """Run a command in this process, with the Spark session that the tests share."""
    outcome = CliRunner().invoke(
        application_of(), arguments, env={"COLUMNS": "100"}, catch_exceptions=False
    )
    return outcome.exit_code, outcome.output


@pytest.fixture
def reader(spark: SparkSession, tmp_path: Path) -> Iterator[Reader]:
    shutil.copy(TUTORIALS / "simulated_meters.py", tmp_path)
    reader = Reader(tmp_path, free_ports(), run_here)
    yield reader
    reader.stop()


@pytest.mark.long
@pytest.mark.parametrize("name", ["modbus-energy-meters", "fleet"])
def test_a_tutorial_can_be_followed(name: str, reader: Reader) -> None:
    reader.follow(TUTORIALS / f"{name}.md")
