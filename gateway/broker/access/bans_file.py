"""Bans, and the file that stores them across restarts (docs/formats/bans.md).

Only `load` and `save` access the file system.
"""

import ipaddress
import json
from dataclasses import asdict, dataclass
from enum import StrEnum
from pathlib import Path
from typing import Any, Final

from gateway.broker.access.errors import AccessFileError
from gateway.process.files.durable import replace_durably
from gateway.process.files.private import open_private

FILE_NAME: Final = "broker.bans.json"
FORMAT: Final = 1

FILE_BYTES_MAX: Final = 64 * 1024 * 1024
"""Size of the bans file, at most: `BANS_MAX` bans fit into it, even if each has maximum length."""

BANS_MAX: int = 10_000
"""Bans, at most: 10,000 take a few MB of memory and disk, and people do not create more by hand."""

VALUE_BYTES_MAX: Final = 1_024
"""Bytes of a banned value, at most: the same limit as for a client identifier."""

REASON_CHARACTERS_MAX: Final = 200
"""Characters of a ban's reason, at most: one sentence, logged and sent to MQTT 5.0 clients."""


class BansFileError(AccessFileError):
    """Error raised if the bans file cannot be read or is invalid."""


class Kind(StrEnum):
    """The kind of value that is banned: a client identifier, a user name or an address."""

    CLIENT = "client"
    USER = "user"
    ADDRESS = "address"


class Source(StrEnum):
    """The creator of a ban: an operator, or the broker (for clients that connect too often)."""

    OPERATOR = "operator"
    FLAPPING = "flapping"


@dataclass(frozen=True)
class Ban:
    """A ban on a client, user or address. Times are in milliseconds since 1970."""

    kind: Kind
    value: str
    """A client identifier, a user name, or an IP network such as `192.0.2.7/32`."""
    reason: str
    source: Source
    since_ms: int
    until_ms: int | None
    """Time at which the ban ends, or None if it applies until it is lifted."""


def ban_of(record: dict[str, Any]) -> Ban:
    """Convert a JSON object to a ban. The object comes from the bans file or from a request.

    Raises:
        ValueError: the object is invalid. The message states what was expected.
    """
    value, reason = record.get("value"), record.get("reason", "")
    since_ms, until_ms = record.get("since_ms"), record.get("until_ms")
    kind, source = kind_of(record.get("kind")), Source(str(record.get("source")))
    if not isinstance(value, str) or not 0 < len(value.encode("utf-8", "replace")) <= (
        VALUE_BYTES_MAX
    ):
        raise ValueError(f"'value' has to be a string of 1 to {VALUE_BYTES_MAX} bytes")
    if (
        not isinstance(reason, str)
        or not reason.isprintable()
        or len(reason) > REASON_CHARACTERS_MAX
    ):
        raise ValueError(f"'reason' has to be {REASON_CHARACTERS_MAX} printable characters at most")
    return Ban(
        kind,
        value_of(kind, value),
        reason,
        source,
        _time_of(since_ms),
        None if until_ms is None else _time_of(until_ms),
    )


def kind_of(written: object) -> Kind:
    """Return the kind of ban named `written`. Raises ValueError if no kind has this name."""
    if not isinstance(written, str) or written not in set(Kind):
        raise ValueError(f"'kind' has to be one of {', '.join(Kind)}")
    return Kind(written)


def _time_of(value: object) -> int:
    if not isinstance(value, int) or isinstance(value, bool) or not 0 <= value < 1 << 53:
        raise ValueError("a time has to be milliseconds since 1970")
    return value


def value_of(kind: Kind, written: str) -> str:
    """Convert a banned value to the form in which bans are stored and compared.

    An address becomes a network, for example 192.0.2.7/32. Client identifiers and user names are
    returned unchanged. Raises ValueError if an address or network is invalid.
    """
    if kind is not Kind.ADDRESS:
        return written
    try:
        network = ipaddress.ip_network(written, strict=False)
    except ValueError:
        raise ValueError(
            'an address is like "192.0.2.7", "192.0.2.0/24" or "2001:db8::/64"'
        ) from None
    if isinstance(network, ipaddress.IPv6Network) and network.prefixlen >= 96:
        mapped = network.network_address.ipv4_mapped
        if mapped is not None:  # connections show an IPv4-mapped address as IPv4
            return str(ipaddress.ip_network((mapped, network.prefixlen - 96)))
    return str(network)


def load(path: Path) -> list[Ban]:
    """Return the bans stored in a file, or an empty list if the file does not exist.

    Raises:
        BansFileError: the file cannot be read, or has the wrong format.
    """
    try:
        with open(path, "rb", opener=lambda name, flags: open_private(Path(name), flags)) as file:
            data = file.read(FILE_BYTES_MAX + 1)
    except FileNotFoundError:
        return []
    except OSError as error:
        raise BansFileError(f"{path}: cannot be read: {error.strerror}") from error
    try:
        return _bans_in(data)
    except (ValueError, RecursionError) as error:
        raise BansFileError(f"{path}: is no file of bans: {error}") from error


def _bans_in(data: bytes) -> list[Ban]:
    document = json.loads(data) if len(data) <= FILE_BYTES_MAX else None
    if not isinstance(document, dict) or not isinstance(document.get("bans"), list):
        raise ValueError("expected an object with a list of bans")
    if document.get("format") != FORMAT:
        raise ValueError(f"it has format {document.get('format')!r}, expected {FORMAT}")
    if not all(isinstance(record, dict) for record in document["bans"]):
        raise ValueError("expected an object for each ban")
    return [ban_of(record) for record in document["bans"][:BANS_MAX]]


def text_of(bans: list[Ban]) -> bytes:
    """Return the contents of a file that stores the given bans."""
    document = {"format": FORMAT, "bans": [asdict(ban) for ban in bans]}
    return json.dumps(document, indent=1).encode() + b"\n"


def save(path: Path, bans: list[Ban]) -> None:
    """Replace the bans file durably. Raises OSError if writing fails.

    Call this function in a thread, because writing the longest possible list takes 0.1 s.
    """
    replace_durably(path, text_of(bans), partial=path.with_name(f"{path.name}.partial"))
