"""gmqtt as the bridge's client: what exactly-once needs and its public interface does not give.

gmqtt alone would lose or double readings in five places; each has a test in tests/bridge.

1. `publish` writes before it stores: we never call it. The outbox stores a reading with its packet
   identifier, and `send_packet` sends the finished bytes after the commit.
2. Its identifiers begin again with each process: ours are chosen in `exchanges.py`, where those of
   unfinished exchanges are known.
3. It sends PUBREL when it stores it: `SessionClient` sends nothing there, the
   outbox sends the PUBREL once "PUBREC came" is durable.
4. It replays without DUP, and before the outbox has settled: its storage is empty for gmqtt, and
   the outbox replays.
5. Without a session it clears its storage: ours keeps the readings, which wait again.

A client is for one connection; reconnecting, with its delays, is the publisher's. What the uplink
needs too is in `gateway.process.mqtt_client.client`.
"""

from gmqtt import Message  # type: ignore[import-untyped]
from gmqtt.storage import PersistentStorage  # type: ignore[import-untyped]

from firmware_bridge.outbox.outbox import Outbox
from gateway.process.mqtt_client.client import SessionClient


class OutboxStorage(PersistentStorage):  # type: ignore[misc]
    """The outbox behind gmqtt's storage interface; to gmqtt there is never anything to replay."""

    def __init__(self, outbox: Outbox) -> None:
        super().__init__()
        self._outbox = outbox

    def push_message(self, mid: int, raw_package: bytes) -> None:
        """Pass a PUBREC to the outbox: `raw_package`, the PUBREL, would replace the PUBLISH."""
        self._outbox.receive_pubrec(mid)

    def remove_message_by_mid(self, mid: int) -> None:
        """Pass a PUBCOMP to the outbox."""
        self._outbox.receive_pubcomp(mid)

    def clear(self) -> None:
        """Do nothing where the broker has no session: `receive_connected` reports that."""


class BridgeClient(SessionClient):
    """One connection of the bridge's persistent session."""

    def __init__(
        self, client_id: str, outbox: Outbox, *, clean_session: bool, will: Message | None = None
    ) -> None:
        super().__init__(
            client_id,
            clean_session=clean_session,
            will_message=will,
            persistent_storage=OutboxStorage(outbox),
        )
