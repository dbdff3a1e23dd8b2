"""`docs/security.md` names at least one test for each threat, and every named test exists."""

import re
from pathlib import Path

from tests.architecture.test_limits_page import names_in

ROOT = Path(__file__).resolve().parents[2]
PAGE = ROOT / "docs" / "security.md"
ROW = re.compile(r"^\| (?!threat \||attacker \||-)([^|]+) \| ([^|]+) \| ([^|]*)\|$")
SHOWN = re.compile(r"(tests/[\w/]+\.py)((?:(?::|,) \w+)*)")


def rows() -> list[re.Match[str]]:
    return [row for line in PAGE.read_text().splitlines() if (row := ROW.match(line))]


def test_every_row_of_the_page_is_read() -> None:
    lines = [line for line in PAGE.read_text().splitlines() if line.startswith("| ")]
    heads = [line for line in lines if line.startswith(("| threat |", "| attacker |"))]
    assert len(lines) - len(heads) == len(rows()) > 60


def test_every_threat_has_a_test() -> None:
    assert [row[1] for row in rows() if not SHOWN.search(row[3])] == []


def test_the_tests_that_are_named_exist() -> None:
    missing = []
    for row in rows():
        for path, names in SHOWN.findall(row[3]):
            if not (ROOT / path).exists():
                missing.append(path)
                continue
            found = names_in(path)
            missing += [
                f"{path}: {name}" for name in re.findall(r"\w+", names) if name not in found
            ]
    assert missing == []
