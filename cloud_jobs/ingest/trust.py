"""Authentication of segments by their gateway's key, and by the folder in which they landed.

The functions have no side effects. From the files of a batch, the rows of `gateway_keys` and the
keys file, they determine the new keys and the files to refuse. If the keys file names a gateway,
only the keys listed there are valid. For any other gateway, the key of its first signed segment is
valid (trust on first use).

As long as a gateway has no key, its unsigned segments are accepted provisionally. After its first
key arrives, a segment is valid if it is signed, or if a valid segment confirms it. The header of a
segment contains the hash of the previous segment, and so confirms the previous segment. A signature
covers the header. All other segments are refused, even if they were accepted before (`withdrawal`).
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TypeAlias

from cloud_jobs.ingest.keys_file import Pinned

FIRST_USE, PINNED = "first_use", "pinned"
FOREIGN_KEY, WRONG_PREFIX, UNSIGNED = "foreign_key", "wrong_prefix", "unsigned"

Named: TypeAlias = tuple[str, str | None]
"""A gateway, and the hash of one of its segment files."""


@dataclass(frozen=True, slots=True)
class SignedFile:
    """A segment whose bytes are valid, and whose origin is still to be checked."""

    path: str
    folder: str
    """The folder of the file, relative to the source. Empty if the file is in the source itself."""
    name: str
    gateway: str
    segment: int
    first_sequence: int
    last_sequence: int
    public_key: str | None
    boot: str = ""
    sha256: str = ""
    previous_sha256: str | None = None


@dataclass(frozen=True, slots=True)
class GatewayKey:
    """A row of the table `gateway_keys`, without the columns for batch and time."""

    gateway: str
    public_key: str
    source: str
    is_withdrawn: bool = False
    prefix: str | None = None
    segment: int | None = None
    """The first signed segment. None if the key was pinned before any segment arrived."""
    first_sequence: int | None = None
    segment_name: str | None = None


@dataclass(frozen=True, slots=True)
class Refusal:
    """The refusal of a whole file, which is put into quarantine."""

    path: str
    reason: str
    detail: str


def folder_of(path: str, source: str) -> str:
    """Return the folder of a file relative to the source.

    Each argument can be a path or a URL, as Spark writes it or as a person types it.
    """
    whole, root = _plain(path), _plain(source).rstrip("/")
    folder = whole.rpartition("/")[0]
    if folder == root or folder.startswith(f"{root}/"):
        return folder[len(root) + 1 :]
    # The source is relative or written differently: all folders of the file are returned.
    return folder.strip("/")


def _plain(url: str) -> str:
    """Return a URL or path without its scheme, beginning with one slash."""
    return re.sub(r"^(?:[A-Za-z][A-Za-z0-9+.-]*:)?/*", "/", url)


def new_keys(
    files: Sequence[SignedFile],
    known: Iterable[GatewayKey],
    pinned: Mapping[str, Pinned],
) -> list[GatewayKey]:
    """Return the rows to write to `gateway_keys`: new rows, and existing rows with changes."""
    rows = _by_gateway(known)
    found: list[GatewayKey] = []
    for gateway, pin in pinned.items():
        found += _changed(gateway, pin, rows.get(gateway, []))
    # A folder may be named after a known gateway. A first key is not accepted from the folder
    # of another gateway.
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
    """Return a gateway's new rows of `gateway_keys`, and the existing rows with changed values.

    `pin` is the gateway's entry in the keys file, and `before` contains the existing rows.
    """
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


def refusals_of(
    files: Iterable[SignedFile],
    known: Iterable[GatewayKey],
    confirmed: Collection[Named] = (),
) -> list[Refusal]:
    """Return the files to refuse, with the reasons.

    Args:
        files: the files to check.
        known: rows of the table `gateway_keys`.
        confirmed: gateways and hashes of files that an ingested segment names as its predecessor.
    """
    rows = _by_gateway(known)
    judged = {file: _refusal_of(file, rows.get(file.gateway, []), set(rows)) for file in files}
    counting = [file for file, refusal in judged.items() if refusal is None and file.public_key]
    named = {*confirmed, *((file.gateway, file.previous_sha256) for file in counting)}
    for file in unconfirmed_files([file for file in judged if file.gateway in rows], named):
        judged[file] = judged[file] or _unsigned(file)
    return [refusal for refusal in judged.values() if refusal is not None]


def unconfirmed_files(files: Iterable[SignedFile], named: Collection[Named]) -> list[SignedFile]:
    """Return the unsigned files that no valid segment names as its predecessor.

    `named` contains the predecessors that valid segments name, as pairs of gateway and hash. A file
    that is named there is valid itself, so its own predecessor is also confirmed, and so on.
    """
    known, found = set(named), []
    unsigned = [file for file in files if file.public_key is None]
    for file in sorted(unsigned, key=lambda file: (-file.segment, file.path)):
        if (file.gateway, file.sha256) in known:
            known.add((file.gateway, file.previous_sha256))
        else:
            found.append(file)
    return found


def _refusal_of(
    file: SignedFile, rows: Sequence[GatewayKey], with_keys: set[str]
) -> Refusal | None:
    trusted = [row.public_key for row in rows if not row.is_withdrawn]
    if file.public_key is not None and file.public_key not in trusted:
        fix = "if the gateway's key was replaced, add the new one to the file of --keys"
        named = ", ".join(trusted) or "no key so far"
        return Refusal(
            file.path,
            FOREIGN_KEY,
            f"signed by {file.public_key}, {file.gateway} has {named}: {fix}",
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


def _unsigned(file: SignedFile) -> Refusal:
    return Refusal(
        file.path,
        UNSIGNED,
        f"{file.gateway} signs its segments; this one is not signed, and none that is leads to it: "
        "land the gateway's own copy of it, from log/sent/",
    )


def _owner_of(file: SignedFile, gateways: set[str]) -> str | None:
    """Return the first folder in a file's path that is named after another gateway.

    Return None if there is no such folder, or if any folder in the path is named after the file's
    own gateway.
    """
    folders = file.folder.split("/")
    if file.gateway in folders:
        return None
    return next((folder for folder in folders if folder in gateways), None)


def _by_gateway(keys: Iterable[GatewayKey]) -> dict[str, list[GatewayKey]]:
    found: dict[str, list[GatewayKey]] = {}
    for key in keys:
        found.setdefault(key.gateway, []).append(key)
    return found
