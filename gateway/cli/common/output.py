"""Results of commands on stdout: human-readable text, or one JSON object for programs.

docs/commands.md documents the keys of each object.
"""

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from rich.console import RenderableType


def counted(number: int, noun: str) -> str:
    """Return a count with its noun in the singular or plural: `1 gateway`, `1,200 events`."""
    return f"1 {noun}" if number == 1 else f"{number:,} {noun}s"


def write_file(path: Path, text: str) -> None:
    """Write a result to a file atomically. Raises OSError if the file cannot be written."""
    from gateway.process.files.durable import Rights, replace_durably

    replace_durably(
        path, text.encode(), partial=path.with_name(f"{path.name}.part"), rights=Rights(0o666)
    )


def show(
    document: dict[str, Any],
    drawn: "Callable[[dict[str, Any]], RenderableType]",
    *,
    as_json: bool,
) -> None:
    """Print `document` as one line of JSON if `as_json` is True, otherwise as human-readable text.

    `drawn` is a function that formats the document as text or as a table.
    """
    if as_json:
        import json

        print(json.dumps(document))
        return
    result = drawn(document)
    if isinstance(result, str):
        print(result)
        return
    from rich.console import Console

    Console(highlight=False).print(result)
