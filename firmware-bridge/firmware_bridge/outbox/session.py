"""The name of the bridge's session at the broker, kept with the readings in flight within it.

Exchanges and session belong together: a packet identifier means nothing in another session
(docs/decisions/0061-the-session-s-name-is-its-proof.md).
"""

import logging

from firmware_bridge.outbox.store import OutboxStore
from gateway.process.mqtt_client.session_name import is_name_of

logger = logging.getLogger(__name__)


class Session:
    """`name` is None where there is none."""

    def __init__(self, store: OutboxStore) -> None:
        self._store = store
        self.name = store.property("session") or None
        self._unwritten: str | None = None

    def begin(self, name: str) -> None:
        """Take a session's name; a new one is written with the next commit."""
        if name != self.name:
            self.name = self._unwritten = name

    def give_up(self) -> None:
        """Forget the session, with the next commit."""
        self.name, self._unwritten = None, ""

    def take_unwritten(self) -> str | None:
        """Take what the next commit has to write; None where that is nothing."""
        unwritten, self._unwritten = self._unwritten, None
        return unwritten

    def choose(self, client_id: str, machine: str, *, in_flight: int) -> None:
        """Keep the session of the run before, or leave it where that costs nothing.

        With nothing in flight there is nothing to resume, so that an operator may give it another
        name, and a copy of this outbox on another machine gets a session of its own.
        """
        moved = self._store.property("machine") not in (machine, None)
        kept = self.name is not None and is_name_of(self.name, client_id)
        if in_flight and (moved or not kept):
            logger.warning(
                "the session %s goes on until its %d readings in flight are through: %s",
                self.name,
                in_flight,
                "the outbox was made on another machine; no other may use a copy of it"
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
