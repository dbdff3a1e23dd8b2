"""Chooses the session that each connection of an own client opens at the broker.

The client stores the name of its session. If the broker has lost this session, the client begins a
session with a new name (docs/decisions/0061-the-session-s-name-is-its-proof.md).
"""

from enum import Enum, auto

from gateway.process.mqtt_client.session_name import new_name


class SessionUse(Enum):
    """The purpose for which a connection opens its session at the broker."""

    BEGIN = auto()
    """The session has a new name, and must not exist at the broker yet."""
    CONTINUE = auto()
    """The session was used before, and must still exist at the broker."""
    DELETE = auto()
    """The broker created an empty session instead of a lost one. It is only deleted."""

    def accepts(self, *, session_present: bool) -> bool:
        """Return True if the connection can be used after a CONNACK with `session_present`.

        If the broker has a session with a new name, that session is another client's.
        """
        return self is not SessionUse.DELETE and session_present == (self is SessionUse.CONTINUE)


class SessionChoice:
    """Chooses the sessions of one client, whose configured client identifier is `client_id`."""

    def __init__(self, client_id: str) -> None:
        self._client_id = client_id
        self._abandoned: str | None = None

    def choose(self, stored: str | None) -> tuple[str, SessionUse]:
        """Return the name and the use of the next connection's session.

        `stored` is the name of the client's session, or None if it has no session.
        """
        if self._abandoned is not None:
            return self._abandoned, SessionUse.DELETE
        if stored is not None:
            return stored, SessionUse.CONTINUE
        return new_name(self._client_id), SessionUse.BEGIN

    def give_up(self, name: str, use: SessionUse) -> str | None:
        """Stop using a session. Return a description of the fault, or None if there was none.

        The broker did not have the expected session. The reason depends on the purpose of the
        connection:

        - Begin a session: the broker already has a session with the new name. Only this case is a
          fault.
        - Continue a session: the broker has lost it, and has created an empty session with the same
          name. The next connection only deletes this empty session.
        - Delete a session: the connection has already deleted it.
        """
        self._abandoned = name if use is SessionUse.CONTINUE else None
        if use is SessionUse.BEGIN:
            return f"it already has a session with the new name {name}"
        return None
