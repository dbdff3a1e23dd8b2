"""The gateway's id, which is created on the first start and stored.

`(gateway, boot, sequence)` identifies an event permanently, so a change of the id would split the
gateway's history. The id is stored on disk before it is used. A lost or damaged id is restored from
the session log, so it does not prevent startup. If the log does not contain the id either, a new id
is created, and an error is logged if the old id was damaged (docs/decisions/0041).
"""

import hashlib
import json
import logging
import os
import re
import secrets
from pathlib import Path

from gateway.configuration.whole import Configuration
from gateway.process.files.disk_errors import is_unreadable
from gateway.process.files.durable import replace_durably
from gateway.process.files.lock import alone_in
from gateway.process.files.private import create_data_dir
from gateway.process.files.segment_folders import names_in

logger = logging.getLogger(__name__)

ID_FILE = "gateway-id"
_ID = re.compile(r"[a-z0-9-]{1,64}", re.ASCII)

# docs/formats/session-log.md: <gateway>.<boot>.<segment>.<first>-<last>.<sha256>.jsonl.zst
_SEGMENT = re.compile(
    r"(?P<gateway>[a-z0-9-]{1,64})\.[0-9a-f]{16}\.[0-9]+"
    r"\.[0-9]+-(?P<last>[0-9]+)\.[0-9a-f]{64}\.jsonl\.zst"
)


def gateway_id(configuration: Configuration) -> str:
    """Return `[gateway] id`, or else the id stored in the data directory, or else a new id.

    A new id is stored, and the data directory is created if it is missing. Raises OSError if the
    directory is not writable.
    """
    if configuration.gateway.id is not None:
        return configuration.gateway.id
    directory = configuration.identity_dir
    create_data_dir(directory)
    # Several processes start together: one creates the id, the others read what it has synced.
    with alone_in(directory):
        kept = _kept_in(directory)
        if kept is not None and _ID.fullmatch(kept):
            return kept
        return _restore_or_create(directory, is_damaged=kept is not None)


def log_identity(configuration: Configuration) -> str:
    """Return the name under which events are logged.

    This is the gateway's id. For a tenant, `_` and the tenant's name are appended. Neither the id
    nor a tenant's name can contain `_`, so each name stands for one gateway or one tenant.
    """
    return with_tenant(gateway_id(configuration), configuration)


def known_log_identity(configuration: Configuration) -> str:
    """Return the name under which events are logged, or "" if the gateway has no id yet.

    Unlike `log_identity`, this function does not create an id.
    """
    gateway = configuration.gateway.id or known_id(configuration.identity_dir)
    return with_tenant(gateway, configuration) if gateway else ""


def with_tenant(gateway: str, configuration: Configuration) -> str:
    """Return the name under which a gateway or its tenant logs events.

    This is the gateway's id, `gateway`. For a tenant, `_` and the tenant's name are appended.
    """
    return gateway if configuration.tenant is None else f"{gateway}_{configuration.tenant}"


def known_id(directory: Path) -> str:
    """Return the gateway id in a data directory or its session log, or "" if there is no id."""
    kept = _kept_in(directory)
    if kept is not None and _ID.fullmatch(kept):
        return kept
    return _id_in_session_log(directory / "log") or ""


def _kept_in(directory: Path) -> str | None:
    try:
        return (directory / ID_FILE).read_text(encoding="ascii", errors="replace").strip()
    except FileNotFoundError:
        return None
    except OSError as error:
        if not is_unreadable(error):
            raise
        return ""


def _restore_or_create(directory: Path, *, is_damaged: bool) -> str:
    """Store and return the id found in the session log or, if there is none, a new id.

    Log an error if the stored id was damaged (`is_damaged`), or was missing although the log
    contains it.
    """
    former = _id_in_session_log(directory / "log")
    chosen = former or f"gw-{secrets.token_hex(4)}"
    path = directory / ID_FILE
    if is_damaged:
        # A hard link, not a rename. If power fails before the new file exists, the damage must be
        # found again.
        aside = path.with_name(f"{ID_FILE}.damaged")
        aside.unlink(missing_ok=True)
        os.link(path, aside)
    partial = path.with_name(f"{ID_FILE}.partial")
    replace_durably(path, f"{chosen}\n".encode("ascii"), partial=partial)
    fault = "does not hold a gateway id" if is_damaged else "is gone"
    if former is not None:
        logger.error("%s %s: the id is %s again, as in the session log", path, fault, former)
    elif is_damaged:
        logger.error(
            "%s %s, and no session log has it: this gateway is %s from now on; to keep its "
            "former id, write that into the file and restart",
            path,
            fault,
            chosen,
        )
    return chosen


def _id_in_session_log(log_dir: Path) -> str | None:
    """Return the newest gateway id in the session log, or None if the log contains no id."""
    return _id_in_chain(log_dir / "chain.json") or _id_in_names(log_dir)


def _id_in_chain(path: Path) -> str | None:
    """Read the gateway id from the chain file, which has two lines: JSON and its SHA-256.

    The file's last entry contains the id. Return None if the file is missing or damaged.
    """
    try:
        text, _, checksum = path.read_bytes().partition(b"\n")
    except OSError:
        return None
    if checksum.strip() != hashlib.sha256(text).hexdigest().encode("ascii"):
        return None
    heads = json.loads(text)["heads"]
    found = heads[-1]["gateway"] if heads else ""
    return found if _ID.fullmatch(found) else None


def _id_in_names(log_dir: Path) -> str | None:
    names = (
        match
        for directory in ("sealed", "sent")
        if (log_dir / directory).is_dir()
        for name in names_in(log_dir / directory)
        if (match := _SEGMENT.fullmatch(name)) is not None
    )
    newest = max(names, key=lambda match: int(match["last"]), default=None)
    return newest["gateway"] if newest is not None else None
