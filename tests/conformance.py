"""Compares the table of docs/conformance.md, which names the tests of each statement, with the
tests.

`make conformance` collects all tests without running them, reads the statements that each test
carries (`@pytest.mark.statement`), and prints those of the table that no test carries. It fails if
the table gives no reason for such a statement, or if a test carries a statement that is not in the
table. `--write` puts the tests into the table.
"""

import re
import sys
from collections import defaultdict
from contextlib import redirect_stdout
from io import StringIO
from pathlib import Path

import pytest

TABLE = Path(__file__).parent.parent / "docs" / "conformance.md"
ROOMS = [f"tests/{room}" for room in ("broker", "contract", "system")]
"""The rooms with tests of MQTT. Other rooms need packages that this check does not require."""
ROW = re.compile(r"^\| (MQTT5?-[\d.]+-\d+) \| (.*?) \| (.*?) \| (.*?) \|$")
NO_TEST = "none: "
"""The beginning of a last cell that gives the reason why no test carries the statement."""
NAMED_MAX = 2
"""Tests named per row, at most; more are only counted."""


class Collected:
    """A pytest plugin that remembers the statements of all collected tests."""

    def __init__(self) -> None:
        self.tests: dict[str, set[str]] = defaultdict(set)

    def pytest_collection_modifyitems(self, items: list[pytest.Item]) -> None:
        """Collect the markers of every test, of its module and of its parameters."""
        for item in items:
            for marker in item.iter_markers("statement"):
                for statement in marker.args:
                    path, _, name = item.nodeid.partition("::")
                    name = name.partition("[")[0].rpartition("::")[2]
                    self.tests[statement].add(f"{path}: {name}")


def collect() -> dict[str, set[str]]:
    """Collect the tests. Return their names by statement."""
    collected = Collected()
    output = StringIO()
    with redirect_stdout(output):
        code = pytest.main(["--collect-only", "-qq", *ROOMS], [collected])
    if code:
        print(output.getvalue(), file=sys.stderr)
        sys.exit(
            f"conformance: the tests cannot be collected (pytest reports {code}); run make test"
        )
    return collected.tests


def cell_of(tests: set[str]) -> str:
    """Return the last cell of a row: some tests by name, and how many more there are."""
    named = sorted(tests)[:NAMED_MAX]
    more = len(tests) - len(named)
    return "<br>".join(named) + (f"<br>and {more} more" if more else "")


def write(tests: dict[str, set[str]]) -> None:
    """Write the tests into the rows of the table."""
    lines = TABLE.read_text(encoding="utf-8").splitlines()
    for index, line in enumerate(lines):
        row = ROW.match(line)
        if row is not None and tests.get(row[1]):
            lines[index] = f"| {row[1]} | {row[2]} | {row[3]} | {cell_of(tests[row[1]])} |"
    TABLE.write_text("\n".join(lines) + "\n", encoding="utf-8")


def main() -> int:
    """Compare the table with the tests and print gaps. Return 1 if a gap has no reason."""
    tests = collect()
    if "--write" in sys.argv[1:]:
        write(tests)
    matches = map(ROW.match, TABLE.read_text(encoding="utf-8").splitlines())
    rows = {row[1]: row[4] for row in matches if row is not None}
    unknown = sorted(set(tests) - set(rows))
    stale = sorted(name for name in tests if name in rows and rows[name] != cell_of(tests[name]))
    missing = [name for name in rows if not tests.get(name)]
    unexplained = [name for name in missing if not rows[name].startswith(NO_TEST)]
    for name in missing:
        print(f"{name}: {rows[name] if name not in unexplained else 'NO TEST AND NO REASON'}")
    for name in unknown:
        print(f"{name}: a test carries it, docs/conformance.md has no row for it")
    for name in stale:
        print(f"{name}: docs/conformance.md names other tests; run make conformance-write")
    print(
        f"{len(rows)} statements, {len(rows) - len(missing)} carried by tests, "
        f"{len(missing)} not, {len(unexplained)} of these without a reason"
    )
    return 1 if unexplained or unknown or stale else 0


if __name__ == "__main__":
    sys.exit(main())
