"""A publisher, which sends bursts of messages and completes their exchanges.

Acknowledgements arrive in the order of the PUBLISH packets [MQTT-4.6.0-2] [MQTT-4.6.0-3]. The bytes
of consecutive acknowledgements are therefore known in advance, and one memcmp verifies them. The
PUBRELs that follow PUBRECs are prepared in the same way. Acknowledgements that are out of order or
have a reason code are decoded one by one.
"""

import math
from dataclasses import dataclass
from typing import Final

from gateway.broker.wire.acknowledgement_encoder import pubrel
from gateway.broker.wire.codes import FIRST_ERROR
from gateway.broker.wire.kinds import KIND_NAMES, PUBACK, PUBCOMP, PUBREC, PUBREL
from gateway.broker.wire.packets import Acknowledgement, Pingresp
from gateway.tools.bench.connection import BenchFailed, Client, packet_bytes_of, packet_of
from gateway.tools.bench.frames import (
    ACKNOWLEDGEMENT_BYTES,
    ACKNOWLEDGEMENTS,
    BLOCK_MESSAGES,
    FIRST_BYTE,
    Frames,
    equal_prefix,
    identifier_of,
)
from gateway.tools.bench.latency import Samples, Schedule, SendTimes
from gateway.tools.bench.sequences import Sequences

RUN_BYTES: Final = 4 * 4_096
"""Maximum bytes to search for a run of acknowledgements."""


class AcknowledgementCounter:
    """A counter of the acknowledgements of one packet type that a publisher receives.

    A publisher has one counter at QoS 1 (PUBACK), and two counters at QoS 2 (PUBREC and PUBCOMP).
    """

    def __init__(self, kind: int) -> None:
        self.kind = kind
        self.done = 0
        self._early: set[int] = set()

    def receive_run(self, data: bytearray, position: int, count: int, sent: int) -> int:
        """Compare the bytes at `position` of `data` with the next expected acknowledgements.

        Up to `count` acknowledgements are compared, but not more than are expected for `sent`
        messages, and not beyond the current block of packet identifiers. If the bytes are equal,
        count these acknowledgements and return their number. Otherwise return 0.
        """
        first = self.done % BLOCK_MESSAGES
        count = min(count, sent - self.done, BLOCK_MESSAGES - first)
        if count <= 0 or self._early:
            return 0
        at = first * ACKNOWLEDGEMENT_BYTES
        expected = ACKNOWLEDGEMENTS[self.kind][at : at + count * ACKNOWLEDGEMENT_BYTES]
        if not data.startswith(expected, position):
            return 0
        self.done += count
        return count

    def receive(self, packet_id: int, sent: int) -> int:
        """Count one acknowledgement, and return the sequence number of its message.

        `sent` is the number of messages sent so far. Raises BenchFailed if none of them is waiting
        for an acknowledgement with this packet identifier.
        """
        sequence = self.sequence_of(packet_id)
        if packet_id > BLOCK_MESSAGES or sequence >= sent or sequence in self._early:
            raise BenchFailed(
                f"{KIND_NAMES[self.kind]} {packet_id}: expected one of the {sent - self.done} "
                f"identifiers from {identifier_of(self.done)} on"
            )
        self._early.add(sequence)
        while self.done in self._early:
            self._early.remove(self.done)
            self.done += 1
        return sequence

    def sequence_of(self, packet_id: int) -> int:
        """Return the sequence number of the message to which an acknowledgement belongs.

        Packet identifiers are reused. The message is the next unacknowledged one with this
        identifier.
        """
        return self.done + (packet_id - identifier_of(self.done)) % BLOCK_MESSAGES

    def has(self, sequence: int) -> bool:
        """Return True if the acknowledgement of the message `sequence` has arrived."""
        return sequence < self.done or sequence in self._early


@dataclass(frozen=True)
class FlowControl:
    """The QoS of a publisher, and limits for the number of its messages in transit.

    At QoS 1 and 2, at most `window` messages are unacknowledged. Without a schedule, at most
    `outstanding` messages have not reached all receivers.
    """

    qos: int
    window: int
    outstanding: int


class Publisher(Client):
    """A client that publishes to one topic, and stops after `sent_max` messages.

    For each subscriber, `receivers` contains a record of the messages received from this publisher.
    """

    def __init__(
        self,
        client_id: str,
        version: int,
        *,
        frames: Frames,
        flow_control: FlowControl,
        send_times: SendTimes,
        samples: Samples,
    ) -> None:
        super().__init__(client_id, version)
        self.frames = frames
        self.qos = flow_control.qos
        self.window = flow_control.window
        self.receivers: list[Sequences] = []
        self.schedule: Schedule | None = None
        self.sent = 0
        self.sent_max = 0
        self.refused = 0
        self._outstanding = flow_control.outstanding
        self.send_times = send_times
        self._samples = samples
        # Missing messages with lower sequence numbers count as lost.
        self._given_up = 0
        self._received = AcknowledgementCounter(PUBREC)
        self._ended = AcknowledgementCounter(PUBCOMP if self.qos == 2 else PUBACK)

    @property
    def counters(self) -> tuple[AcknowledgementCounter, ...]:
        """The counters for the acknowledgements that this publisher receives at its QoS."""
        return (self._received, self._ended) if self.qos == 2 else (self._ended,)

    @property
    def completed(self) -> int:
        """The number of messages whose exchange of packets is complete.

        At QoS 0, this is the number of sent messages.
        """
        return self._ended.done if self.qos else self.sent

    @property
    def delivered(self) -> int:
        """The number of messages that have reached every receiver, or were given up as lost."""
        if not self.receivers:
            return self.completed
        return max(self._given_up, min([sequences.next for sequences in self.receivers]))

    @property
    def is_done(self) -> bool:
        return self.sent == self.sent_max == self.completed and self.delivered >= self.sent

    def follow(self, schedule: Schedule) -> None:
        """Send messages according to `schedule`, and measure latencies from the planned times."""
        self.schedule = schedule
        self.send_times.schedule = schedule

    def give_up(self) -> bool:
        """Count all missing messages as lost. Return True, or False if no messages were missing."""
        missing = self.delivered < self.sent
        self._given_up = self.sent
        return missing

    # -- sending

    def due_seconds(self) -> float:
        """Return the time at which the next message is due, or infinity if none can be sent now."""
        if self.schedule is None or self.unsent or self._room() == 0:
            return math.inf
        return self.schedule.seconds_of(self.sent)

    def pump(self, seconds: float) -> bool:
        """Send the messages that may be sent now. Return True if any message was sent.

        `seconds` is the current time.
        """
        if self.unsent:
            return False
        count = self._room()
        if self.schedule is not None:
            count = min(count, self.schedule.due_count(seconds) - self.sent)
        if count <= 0:
            return False
        while count > 0 and not self.unsent:
            rows = self.frames.rows_of(self.sent, count)
            self.send_times.record_sent(self.sent, rows, seconds)
            burst = self.frames.burst_of(self.sent, rows)
            self.sent += rows
            count -= rows
            self.send(burst)
        return True

    def _room(self) -> int:
        """Return how many more messages may be sent now without exceeding a limit.

        The limits are the window, the number of messages in transit, and the total number of
        messages.
        """
        room = self.sent_max - self.sent
        if self.qos:
            room = min(room, self.window - (self.sent - self.completed))
        if room > 0 and self.schedule is None:
            free = self._outstanding - (self.sent - self.delivered)
            if not self.qos and free < min(self._outstanding // 8, room):
                # Sending few messages per system call is expensive, and more room comes soon.
                return 0
            room = min(room, free)
        return max(0, room)

    # -- receiving

    def receive(self, data: bytearray, end: int, seconds: float) -> int:
        position = 0
        while position < end:
            taken = self._receive_run(data, position, end, seconds)
            if taken == 0:
                taken = self._receive_packet(data, position, end, seconds)
                if taken == 0:
                    break
            position += taken
        return position

    def _receive_run(self, data: bytearray, position: int, end: int, seconds: float) -> int:
        """Process consecutive acknowledgements if their bytes are as expected.

        Return the number of bytes processed, or 0 if the bytes differ.
        """
        stop = min(end, position + RUN_BYTES)
        stop -= (stop - position) % ACKNOWLEDGEMENT_BYTES
        count = equal_prefix(data[position:stop:ACKNOWLEDGEMENT_BYTES])
        if count == 0 or self.qos == 0:
            return 0
        first_byte = data[position]
        if first_byte == FIRST_BYTE[self._ended.kind]:
            bound = self._received.done if self.qos == 2 else self.sent
            before = self._ended.done
            count = self._ended.receive_run(data, position, count, bound)
            if count:
                self.send_times.record_arrival(before, count, seconds, self._samples)
        elif first_byte == FIRST_BYTE[PUBREC] and self.qos == 2:
            at = self._received.done % BLOCK_MESSAGES * ACKNOWLEDGEMENT_BYTES
            count = self._received.receive_run(data, position, count, self.sent)
            if count:
                self.send(ACKNOWLEDGEMENTS[PUBREL][at : at + count * ACKNOWLEDGEMENT_BYTES])
        else:
            return 0
        return count * ACKNOWLEDGEMENT_BYTES

    def _receive_packet(self, data: bytearray, position: int, end: int, seconds: float) -> int:
        """Process one packet that differs from the expected acknowledgements.

        Return the packet's size in bytes, or 0 if the packet is incomplete.
        """
        size_bytes = packet_bytes_of(data, position, end, self.version)
        if size_bytes == 0 or position + size_bytes > end:
            return 0
        packet = packet_of(bytes(data[position : position + size_bytes]), self.version)
        if isinstance(packet, Acknowledgement):
            self._receive_acknowledgement(packet, seconds)
        elif not isinstance(packet, Pingresp):
            raise BenchFailed(f"{self.client_id}: the broker sent {packet!r} to a publisher")
        return size_bytes

    def _receive_acknowledgement(self, packet: Acknowledgement, seconds: float) -> None:
        refused = packet.reason_code >= FIRST_ERROR
        self.refused += refused
        if packet.kind == PUBREC and self.qos == 2:
            self._received.receive(packet.packet_id, self.sent)
            if refused:
                # [MQTT5-4.3.3] the exchange ends without PUBREL
                self._ended.receive(packet.packet_id, self.sent)
            else:
                self.send(pubrel(packet.packet_id))
        elif packet.kind == self._ended.kind and self.qos:
            sequence = self._ended.sequence_of(packet.packet_id)
            if self.qos == 2 and not self._received.has(sequence):
                raise BenchFailed(f"{self.client_id}: PUBCOMP {packet.packet_id} before its PUBREC")
            self._ended.receive(packet.packet_id, self.sent)
            self.send_times.record_arrival(sequence, 1, seconds, self._samples)
        else:
            raise BenchFailed(
                f"{self.client_id}: the broker answered QoS {self.qos} with "
                f"{KIND_NAMES[packet.kind]} {packet.packet_id}"
            )
