"""Planted defects: what the fuzzer has to find, so that its silence means something.

Each is the real thing with one mistake that no seed shows.
"""

from gateway.core.session import Connection
from gateway.wire.decoder import Decoder
from gateway.wire.encoder import puback, pubcomp, pubrec, pubrel
from gateway.wire.kinds import PUBACK, PUBCOMP, PUBLISH, PUBREC, PUBREL
from gateway.wire.packets import Packet, Publish
from tests.fuzz.world import World

ACKNOWLEDGEMENTS = {PUBACK: puback, PUBREC: pubrec, PUBREL: pubrel, PUBCOMP: pubcomp}


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
        withhold = output.withhold

        def hasty(connection: Connection, data: bytes) -> None:
            hurries = self.limits.mqueue_store_qos0 and connection.greeted
            if hurries and data[0] >> 4 != PUBLISH:
                output.push(connection, data)
            else:
                withhold(connection, data)

        def acknowledge(
            connection: Connection, kind: int, packet_id: int, is_fact: bool = False
        ) -> None:
            output.send(connection, ACKNOWLEDGEMENTS[kind](packet_id), is_fact)

        output.withhold = hasty  # type: ignore[method-assign]
        output.acknowledge = acknowledge  # type: ignore[method-assign]
