"""The publisher of a retained message, stored with the message for the access rules.

On disk, a publisher is a string with four parts: user, client identifier, listener and groups. The
first part is "=" followed by the user name, or empty if there is no user. The parts are separated
by NUL, which no part can contain.
"""

from typing import Final

from mypy_extensions import mypyc_attr

CLIENT_ID_MAX: Final = 256
"""Maximum characters of a stored client id, since each retained message may have another one. A
longer client id is not stored, and matches no rule about clients."""


@mypyc_attr(acyclic=True)
class Source:
    """The publisher of a retained message, with its properties at the time of publishing."""

    def __init__(
        self, username: str | None, client_id: str, listener: str, groups: frozenset[str]
    ) -> None:
        self.username = username
        """None if the publisher had no user."""
        self.client_id = client_id if len(client_id) <= CLIENT_ID_MAX else ""
        self.listener = listener
        self.groups = groups

    def text(self) -> str:
        """Return the publisher as the string that is stored on disk."""
        user = "" if self.username is None else "=" + self.username
        return "\0".join((user, self.client_id, self.listener, *sorted(self.groups)))


class Sources:
    """Cache of publishers loaded from disk. All messages of a publisher share one object."""

    def __init__(self) -> None:
        self._found: dict[str, Source] = {}

    def source_in(self, text: str) -> Source | None:
        """Return the publisher described by a string from disk, or None if it cannot be parsed."""
        found = self._found.get(text)
        if found is None:
            parts = text.split("\0")
            if len(parts) < 3:
                return None
            username = parts[0][1:] if parts[0] else None
            found = Source(username, parts[1], parts[2], frozenset(parts[3:]))
            self._found[text] = found
        return found
