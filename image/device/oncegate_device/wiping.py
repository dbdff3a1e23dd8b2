"""Removes secrets from the provisioning file after they have been stored on the data partition.

The card's controller may keep old copies of overwritten sectors. These copies are not visible when
the card is mounted, but might be readable directly from the memory chips.
"""

import os
import re
import tomllib
from pathlib import Path
from typing import Any

from gateway.process.files.toml_text import text_of
from oncegate_device.places import sync_folder

_HEADER = re.compile(r"\s*\[\[?\s*([A-Za-z_]+)\s*\]\]?")
_PAIR = re.compile(
    r"""(\s*["']?[A-Za-z0-9_-]+["']?\s*=\s*)("(?:[^"\\]|\\.)*"|'[^']*')(.*)""", re.DOTALL
)
_SECRETS = {"wifi": ("password",), "users": ("password",), "upload_environment": None}
"""The secret keys in each table. None means that all keys of the table are secret."""


def without_secrets(text: str) -> str:
    """Return the text of a provisioning file with each secret replaced by an empty string.

    Comments and everything else are kept. If a secret is not on a line of its own (in an inline
    table or a multi-line string), the whole file is rewritten without its comments.
    """
    tables = tomllib.loads(text)
    wanted = _blanked(tables)
    if wanted == tables:
        return text
    lines, section = [], ""
    for line in text.splitlines(keepends=True):
        header = section_of(line)
        section = header or section
        pair = None if header else _PAIR.match(line)
        is_secret = pair and _is_secret(section, pair[1].split("=")[0].strip(" \t\"'"))
        lines.append(f'{pair[1]}""{pair[3]}' if pair and is_secret else line)
    blanked = "".join(lines)
    try:
        if tomllib.loads(blanked) == wanted:
            return blanked
    except tomllib.TOMLDecodeError:
        pass
    return "# Written again without its comments when its secrets were taken.\n" + text_of(wanted)


def replace(path: Path, content: bytes) -> None:
    """Replace the contents of a file, and overwrite the old contents on the partition.

    After a power cut, the partition has the old file, the new file, or an incomplete state that
    `finish` completes.
    """
    _write(path.with_suffix(".new"), content)
    path.rename(path.with_suffix(".was"))
    finish(path)


def remove(path: Path) -> None:
    """Delete a file and overwrite its contents. `finish` completes this after a power cut."""
    if path.exists():
        path.rename(path.with_suffix(".was"))
    finish(path)


def section_of(line: str) -> str | None:
    """Return the name of a TOML table if the line is its header, otherwise None."""
    header = _HEADER.match(line)
    return header[1] if header else None


def finish(path: Path) -> None:
    """If a power cut interrupted `replace` or `remove`, complete or undo the operation.

    A `replace` is undone if the old file was still in place. Otherwise, it is completed.
    """
    new, was = path.with_suffix(".new"), path.with_suffix(".was")
    if not was.exists():
        new.unlink(missing_ok=True)
        return
    if new.exists():
        new.rename(path)
        sync_folder(path.parent)
    # The old contents are overwritten in place, because deleting a file leaves them in free
    # clusters.
    with was.open("r+b") as file:
        file.write(b" " * was.stat().st_size)
        file.flush()
        os.fsync(file.fileno())
    was.unlink()
    sync_folder(path.parent)


def _write(path: Path, content: bytes) -> None:
    with path.open("wb") as file:
        file.write(content)
        file.flush()
        os.fsync(file.fileno())
    sync_folder(path.parent)


def _is_secret(section: str, key: str) -> bool:
    if section not in _SECRETS:
        return False
    keys = _SECRETS[section]
    return keys is None or key in keys


def _blanked(tables: dict[str, Any]) -> dict[str, Any]:
    def blank(section: str, table: dict[str, Any]) -> dict[str, Any]:
        return {key: "" if _is_secret(section, key) else each for key, each in table.items()}

    return {
        section: [blank(section, each) for each in table]
        if isinstance(table, list)
        else blank(section, table)
        if isinstance(table, dict)
        else table
        for section, table in tables.items()
    }
