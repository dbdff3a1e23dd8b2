"""The page on tables lists every column, with its type, in the order of the tables."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from cloud_jobs.tables.gold_schemas import GOLD_TABLES
from cloud_jobs.tables.schemas import PARTITIONS, TABLES

PAGE = (Path(__file__).parents[3] / "docs" / "formats" / "tables.md").read_text()
SECTIONS = {
    section.split("\n", 1)[0]: section.split("\n# ", 1)[0]
    for section in re.split(r"^## ", PAGE, flags=re.MULTILINE)[1:]
}
WORDS = {
    "bigint": "integer",
    "string": "string",
    "boolean": "boolean",
    "double": "double",
    "timestamp": "time",
    "date": "date",
}
UNITS = {"_ms": "milliseconds", "_seconds": "seconds", "_bytes": "bytes"}


def rows(section: str) -> list[tuple[str, str, str]]:
    """Return the name, type and unit of each column in a section."""
    found = []
    for line in section.splitlines():
        if line.startswith("| `"):
            names, kind = line.split("|")[1:3]
            word, _, unit = kind.strip().partition(", ")
            found += [(name, word, unit) for name in re.findall(r"`([a-z0-9_]+)`", names)]
    return found


def test_the_page_has_every_table() -> None:
    assert set(SECTIONS) == {*TABLES, *GOLD_TABLES}


@pytest.mark.parametrize("name", [*TABLES, *GOLD_TABLES])
def test_the_page_has_the_columns_of_a_table(name: str) -> None:
    schema = (TABLES | GOLD_TABLES)[name]
    expected = [(field.name, WORDS[field.dataType.simpleString()]) for field in schema]
    assert [(column, word) for column, word, _ in rows(SECTIONS[name])] == expected
    for column, _, unit in rows(SECTIONS[name]):
        ending = next((unit for end, unit in UNITS.items() if column.endswith(end)), "")
        assert unit == ending, column


@pytest.mark.parametrize("name", [*TABLES, *GOLD_TABLES])
def test_the_page_has_the_partitions_and_keys_of_a_table(name: str) -> None:
    section = SECTIONS[name]
    partitions = re.findall(r"Partitioned by `(\w+)`", section)
    assert tuple(partitions) == PARTITIONS.get(name, ())
    key = re.search(r"^(Key: (?P<columns>[^.]*)|No key)", section, re.MULTILINE)
    assert key is not None
    named = re.findall(r"`(\w+)`", key["columns"] or "")
    assert set(named) <= set((TABLES | GOLD_TABLES)[name].fieldNames())
