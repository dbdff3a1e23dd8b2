"""The decoder, which converts received bytes to packets. Bytes can arrive in pieces of any size.

The decoder returns all complete, valid packets in order. At the first invalid packet, it returns
the packets before that packet and sets `error` to a Malformed exception. It never raises an
exception, whatever the input. Decoding time is proportional to the number of bytes, even if the
pieces are small. Memory use depends on the bytes received, never on a declared length. The decoder
checks only rules that can be checked on the packet alone.

The result does not depend on how the network divides the bytes, because the same rules are always
checked in the same order: first byte, remaining length, packet size, then the fields from left to
right.
"""

from typing import Literal

from gateway.broker.wire import malformed as wrong
from gateway.broker.wire.body_decoder import acknowledgement_of, decode_body
from gateway.broker.wire.codes import PACKET_TOO_LARGE
from gateway.broker.wire.connect_decoder import HEAD_BYTES, decode_connect, level_in
from gateway.broker.wire.fixed_header import check_first_byte, long_remaining_length, not_minimal
from gateway.broker.wire.kinds import CONNECT, KIND_NAMES, MQTT_5_0, PUBACK, PUBCOMP, PUBLISH
from gateway.broker.wire.limits import CONNECT_PACKET_BYTES_MAX
from gateway.broker.wire.malformed import Malformed
from gateway.broker.wire.packets import Packet
from gateway.broker.wire.publish_decoder import decode_publish, zero_packet_id
from gateway.broker.wire.reading import Reader
from gateway.broker.wire.writing import BYTE, variable_byte_integer


class Decoder:
    """Decoder for the packets that one peer sends on a connection.

    `max_packet_size_bytes` limits the whole packet including its fixed header. Before CONNECT,
    CONNECT_PACKET_BYTES_MAX applies too. `version` is the protocol level. A server starts with 0
    and then accepts only a CONNECT, which sets the version. If `side` is "server", the decoder
    accepts packets that clients send, otherwise packets that servers send. If
    `allows_control_characters` is False, the topic name in a PUBLISH must not contain control
    characters. `error` is None until the peer's first mistake.
    """

    def __init__(
        self,
        max_packet_size_bytes: int,
        version: int = 0,
        side: Literal["server", "client"] = "server",
        allows_control_characters: bool = True,
    ) -> None:
        assert version in (0, 3, 4, 5), f"protocol level {version}: expected 3, 4, 5, or 0 for none"
        assert version or side == "server", "a client's decoder needs the version it connected with"
        self.version = version
        self.error: Malformed | None = None
        # The first bytes of the connection, which contain the protocol level.
        self._head = b""
        self._max_packet_size_bytes = max_packet_size_bytes
        # The limit that applies now.
        self._packet_bytes_max = (
            max_packet_size_bytes
            if version
            else min(max_packet_size_bytes, CONNECT_PACKET_BYTES_MAX)
        )
        self._from_client = side == "server"
        self._allows_control_characters = allows_control_characters
        # The start of an incomplete packet, and the packet's size once its length is known.
        self._partial = bytearray()
        self._partial_size_bytes = 0

    def feed(self, data: bytes) -> list[Packet]:
        """Decode bytes, and return the complete packets. Set `error` if a packet is invalid."""
        packets: list[Packet] = []
        if self.error is not None:
            return packets
        if self.version == 0:
            self._head = (self._head + data[:HEAD_BYTES])[:HEAD_BYTES]
        try:
            position = 0
            if self._partial:
                position = self._complete_partial(data, packets)
            self._read_packets(data, position, packets)
        except Malformed as malformed:
            # The traceback would keep the peer's bytes alive as long as the connection.
            malformed.__traceback__ = None
            if self.version == 0 and malformed.protocol_level == 0:
                malformed.protocol_level = max(0, level_in(self._head))
            self.error = malformed
            self._partial = bytearray()
        return packets

    def partial_bytes(self) -> int:
        """Return the number of buffered bytes of an incomplete packet."""
        return len(self._partial)

    def free_memory(self) -> None:
        """Discard the buffered bytes of an incomplete packet that will never be completed."""
        self._partial = bytearray()
        self._partial_size_bytes = 0

    def _read_packets(self, data: bytes, position: int, packets: list[Packet]) -> None:
        """Decode all complete packets from `position` on, and buffer the remaining bytes."""
        end = len(data)
        version = self.version
        while end - position >= 2:
            first = data[position]
            remaining = data[position + 1]
            start = position + 2
            if remaining > 127:
                remaining, start = long_remaining_length(
                    data, position, end, version, self._from_client
                )
                if start < 0:
                    break
            stop = start + remaining
            if stop - position > self._packet_bytes_max and self._no_level(first, stop - position):
                break
            if stop > end:
                break
            kind = first >> 4
            if version == 0:
                packets.append(self._connect(data, position, start, stop))
                version = self.version
            elif start > position + 2 and data[start - 1] == 0:
                self._read_shortened(data, position, start, stop, packets)
            elif kind == PUBLISH:
                packets.append(
                    decode_publish(
                        data,
                        position,
                        start,
                        stop,
                        version,
                        self._from_client,
                        self._allows_control_characters,
                    )
                )
            elif remaining == 2 and PUBACK <= kind <= PUBCOMP:
                packets.append(self._short_acknowledgement(data, position))
            else:
                check_first_byte(first, version, self._from_client)
                reader = Reader(data, start, stop, KIND_NAMES[kind])
                packets.append(decode_body(kind, reader, version, self._from_client))
            position = stop
        if position < end:
            self._keep(data, position)

    def _short_acknowledgement(self, data: bytes, position: int) -> Packet:
        first = data[position]
        if first not in (0x40, 0x50, 0x62, 0x70):
            check_first_byte(first, self.version, self._from_client)
        packet_id = data[position + 2] << 8 | data[position + 3]
        if packet_id == 0:
            raise zero_packet_id(KIND_NAMES[first >> 4])
        return acknowledgement_of(first >> 4, packet_id)

    def _connect(self, data: bytes, position: int, start: int, stop: int) -> Packet:
        check_first_byte(data[position], 0, self._from_client)
        connect = decode_connect(Reader(data, start, stop, "CONNECT"))
        # The rule applies only to MQTT 5.0, and the version was unknown until now. [MQTT5-1.5.5-1]
        if connect.protocol_level == MQTT_5_0 and start > position + 2 and data[start - 1] == 0:
            raise not_minimal()
        self.version = connect.protocol_level
        self._packet_bytes_max = self._max_packet_size_bytes
        return connect

    def _read_shortened(
        self, data: bytes, position: int, start: int, stop: int, packets: list[Packet]
    ) -> None:
        """Decode a packet whose remaining length is encoded in more bytes than necessary.

        MQTT 3 allows this encoding. However, a PUBLISH may later be forwarded unchanged, and a
        forwarded packet must have the shortest header. Therefore, the header is shortened before
        decoding.
        """
        header = BYTE[data[position]] + variable_byte_integer(stop - start)
        self._read_packets(header + data[start:stop], 0, packets)

    def _too_large(self, first: int, size_bytes: int) -> Malformed:
        check_first_byte(first, self.version, self._from_client)
        # [MQTT5-3.1.2-24] for the client, [MQTT5-3.2.2-15] for the server
        return Malformed(
            wrong.PACKET_TOO_LARGE,
            f"{KIND_NAMES[first >> 4]} of {size_bytes} bytes: expected at most "
            f"{self._packet_bytes_max}",
            PACKET_TOO_LARGE,
        )

    def _keep(self, data: bytes, position: int) -> None:
        """Buffer the start of an incomplete packet.

        Raises Malformed if the packet cannot become valid.
        """
        check_first_byte(data[position], self.version, self._from_client)
        self._partial_size_bytes = self._declared_size_bytes(data, position)
        self._partial += data[position:]

    def _declared_size_bytes(self, data: bytes, position: int) -> int:
        """Return the declared size of the packet at `position`, or 0 if more bytes are needed."""
        remaining, start = long_remaining_length(
            data, position, len(data), self.version, self._from_client
        )
        if start < 0:
            return 0
        size_bytes = start - position + remaining
        if size_bytes > self._packet_bytes_max and self._no_level(data[position], size_bytes):
            return 0
        return size_bytes

    def _no_level(self, first: int, size_bytes: int) -> bool:
        """Return True if an oversized packet is a CONNECT whose protocol level has not arrived yet.

        The error response depends on the level, so the decoder waits for it. Raises Malformed for
        any other oversized packet.
        """
        if self.version == 0 and first >> 4 == CONNECT and level_in(self._head) < 0:
            return True
        raise self._too_large(first, size_bytes)

    def _complete_partial(self, data: bytes, packets: list[Packet]) -> int:
        """Add bytes from `data` to the incomplete packet. If it is then complete, decode it.

        Return the number of bytes used.
        """
        taken = 0
        while self._partial_size_bytes == 0:
            if taken == len(data):
                return taken
            self._partial.append(data[taken])
            taken += 1
            self._partial_size_bytes = self._declared_size_bytes(bytes(self._partial), 0)
        missing = self._partial_size_bytes - len(self._partial)
        addition = data[taken : taken + missing]
        self._partial += addition
        taken += len(addition)
        if len(addition) == missing:
            packet = bytes(self._partial)
            self._partial = bytearray()
            self._partial_size_bytes = 0
            self._read_packets(packet, 0, packets)
        return taken
