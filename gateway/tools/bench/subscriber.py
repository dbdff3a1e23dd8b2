"""A subscriber, which verifies, counts and acknowledges every received message, in bursts.

A read usually returns packets of the same length and type: PUBLISH, or PUBREL at QoS 2. The
received bytes are treated as a matrix with one packet per row. One slice with a stride finds the
first row that has another packet type. All rows before it are compared with the expected rows in
one step. If they differ, they are processed one by one.
"""

from typing import Final

from gateway.broker.wire.acknowledgement_encoder import puback, pubcomp, pubrec
from gateway.broker.wire.encoder import encode
from gateway.broker.wire.kinds import PUBACK, PUBCOMP, PUBREC, PUBREL
from gateway.broker.wire.packets import Pingresp, Publish, Pubrel, Suback, Subscribe, Subscription
from gateway.tools.bench.connection import BenchFailed, Client, packet_bytes_of, packet_of
from gateway.tools.bench.frames import (
    ACKNOWLEDGEMENT_BYTES,
    FIRST_BYTE,
    Frames,
    acknowledgements_of,
    equal_prefix,
)
from gateway.tools.bench.latency import Samples, SendTimes
from gateway.tools.bench.sequences import Sequences

RUN_ROWS: Final = 4_096
"""Maximum rows to search for a run. If runs are short, a longer search would waste time."""


class Source:
    """A publisher from a subscriber's point of view.

    It contains the frames that are expected from the publisher, its sending times, and the record
    of received messages.
    """

    def __init__(self, frames: Frames, send_times: SendTimes) -> None:
        self.frames = frames
        self.send_times = send_times
        self.sequences = Sequences()


class Subscriber(Client):
    """A client that receives messages from one or more publishers.

    `sources` maps the index of each publisher to its `Source`.
    """

    def __init__(
        self,
        client_id: str,
        version: int,
        *,
        sources: dict[int, Source],
        qos: int,
        samples: Samples,
    ) -> None:
        super().__init__(client_id, version)
        self.sources = sources
        self.qos = qos
        self.foreign = 0
        self._samples = samples
        self._single = next(iter(sources.values())) if len(sources) == 1 else None
        frames = next(iter(sources.values())).frames
        self._row_bytes = frames.row_bytes
        self._identifier_at = frames.identifier_at
        self._publisher_at = frames.payload_at
        self._first_byte = 0x30 | qos << 1

    @property
    def received(self) -> int:
        return sum(source.sequences.received for source in self.sources.values())

    def subscribe(self) -> None:
        """Send SUBSCRIBE and wait for SUBACK. The socket must still be blocking.

        Raises BenchFailed if the broker does not grant the QoS.
        """
        subscriptions = [
            Subscription(source.frames.topic, self.qos) for source in self.sources.values()
        ]
        self.connection.sendall(encode(Subscribe(1, subscriptions), self.version))
        packet = self.wait_for_packet("SUBACK")
        if not isinstance(packet, Suback):
            raise BenchFailed(f"{self.client_id}: {packet!r} instead of SUBACK")
        if set(packet.reason_codes) != {self.qos}:
            raise BenchFailed(
                f"{self.client_id}: SUBACK with {sorted(set(packet.reason_codes))}: "
                f"expected QoS {self.qos} to be granted"
            )

    def receive(self, data: bytearray, end: int, seconds: float) -> int:
        position = 0
        row_bytes = self._row_bytes
        while position < end:
            first = data[position]
            taken = 0
            if first == self._first_byte:
                if end - position >= row_bytes:
                    taken = self._receive_publishes(data, position, end, seconds)
            elif first == FIRST_BYTE[PUBREL] and self.qos == 2:
                taken = self._receive_pubrels(data, position, end)
            if taken == 0:
                taken = self._receive_packet(data, position, end)
                if taken == 0:
                    break
            position += taken
        return position

    # -- runs

    def _receive_publishes(self, data: bytearray, position: int, end: int, seconds: float) -> int:
        row_bytes = self._row_bytes
        rows = min((end - position) // row_bytes, RUN_ROWS)
        stop = position + rows * row_bytes
        count = equal_prefix(data[position:stop:row_bytes])
        source = self._single
        if source is None:
            at = position + self._publisher_at
            stop = position + count * row_bytes
            count = min(
                equal_prefix(data[at:stop:row_bytes]), equal_prefix(data[at + 1 : stop : row_bytes])
            )
            source = self.sources.get(data[at] << 8 | data[at + 1])
            if source is None:
                return 0
        sequences = source.sequences
        count = source.frames.rows_of(sequences.next, count)
        stop = position + count * row_bytes
        identifiers = None
        if self.qos:
            at = position + self._identifier_at
            identifiers = (data[at:stop:row_bytes], data[at + 1 : stop : row_bytes])
        expected = source.frames.expected_of(sequences.next, count, identifiers)
        if not data.startswith(expected, position):
            return self._receive_rows(data, position, count, source, seconds)
        source.send_times.record_arrival(sequences.next, count, seconds, self._samples)
        sequences.receive_run(count)
        if identifiers is not None:
            self.send(acknowledgements_of(PUBACK if self.qos == 1 else PUBREC, *identifiers))
        return count * row_bytes

    def _receive_rows(
        self, data: bytearray, position: int, count: int, source: Source, seconds: float
    ) -> int:
        """Process PUBLISH packets (rows) one by one, because they differ from the expected ones.

        Processing stops before the first row that is not a message from `source`. Return the number
        of bytes processed.
        """
        frames, sequences, row_bytes = source.frames, source.sequences, self._row_bytes
        start = position
        for _ in range(count):
            sequence = frames.sequence_in(data, position)
            identifiers = None
            if self.qos:
                at = position + self._identifier_at
                identifiers = (data[at : at + 1], data[at + 1 : at + 2])
            if not data.startswith(frames.expected_of(sequence, 1, identifiers), position):
                break
            if sequence >= sequences.next:
                source.send_times.record_arrival(sequence, 1, seconds, self._samples)
            sequences.receive(sequence)
            if identifiers is not None:
                self.send(acknowledgements_of(PUBACK if self.qos == 1 else PUBREC, *identifiers))
            position += row_bytes
        return position - start

    def _receive_pubrels(self, data: bytearray, position: int, end: int) -> int:
        rows = min((end - position) // ACKNOWLEDGEMENT_BYTES, RUN_ROWS)
        stop = position + rows * ACKNOWLEDGEMENT_BYTES
        count = equal_prefix(data[position:stop:ACKNOWLEDGEMENT_BYTES])
        stop = position + count * ACKNOWLEDGEMENT_BYTES
        lengths = data[position + 1 : stop : ACKNOWLEDGEMENT_BYTES]
        if not lengths or lengths[0] != 2:
            return 0
        # A PUBREL with a reason code is longer, and ends the run.
        stop = position + equal_prefix(lengths) * ACKNOWLEDGEMENT_BYTES
        high = data[position + 2 : stop : ACKNOWLEDGEMENT_BYTES]
        low = data[position + 3 : stop : ACKNOWLEDGEMENT_BYTES]
        self.send(acknowledgements_of(PUBCOMP, high, low))
        return stop - position

    # -- anything else

    def _receive_packet(self, data: bytearray, position: int, end: int) -> int:
        """Process one packet that differs from the expected bytes.

        Return the packet's size in bytes, or 0 if the packet is incomplete.
        """
        size_bytes = packet_bytes_of(data, position, end, self.version)
        if size_bytes == 0 or position + size_bytes > end:
            return 0
        packet = packet_of(bytes(data[position : position + size_bytes]), self.version)
        if isinstance(packet, Publish):
            self._receive_publish(packet)
        elif isinstance(packet, Pubrel):
            self.send(pubcomp(packet.packet_id))
        elif not isinstance(packet, Pingresp):
            raise BenchFailed(f"{self.client_id}: the broker sent {packet!r} to a subscriber")
        return size_bytes

    def _receive_publish(self, packet: Publish) -> None:
        """Count a PUBLISH that differs from the expected bytes.

        The packet might have the DUP flag or properties, or might come from another sender.
        """
        publisher = int.from_bytes(packet.payload[:2], "big")
        source = self.sources.get(publisher)
        if source is not None and source.frames.is_message(packet.topic, packet.payload):
            source.sequences.receive(int.from_bytes(packet.payload[2:10], "big"))
        else:
            self.foreign += 1
        if packet.qos == 1:
            self.send(puback(packet.packet_id))
        elif packet.qos == 2:
            self.send(pubrec(packet.packet_id))
