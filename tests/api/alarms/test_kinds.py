"""Every kind of alarm has a name, and every condition a kind."""

import ast
import re
from pathlib import Path

from api.alarms.kinds import KINDS, UNKNOWN, kind_of

ROOT = Path(__file__).resolve().parents[3]
MADE_BY = {"Condition": 0, "_condition": 0, "StatusWarning": 0}


def identifiers_in(path: Path) -> set[str]:
    """Return the identifiers of all conditions and warnings that a module creates."""
    return {
        str(node.args[0].value)
        for node in ast.walk(ast.parse(path.read_text()))
        if isinstance(node, ast.Call)
        and isinstance(node.func, ast.Name)
        and node.func.id in MADE_BY
        and node.args
        and isinstance(node.args[0], ast.Constant)
    }


def test_every_condition_has_a_kind_and_every_kind_a_condition() -> None:
    paths = [
        *(ROOT / "api" / "alarms").rglob("*.py"),
        *(ROOT / "gateway" / "broker" / "server" / "status").glob("*warnings.py"),
    ]
    made = {each for path in paths for each in identifiers_in(path)} | {"disk_full"}
    assert made == set(KINDS)


def test_the_page_of_alarms_has_a_row_for_each_kind() -> None:
    page = (ROOT / "docs" / "alarms.md").read_text()
    rows = re.findall(r"^\| `(\w+)` \| (.+?) \| (yes|no) \|", page, re.MULTILINE)
    assert {id: (title, loss) for id, title, loss in rows} == {
        id: (kind.title, "yes" if kind.is_loss else "no") for id, kind in KINDS.items()
    }
    assert [id for id, _, _ in rows] == sorted(KINDS)


def test_an_identifier_of_another_version_has_a_title() -> None:
    assert kind_of("of_the_future") is UNKNOWN
