"""Writes the pages that repeat what the code knows: `make docs`."""

import ast
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from docs.command_reference import PAGE as COMMANDS_PAGE
from docs.command_reference import command_page
from docs.dashboard import PAGE as DASHBOARD
from docs.dashboard import dashboard
from docs.decision_index import PAGE as DECISIONS_PAGE
from docs.decision_index import index_page
from docs.rest_reference import PAGE as REST_PAGE
from docs.rest_reference import rest_page

ROOT: Final = Path(__file__).resolve().parents[1]
MODULES_PAGE: Final = ROOT / "docs" / "modules.md"
PARTS: Final = {
    "Gateway": "gateway",
    "Bridge": "firmware-bridge/firmware_bridge",
    "Page and REST interface": "api",
    "Spark jobs, report, readings": "cloud_jobs",
    "Card": "image/device/oncegate_device",
}
NAME_COLUMNS: Final = 36
"""Width of a name with its indentation: the longest name has 32 characters."""
SUMMARY_MAX: Final = 100
"""Characters of a description, at most: of a longer one only what precedes its first stop."""
INTRODUCTION: Final = """# Modules

Each folder and file with the first sentence of its docstring. `make docs` writes this page;
[architecture](architecture.md) describes how the parts work together.
"""


def modules_page() -> str:
    """Return the page with a tree of each part."""
    sections = [
        f"## {title}\n\n```\n" + "".join(_lines_of(ROOT / part, 0, f"{part}/")) + "```\n"
        for title, part in PARTS.items()
    ]
    return "\n".join([INTRODUCTION, *sections])


def _lines_of(folder: Path, level: int, name: str) -> Iterator[str]:
    """Yield a folder's line, its files, then its folders."""
    yield _line(level, name, folder / "__init__.py")
    inner = sorted(folder.iterdir())
    for path in inner:
        if path.suffix == ".py" and path.stem not in ("__init__", "__main__"):
            yield _line(level + 1, path.name, path)
    for path in inner:
        if (path / "__init__.py").is_file():
            yield from _lines_of(path, level + 1, f"{path.name}/")


def _line(level: int, name: str, module: Path) -> str:
    docstring = ast.get_docstring(ast.parse(module.read_text())) or ""
    first = " ".join(docstring.partition("\n\n")[0].split())
    summary = re.split(r"[.:](?: |$)", first)[0] if len(first) > SUMMARY_MAX else first
    summary = summary.rstrip(".:")
    return f"{'  ' * level + name:{NAME_COLUMNS}} {summary}".rstrip() + "\n"


if __name__ == "__main__":
    MODULES_PAGE.write_text(modules_page())
    DECISIONS_PAGE.write_text(index_page())
    DASHBOARD.write_text(dashboard())
    COMMANDS_PAGE.write_text(command_page())
    REST_PAGE.write_text(rest_page())
