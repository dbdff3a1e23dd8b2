"""Output to connections. A packet waits until the records that it depends on are durable.

`outgoing` bytes may be sent in this iteration of the event loop. `withheld` bytes wait for the
current batch: `seal` attaches them to the batch, and `release` makes them `outgoing` once the batch
is durable.
"""

from typing import Final

from gateway.broker.core.effects import Effects
from gateway.broker.core.frames import NO_ALIAS
from gateway.broker.core.records.recorder import Recorder
from gateway.broker.core.sessions.connection import Connection
from gateway.broker.core.sessions.packet_buffer import PacketBuffer
from gateway.broker.core.statistics import Statistics
from gateway.broker.wire import kinds
from gateway.broker.wire.acknowledgement_encoder import acknowledgement

CONNACK_BYTE: Final = kinds.CONNACK << 4


class Withheld:
    """Bytes that are sent to one connection once a batch is durable."""

    def __init__(self, connection: Connection, parts: list[bytes], received: int) -> None:
        self.connection = connection
        self.parts = parts
        self.received = received
        """Number of acknowledgements among them that complete a message from the client."""


class SealedBatch:
    """A batch to commit, with the packets that are sent once the batch is durable.

    `blob` contains the batch's records as they are written to the journal. It is None if the batch
    has no records.
    """

    def __init__(self, number: int, blob: bytes | None, withheld: list[Withheld]) -> None:
        self.number = number
        self.blob = blob
        self.withheld = withheld


class Output:
    """The bytes to send to all connections, immediately or after a commit."""

    def __init__(self, recorder: Recorder, effects: Effects, statistics: Statistics) -> None:
        self.recorder = recorder
        self.effects = effects
        self.statistics = statistics
        self.committed_batch = recorder.batch_number - 1
        self.withholding: list[Connection] = []
        self.closing_after_commit: list[Connection] = []
        """Connections to be closed when the current batch is durable."""

    def forward(self, connection: Connection, frame: bytes) -> None:
        """Send a QoS 0 PUBLISH in this iteration of the event loop, but never before CONNACK."""
        if not connection.connack_released:
            self._send_after_connack(connection, frame)
            return
        outgoing = connection.outgoing
        if outgoing.is_empty():
            self.effects.writes.append(connection)
        outgoing.append(frame)
        connection.forwarded_bytes += len(frame)

    def _outgoing(self, connection: Connection) -> PacketBuffer:
        if connection.outgoing.is_empty():
            self.effects.writes.append(connection)
        return connection.outgoing

    def push(self, connection: Connection, data: bytes) -> None:
        """Send a packet in this iteration of the event loop, without waiting for a commit."""
        self.statistics.packets_sent[data[0] >> 4] += 1
        self._outgoing(connection).append(data)

    def send(self, connection: Connection, data: bytes, is_fact: bool = False) -> None:
        """Send a packet, but not before earlier packets to this connection that wait for a commit.

        If `is_fact` is True, the packet depends on a record in the current batch. It then also
        waits until this batch is durable.
        """
        if is_fact or connection.withheld_batch > self.committed_batch:
            self.withhold(connection, data)
        else:
            self.push(connection, data)

    def release_batch(self, connection: Connection, is_fact: bool) -> int:
        """Return the number of the batch that must be durable before `send` sends a packet.

        This is the current batch if the packet must wait for it, otherwise the last committed
        batch. `is_fact` has the same meaning as in `send`.
        """
        if is_fact or connection.withheld_batch > self.committed_batch:
            return self.recorder.batch_number
        return self.committed_batch

    def qos0_release_batch(self, connection: Connection, withheld: bool) -> int:
        """Return the number of the batch that must be durable before a QoS 0 packet is sent.

        If `withheld` is True, return the current batch. Otherwise, return the last committed batch
        if CONNACK has been released, or NO_ALIAS if CONNACK still waits for a commit. NO_ALIAS
        prevents the use of a topic alias, because the order of packets is not known yet.
        """
        if withheld:
            return self.recorder.batch_number
        return self.committed_batch if connection.connack_released else NO_ALIAS

    def send_immediately(self, connection: Connection, data: bytes) -> None:
        """Send a packet, such as PINGRESP, that can overtake all other packets except CONNACK."""
        if connection.connack_released:
            self.push(connection, data)
        else:
            self._send_after_connack(connection, data)

    def _send_after_connack(self, connection: Connection, data: bytes) -> None:
        """Queue a packet to be sent directly after CONNACK, once CONNACK's batch is durable."""
        if connection.withheld.first_byte() == CONNACK_BYTE:
            self.withhold(connection, data)
            return
        # CONNACK is being committed. The packet need not wait for the next batch as well.
        self.statistics.packets_sent[data[0] >> 4] += 1
        connection.after_connack.append(data)
        connection.forwarded_bytes += len(data)

    def withhold(self, connection: Connection, data: bytes) -> None:
        """Send a packet once the current batch is durable."""
        self.statistics.packets_sent[data[0] >> 4] += 1
        self._withheld(connection).append(data)

    def _withheld(self, connection: Connection) -> PacketBuffer:
        if connection.withheld.is_empty():
            self.withholding.append(connection)
        connection.withheld_batch = self.recorder.batch_number
        return connection.withheld

    def acknowledge(
        self, connection: Connection, kind: int, packet_id: int, is_fact: bool = False
    ) -> None:
        """Send a PUBACK, PUBREC, PUBREL or PUBCOMP without a reason code.

        If `is_fact` is True, the packet waits until the current batch is durable.
        """
        self.statistics.packets_sent[kind] += 1
        waits = is_fact or connection.withheld_batch > self.committed_batch
        buffer = self._withheld(connection) if waits else self._outgoing(connection)
        first_byte = kind << 4 | 2 if kind == kinds.PUBREL else kind << 4
        buffer.append_acknowledgement(first_byte, packet_id)

    def acknowledge_with(
        self,
        connection: Connection,
        kind: int,
        packet_id: int,
        reason_code: int,
        is_fact: bool = False,
    ) -> None:
        """Send a PUBACK, PUBREC, PUBREL or PUBCOMP with a reason code.

        If `is_fact` is True, the packet waits until the current batch is durable.
        """
        packet = acknowledgement(kind, packet_id, reason_code, connection.version)
        self.send(connection, packet, is_fact)

    def close(self, connection: Connection) -> None:
        """Close the connection once its `outgoing` bytes have been passed to the socket.

        Bytes of the connection that wait for a commit are discarded.
        """
        if not connection.closing:
            connection.closing = True
            if connection.outgoing.is_empty():
                self.effects.writes.append(connection)

    def close_after_commit(self, connection: Connection) -> None:
        """Close the connection once the current batch is durable.

        The batch contains the changes that the client's DISCONNECT has requested.
        """
        self.closing_after_commit.append(connection)

    def waits(self) -> bool:
        """Return True if a client is waiting for the commit of the current batch."""
        return bool(self.withholding or self.closing_after_commit)

    def seal(self) -> list[Withheld]:
        """Remove and return the bytes that wait for the current batch, for all connections."""
        sealed = [Withheld(connection, [], 0) for connection in self.closing_after_commit]
        self.closing_after_commit = []
        for connection in self.withholding:
            parts = connection.withheld.take()
            if connection.is_open:
                sealed.append(Withheld(connection, parts, connection.received))
            connection.received = 0
        self.withholding = []
        return sealed

    def release(self, sealed: list[Withheld], batch_number: int) -> None:
        """Move the bytes that waited for a batch to `outgoing` once the batch is durable."""
        self.committed_batch = batch_number
        for withheld in sealed:
            connection = withheld.connection
            if not withheld.parts:
                self.close(connection)
                continue
            if not connection.is_open:
                continue
            connection.connack_released = True
            connection.receiving = max(0, connection.receiving - withheld.received)
            outgoing = self._outgoing(connection)
            for part in withheld.parts:
                outgoing.append(part)
            if connection.after_connack:
                for data in connection.after_connack:
                    outgoing.append(data)
                connection.after_connack = []
