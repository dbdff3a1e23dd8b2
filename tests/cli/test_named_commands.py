"""Commands recommended in messages, pages and documents exist."""

import re
from collections.abc import Iterator
from pathlib import Path

import typer

from gateway.cli.application import application_of

ROOT = Path(__file__).parents[2]
SOURCES = ("gateway", "api", "firmware-bridge", "cloud_jobs", "image", "docs")
SUFFIXES = (".py", ".html", ".md")
GROUPS = ("ctl", "ctl ban", "serial", "acl", "api-token", "tls")
ADVISED = re.compile(r"oncegate ((?:ctl ban|ctl|serial|acl|api-token|tls) [a-z][a-z-]*)(?![\w.])")


def advised() -> Iterator[tuple[str, str]]:
    """Yield each recommended command with the file that names it."""
    for folder in SOURCES:
        for path in sorted((ROOT / folder).rglob("*")):
            if path.suffix in SUFFIXES and "decisions" not in path.parts:
                for found in ADVISED.findall(path.read_text()):
                    yield found, str(path.relative_to(ROOT))


def known() -> set[str]:
    """Return the commands that exist in each group."""
    found = set()
    whole = typer.main.get_command(application_of())
    for group in GROUPS:
        command = whole
        for name in group.split():
            command = command.commands[name]  # type: ignore[attr-defined]
        found |= {f"{group} {name}" for name in command.commands}  # type: ignore[attr-defined]
    return found


def test_every_command_that_is_advised_exists() -> None:
    named, existing = set(advised()), known()
    assert len(named) > 20
    assert {one for one in named if one[0] not in existing} == set()
