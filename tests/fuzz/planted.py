"""Planted defects: what the fuzzer has to find, so that its silence means something.

Each is the real thing with one mistake that no seed shows.
"""

from gateway.core.session import Connection
from gateway.wire.decoder import Decoder
from gateway.wire.packets import Packet, Publish
from tests.fuzz.world import World


class RaisingDecoder(Decoder):
    """Raises at a repeated PUBLISH whose packet identifier is in a range that no seed has."""

    def feed(self, data: bytes) -> list[Packet]:
        """Decode, except for the packet that nobody has thought of."""
        packets = super().feed(data)
        for packet in packets:
            if isinstance(packet, Publish) and packet.dup:
                assert not 0x2000 <= packet.packet_id < 0x8000, "planted in the decoder"
        return packets


class HastyWorld(World):
    """Acknowledges without waiting for the commit, under one setting that no seed has."""

    def recovered_from_files(self) -> None:
        """Take the waiting out of the broker that is about to start."""
        super().recovered_from_files()
        output = self.broker.output
        acknowledge = output.acknowledge

        def hasty(connection: Connection, kind: int, packet_id: int, is_fact: bool = False) -> None:
            hurries = self.limits.mqueue_store_qos0
            acknowledge(connection, kind, packet_id, is_fact and not hurries)

        output.acknowledge = hasty  # type: ignore[method-assign]
