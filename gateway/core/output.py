"""Speak only after the commit: where bytes wait until what they say is true.

`outgoing` bytes may leave in this turn of the loop. `withheld` bytes wait for the batch that is
being collected; `seal` hands them over with that batch, `release` sets them free once it is
durable.
"""

from typing import Final

from gateway.core.recorder import Recorder
from gateway.core.session import CLOSED, Connection
from gateway.wire import kinds

CONNACK_BYTE: Final = kinds.CONNACK << 4


class Withheld:
    """What one connection may be told when a batch is durable."""

    def __init__(self, connection: Connection, parts: list[bytes], received: int) -> None:
        self.connection = connection
        self.parts = parts
        self.received = received
        """How many of the parts end the exchange of a message that the client published."""


class Output:
    """The two ways out, for all connections."""

    def __init__(self, recorder: Recorder) -> None:
        self.recorder = recorder
        self.committed_batch = recorder.batch_number - 1
        self.dirty: list[Connection] = []
        self.withholding: list[Connection] = []
        self.departing: list[Connection] = []
        """Connections to be closed when the batch that is being collected is durable."""
        self.packets_sent = [0] * 16
        """Packets made, by packet type; PUBLISH is counted by QoS in `Statistics`."""

    def forward(self, connection: Connection, frame: bytes) -> None:
        """Send a PUBLISH at QoS 0 in this turn, whatever waits, but never before CONNACK."""
        if not connection.greeted:
            self._send_after_connack(connection, frame)
            return
        if not connection.outgoing:
            self.dirty.append(connection)
        connection.outgoing.append(frame)
        connection.forwarded_bytes += len(frame)

    def push(self, connection: Connection, data: bytes) -> None:
        """Send any other packet in this turn, whatever waits."""
        self.packets_sent[data[0] >> 4] += 1
        if not connection.outgoing:
            self.dirty.append(connection)
        connection.outgoing.append(data)

    def send(self, connection: Connection, data: bytes) -> None:
        """Send what needs no fact, behind whatever of this connection still waits for one."""
        if connection.withheld_batch > self.committed_batch:
            self.withhold(connection, data)
        else:
            self.push(connection, data)

    def send_at_once(self, connection: Connection, data: bytes) -> None:
        """Send what may overtake: QoS 0 and PINGRESP, but never CONNACK."""
        if connection.greeted:
            self.push(connection, data)
        else:
            self._send_after_connack(connection, data)

    def _send_after_connack(self, connection: Connection, data: bytes) -> None:
        """Send what needs no fact right behind CONNACK, which waits for one."""
        if connection.withheld and connection.withheld[0][0] == CONNACK_BYTE:
            self.withhold(connection, data)
            return
        # CONNACK is being committed: no reason to wait for the next batch as well.
        self.packets_sent[data[0] >> 4] += 1
        connection.early.append(data)
        connection.forwarded_bytes += len(data)

    def withhold(self, connection: Connection, data: bytes) -> None:
        """Send when the batch that is being collected is durable."""
        self.packets_sent[data[0] >> 4] += 1
        if not connection.withheld:
            self.withholding.append(connection)
        connection.withheld.append(data)
        connection.withheld_batch = self.recorder.batch_number

    def close(self, connection: Connection) -> None:
        """Close once `outgoing` has been handed to the socket. Withheld bytes are dropped."""
        if not connection.closing:
            connection.closing = True
            if not connection.outgoing:
                self.dirty.append(connection)

    def close_after_commit(self, connection: Connection) -> None:
        """Close when the facts about this end are durable: the close is what the client sees."""
        self.departing.append(connection)

    def waits(self) -> bool:
        """Return whether anybody waits for the batch that is being collected."""
        return bool(self.withholding or self.departing)

    def seal(self) -> list[Withheld]:
        """Return what waits for the batch that ends now."""
        sealed = [Withheld(connection, [], 0) for connection in self.departing]
        self.departing = []
        for connection in self.withholding:
            if connection.state != CLOSED:
                sealed.append(Withheld(connection, connection.withheld, connection.received))
            connection.withheld = []
            connection.received = 0
        self.withholding = []
        return sealed

    def release(self, sealed: list[Withheld], batch_number: int) -> None:
        """The batch is durable: let its bytes go."""
        self.committed_batch = batch_number
        for withheld in sealed:
            connection = withheld.connection
            if not withheld.parts:
                self.close(connection)
                continue
            if connection.state == CLOSED:
                continue
            connection.greeted = True
            connection.receiving = max(0, connection.receiving - withheld.received)
            if not connection.outgoing:
                self.dirty.append(connection)
            connection.outgoing.extend(withheld.parts)
            if connection.early:
                connection.outgoing.extend(connection.early)
                connection.early = []

    def take_dirty(self) -> list[Connection]:
        """Return the connections that have something to send or are to be closed."""
        dirty = self.dirty
        self.dirty = []
        return dirty
