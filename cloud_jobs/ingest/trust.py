"""Which gateway a segment is really from: its key, and the folder in which it lies.

Pure: from the files of a batch, the rows of `gateway_keys` and the keys file come the keys that are
new, and from the files and those rows the files that are refused. A gateway that the keys file
names has the keys that stand there, and no others. Any other one keeps the key with which its first
signed segment came (trust on first use). A gateway without a key may upload unsigned segments; one
with a key only those that are older than its first signed one.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from cloud_jobs.ingest.keys_file import Pinned

FIRST_USE, PINNED = "first_use", "pinned"
FOREIGN_KEY, WRONG_PREFIX = "foreign_key", "wrong_prefix"


@dataclass(frozen=True, slots=True)
class SignedFile:
    """A segment whose bytes are right: nothing about it is known to be wrong so far."""

    path: str
    folder: str
    """The folder in which it lies, below the source; empty in the source itself."""
    name: str
    gateway: str
    segment: int
    first_sequence: int
    last_sequence: int
    public_key: str | None
    boot: str = ""


@dataclass(frozen=True, slots=True)
class GatewayKey:
    """A row of `gateway_keys`, but for its batch and time."""

    gateway: str
    public_key: str
    source: str
    is_withdrawn: bool = False
    prefix: str | None = None
    segment: int | None = None
    """The first signed segment, None where the key was pinned before any came."""
    first_sequence: int | None = None
    segment_name: str | None = None


@dataclass(frozen=True, slots=True)
class Refusal:
    """A file that goes to quarantine as a whole."""

    path: str
    reason: str
    detail: str


def folder_of(path: str, source: str) -> str:
    """Return the folder of a file relative to the source, both as Spark or a person writes them."""
    whole, root = _plain(path), _plain(source).rstrip("/")
    folder = whole.rpartition("/")[0]
    if folder == root or folder.startswith(f"{root}/"):
        return folder[len(root) + 1 :]
    # A relative source, or one that is written in another way: all that is known is all folders.
    return folder.strip("/")


def _plain(url: str) -> str:
    """Return a URL or path without its scheme, with one slash at the beginning."""
    return re.sub(r"^(?:[A-Za-z][A-Za-z0-9+.-]*:)?/*", "/", url)


def new_keys(
    files: Sequence[SignedFile],
    known: Iterable[GatewayKey],
    pinned: Mapping[str, Pinned],
) -> list[GatewayKey]:
    """Return the rows that are to be added to `gateway_keys`, or replaced there."""
    rows = _by_gateway(known)
    found: list[GatewayKey] = []
    for gateway, pin in pinned.items():
        found += _changed(gateway, pin, rows.get(gateway, []))
    # Whose folder a name may be: a first key is not taken from the folder of another gateway.
    names = {file.gateway for file in files} | set(rows) | set(pinned)
    candidates = sorted(files, key=lambda file: (file.segment, file.name))
    for file in candidates:
        if file.public_key is None or file.gateway in pinned or rows.get(file.gateway):
            continue
        if _owner_of(file, names) is not None:
            continue
        row = GatewayKey(
            gateway=file.gateway,
            public_key=file.public_key,
            source=FIRST_USE,
            segment=file.segment,
            first_sequence=file.first_sequence,
            segment_name=file.name,
        )
        rows[file.gateway] = [row]
        found.append(row)
    return found


def _changed(gateway: str, pin: Pinned, before: list[GatewayKey]) -> list[GatewayKey]:
    """Return the rows of a gateway that are not as the keys file has them."""
    by_key = {row.public_key: row for row in before}
    after = [
        replace(
            by_key.get(key, GatewayKey(gateway, key, PINNED)),
            source=PINNED,
            is_withdrawn=False,
            prefix=pin.prefix,
        )
        for key in pin.public_keys
    ]
    withdrawn = [
        replace(row, is_withdrawn=True) for row in before if row.public_key not in pin.public_keys
    ]
    return [row for row in (*after, *withdrawn) if row != by_key.get(row.public_key)]


def refusals_of(files: Iterable[SignedFile], known: Iterable[GatewayKey]) -> list[Refusal]:
    """Return which files are refused, by the rows of `gateway_keys` alone."""
    rows = _by_gateway(known)
    found = []
    for file in files:
        refusal = _refusal_of(file, rows.get(file.gateway, []), set(rows))
        if refusal is not None:
            found.append(refusal)
    return found


def _refusal_of(
    file: SignedFile, rows: Sequence[GatewayKey], with_keys: set[str]
) -> Refusal | None:
    trusted = [row.public_key for row in rows if not row.is_withdrawn]
    if file.public_key is not None and file.public_key not in trusted:
        mend = "if the gateway's key was replaced, add the new one to the file of --keys"
        named = ", ".join(trusted) or "no key so far"
        return Refusal(
            file.path,
            FOREIGN_KEY,
            f"signed by {file.public_key}, {file.gateway} has {named}: {mend}",
        )
    if file.public_key is None and rows and not _is_older(file, rows):
        return Refusal(
            file.path,
            "unsigned",
            f"{file.gateway} signs its segments, and this one is not signed: land the gateway's "
            "own copy of it, from log/sent/",
        )
    owner = _owner_of(file, with_keys)
    if owner is not None:
        return Refusal(
            file.path, WRONG_PREFIX, f"a segment of {file.gateway} in the folder of {owner}"
        )
    prefix = next((row.prefix for row in rows if row.prefix and not row.is_withdrawn), None)
    if prefix and not f"{file.folder}/".startswith(f"{prefix}/"):
        return Refusal(
            file.path,
            WRONG_PREFIX,
            f"segments of {file.gateway} have to lie in {prefix}, and this one lies in "
            f"{file.folder or 'the source itself'}",
        )
    return None


def _is_older(file: SignedFile, rows: Sequence[GatewayKey]) -> bool:
    """Return whether an unsigned segment lies before the first signed one, by number and events."""
    firsts = [
        (row.segment, row.first_sequence)
        for row in rows
        if row.segment is not None and row.first_sequence is not None
    ]
    return bool(firsts) and all(
        file.segment < segment and file.last_sequence < sequence for segment, sequence in firsts
    )


def _owner_of(file: SignedFile, gateways: set[str]) -> str | None:
    """Return the other gateway whose id one of the folders bears, None where none does."""
    folders = file.folder.split("/")
    if file.gateway in folders:
        return None
    return next((folder for folder in folders if folder in gateways), None)


def _by_gateway(keys: Iterable[GatewayKey]) -> dict[str, list[GatewayKey]]:
    found: dict[str, list[GatewayKey]] = {}
    for key in keys:
        found.setdefault(key.gateway, []).append(key)
    return found
