"""`docs/limits.md` names only bounds and tests that exist."""

import ast
import importlib
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
PAGE = ROOT / "docs" / "limits.md"
ROW = re.compile(r"^\| (?!what \|)([^|]+) \| ([^|]+) \| `(\w+)` in (\S+\.py) \| ([^|]*)\|$")
SHOWN = re.compile(r"(tests/\S+\.py)(?:: (\w+))?")
LIMITS_FILES = (
    "gateway/broker/core/incoming.py",
    "gateway/broker/core/limits.py",
    "gateway/broker/wire/limits.py",
)
NO_BOUND_OF_A_CLIENT = {
    "QUEUE_PAGE_MESSAGES",
    "VARIABLE_BYTE_INTEGER_MAX",
    "STRING_BYTES_MAX",
    "PACKET_ID_MAX",
    "CLIENT_ID_BYTES_MAX",
    "TOPIC_CACHE_COUNT_MAX",
    "TOPIC_CACHE_FIELD_BYTES_MAX",
    "UNPROCESSED_FACTOR",
    "ALIAS_BYTES",
    "ALIASES_BYTES_FREE",
    "WILL_BYTES_FREE",
    "HELD_BYTES_FREE",
}
"""Bounds from the standard itself, and constants that define how a bound on the page is counted."""
BOUND_IN_OTHER_TERMS = {
    "BURST_SECONDS",
    "DISK_SHARE",
    "KEEP_ALIVE_PART_BYTES",
    "LOGIN_BURST_SECONDS",
    "NO_MESSAGE_SIZE_LIMIT",
    "REFUSALS_LOGGED_SECONDS",
    "SLICE_MESSAGES",
    "SLICE_UNITS",
    "TIMER_UNITS",
}
"""Bounds for which the page states a consequence, or a word in place of the number."""
UNITS = {"KiB": 2**10, "MiB": 2**20, "GiB": 2**30, "kB": 1e3, "MB": 1e6, "million": 1e6} | {
    "µs": 1e-6,
    "ms": 1e-3,
    "minute": 60,
    "hour": 3600,
    "day": 86_400,
    "%": 0.01,
}
NUMBER = re.compile(r"(\d[\d,.]*\d|\d) ?(KiB|MiB|GiB|µs|ms|minute|hour|day|kB|MB|%|million)?")


def rows() -> list[re.Match[str]]:
    return [row for line in PAGE.read_text().splitlines() if (row := ROW.match(line))]


@cache
def names_in(path: str) -> frozenset[str]:
    """Return the names that a source file defines: constants, attributes, functions."""
    return frozenset(_names_of(ast.parse((ROOT / path).read_text())))


def _names_of(tree: ast.AST) -> Iterator[str]:
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            yield node.name
        elif isinstance(node, ast.Name | ast.Attribute) and isinstance(node.ctx, ast.Store):
            yield node.id if isinstance(node, ast.Name) else node.attr


def value_of(row: re.Match[str]) -> object:
    """Return the value of the constant in a row, or None if the name is not a module's constant."""
    name = row[4].removeprefix("firmware-bridge/").removesuffix(".py").replace("/", ".")
    return getattr(importlib.import_module(name), row[3], None)


def numbers_of(text: str) -> list[float]:
    """Return the numbers in a cell of the page, in bytes, in seconds, or without a unit."""
    found = NUMBER.findall(text)
    return [float(number.replace(",", "")) * UNITS.get(unit, 1) for number, unit in found]


def test_the_page_has_the_value_of_each_constant() -> None:
    compared = 0
    differing: list[str] = []
    for row in rows():
        value = value_of(row)
        numbers = numbers_of(row[2])
        if isinstance(value, int | float) and numbers and row[3] not in BOUND_IN_OTHER_TERMS:
            compared += 1
            if not any(abs(each - value) <= 1e-9 * value for each in numbers):
                differing.append(f"{row[3]} is {value}, the page has {row[2]}")
    assert differing == []
    assert compared > 100


def test_a_number_on_the_page_is_read_with_its_unit() -> None:
    assert numbers_of("36 KiB, 8 fields, 1,000 a day, 2.5 ms") == [36_864, 8, 1_000, 0.0025]


def test_every_row_of_the_page_is_read() -> None:
    lines = [line for line in PAGE.read_text().splitlines() if re.match(r"\| .*\.py", line)]
    of_bounds = [line for line in lines if "` in " in line]
    assert len(of_bounds) == len(rows()) > 60


def test_what_enforces_a_bound_is_where_the_page_shows() -> None:
    missing = [row[0] for row in rows() if row[3] not in names_in(row[4])]
    assert missing == []


def test_what_shows_a_bound_exists() -> None:
    missing = []
    for row in rows():
        for path, name in SHOWN.findall(row[5]):
            if not (ROOT / path).exists() or (name and name not in names_in(path)):
                missing.append(f"{path}: {name}")
    assert missing == []


def test_every_bound_of_wire_and_core_is_on_the_page() -> None:
    text = PAGE.read_text()
    constants = {
        name for path in LIMITS_FILES for name in names_in(path) if name.isupper()
    } - NO_BOUND_OF_A_CLIENT
    assert [name for name in sorted(constants) if f"`{name}`" not in text] == []
