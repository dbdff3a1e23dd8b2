"""A verb's result on stdout: drawn for a person, or one JSON object for a program.

The keys of each object are documented in docs/commands.md.
"""

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from rich.console import RenderableType


def show(
    document: dict[str, Any],
    drawn: "Callable[[dict[str, Any]], RenderableType]",
    *,
    as_json: bool,
) -> None:
    """Print `document` as one line of JSON, or what `drawn` makes of it: a table, or plain text."""
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
