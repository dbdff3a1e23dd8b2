"""The name of the bridge's MQTT session, stored in the same database as the readings in flight.

A packet identifier is only valid in the session in which its exchange began
(docs/decisions/0061-the-session-s-name-is-its-proof.md).
"""

import logging

from firmware_bridge.outbox.store import OutboxStore
from gateway.process.mqtt_client.session_name import is_name_of

logger = logging.getLogger(__name__)


class Session:
    """The MQTT session at the broker. `name` is None if there is no session."""

    def __init__(self, store: OutboxStore) -> None:
        self._store = store
        self.name = store.property("session") or None
        self._unwritten: str | None = None

    def begin(self, name: str) -> None:
        """Use the session with this name. If the name is new, the next commit stores it."""
        if name != self.name:
            self.name = self._unwritten = name

    def give_up(self) -> None:
        """Abandon the session. The next commit removes its name."""
        self.name, self._unwritten = None, ""

    def take_unwritten(self) -> str | None:
        """Return the session name that the next commit must store, if the name has changed.

        The name is an empty string if the session was abandoned. Return None if the name has not
        changed since the last call.
        """
        unwritten, self._unwritten = self._unwritten, None
        return unwritten

    def choose(self, client_id: str, machine: str, *, in_flight: int) -> None:
        """Continue the session of the previous run, or begin a new session.

        A new session is needed if the client id has changed, or if the outbox was copied to another
        machine. However, the old session continues while it has open exchanges. The argument
        `in_flight` is the number of open exchanges.
        """
        moved = self._store.property("machine") not in (machine, None)
        kept = self.name is not None and is_name_of(self.name, client_id)
        if in_flight and (moved or not kept):
            logger.warning(
                "the session %s continues until its %d readings in flight are acknowledged: %s",
                self.name,
                in_flight,
                "the outbox was created on another machine, and a copy of it must not be used"
                if moved
                else f"[bridge] client_id is {client_id!r} now",
            )
            return
        if kept and not moved and self._store.property("machine") is not None:
            return
        self._store.begin()
        if not kept or moved:
            self.name = None
            self._store.set_property("session", "")
        self._store.set_property("machine", machine)
        self._store.commit()
