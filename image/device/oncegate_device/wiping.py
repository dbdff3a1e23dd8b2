"""Removal of secrets from the provisioning file, after they are stored on the data partition.

Old copies of sectors in the card's controller are beyond our reach: a person who opens the chips
may find them, one who mounts the card does not.
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
"""The keys of each table that are secret; None: all of them."""


def without_secrets(text: str) -> str:
    """Replace every secret in the file by an empty text. Comments and everything else are kept.

    If a secret is not on a line of its own (inline tables, multi-line texts), the whole file is
    written again without its comments.
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
    """Replace a file's contents, and overwrite the old contents.

    A power cut at any moment leaves the old file, the new one, or a state that `finish` completes.
    """
    _write(path.with_suffix(".new"), content)
    path.rename(path.with_suffix(".was"))
    finish(path)


def remove(path: Path) -> None:
    """Delete a file and overwrite its contents. `finish` completes it after a power cut."""
    if path.exists():
        path.rename(path.with_suffix(".was"))
    finish(path)


def section_of(line: str) -> str | None:
    """Return the table that starts with a line of TOML, or None."""
    header = _HEADER.match(line)
    return header[1] if header else None


def finish(path: Path) -> None:
    """Complete a replacement that a power cut interrupted, if there is one."""
    new, was = path.with_suffix(".new"), path.with_suffix(".was")
    if not was.exists():
        new.unlink(missing_ok=True)
        return
    if new.exists():
        new.rename(path)
        sync_folder(path.parent)
    # Overwritten in the same clusters: removing the file alone would leave its contents in free
    # ones.
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
