"""Names of loggers."""

import ast
from collections.abc import Iterator
from pathlib import Path

from tests.architecture.test_tidy import ROOT, modules


def misnamed_loggers_in(path: Path) -> Iterator[str]:
    """Yield calls of `getLogger` that give the module's own logger another name."""
    tree = ast.parse((ROOT / path).read_text())
    named = [
        statement.value
        for statement in tree.body
        if isinstance(statement, ast.Assign)
        and [ast.unparse(each) for each in statement.targets] == ["logger"]
    ]
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and ast.unparse(node.func).endswith("getLogger"):
            # A logger named by a string literal belongs to another library.
            is_foreign = bool(node.args) and isinstance(node.args[0], ast.Constant)
            if node not in named and not is_foreign:
                yield f"{path}:{node.lineno}: {ast.unparse(node)}"


def test_a_module_s_logger_is_named_logger() -> None:
    assert [each for path in modules() for each in misnamed_loggers_in(path)] == []
