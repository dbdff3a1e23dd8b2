"""`docs/architecture.md` names every command and thread, and `docs/commands.md` every command."""

import ast
import re
from collections.abc import Iterator
from pathlib import Path

from gateway.cli.application import COMMANDS

ROOT = Path(__file__).resolve().parents[2]
PAGE = (ROOT / "docs" / "architecture.md").read_text()
COMMANDS_PAGE = (ROOT / "docs" / "commands.md").read_text()
SOURCES = ("gateway", "firmware-bridge/firmware_bridge", "api", "cloud_jobs")
# Calls that create a thread, and the argument with the thread's name.
MAKERS = {"ThreadPoolExecutor": "thread_name_prefix", "Thread": "name", "CommitThread": "name"}


def section(page: str, heading: str) -> str:
    """Return the text below a heading of a page, up to the next heading of the same level."""
    return page.split(f"\n## {heading}\n", 1)[1].split("\n## ", 1)[0]


def first_cells(text: str) -> str:
    """Return the first column of a text's tables, one cell per line."""
    return "\n".join(re.findall(r"^\| (.*?) \|", text, re.MULTILINE))


def names_of_threads() -> Iterator[str]:
    """Yield the name of each thread that the product creates, if the name is a string literal."""
    for source in SOURCES:
        for path in (ROOT / source).rglob("*.py"):
            for node in ast.walk(ast.parse(path.read_text())):
                if isinstance(node, ast.Call):
                    yield from name_of_thread(node)


def name_of_thread(call: ast.Call) -> Iterator[str]:
    maker = MAKERS.get(ast.unparse(call.func).split(".")[-1])
    if maker is not None:
        named = [each.value for each in call.keywords if each.arg == maker]
        for value in named or call.args[1:2]:
            if isinstance(value, ast.Constant) and isinstance(value.value, str):
                yield value.value


def test_the_tables_of_verbs_name_every_verb_and_no_other() -> None:
    cells = first_cells(section(PAGE, "Processes"))
    assert set(re.findall(r"`([\w-]+)`", cells)) == set(COMMANDS)


def test_the_page_of_commands_names_every_verb() -> None:
    cells = first_cells(section(COMMANDS_PAGE, "The verbs"))
    assert COMMANDS.keys() - set(re.findall(r"`(?:oncegate )?([a-z-]+)", cells)) == set()


def test_the_table_of_threads_names_every_thread_and_no_other() -> None:
    cells = re.findall(r"^\| \w+ \| (.*?) \|", section(PAGE, "Threads"), re.MULTILINE)
    assert set(re.findall(r"`([\w-]+)`", "\n".join(cells))) == set(names_of_threads())


def test_the_name_of_a_thread_is_found() -> None:
    calls = "ThreadPoolExecutor(1, 'a')", "threading.Thread(target=f, name='b')", "Thread(name=c)"
    found = [list(name_of_thread(node)) for node in map(parsed_call, calls)]
    assert found == [["a"], ["b"], []]


def parsed_call(text: str) -> ast.Call:
    node = ast.parse(text, mode="eval").body
    assert isinstance(node, ast.Call)
    return node
