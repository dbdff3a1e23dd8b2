"""Links, files, classes and methods named in the documents exist."""

import ast
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

from docs.command_reference import PAGE as COMMANDS_PAGE
from docs.command_reference import command_page
from docs.decision_index import FIGURES, THEMES, Decision, decisions, index_page
from docs.decision_index import PAGE as DECISIONS_PAGE
from docs.generate import MODULES_PAGE, modules_page
from docs.rest_reference import PAGE as REST_PAGE
from docs.rest_reference import rest_page

ROOT = Path(__file__).resolve().parents[2]
SOURCES = ("gateway", "firmware-bridge", "api", "cloud_jobs")
CONTRIBUTING = ROOT / "CONTRIBUTING.md"
DOCUMENTS = [
    ROOT / "README.md",
    ROOT / "CHANGELOG.md",
    CONTRIBUTING,
    ROOT / "SECURITY.md",
    *sorted((ROOT / "docs").rglob("*.md")),
]
LINK = re.compile(r"\[[^\]]*\]\(([^)\s]+)\)")
CODE_BLOCK = re.compile(r"^```.*?^```$", re.MULTILINE | re.DOTALL)
FILE = re.compile(r"(?<![\w/.<>~-])((?:[\w.-]+/)+[\w.-]+\.(?:py|md|html|txt))\b")
# A class has a lower-case letter in its name; `FILE.svg` is a placeholder.
MEMBER = re.compile(r"`([A-Z]\w*[a-z]\w*)\.(\w+)`")
DECISION = re.compile(r"(\d{4})-[a-z0-9-]+\.md")
DECISION_LINES_MAX = 60
TREE_BLOCK = re.compile(r"^```\n([\w/-]+/ .*?)^```$", re.MULTILINE | re.DOTALL)
TREE_LINE = re.compile(r"^( *)(\S+)(?: +(\S.*))?$")

named = pytest.mark.parametrize("document", DOCUMENTS, ids=lambda path: str(path.relative_to(ROOT)))


def broken_links_of(document: Path, text: str) -> Iterator[str]:
    for target in LINK.findall(CODE_BLOCK.sub("", text)):
        if re.match(r"[a-z]+:", target):
            continue
        name, _, anchor = target.partition("#")
        path = (document.parent / name).resolve() if name else document
        if not path.exists():
            yield f"{target}: there is no {path.name}"
        elif anchor and anchor not in anchors_of(path.read_text()):
            yield f"{target}: {path.name} has no such heading"


def anchors_of(text: str) -> set[str]:
    """Return the anchors of the headings: lower case, hyphens for spaces, no punctuation."""
    headings = re.findall(r"^#+ (.+)$", CODE_BLOCK.sub("", text), re.MULTILINE)
    return {re.sub(r"[^\w -]", "", heading.lower()).replace(" ", "-") for heading in headings}


def missing_files_of(text: str) -> Iterator[str]:
    # Paths in links start from their document and are checked above; paths in prose start from the
    # root.
    for name in FILE.findall(LINK.sub("", text)):
        if not (ROOT / name).exists():
            yield name


@cache
def members() -> dict[str, set[str]]:
    """Return the members of every class in the sources, by the name of the class."""
    found: dict[str, set[str]] = {}
    for source in SOURCES:
        for path in (ROOT / source).rglob("*.py"):
            for node in ast.walk(ast.parse(path.read_text(), str(path))):
                if isinstance(node, ast.ClassDef):
                    found.setdefault(node.name, set()).update(names_in(node))
    return found


def names_in(class_definition: ast.ClassDef) -> Iterator[str]:
    for node in ast.walk(class_definition):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            yield node.name
        elif isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name):
            yield node.target.id
        elif isinstance(node, ast.Name | ast.Attribute) and isinstance(node.ctx, ast.Store):
            yield node.id if isinstance(node, ast.Name) else node.attr


def missing_members_of(text: str) -> Iterator[str]:
    for owner, member in MEMBER.findall(text):
        if member not in members().get(owner, set()):
            yield f"{owner}.{member}"


def lines_of_trees(text: str) -> Iterator[tuple[str, str]]:
    """Yield each path in the trees of a page, with a slash after a folder, and the path's
    description.

    A tree is a code block that begins with a folder. Two spaces are one level.
    """
    path: list[str] = []
    for line in "".join(TREE_BLOCK.findall(text)).splitlines():
        match = TREE_LINE.match(line)
        assert match, f"{line!r}: expected a name and what it is, a line for each"
        indentation, name, description = match.groups()
        path = [*path[: len(indentation) // 2], name]
        yield "".join(path), description or ""


def folders_of_tests() -> set[str]:
    """Return the folders that the tree of the tests must name."""
    tests = ROOT / "tests"
    inner = (tests / name for name in ("broker", "instruments", "process", "tools"))
    places = [*tests.glob("[!_.]*"), *(path for each in inner for path in each.glob("[!_.]*"))]
    return {f"{path.relative_to(ROOT)}/" for path in places if any(path.glob("[!_.]*"))}


@named
def test_every_relative_link_of_a_document_resolves(document: Path) -> None:
    assert list(broken_links_of(document, document.read_text())) == []


@named
def test_every_file_that_a_document_names_exists(document: Path) -> None:
    assert list(missing_files_of(document.read_text())) == []


@named
def test_every_method_that_a_document_names_exists(document: Path) -> None:
    assert list(missing_members_of(document.read_text())) == []


def test_the_search_for_what_is_missing_finds_it() -> None:
    text = "[a](b.md) [c](#d) [e](https://f) `gateway/no.py` `Store.no_such` `NoClass.x`\n# E\n"
    assert len(list(broken_links_of(ROOT / "README.md", text))) == 2
    assert list(missing_files_of(text)) == ["gateway/no.py"]
    assert list(missing_members_of(text)) == ["Store.no_such", "NoClass.x"]


def test_the_tree_of_the_tests_names_every_folder_and_no_other() -> None:
    described = list(lines_of_trees(CONTRIBUTING.read_text()))
    names = [name for name, _ in described]
    assert sorted(folders_of_tests() - set(names)) == [], "add a line to CONTRIBUTING.md"
    assert [name for name in names if not (ROOT / name).exists()] == []
    assert [name for name in names if names.count(name) > 1] == []
    assert [name for name, description in described if not description] == []


def test_the_page_of_modules_is_generated_from_the_code() -> None:
    assert MODULES_PAGE.read_text() == modules_page(), "run `make docs`"


def test_the_page_of_options_is_generated_from_the_commands() -> None:
    assert COMMANDS_PAGE.read_text() == command_page(), "run `make docs`"
    assert "oncegate tls revoke [OPTIONS] DIR NAME" in command_page()


def test_the_page_of_the_rest_interface_is_generated_from_its_description() -> None:
    assert REST_PAGE.read_text() == rest_page(), "run `make docs`"
    assert "| `state` | query | all or connected or away or drops |" in rest_page()


def test_the_index_of_decisions_has_each_in_one_theme_and_is_current() -> None:
    numbers = [number for each in THEMES.values() for number in each]
    assert sorted(numbers) == sorted(decisions()), "docs/decision_index.py: THEMES"
    assert DECISIONS_PAGE.read_text() == index_page(), "run `make docs`"


def test_a_status_names_what_it_revises_and_what_revised_it() -> None:
    status = "in force; x is [30](0030-c.md). Adds to [5](0005-e.md). Revises [3](0003-a.md), as y."
    decision = Decision(7, "0007-b.md", "B", status)
    assert (sorted(decision.revised), sorted(decision.revisions)) == ([3], [30])
    assert Decision(1, "0001-a.md", "A", "superseded by [3](0003-a.md).").is_superseded


def test_a_line_of_a_tree_is_a_path() -> None:
    text = "```\na/b/   what\n  c.py  that\n  d/  those\n    e.py it\n  f.py\n```\n"
    assert list(lines_of_trees(text)) == [
        ("a/b/", "what"),
        ("a/b/c.py", "that"),
        ("a/b/d/", "those"),
        ("a/b/d/e.py", "it"),
        ("a/b/f.py", ""),
    ]


def test_decisions_are_numbered_and_at_most_a_page() -> None:
    numbers = []
    for path in set((ROOT / "docs" / "decisions").iterdir()) - {DECISIONS_PAGE, FIGURES}:
        name = DECISION.fullmatch(path.name)
        assert name, f"{path.name}: call it NNNN-words.md"
        numbers.append(int(name[1]))
        text = path.read_text()
        assert text.startswith("# "), f"{path.name} begins with its title"
        assert len(text.splitlines()) <= DECISION_LINES_MAX, f"{path.name} is longer than a page"
    assert len(set(numbers)) == len(numbers), "one number each"


def test_every_document_can_be_reached_from_the_readme_or_from_the_architecture() -> None:
    reached: set[Path] = set()
    waiting = [ROOT / "README.md", ROOT / "docs" / "architecture.md"]
    while waiting:
        document = waiting.pop()
        if document in reached or not document.exists():
            continue
        reached.add(document)
        for target in LINK.findall(CODE_BLOCK.sub("", document.read_text())):
            path = (document.parent / target.partition("#")[0]).resolve()
            # A link to a folder leads to every document in it.
            documents = path.glob("*.md") if path.is_dir() else [path]
            waiting += (each for each in documents if each.suffix != ".png")
    assert [str(path.relative_to(ROOT)) for path in DOCUMENTS if path not in reached] == []


CONFORMANCE = ROOT / "docs" / "conformance.md"
DECIDED_IN = re.compile(r"^\| MQTT5?-[\d.]+-\d+ \| .*? \| (.*?) \| .*? \|$", re.MULTILINE)


def undefined_places_of(text: str) -> Iterator[str]:
    """Yield the places in the column "decided in" that the sources do not define."""
    for cell in sorted(set(DECIDED_IN.findall(text))):
        for place in re.findall(r"`([\w.]+)`", cell):
            if not is_defined(place):
                yield place


@cache
def is_defined(place: str) -> bool:
    """Return True if `module.Class.method` is defined below `gateway/broker`."""
    parts = place.split(".")
    for count in range(len(parts), 0, -1):
        folder = ROOT.joinpath("gateway", "broker", *parts[:count])
        if count == len(parts) and (folder / "__init__.py").exists():
            return True
        path = folder.with_suffix(".py")
        if path.exists():
            return is_in(ast.parse(path.read_text()).body, parts[count:])
    return False


def is_in(body: list[ast.stmt], names: list[str]) -> bool:
    """Return whether a body defines the chain of nested classes and functions with these names."""
    if not names:
        return True
    kinds = ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef
    return any(
        isinstance(node, kinds) and node.name == names[0] and is_in(node.body, names[1:])
        for node in body
    )


def test_what_decides_about_a_statement_is_defined_where_the_table_points_to() -> None:
    assert list(undefined_places_of(CONFORMANCE.read_text())) == []


def test_a_place_that_is_not_defined_is_found() -> None:
    row = "| MQTT-1.5.3-1 | strings | `wire.reading.no`, `wire.reading.text_of` | none: x |\n"
    assert list(undefined_places_of(row)) == ["wire.reading.no"]
    assert not is_defined("wire.reading.text_of.inner")
    assert is_defined("server.listeners")
