"""Updates the card's name and network settings in the text of gateway.toml.

Changes made on the web page are also written to gateway.toml on the boot partition. This file
therefore describes all of the card's settings.
"""

import tomllib
from collections.abc import Iterator, Mapping
from typing import Any

from gateway.process.files.toml_text import text_of, text_of_keys
from oncegate_device.wiping import section_of

_NAME = "hostname"


def changed(text: str, settings: Mapping[str, Any], before: Mapping[str, Any]) -> str:
    """Return the text of a gateway.toml after updating the settings that have changed.

    Comments are kept if possible.

    Args:
        text: the old text. Its values may differ from those in `before`.
        settings: the new settings without secrets: `hostname`, `wifi` and `ethernet`. `wifi` and
            `ethernet` can be None.
        before: the same settings before the change.

    Raises:
        tomllib.TOMLDecodeError: if the text is not TOML.
    """
    tables = tomllib.loads(text)
    wanted = {name: dict(each) if isinstance(each, dict) else each for name, each in tables.items()}
    if settings[_NAME] != before[_NAME]:
        wanted["device"] = {**wanted.get("device", {}), _NAME: settings[_NAME]}
    for name in ("wifi", "ethernet"):
        if settings[name] != before[name]:
            wanted.pop(name, None)
            if settings[name] is not None:
                wanted[name] = _table_of(name, settings[name])
    if wanted == tables:
        return text
    try:
        lines = "".join(_lines_with(text, tables, wanted))
        if tomllib.loads(lines) == wanted:
            return lines
    except tomllib.TOMLDecodeError:
        pass
    return "# Written again without its comments, to add what was set on the page.\n" + text_of(
        wanted
    )


def _table_of(name: str, settings: Mapping[str, Any]) -> dict[str, Any]:
    given = {key: value for key, value in settings.items() if value not in (None, False, [])}
    # An empty password means the stored one.
    return {**given, "password": ""} if name == "wifi" else given


def _lines_with(text: str, tables: dict[str, Any], wanted: dict[str, Any]) -> Iterator[str]:
    """Yield the lines of the text with changed settings replaced.

    A new host name is added below the header `[device]`, and new tables are added at the end.
    """
    gone = {name for name in ("wifi", "ethernet") if tables.get(name) != wanted.get(name)}
    name = wanted.get("device", {}).get(_NAME)
    is_renamed = tables.get("device", {}).get(_NAME) != name
    pair = text_of_keys({_NAME: name}) if is_renamed else ""
    section = None
    for line in text.splitlines(keepends=True):
        header = section_of(line)
        section = header or section
        if section in gone:
            continue
        if is_renamed and section == "device" and not header and _is_name(line):
            continue
        yield line if line.endswith("\n") else f"{line}\n"
        if header == "device" and pair:
            yield pair
            pair = ""
    if pair:
        yield f"\n# Set on the page.\n[device]\n{pair}"
    for each in sorted(gone & wanted.keys()):
        yield f"\n# Set on the page.\n{text_of({each: wanted[each]})}"


def _is_name(line: str) -> bool:
    key, found, _ = line.partition("=")
    return bool(found) and key.strip(" \t\"'") == _NAME
