"""QoS 2 messages that a broker publishes again after their PUBREL, against the standard.
[MQTT5-4.3.3]

Mosquitto 2.0.11 does so after a restart (docs/uplink.md). The receiver cannot distinguish them from
new messages and forwards them a second time.
"""

from collections.abc import Callable

from gateway.broker.wire.decoder import Decoder
from gateway.broker.wire.packets import Packet, Publish, Pubrel

PACKET_BYTES_MAX = 1024 * 1024


class RepeatedExchanges:
    """An observer of the packets from a broker to one client, over any number of connections."""

    def __init__(self, version: int) -> None:
        self.messages: set[tuple[str, bytes]] = set()
        self._version = version
        self._published: dict[int, tuple[str, bytes]] = {}
        self._released: dict[int, tuple[str, bytes]] = {}

    def watch(self) -> Callable[[bytes], None]:
        """Return a function that accepts the bytes of a new connection."""
        decoder = Decoder(PACKET_BYTES_MAX, self._version, "client")
        return lambda data: self._take(decoder.feed(data))

    def _take(self, packets: list[Packet]) -> None:
        for packet in packets:
            if isinstance(packet, Publish) and packet.qos == 2:
                message = (packet.topic, bytes(packet.payload))
                if self._released.pop(packet.packet_id, None) == message:
                    self.messages.add(message)
                self._published[packet.packet_id] = message
            elif isinstance(packet, Pubrel) and packet.packet_id in self._published:
                self._released[packet.packet_id] = self._published[packet.packet_id]
