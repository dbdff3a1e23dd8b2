"""The uplink's gmqtt client: one connection to one of the two brokers.

gmqtt connects, keeps the connection alive, and resends unacknowledged packets from its storage. The
storage is the uplink's queue of messages for this broker:

| gmqtt calls | when | effect |
|---|---|---|
| `get_all` | the broker has the session | returns all packets in flight, PUBRELs first |
| `push_message` | PUBREC | the exchange's next state becomes durable, then PUBREL is sent |
| `remove_message_by_mid` | PUBACK, PUBCOMP, PUBREC with an error | the exchange ends |
| `clear` | the broker does not have the session | none, because `link.py` handles lost sessions |

`gateway.broker.wire` decodes each packet before gmqtt does. As a result, a malformed packet closes
the connection, and reason codes and properties are preserved. gmqtt would acknowledge PUBLISH and
PUBREL before anything is durable, so these packets are not passed to gmqtt.
"""

import contextlib
import logging
from collections.abc import Callable
from functools import partial
from typing import Any, Final, Protocol

from gmqtt.storage import PersistentStorage  # type: ignore[import-untyped]

from gateway.broker.wire.decoder import Decoder
from gateway.broker.wire.kinds import DISCONNECT, PINGRESP
from gateway.broker.wire.packets import (
    Acknowledgement,
    Connack,
    Disconnect,
    Packet,
    Properties,
    Publish,
    Pubrel,
    Suback,
    Unsuback,
)
from gateway.broker.wire.writing import frame_of
from gateway.process.mqtt_client.client import SessionClient
from gateway.uplink.lane import Lane, Outlet
from gateway.uplink.routes import Side
from gateway.uplink.settlement import Answered

logger = logging.getLogger(__name__)

HEADER_BYTES_MAX: Final = 5
"""Maximum size of a packet's fixed header: the first byte and the length."""
WRITE_BUFFER_BYTES_MAX: Final = 1024 * 1024
"""Unsent bytes above which QoS 0 messages are dropped, because the broker reads too slowly."""


class Receiver(Protocol):
    """Interface of an object that processes received packets. `link.Link` implements it."""

    def receive_publish(self, publish: Publish) -> None:
        """Process a PUBLISH."""

    def receive_answer(self, answer: Answered) -> None:
        """Process a PUBACK, PUBREC, PUBREL or PUBCOMP."""

    def receive_suback(self, packet: Suback | Unsuback) -> None:
        """Process a SUBACK or UNSUBACK."""


class LaneStorage(PersistentStorage):  # type: ignore[misc]
    """Adapter through which gmqtt uses a lane (the queue for one broker) as its storage."""

    def __init__(self, lane: Lane, receiver: Receiver) -> None:
        super().__init__()
        self._lane = lane
        self._receiver = receiver
        self.answer: Acknowledgement | None = None
        """The acknowledgement that gmqtt is handling."""
        self.replayed: Callable[[], list[tuple[int, bytes]]] = list

    def push_message(self, mid: int, raw_package: bytes) -> None:
        """Process a PUBREC.

        gmqtt passes the packet identifier `mid` and its own PUBREL. Both are ignored, because the
        uplink creates another PUBREL, and sends it after the next commit.
        """
        self._pass_answer()

    def remove_message_by_mid(self, mid: int) -> None:
        """End the exchange of a message, because its last acknowledgement has arrived.

        gmqtt calls this method for a PUBACK, a PUBCOMP, or a PUBREC with an error. The packet
        identifier `mid` is ignored, because the stored acknowledgement contains it.
        """
        self._pass_answer()

    @property
    def is_empty(self) -> bool:
        """True if no exchange is in flight."""
        return not len(self._lane.exchanges)

    def get_all(self) -> list[tuple[int, bytes]]:
        """Return the packets that gmqtt resends now, in order, within the broker's limits."""
        return self.replayed()

    async def wait_empty(self) -> None:
        """Return immediately.

        gmqtt expects this method to wait until no exchange is in flight. This might never happen,
        because new exchanges start all the time.
        """

    def clear(self) -> None:
        """Do nothing, because `link.py` handles the loss of a session."""

    def _pass_answer(self) -> None:
        assert self.answer is not None, "gmqtt reached its storage without a packet"
        self._receiver.receive_answer(Answered(self._lane.target, self.answer))


class UplinkClient(SessionClient):
    """One connection to a broker.

    The attribute `fault` describes the first error in the received data, or is None.
    """

    def __init__(
        self,
        session: str,
        lane: Lane,
        receiver: Receiver,
        *,
        version: int,
        packet_bytes_max: int,
        **arguments: Any,
    ) -> None:
        self._storage = LaneStorage(lane, receiver)
        super().__init__(session, persistent_storage=self._storage, **arguments)
        self.side: Side = lane.target
        self.version = version
        self.connack: Connack | None = None
        self.fault: str | None = None
        self._receiver = receiver
        self._packet_bytes_max = packet_bytes_max
        self._decoder = Decoder(packet_bytes_max, version, "client")

    def replay_with(self, replayed: Callable[[], list[tuple[int, bytes]]]) -> None:
        """Set `replayed`, a function that returns the packets in flight for gmqtt to resend."""
        self._storage.replayed = replayed

    def outlet(self, window: int) -> Outlet:
        """Return an `Outlet`, through which the lane (the queue for this broker) sends packets.

        The outlet contains the limits from CONNACK. `window` is the configured maximum number of
        exchanges in flight.
        """
        given = self._given
        if given.receive_maximum is not None:
            # One less, because Mosquitto 2.0 closes the connection if a message is repeated while
            # the window is full.
            window = min(window, max(1, given.receive_maximum - 1))
        return Outlet(
            self.send_packet,
            self.has_room,
            self.version,
            window,
            given.maximum_packet_size_bytes,
            # A broker that supports only QoS 0 rejects the first message, and `fault` shows that.
            2 if given.maximum_qos is None else max(1, given.maximum_qos),
            given.retain_available is not False,
        )

    def warn_of_short_session(self, wanted_seconds: int, broker: str) -> None:
        """Log a warning if the broker keeps the session for less time than requested."""
        seconds = self._given.session_expiry_interval_seconds
        if seconds is not None and seconds < wanted_seconds:
            logger.warning(
                "the %s broker keeps our session for %d s without a connection, not longer: after "
                "that, what was in flight is sent again",
                broker,
                seconds,
            )

    @property
    def _given(self) -> Properties:
        assert self.connack is not None, "no CONNACK has come"
        return self.connack.properties or Properties()

    def has_room(self) -> bool:
        """Return True if more data can be sent now, because the broker reads fast enough."""
        if self._connection is None or self._connection.is_closing():
            return False
        buffered: int = self._connection._transport.get_write_buffer_size()
        return buffered <= WRITE_BUFFER_BYTES_MAX

    async def _create_connection(self, *arguments: Any, **named: Any) -> Any:
        connection = await super()._create_connection(*arguments, **named)
        connection.put_package = partial(self._take_package, connection.put_package)
        protocol = connection._protocol
        protocol._read_packet = partial(self._read_bounded, protocol._read_packet)
        return connection

    def _read_bounded(self, read: Callable[[bytes], int], data: bytes) -> int:
        """Pass received data to gmqtt's function `read`, and return the number of processed bytes.

        If an incomplete packet exceeds the size limit, the connection is closed. Therefore gmqtt
        never buffers the whole packet.
        """
        taken = read(data)
        if len(data) - max(taken, 0) > self._packet_bytes_max + HEADER_BYTES_MAX:
            self._end(f"a packet of more than {self._packet_bytes_max} bytes")
        return taken

    def _take_package(self, pass_on: Callable[[Any], None], package: Any) -> None:
        kind = package.cmd >> 4
        if kind == PINGRESP or (kind == DISCONNECT and not package.data):
            pass_on(package)  # an empty DISCONNECT is also gmqtt's own sign of a lost connection
            return
        packets = self._decoder.feed(frame_of(package.cmd, package.data))
        if self._decoder.error is not None:
            self._end(str(self._decoder.error))
            return
        for packet in packets:
            self._take(packet, lambda: pass_on(package))

    def _take(self, packet: Packet, pass_on: Callable[[], None]) -> None:
        match packet:
            case Publish():
                self._receiver.receive_publish(packet)
            case Pubrel():
                self._receiver.receive_answer(Answered(self.side, packet))
            case Acknowledgement():
                self._storage.answer = packet
                pass_on()
            case Suback() | Unsuback():
                self._receiver.receive_suback(packet)
            case Disconnect(reason_code=code):
                self.fault = f"the broker disconnected with reason code 0x{code:02X}"
                pass_on()
            case Connack():
                self.connack = packet
                pass_on()
            case _:
                self._end(f"a packet that no client gets: {type(packet).__name__}")

    def _end(self, fault: str) -> None:
        self.fault = self.fault or f"what the broker sent is wrong: {fault}"
        with contextlib.suppress(AttributeError):
            self.abort()
