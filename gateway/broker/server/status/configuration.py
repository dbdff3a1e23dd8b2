"""The current configuration for display: each key with its value and its source.

Secrets are masked.
"""

from typing import Any, Final

from gateway.configuration import Configuration
from gateway.configuration.description import keys
from gateway.configuration.effects import process_of

KEYS_MAX: Final = 4_000
"""Maximum number of keys in an answer. A gateway with 64 ports has 2,500. Further keys are only
counted."""
VALUE_CHARACTERS_MAX: Final = 100


def shown_configuration(
    configuration: Configuration, needs_restart: tuple[str, ...]
) -> dict[str, Any]:
    """Return the response to the command `configuration` (see docs/formats/control-socket.md)."""
    found = [
        {
            "section": section,
            "key": key,
            "value": _shown(each.masked),
            "source": each.source,
            "process": process_of(f"{_section_in(section)}.{key}") or "broker",
        }
        for each in keys(configuration)
        for section, key in [each.name.rsplit(" ", 1)]
    ]
    return {
        "file": configuration.file,
        "keys": found[:KEYS_MAX],
        "not_listed": max(0, len(found) - KEYS_MAX),
        "needs_restart": list(needs_restart),
    }


def _section_in(heading: str) -> str:
    """Return the plain name of the configuration section in a heading.

    For example, return `mqtt` for the headings `[mqtt]` and `[tenants.acme.mqtt]`.
    """
    return heading.partition("]")[0].lstrip("[").rpartition(".")[2]


def _shown(text: str) -> str:
    too_long = len(text) > VALUE_CHARACTERS_MAX
    return f"{text[: VALUE_CHARACTERS_MAX - 3]}..." if too_long else text
