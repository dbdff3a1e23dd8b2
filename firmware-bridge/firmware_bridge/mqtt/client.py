"""gmqtt as the bridge's MQTT client, modified where exactly-once delivery requires it.

Without these changes, gmqtt would lose or duplicate readings. tests/bridge has a test for each
change.

1. gmqtt's own `publish` sends a message before storing it. The bridge never calls it. The outbox
   stores a reading with its packet identifier, and `send_packet` sends the encoded packet after the
   commit.
2. gmqtt does not know which packet identifiers are still in use by the exchanges of an earlier run.
   The bridge therefore chooses packet identifiers itself, in `exchanges.py`.
3. gmqtt sends a PUBREL as soon as it has stored the PUBREL. `SessionClient` suppresses this. The
   outbox sends the PUBREL once the receipt of the PUBREC is durable.
4. gmqtt resends messages without the DUP flag, and before the outbox has committed its state. The
   storage therefore appears empty to gmqtt, and the outbox resends the messages itself.
5. gmqtt clears its storage if the broker has no session. The bridge's storage keeps the readings
   and queues them again.

A client serves one connection. `publisher.py` reconnects and waits between attempts. The code that
the bridge shares with the uplink is in `gateway.process.mqtt_client.client`.
"""

from gmqtt import Message  # type: ignore[import-untyped]
from gmqtt.storage import PersistentStorage  # type: ignore[import-untyped]

from firmware_bridge.outbox.outbox import Outbox
from gateway.process.mqtt_client.client import SessionClient


class OutboxStorage(PersistentStorage):  # type: ignore[misc]
    """A packet storage for gmqtt that forwards PUBREC and PUBCOMP to the outbox.

    The storage appears empty to gmqtt, so gmqtt never resends anything.
    """

    def __init__(self, outbox: Outbox) -> None:
        super().__init__()
        self._outbox = outbox

    def push_message(self, mid: int, raw_package: bytes) -> None:
        """Report the PUBREC of the packet with the identifier `mid` to the outbox.

        gmqtt calls this method to replace the stored PUBLISH with the PUBREL in `raw_package`. The
        PUBREL is ignored.
        """
        self._outbox.receive_pubrec(mid)

    def remove_message_by_mid(self, mid: int) -> None:
        """Report the PUBCOMP of the packet with the identifier `mid` to the outbox."""
        self._outbox.receive_pubcomp(mid)

    def clear(self) -> None:
        """Keep all readings. gmqtt calls this method if the broker has no session.

        The outbox is notified of the missing session by `receive_connected` instead.
        """


class BridgeClient(SessionClient):
    """MQTT client for a single connection to the broker, with the outbox as its packet storage."""

    def __init__(
        self, client_id: str, outbox: Outbox, *, clean_session: bool, will: Message | None = None
    ) -> None:
        super().__init__(
            client_id,
            clean_session=clean_session,
            will_message=will,
            persistent_storage=OutboxStorage(outbox),
        )
