"""`docs/limits.md` names bounds that exist, and tests that exist."""

import ast
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
PAGE = ROOT / "docs" / "limits.md"
ROW = re.compile(r"^\| (?!what \|)([^|]+) \| ([^|]+) \| `(\w+)` in (\S+\.py) \| ([^|]*)\|$")
SHOWN = re.compile(r"(tests/\S+\.py)(?:: (\w+))?")
LIMITS_FILES = (
    "gateway/core/incoming.py",
    "gateway/core/limits.py",
    "gateway/wire/limits.py",
)
NO_BOUND_OF_A_CLIENT = {
    "QUEUE_PAGE_MESSAGES",
    "VARIABLE_BYTE_INTEGER_MAX",
    "STRING_BYTES_MAX",
    "PACKET_ID_MAX",
    "CLIENT_ID_BYTES_MAX",
    "TOPIC_CACHE_COUNT_MAX",
    "TOPIC_CACHE_FIELD_BYTES_MAX",
    "UNDECIDED_FACTOR",
    "ALIAS_BYTES",
    "ALIASES_BYTES_FREE",
    "WILL_BYTES_FREE",
    "HELD_BYTES_FREE",
}
"""The standard's own, and those that say how a bound on the page is counted."""


def rows() -> list[re.Match[str]]:
    return [row for line in PAGE.read_text().splitlines() if (row := ROW.match(line))]


@cache
def names_in(path: str) -> frozenset[str]:
    """What a source file defines: constants, attributes, functions."""
    return frozenset(_names_of(ast.parse((ROOT / path).read_text())))


def _names_of(tree: ast.AST) -> Iterator[str]:
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            yield node.name
        elif isinstance(node, ast.Name | ast.Attribute) and isinstance(node.ctx, ast.Store):
            yield node.id if isinstance(node, ast.Name) else node.attr


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
