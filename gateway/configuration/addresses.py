"""Field types for network addresses, paths, topic filters and URLs.

Each type is used as the annotation of a field, like the types in `quantities`. Values are checked,
but only paths are converted. The error for an invalid value lists the allowed forms.
"""

import ipaddress
import os
import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from gateway.process.declarations.quantities import Quantity, refusal

_HOST_NAME = re.compile(r"(?!-)[A-Za-z0-9.-]{1,253}(?<!-)", re.ASCII)
_ADDRESS = re.compile(r"(\[[0-9A-Fa-f:.%]+\]|[^:\[\]]+):([0-9]{1,5})", re.ASCII)
_ORIGIN = re.compile(
    r"https?://([A-Za-z0-9.-]{1,253}|\[[0-9A-Fa-f:.]+\])(:[0-9]{1,5})?", re.ASCII | re.IGNORECASE
)
# The kernel's address structure has 108 bytes including a final 0.
_SOCKET_PATH_BYTES_MAX = 107
_UPLOAD_SCHEMES = ("file", "s3", "gs", "az", "http", "https")


def _any_case(text: str) -> str:
    """Return a regular expression that matches `text` in upper or lower case.

    The expression works without a flag, because JSON Schema has no flag to ignore case.
    """
    return "".join(f"[{each}{each.upper()}]" if each.isalpha() else each for each in text)


def _text(pattern: str) -> dict[str, Any]:
    return {"type": "string", "pattern": f"^(?:{pattern})$"}


def _short_path(bytes_max: int) -> dict[str, Any]:
    # A path that starts with ~ may be shorter when expanded.
    return _text(rf"~.*|.{{1,{bytes_max}}}")


def is_loopback(bind: str) -> bool:
    """Return True if a listener at `bind` is reachable only from this machine."""
    if bind == "localhost":
        return True
    try:
        return ipaddress.ip_address(bind).is_loopback
    except ValueError:
        return False


def host_and_port_of(address: str) -> tuple[str, int]:
    """Split `127.0.0.1:1883` or `[::1]:1883` into host and port.

    Raises ValueError if the address has another form or the port is above 65535.
    """
    match = _ADDRESS.fullmatch(address)
    if match is None or int(match[2]) > 65535:
        raise ValueError(f"{address!r} is not HOST:PORT, like 127.0.0.1:1883 or [::1]:1883")
    return match[1].strip("[]"), int(match[2])


@dataclass(frozen=True, slots=True)
class BindAddress(Quantity):
    """An address to listen on: an IPv4 or IPv6 address, or `localhost`.

    Other host names are not allowed, because a name's address can change. After a change, clients
    from other networks could reach the gateway.
    """

    def value_of(self, written: object) -> str:
        allowed = 'an IP address of this machine, like "127.0.0.1", "::1" or "0.0.0.0"'
        if not isinstance(written, str):
            raise refusal(allowed)
        if written == "localhost":
            return written
        try:
            return str(ipaddress.ip_address(written))
        except ValueError:
            raise refusal(allowed) from None

    def schema(self) -> dict[str, Any]:
        return _text(r"localhost|[0-9]{1,3}(?:\.[0-9]{1,3}){3}|[0-9A-Fa-f:.]*:[^/]*")


@dataclass(frozen=True, slots=True)
class Network(Quantity):
    """An IP address or an IP network, such as `192.0.2.7`, `192.0.2.0/24` or `2001:db8::/64`."""

    def value_of(self, written: object) -> str:
        try:
            return str(ipaddress.ip_network(written if isinstance(written, str) else "", False))
        except ValueError:
            raise refusal('an address or a network, like "192.0.2.7" or "10.0.0.0/8"') from None

    def schema(self) -> dict[str, Any]:
        return _text(r"[0-9]{1,3}(?:\.[0-9]{1,3}){3}(?:/[0-9./]+)?|[0-9A-Fa-f:.%/a-z]*:[^ ]*")


@dataclass(frozen=True, slots=True)
class HostAndPort(Quantity):
    """An address to connect to, in the form `HOST:PORT`."""

    def value_of(self, written: object) -> str:
        allowed = 'an address as HOST:PORT with a port from 1 to 65535, like "127.0.0.1:1883"'
        try:
            host, port = host_and_port_of(written if isinstance(written, str) else "")
        except ValueError:
            raise refusal(allowed) from None
        if port == 0 or not (":" in host or _HOST_NAME.fullmatch(host)):
            raise refusal(allowed)
        return str(written)

    def schema(self) -> dict[str, Any]:
        return _text(r"(?:\[[0-9A-Fa-f:.%]+\]|[A-Za-z0-9.-]{1,253}):[0-9]{1,5}")


@dataclass(frozen=True, slots=True)
class HostName(Quantity):
    """A host name that browsers use to open the status page, without scheme and port."""

    def value_of(self, written: object) -> str:
        if not isinstance(written, str) or _HOST_NAME.fullmatch(written) is None:
            raise refusal('a host name without scheme and port, like "gateway.example"')
        return written.lower().rstrip(".")

    def schema(self) -> dict[str, Any]:
        return _text(r"[A-Za-z0-9.-]{1,253}")


@dataclass(frozen=True, slots=True)
class FilePath(Quantity):
    """The path of a file.

    A relative path is resolved against the directory in which the command was started.
    """

    def value_of(self, written: object) -> Path:
        if isinstance(written, Path):
            return written
        if not isinstance(written, str) or not written or "\0" in written:
            raise refusal("a path, as a text in quotes")
        return Path(os.path.expanduser(written))

    def schema(self) -> dict[str, Any]:
        return {"type": "string", "minLength": 1}


@dataclass(frozen=True, slots=True)
class SocketPath(FilePath):
    """The path of a Unix socket, which must be within the kernel's length limit."""

    def value_of(self, written: object) -> Path:
        allowed = f"a path of at most {_SOCKET_PATH_BYTES_MAX} bytes, the limit for Unix sockets"
        if isinstance(written, str) and not written.isprintable():
            raise refusal(allowed)
        # Not super(): a dataclass with slots is a new class, which its methods do not refer to.
        path = FilePath.value_of(self, written)
        if len(os.fsencode(path)) > _SOCKET_PATH_BYTES_MAX:
            raise refusal(allowed)
        return path

    def schema(self) -> dict[str, Any]:
        return _short_path(_SOCKET_PATH_BYTES_MAX)


@dataclass(frozen=True, slots=True)
class SocketDirectory(FilePath):
    """The directory of the control sockets.

    The path of each socket in this directory must be within the kernel's length limit.
    """

    def value_of(self, written: object) -> Path:
        bytes_max = _SOCKET_PATH_BYTES_MAX - len("/control.sock")
        path = FilePath.value_of(self, written)
        if len(os.fsencode(path)) > bytes_max or not str(path).isprintable():
            raise refusal(f"a directory whose path has at most {bytes_max} bytes, for a socket")
        return path

    def schema(self) -> dict[str, Any]:
        return _short_path(_SOCKET_PATH_BYTES_MAX - len("/control.sock"))


@dataclass(frozen=True, slots=True)
class Origin(Quantity):
    """The origin of web pages that may connect, as browsers send it (RFC 6454), or `*` for all."""

    def value_of(self, written: object) -> str:
        if written != "*" and not (isinstance(written, str) and _ORIGIN.fullmatch(written)):
            raise refusal('an origin like "https://page.example:8443", or "*" for all')
        return str(written).lower()

    def schema(self) -> dict[str, Any]:
        rest = _ORIGIN.pattern.removeprefix("https?")
        return _text(rf"\*|{_any_case('http')}[sS]?{rest}")


@dataclass(frozen=True, slots=True)
class TopicFilter(Quantity):
    """A topic filter as defined by MQTT."""

    def value_of(self, written: object) -> str:
        allowed = 'an MQTT topic filter, like "sensors/#" ("+" and "#" only as whole levels)'
        if not isinstance(written, str) or not 1 <= len(written.encode()) <= 65535:
            raise refusal(allowed)
        *before, last = written.split("/")
        # [MQTT-4.7.1-2] [MQTT-4.7.1-3] wildcards are whole levels, and "#" is the last one.
        levels_are_whole = all(level == "+" or not set("+#") & set(level) for level in before)
        last_is_whole = last in ("+", "#") or not set("+#") & set(last)
        if "\0" in written or not levels_are_whole or not last_is_whole:
            raise refusal(allowed)
        return written

    def schema(self) -> dict[str, Any]:
        return _text(r"(?:(?:\+|[^+#/]*)/)*(?:\+|#|[^+#/]*)") | {"minLength": 1}


@dataclass(frozen=True, slots=True)
class UploadTarget(Quantity):
    """Upload target for sealed segments: the URL of a directory or a bucket."""

    def value_of(self, written: object) -> str:
        allowed = (
            'a URL such as "file:///srv/uploaded", "s3://bucket/prefix", "gs://bucket/prefix" or '
            '"az://container/prefix"'
        )
        if not isinstance(written, str):
            raise refusal(allowed)
        try:
            parts = urlsplit(written)
        except ValueError:  # a bracket without its partner
            raise refusal(allowed) from None
        is_file = parts.scheme == "file"
        if parts.scheme not in _UPLOAD_SCHEMES or not (parts.path if is_file else parts.netloc):
            raise refusal(allowed)
        if is_file and (parts.netloc or not parts.path.startswith("/")):
            raise refusal('three slashes after "file:", as in "file:///srv/uploaded"')
        return written

    def schema(self) -> dict[str, Any]:
        file, *others = (_any_case(scheme) for scheme in _UPLOAD_SCHEMES)
        return _text(rf"{file}:(?:/(?:[^/].*)?|///.*)|(?:{'|'.join(others)})://[^/?#].*")
