"""Planted defects that the fuzzer must find, so that a run without findings means something.

Each is the real code with one mistake that no seed reveals.
"""

import orjson
from backports import zstd
from firmware_bridge.protocols.frame import Frame
from firmware_bridge.protocols.interface import Decoder as LineDecoder

from gateway.broker.core.sessions.connection import Connection
from gateway.broker.store.journal_files import JournalFile
from gateway.broker.store.journal_scan import JournalScan
from gateway.broker.store.medium import Contents
from gateway.broker.wire.acknowledgement_encoder import puback, pubcomp, pubrec, pubrel
from gateway.broker.wire.decoder import Decoder
from gateway.broker.wire.kinds import PUBACK, PUBCOMP, PUBLISH, PUBREC, PUBREL
from gateway.broker.wire.packets import Packet, Publish
from gateway.uploader.segments.names import SegmentName
from gateway.uploader.segments.verify import DamagedSegment, Segment, segment_of
from tests.instruments.fuzz.framing_target import Kind
from tests.instruments.fuzz.world import World

ACKNOWLEDGEMENTS = {PUBACK: puback, PUBREC: pubrec, PUBREL: pubrel, PUBCOMP: pubcomp}


class RaisingDecoder(Decoder):
    """A decoder that raises at a repeated PUBLISH with a packet identifier in a certain range."""

    def feed(self, data: bytes) -> list[Packet]:
        """Decode, and raise at a packet that is not among the seeds."""
        packets = super().feed(data)
        for packet in packets:
            if isinstance(packet, Publish) and packet.dup:
                assert not 0x2000 <= packet.packet_id < 0x8000, "planted in the decoder"
        return packets


class HastyWorld(World):
    """A broker that acknowledges before the commit, under one setting that is not in the seeds."""

    def recovered_from_files(self) -> None:
        """Remove the waiting from the broker that is about to start."""
        super().recovered_from_files()
        output = self.broker.core.output
        withhold = output.withhold

        def hasty(connection: Connection, data: bytes) -> None:
            hurries = self.limits.mqueue_store_qos0 and connection.connack_released
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


class TrustingScan(JournalScan):
    """A journal reader that treats unreadable data after the newest batch as the journal's end."""

    def _check_end(self, read: list[tuple[JournalFile, Contents]]) -> None:
        pass


def believed(name: SegmentName, data: bytes) -> Segment:
    """Verify a segment without the sequence numbers of its events."""
    try:
        return segment_of(name, data)
    except DamagedSegment as damage:
        if not str(damage).startswith("event "):
            raise
        text = zstd.decompress(data)
        header, *events, _ = (orjson.loads(line) for line in text.splitlines())
        return Segment(name, header, events)


def raising_framing(kind: Kind) -> LineDecoder:
    """Return a framing that raises at an integer of one digit, which is not in the seeds."""
    framing = kind.make()
    feed = framing.feed
    lines = kind.name in ("key_value", "csv")

    def feed_or_raise(data: bytes) -> list[Frame]:
        frames = feed(data)
        for frame in frames:
            for measurements in frame.quantities.values():
                for each in measurements:
                    digit = isinstance(each.value, int) and 0 <= each.value <= 9
                    assert not (digit and lines), "planted in the framing"
        return frames

    framing.feed = feed_or_raise  # type: ignore[method-assign]
    return framing
