"""Which user a client's certificate proves, as the listener's `username` wants it."""

from collections.abc import Iterator, Mapping
from typing import Any, Final

from gateway.wire.topics import has_control_character

USERNAME_BYTES_MAX: Final = 1_024
"""As in the password file."""

NO_NAME: Final = "none"
"""Of `username`: a certificate opens the connection and names no user."""

ALTERNATIVES: Final = {"dns_name": "DNS", "email": "email"}
"""Names of `username` beside `common_name`, and what the module `ssl` calls them."""


class NoUser(Exception):
    """The certificate names no user that can be one."""


def user_of(peer: Mapping[str, Any], username: str) -> str | None:
    """Return the user that a verified certificate names (`ssl.SSLObject.getpeercert`).

    Raises:
        NoUser: there is none, or more than one, or it cannot be a user's.
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
    """Return the name of a certificate that can be a user's. Raises NoUser."""
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
