"""The connection of one client: handshake, unsent bytes, and parsing of received packets.

During the handshake, the socket is blocking, because clients connect one after another. After that,
the socket is non-blocking. `send` buffers bytes that the kernel does not accept. The event loop
calls `flush` when the kernel accepts more bytes.
"""

import math
import socket
import ssl
import time
from typing import Final

from gateway.broker.wire import codes
from gateway.broker.wire.decoder import Decoder
from gateway.broker.wire.encoder import PINGREQ, encode
from gateway.broker.wire.fixed_header import long_remaining_length
from gateway.broker.wire.malformed import Malformed
from gateway.broker.wire.packets import Connack, Connect, Disconnect, Packet, Properties

HANDSHAKE_SECONDS: Final = 10.0
"""Timeout per step (connecting, CONNACK, SUBACK). Even a broker with a slow disk is faster."""

PACKET_BYTES_MAX: Final = 1 << 28
"""Maximum bytes of a packet in MQTT."""

SESSION_EXPIRY_SECONDS: Final = 3_600
"""Expiry interval of persistent MQTT 5.0 sessions: sessions of a crashed run expire after an hour.
"""


NOT_NOW: Final = (BlockingIOError, ssl.SSLWantReadError, ssl.SSLWantWriteError)
"""Exceptions of a non-blocking socket, without or with TLS, that has no data or no room."""


REASON_CODES: Final = {
    code: name.lower().replace("_", " ")
    for name, code in vars(codes).items()
    if (name.isupper() and code != codes.FIRST_ERROR) or name == "UNSPECIFIED_ERROR"
}
"""Descriptions of the reason codes of MQTT 5.0."""

RETURN_CODES: Final = {
    1: "unacceptable protocol version",
    2: "identifier rejected",
    3: "server unavailable",
    4: "bad user name or password",
    5: "not authorized",
}
"""Descriptions of the return codes of CONNACK in MQTT 3.1.1. [MQTT-3.2.2] table 3.1"""


class BenchFailed(Exception):
    """Error raised if a load generator run cannot continue.

    The message states what the broker did, and what it was expected to do.
    """


class Client:
    """Base class of publishers and subscribers. A client has one MQTT connection."""

    def __init__(self, client_id: str, version: int) -> None:
        self.client_id = client_id
        self.version = version
        # A limit that CONNACK may lower. [MQTT5-3.2.2.3.3]
        self.receive_maximum = 65_535
        # Whether the loop watches the socket for writability.
        self.is_watched = False
        self.unsent = b""
        self._socket: socket.socket | None = None
        # The received part of an incomplete packet.
        self.partial = bytearray()
        self._ping_every_seconds = math.inf
        self._ping_seconds = 0.0

    @property
    def connection(self) -> socket.socket:
        """The socket of the client's connection. The connection must have been opened already."""
        assert self._socket is not None, f"{self.client_id} has not been connected"
        return self._socket

    def use(self, connection: socket.socket) -> None:
        """Replace the client's socket with `connection`, and close the previous socket."""
        self.close()
        self._socket = connection
        self.partial = bytearray()

    def close(self) -> None:
        if self._socket is not None:
            self._socket.close()
            self._socket = None

    def receive(self, data: bytearray, end: int, seconds: float) -> int:
        """Process the first `end` bytes of `data`, which were received at the time `seconds`.

        Return the number of processed bytes.
        """
        raise NotImplementedError

    # -- handshake

    def connect(
        self, host: str, port: int, connect: Connect, tls: ssl.SSLContext | None = None
    ) -> None:
        """Connect, optionally with TLS, and wait for CONNACK.

        Raises BenchFailed if the broker refuses the client, and OSError if the broker cannot be
        reached.
        """
        self.close()
        connection = socket.create_connection((host, port), HANDSHAKE_SECONDS)
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        if tls is not None:
            connection = tls.wrap_socket(connection, server_hostname=host)
        self.use(connection)
        self.connection.sendall(encode(connect, self.version))
        packet = self.wait_for_packet("CONNACK")
        if not isinstance(packet, Connack):
            raise BenchFailed(f"{self.client_id}: {packet!r} instead of CONNACK")
        if packet.reason_code:
            words = words_of(packet.reason_code, self.version)
            raise BenchFailed(f"{self.client_id}: the broker refused the connection: {words}")
        if packet.properties is not None:
            self._obey(packet.properties)

    def _obey(self, properties: Properties) -> None:
        """Apply the limits from the CONNACK of an MQTT 5.0 broker. `properties` contains them."""
        if properties.receive_maximum is not None:
            self.receive_maximum = properties.receive_maximum
        # [MQTT5-3.2.2-21] applies although we requested no keep-alive. Half of the interval
        # tolerates a slow loop.
        if properties.server_keep_alive_seconds:
            self._ping_every_seconds = properties.server_keep_alive_seconds / 2
            self._ping_seconds = time.perf_counter()

    def connect_of(
        self,
        *,
        keeps_session: bool,
        receive_maximum: int,
        username: str | None,
        password: bytes | None,
    ) -> Connect:
        """Return the CONNECT packet of this client.

        The argument `receive_maximum` is the maximum number of unacknowledged QoS 1 and 2 messages
        from the broker. MQTT 3.1.1 has no such limit.
        """
        properties = None
        if self.version == 5:
            properties = Properties()
            properties.receive_maximum = receive_maximum
            if keeps_session:
                properties.session_expiry_interval_seconds = SESSION_EXPIRY_SECONDS
        return Connect(
            self.version, self.client_id, not keeps_session, 0, None, username, password, properties
        )

    def wait_for_packet(self, name: str) -> Packet:
        """Wait for the next packet and return it. The socket must still be blocking.

        `name` is the packet's expected type, for error messages.
        """
        while True:
            size_bytes = packet_bytes_of(self.partial, 0, len(self.partial), self.version)
            if 0 < size_bytes <= len(self.partial):
                packet = packet_of(bytes(self.partial[:size_bytes]), self.version)
                del self.partial[:size_bytes]
                return packet
            try:
                data = self.connection.recv(4_096)
            except TimeoutError:
                raise BenchFailed(
                    f"{self.client_id}: no {name} within {HANDSHAKE_SECONDS:.0f} s"
                ) from None
            if not data:
                raise BenchFailed(f"{self.client_id}: the broker closed instead of {name}")
            self.partial += data

    def disconnect(self) -> None:
        """Send DISCONNECT if possible, and close the connection."""
        if self._socket is None:
            return
        try:
            self.connection.settimeout(HANDSHAKE_SECONDS)
            self.connection.sendall(encode(Disconnect(), self.version))
        except OSError:
            # The broker is gone, or was never reached.
            return
        finally:
            self.close()

    # -- traffic

    def send(self, data: bytes | bytearray | memoryview) -> None:
        """Write the bytes that the kernel accepts now, and buffer the remaining bytes."""
        if self.unsent:
            self.unsent += bytes(data)
            return
        try:
            sent = self.connection.send(data)
        except NOT_NOW:
            sent = 0
        except ConnectionError:
            # The next read reports the error, after the broker's last bytes.
            return
        if sent < len(data):
            self.unsent = bytes(data[sent:])

    def keep_alive(self, seconds: float) -> None:
        """Send a PINGREQ if the broker's keep-alive interval requires one at the time `seconds`."""
        if self._socket is None:
            return
        if seconds >= self._ping_seconds + self._ping_every_seconds:
            self._ping_seconds = seconds
            self.send(PINGREQ)

    def flush(self) -> None:
        waiting, self.unsent = self.unsent, b""
        self.send(waiting)


def packet_bytes_of(data: bytearray, position: int, end: int, version: int) -> int:
    """Return the size of the packet at `position`, or 0 if its length field is incomplete."""
    if end - position < 2:
        return 0
    try:
        remaining, start = long_remaining_length(
            bytes(data[position : min(end, position + 5)]),
            0,
            min(end - position, 5),
            version,
            False,
        )
    except Malformed as malformed:
        raise BenchFailed(f"the broker sent a malformed packet: {malformed}") from None
    return 0 if start < 0 else start + remaining


def packet_of(data: bytes, version: int) -> Packet:
    """Decode `data`, which must be exactly one packet.

    Raises BenchFailed if the packet is invalid, or if it is a DISCONNECT.
    """
    decoder = Decoder(PACKET_BYTES_MAX, version, "client")
    packets = decoder.feed(data)
    if decoder.error is not None:
        raise BenchFailed(f"the broker sent a malformed packet: {decoder.error}")
    assert len(packets) == 1
    if isinstance(packets[0], Disconnect):
        words = words_of(packets[0].reason_code, version)
        raise BenchFailed(f"the broker disconnected: {words}")
    return packets[0]


def words_of(code: int, version: int) -> str:
    """Return the description of a reason code (MQTT 5.0) or CONNACK return code (MQTT 3.1.1)."""
    names = RETURN_CODES if version < 5 else REASON_CODES
    return f"{names.get(code, 'reason unknown')} (0x{code:02X})"
