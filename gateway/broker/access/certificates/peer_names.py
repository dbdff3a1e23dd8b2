"""Reads a client's user name from the field of its certificate that a setting selects."""

from collections.abc import Iterator, Mapping
from typing import Any, Final

from gateway.broker.wire.topics import has_control_character

USERNAME_BYTES_MAX: Final = 1_024
"""Bytes of a user name, at most: the same limit as in the password file."""

NO_NAME: Final = "none"
"""Value of the setting `username` for listeners that take no user name from certificates."""

ALTERNATIVES: Final = {"dns_name": "DNS", "email": "email"}
"""Other values of the setting `username`, each with the name of the field in Python's `ssl`."""


class NoUser(Exception):
    """Error raised if a certificate contains no valid user name."""


def user_of(peer: Mapping[str, Any], username: str) -> str | None:
    """Return the user named in a verified client certificate.

    `peer` is the certificate as returned by `ssl.SSLObject.getpeercert`. `username` is the
    listener's setting that selects the field with the user name. If this setting is `none`, the
    result is None.

    Raises:
        NoUser: the certificate has no name, several names, or an invalid name.
    """
    if username == NO_NAME:
        return None
    names = list(_names_in(peer, username))
    if len(names) != 1:
        found = f"has {len(names)}" if names else "has no"
        what = "common name" if username == "common_name" else f"{username} as alternative name"
        raise NoUser(f"the certificate {found} {what}, expected one, which is the user")
    return checked_user(names[0])


def checked_user(name: str) -> str:
    """Return `name` if it is a valid user name. Raises NoUser otherwise."""
    is_long = len(name.encode()) > USERNAME_BYTES_MAX
    if not name or is_long or "\0" in name or has_control_character(name):
        raise NoUser(f"the certificate's name {name[:64]!r} cannot be a user's")
    return name


def _names_in(peer: Mapping[str, Any], username: str) -> Iterator[str]:
    if username == "common_name":
        for part in peer.get("subject", ()):
            yield from (value for key, value in part if key == "commonName")
        return
    wanted = ALTERNATIVES[username]
    yield from (value for kind, value in peer.get("subjectAltName", ()) if kind == wanted)
