"""docs/troubleshooting.md has cause and fix for each alarm, with the commands in the fix."""

import ast
import re
from collections.abc import Iterator
from pathlib import Path

from api.alarms.kinds import KINDS

ROOT = Path(__file__).resolve().parents[2]
PAGE = (ROOT / "docs" / "troubleshooting.md").read_text()
ROW = re.compile(r"^\| `(\w+)` \| (.+?) \| (.+?) \| (.+) \|$", re.MULTILINE)
ROWS = {id: (title, cause, fix) for id, title, cause, fix in ROW.findall(PAGE)}
MAKERS = ("Condition", "_condition", "StatusWarning")
NAMED = re.compile(r"oncegate [a-z]+(?: [a-z]+)?|\[\w+\] \w+|\b[a-z]+_[a-z_]+\b|LimitNOFILE")
"""Commands and keys in a fix, which a reader types or looks up."""


def constant_of(node: ast.expr) -> str:
    """Return the constant parts of a string expression."""
    return "".join(
        str(each.value)
        for each in ast.walk(node)
        if isinstance(each, ast.Constant) and isinstance(each.value, str)
    )


def fixes() -> Iterator[tuple[str, str]]:
    """Yield identifier and fix of each condition in the code, with the fix's constant parts."""
    status = ROOT / "gateway" / "broker" / "server" / "status"
    for path in [*(ROOT / "api" / "alarms").glob("*.py"), *status.glob("*warnings.py")]:
        for node in ast.walk(ast.parse(path.read_text())):
            is_made = isinstance(node, ast.Call) and ast.unparse(node.func) in MAKERS
            if is_made and isinstance(node, ast.Call) and len(node.args) > 3:
                yield constant_of(node.args[0]), constant_of(node.args[-1])


def test_each_alarm_has_its_cause_and_its_fix_in_order() -> None:
    assert {id: title for id, (title, _, _) in ROWS.items()} == {
        id: kind.title for id, kind in KINDS.items()
    }
    assert list(ROWS) == sorted(ROWS)


def test_a_fix_names_the_commands_and_keys_that_the_alarm_names() -> None:
    found = [(id, name) for id, fix in fixes() for name in NAMED.findall(fix)]
    assert len(found) > 10
    missing = [(id, name) for id, name in found if name not in " ".join(ROWS[id]).replace("`", "")]
    assert missing == []
