"""No system error reaches a person as `[Errno 2]` or with a path given twice."""

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
PARTS = ("gateway", "firmware-bridge/firmware_bridge", "api")
OF_THE_SYSTEM = {
    "BlockingIOError",
    "ConnectionError",
    "FileExistsError",
    "FileNotFoundError",
    "IsADirectoryError",
    "NotADirectoryError",
    "OSError",
    "PermissionError",
    "TimeoutError",
    "serial.SerialException",
    "socket.gaierror",
    "ssl.SSLError",
}


def kinds_of(caught: ast.expr | None) -> set[str]:
    """Return the names of the exceptions that a handler catches."""
    if isinstance(caught, ast.Tuple):
        return {ast.unparse(each) for each in caught.elts}
    return set() if caught is None else {ast.unparse(caught)}


def raw_errors_in(tree: ast.AST) -> Iterator[int]:
    """Yield the lines that format, convert or log a system error unchanged."""
    for handler in ast.walk(tree):
        if not isinstance(handler, ast.ExceptHandler) or handler.name is None:
            continue
        if kinds_of(handler.type) & OF_THE_SYSTEM:
            found = [node for node in ast.walk(handler) if is_raw(node, handler.name)]
            yield from [node.lineno for node in found if isinstance(node, ast.expr)]


def is_raw(node: ast.AST, name: str) -> bool:
    if isinstance(node, ast.FormattedValue):
        return ast.unparse(node.value) == name
    if isinstance(node, ast.Call):
        function = ast.unparse(node.func)
        is_shown = function == "str" or function.startswith("logger.")
        return is_shown and any(ast.unparse(argument) == name for argument in node.args)
    return False


@pytest.mark.parametrize("part", PARTS)
def test_an_error_of_the_system_is_worded_before_a_person_reads_it(part: str) -> None:
    found = [
        f"{path.relative_to(ROOT)}:{line}"
        for path in (ROOT / part).rglob("*.py")
        for line in raw_errors_in(ast.parse(path.read_text()))
    ]
    assert found == [], "use gateway.process.files.disk_errors.line_of"


@pytest.mark.parametrize(
    "shown", ["print(f'x: {e}')", "logger.warning('%s', e)", "raise X(str(e))"]
)
def test_the_search_finds_each_way_to_show_one(shown: str) -> None:
    program = f"try:\n    f()\nexcept (KeyError, OSError) as e:\n    {shown}\n"
    assert list(raw_errors_in(ast.parse(program))) == [4]
